package tree

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/zeebo/blake3"

	"github.com/sliceshift/sliceshift/mover/codec"
	"github.com/sliceshift/sliceshift/mover/differ"
	"github.com/sliceshift/sliceshift/mover/entry"
)

// An index is a file with the records of a tree's files, in their order:
//
//	magic, a length (4 bytes) and the reading, for each file a length, a record, and the digests of its leaves, if they
//	are kept, a length of 0, and a digest of it all.
//
// An index that is truncated or damaged does not count.
const indexMagic = "sliceshift-index-3\n"

// maxRecord bounds a record of an index, in bytes.
const maxRecord = entry.MaxPath + 512

// MaxIndex is the most bytes of an index that is kept: about 25 million files.
const MaxIndex = 4 << 30

// IndexWriter writes an index. Commit reports errors, so that a tree is listed in any case.
type IndexWriter struct {
	file   *os.File
	out    *bufio.Writer
	digest *blake3.Hasher
	buffer []byte
	size   int64
	err    error
}

// CreateIndex starts an index in an empty file, which still belongs to the caller.
func CreateIndex(file *os.File, reading differ.Reading) *IndexWriter {
	w := &IndexWriter{file: file, digest: blake3.New()}
	w.out = bufio.NewWriterSize(io.MultiWriter(file, w.digest), 64<<10)
	_, w.err = w.out.WriteString(indexMagic)
	w.write(reading.Append(w.begin()))
	return w
}

var errLargeIndex = fmt.Errorf("the index of these files takes more than %d bytes", int64(MaxIndex))

func (w *IndexWriter) begin() []byte { return append(w.buffer[:0], 0, 0, 0, 0) }

func (w *IndexWriter) write(b []byte) {
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	w.buffer = b
	if w.size += int64(len(b)); w.err == nil && w.size > MaxIndex-4096 {
		w.err = errLargeIndex
	}
	if w.err == nil {
		_, w.err = w.out.Write(b)
	}
}

// Add adds a file, in the order of paths.
func (w *IndexWriter) Add(r differ.Record) {
	b := codec.AppendBytes(w.begin(), r.Path)
	b = binary.AppendUvarint(b, r.Inode.Ino)
	b = codec.AppendBytes(b, r.Handle)
	b = binary.AppendUvarint(b, uint64(r.Size))
	for _, t := range []entry.Time{r.Modified, r.Changed, r.Synced} {
		b = t.Append(b)
	}
	b = binary.AppendUvarint(append(b, r.Digest[:]...), uint64(len(r.Parts)))
	w.write(b)
	w.follow(r.Parts)
}

// follow writes the digests of leaves after their record.
func (w *IndexWriter) follow(parts []byte) {
	if w.size += int64(len(parts)); w.err == nil && w.size > MaxIndex-4096 {
		w.err = errLargeIndex
	}
	if w.err == nil {
		_, w.err = w.out.Write(parts)
	}
}

// Commit ends the index, and writes it to the disk.
func (w *IndexWriter) Commit() error {
	err := w.err
	if err == nil {
		_, err = w.out.Write(make([]byte, 4))
	}
	if err == nil {
		err = w.out.Flush()
	}
	if err == nil {
		digest := sum(w.digest)
		_, err = w.file.Write(digest[:])
	}
	if err == nil {
		err = w.file.Sync()
	}
	return err
}

// Index reads an index.
type Index struct {
	in     *bufio.Reader
	last   *differ.Record
	ended  bool
	buffer []byte
}

// ErrNoIndex is the error for an index that is missing, damaged, or of another reading: then nothing is known.
var ErrNoIndex = errors.New("there is no complete index")

// OpenIndex verifies the digest of an index and returns a reader from its start. The index counts if its
// reading holds for the present one.
func OpenIndex(file *os.File, now differ.Reading) (*Index, error) {
	if err := whole(file); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoIndex, err)
	}
	x := &Index{in: bufio.NewReaderSize(io.NewSectionReader(file, int64(len(indexMagic)), MaxIndex), 64<<10)}
	then, err := x.reading()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoIndex, err)
	}
	if !then.Holds(now) {
		return nil, fmt.Errorf("%w: the index is of %+v, and this reading is %+v", ErrNoIndex, then, now)
	}
	return x, nil
}

func whole(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	const tail = 32
	body := info.Size() - tail
	if body < int64(len(indexMagic)) {
		return errors.New("it is cut")
	}
	digest := blake3.New()
	if _, err := io.Copy(digest, io.NewSectionReader(file, 0, body)); err != nil {
		return err
	}
	head, want := make([]byte, len(indexMagic)), make([]byte, tail)
	if _, err := file.ReadAt(head, 0); err != nil {
		return err
	}
	if _, err := file.ReadAt(want, body); err != nil {
		return err
	}
	if got := sum(digest); string(head) != indexMagic || !bytes.Equal(got[:], want) {
		return errors.New("it is damaged")
	}
	return nil
}

// Find returns the record of a path, or nil. Paths must be requested in order.
func (x *Index) Find(path string) (*differ.Record, error) {
	for !x.ended && (x.last == nil || entry.Compare(x.last.Path, path) < 0) {
		if err := x.read(); err != nil {
			return nil, fmt.Errorf("reading the index of %q: %w", path, err)
		}
	}
	if x.ended || x.last.Path != path {
		return nil, nil
	}
	return x.last, nil
}

// next returns the next record or header by its length; nil is the end.
func (x *Index) next() ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(x.in, length[:]); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint32(length[:]))
	if n > maxRecord {
		return nil, fmt.Errorf("%w: a record of %d bytes", codec.ErrMalformed, n)
	}
	if n == 0 {
		return nil, nil
	}
	if cap(x.buffer) < n {
		x.buffer = make([]byte, maxRecord)
	}
	_, err := io.ReadFull(x.in, x.buffer[:n])
	return x.buffer[:n], err
}

func (x *Index) reading() (differ.Reading, error) {
	b, err := x.next()
	if err != nil {
		return differ.Reading{}, err
	}
	return differ.ReadReading(b)
}

func (x *Index) read() error {
	b, err := x.next()
	if err != nil {
		return err
	}
	if b == nil {
		x.ended = true
		return nil
	}
	const handle = 128 // bytes, MAX_HANDLE_SZ of name_to_handle_at(2)
	r := codec.NewReader(b)
	record := differ.Record{Path: string(r.Bytes(entry.MaxPath))}
	record.Inode.Ino = r.Uvarint(1<<64 - 1)
	record.Handle = string(r.Bytes(handle + 8))
	record.Size = int64(r.Uvarint(entry.MaxSize))
	for _, t := range []*entry.Time{&record.Modified, &record.Changed, &record.Synced} {
		*t = entry.ReadTime(r)
	}
	copy(record.Digest[:], r.Fixed(32))
	parts := r.Uvarint(MaxParts)
	x.last = &record
	if err := r.End(); err != nil || parts == 0 {
		return err
	}
	if parts != uint64(Leaves(record.Size)*DigestSize) {
		return fmt.Errorf("%w: %d bytes of digests for a file of %d", codec.ErrMalformed, parts, record.Size)
	}
	record.Parts = make([]byte, parts)
	_, err = io.ReadFull(x.in, record.Parts)
	return err
}
