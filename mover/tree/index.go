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

// An index is a file with what is known of the files of a tree, in their order:
//
//	magic, then for each file a length (4 bytes) and a record, then a length of 0 and a digest of it all.
//
// It is never written in place, and an index that is cut or damaged is none.
const indexMagic = "sliceshift-index-1\n"

// maxRecord bounds a record of an index, in bytes.
const maxRecord = entry.MaxPath + 256

// IndexWriter writes an index.
type IndexWriter struct {
	path   string
	file   *os.File
	out    *bufio.Writer
	digest *blake3.Hasher
	buffer []byte
}

// CreateIndex begins an index beside the one that it is to replace.
func CreateIndex(path string) (*IndexWriter, error) {
	file, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	w := &IndexWriter{path: path, file: file, digest: blake3.New()}
	w.out = bufio.NewWriterSize(io.MultiWriter(file, w.digest), 64<<10)
	_, err = w.out.WriteString(indexMagic)
	return w, err
}

// Add adds a file, in the order of paths.
func (w *IndexWriter) Add(r differ.Record) error {
	w.buffer = append(w.buffer[:0], 0, 0, 0, 0)
	b := codec.AppendBytes(w.buffer, r.Path)
	b = binary.AppendUvarint(b, r.Inode.Ino)
	b = binary.AppendUvarint(b, uint64(r.Size))
	for _, t := range []entry.Time{r.Modified, r.Changed, r.Synced} {
		b = binary.AppendUvarint(binary.AppendVarint(b, t.Sec), uint64(t.Nsec))
	}
	b = append(b, r.Digest[:]...)
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	w.buffer = b
	_, err := w.out.Write(b)
	return err
}

// Commit ends the index and puts it into its place.
func (w *IndexWriter) Commit() error {
	_, err := w.out.Write(make([]byte, 4))
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
	if err = errors.Join(err, w.file.Close()); err != nil {
		return fmt.Errorf("writing the index %s: %w", w.path, err)
	}
	return os.Rename(w.path+".new", w.path)
}

// Discard ends the index and forgets it.
func (w *IndexWriter) Discard() { _ = errors.Join(w.file.Close(), os.Remove(w.path+".new")) }

// Index reads an index.
type Index struct {
	file   *os.File
	in     *bufio.Reader
	last   *differ.Record
	ended  bool
	buffer []byte
}

// ErrNoIndex is that there is none, or that it is damaged: then nothing is known.
var ErrNoIndex = errors.New("there is no whole index")

// OpenIndex opens an index, once its digest was found right.
func OpenIndex(path string) (*Index, error) {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, ErrNoIndex
	}
	if err != nil {
		return nil, err
	}
	if err := whole(file); err != nil {
		return nil, errors.Join(ErrNoIndex, err, file.Close())
	}
	if _, err := file.Seek(int64(len(indexMagic)), io.SeekStart); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &Index{file: file, in: bufio.NewReaderSize(file, 64<<10)}, nil
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

// Close closes it.
func (x *Index) Close() error { return x.file.Close() }

// Find is the record of a path, or nil. Paths are asked for in their order.
func (x *Index) Find(path string) (*differ.Record, error) {
	for !x.ended && (x.last == nil || entry.Compare(x.last.Path, path) < 0) {
		if err := x.read(); err != nil {
			return nil, fmt.Errorf("reading the index %s: %w", x.file.Name(), err)
		}
	}
	if x.ended || x.last.Path != path {
		return nil, nil
	}
	return x.last, nil
}

func (x *Index) read() error {
	var length [4]byte
	if _, err := io.ReadFull(x.in, length[:]); err != nil {
		return err
	}
	n := int(binary.BigEndian.Uint32(length[:]))
	if n == 0 {
		x.ended = true
		return nil
	}
	if n > maxRecord {
		return fmt.Errorf("%w: a record of %d bytes", codec.ErrMalformed, n)
	}
	if cap(x.buffer) < n {
		x.buffer = make([]byte, maxRecord)
	}
	if _, err := io.ReadFull(x.in, x.buffer[:n]); err != nil {
		return err
	}
	r := codec.NewReader(x.buffer[:n])
	record := differ.Record{Path: string(r.Bytes(entry.MaxPath))}
	record.Inode.Ino = r.Uvarint(1<<64 - 1)
	record.Size = int64(r.Uvarint(entry.MaxSize))
	for _, t := range []*entry.Time{&record.Modified, &record.Changed, &record.Synced} {
		*t = entry.Time{Sec: r.Varint(), Nsec: uint32(r.Uvarint(999_999_999))}
	}
	copy(record.Digest[:], r.Fixed(32))
	x.last = &record
	return r.End()
}
