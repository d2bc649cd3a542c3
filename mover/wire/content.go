package wire

import (
	"encoding/binary"
	"fmt"

	"github.com/sliceshift/sliceshift/mover/codec"
	"github.com/sliceshift/sliceshift/mover/entry"
)

// Status is the result for one file.
type Status uint8

// The states. Changed means that the file is not, or no longer, as it was listed.
const (
	OK Status = iota
	Vanished
	Changed
	Failed
)

// Wanted names a file as it was listed.
type Wanted struct {
	Path     string
	Size     int64
	Modified entry.Time
}

func (m Wanted) append(b []byte) []byte {
	b = codec.AppendBytes(b, m.Path)
	b = binary.AppendUvarint(b, uint64(m.Size))
	b = binary.AppendVarint(b, m.Modified.Sec)
	return binary.AppendUvarint(b, uint64(m.Modified.Nsec))
}

func readWanted(r *codec.Reader) Wanted {
	m := Wanted{Path: string(r.Bytes(entry.MaxPath)), Size: int64(r.Uvarint(entry.MaxSize))}
	m.Modified = entry.Time{Sec: r.Varint(), Nsec: uint32(r.Uvarint(999_999_999))}
	if !entry.Valid(m.Path) {
		r.Fail("the path %.200q leaves the root, or is none", m.Path)
	}
	return m
}

// AppendFiles appends a request for the whole content of several small files.
func AppendFiles(b []byte, files []Wanted) []byte {
	b = binary.AppendUvarint(b, uint64(len(files)))
	for _, f := range files {
		b = f.append(b)
	}
	return b
}

// ReadFiles reads a request of AppendFiles.
func ReadFiles(b []byte) ([]Wanted, error) {
	r := codec.NewReader(b)
	files := make([]Wanted, 0, MaxBatch)
	sum := int64(0)
	for range r.Uvarint(MaxBatch) {
		f := readWanted(r)
		if f.Size > SmallFile {
			r.Fail("a file of %d bytes among small ones", f.Size)
		}
		if sum += f.Size; sum > MaxBatchBytes {
			r.Fail("small files of more than %d bytes", MaxBatchBytes)
		}
		if r.Err() != nil {
			return nil, r.Err()
		}
		files = append(files, f)
	}
	return files, r.End()
}

// Content is one of the files of a batch. Several of them follow one another in a frame.
type Content struct {
	// Index is its place in the batch.
	Index  uint64
	Status Status
	Data   []byte
	// Problem is why it Failed.
	Problem string
}

// Append appends it.
func (m Content) Append(b []byte) []byte {
	b = binary.AppendUvarint(b, m.Index)
	b = append(b, byte(m.Status))
	b = codec.AppendBytes(b, m.Data)
	return codec.AppendBytes(b, Cut(m.Problem))
}

// ReadContents reads a frame of files; their data is part of b.
func ReadContents(b []byte) ([]Content, error) {
	r := codec.NewReader(b)
	var all []Content
	for r.Err() == nil && r.Len() > 0 {
		m := Content{Index: r.Uvarint(MaxBatch - 1), Status: Status(r.Uvarint(uint64(Failed))), Data: r.Bytes(SmallFile), Problem: string(r.Bytes(MaxText))}
		if r.Err() == nil {
			all = append(all, m)
		}
	}
	return all, r.End()
}

// Range requests a part of a file. If the receiver has data there, the request has a digest of SumSize bytes
// for each Block, and only blocks that differ are sent.
type Range struct {
	Wanted
	Offset, Length int64
	Sums           []byte
}

// Append appends the message.
func (m Range) Append(b []byte) []byte {
	b = m.append(b)
	b = binary.AppendUvarint(b, uint64(m.Offset))
	b = binary.AppendUvarint(b, uint64(m.Length))
	return codec.AppendBytes(b, m.Sums)
}

// ReadRange reads a Range; its sums are part of b.
func ReadRange(b []byte) (Range, error) {
	r := codec.NewReader(b)
	m := Range{Wanted: readWanted(r), Offset: int64(r.Uvarint(entry.MaxSize)), Length: int64(r.Uvarint(MaxRange))}
	m.Sums = r.Bytes(MaxRange / Block * SumSize)
	if m.Offset > m.Size || m.Length > m.Size-m.Offset {
		r.Fail("a range of %d bytes at %d of a file of %d", m.Length, m.Offset, m.Size)
	}
	if blocks := (m.Length + Block - 1) / Block; len(m.Sums) > 0 && int64(len(m.Sums)) != blocks*SumSize {
		r.Fail("%d bytes of digests for %d blocks", len(m.Sums), blocks)
	}
	return m, r.End()
}

// AppendData appends the head of a frame with content; the bytes follow.
func AppendData(b []byte, offset int64) []byte { return binary.AppendUvarint(b, uint64(offset)) }

// ReadData reads a frame with content; the bytes are part of b.
func ReadData(b []byte) (offset int64, data []byte, err error) {
	r := codec.NewReader(b)
	offset = int64(r.Uvarint(entry.MaxSize))
	data = r.Fixed(r.Len())
	if len(data) > MaxData {
		r.Fail("%d bytes of content in a frame", len(data))
	}
	return offset, data, r.Err()
}

// End ends the answer to a Range, and to a Map without an answer.
type End struct {
	Status  Status
	Problem string
}

// Append appends the message.
func (m End) Append(b []byte) []byte {
	return codec.AppendBytes(append(b, byte(m.Status)), Cut(m.Problem))
}

// ReadEnd reads an End.
func ReadEnd(b []byte) (End, error) {
	r := codec.NewReader(b)
	m := End{Status: Status(r.Uvarint(uint64(Failed))), Problem: string(r.Bytes(MaxText))}
	return m, r.End()
}

// Map requests the extents of a file that hold data, from an offset on.
type Map struct {
	Wanted
	Offset int64
}

// Append appends the message.
func (m Map) Append(b []byte) []byte {
	return binary.AppendUvarint(m.append(b), uint64(m.Offset))
}

// ReadMap reads a Map.
func ReadMap(b []byte) (Map, error) {
	r := codec.NewReader(b)
	m := Map{Wanted: readWanted(r), Offset: int64(r.Uvarint(entry.MaxSize))}
	return m, r.End()
}

// Extent is a part of a file that is not a hole.
type Extent struct{ Offset, Length int64 }

// Extents answers a Map.
type Extents struct {
	List []Extent
	// More is true if there are more extents after the last one.
	More bool
}

// Append appends the message.
func (m Extents) Append(b []byte) []byte {
	b = codec.AppendBool(b, m.More)
	b = binary.AppendUvarint(b, uint64(len(m.List)))
	for _, x := range m.List {
		b = binary.AppendUvarint(b, uint64(x.Offset))
		b = binary.AppendUvarint(b, uint64(x.Length))
	}
	return b
}

// ReadExtents reads an Extents: sorted and disjoint, within a file of size bytes.
func ReadExtents(b []byte, size int64) (Extents, error) {
	r := codec.NewReader(b)
	m := Extents{More: r.Bool()}
	end := int64(0)
	for range r.Uvarint(MaxExtents) {
		x := Extent{Offset: int64(r.Uvarint(entry.MaxSize)), Length: int64(r.Uvarint(entry.MaxSize))}
		if x.Offset < end || x.Length == 0 || x.Offset > size || x.Length > size-x.Offset {
			r.Fail("an extent of %d bytes at %d of a file of %d", x.Length, x.Offset, size)
		}
		if r.Err() != nil {
			return Extents{}, r.Err()
		}
		end = x.Offset + x.Length
		m.List = append(m.List, x)
	}
	if m.More && len(m.List) == 0 {
		r.Fail("no extent, and more of them")
	}
	return m, r.End()
}

// Unexpected returns the error of a frame that does not answer the request.
func Unexpected(f Frame) error {
	if f.Type == TypeError {
		r := codec.NewReader(f.Payload)
		return fmt.Errorf("the peer says: %q", string(r.Bytes(MaxText)))
	}
	return fmt.Errorf("%w: a frame of type %d, which is not what was asked for", codec.ErrMalformed, f.Type)
}
