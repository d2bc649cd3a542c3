package wire

import (
	"encoding/binary"

	"github.com/sliceshift/sliceshift/mover/codec"
	"github.com/sliceshift/sliceshift/mover/entry"
)

// Parts asks which parts of a file differ from those that the receiver has, by the digests that it has kept of them.
type Parts struct {
	Wanted
	// Offset is where the first part begins: a multiple of Part.
	Offset int64
	// Sums are the digests of the parts from there on.
	Sums []byte
}

// Count returns how many parts it asks for.
func (m Parts) Count() int64 { return int64(len(m.Sums) / DigestSize) }

// End returns where the last part ends.
func (m Parts) End() int64 { return min(m.Offset+m.Count()*Part, m.Size) }

// Append appends the message.
func (m Parts) Append(b []byte) []byte {
	return codec.AppendBytes(binary.AppendUvarint(m.append(b), uint64(m.Offset)), m.Sums)
}

// ReadParts reads a Parts; its sums are part of b.
func ReadParts(b []byte) (Parts, error) {
	r := codec.NewReader(b)
	m := Parts{Wanted: readWanted(r), Offset: int64(r.Uvarint(entry.MaxSize)), Sums: r.Bytes(MaxParts * DigestSize)}
	if m.Offset%Part != 0 || len(m.Sums) == 0 || len(m.Sums)%DigestSize != 0 {
		r.Fail("%d bytes of digests of parts at %d", len(m.Sums), m.Offset)
	}
	if m.Offset >= m.Size || m.Count()-1 > (m.Size-1-m.Offset)/Part {
		r.Fail("%d parts at %d of a file of %d", m.Count(), m.Offset, m.Size)
	}
	return m, r.End()
}

// Differ answers a Parts.
type Differ struct {
	// Status is Changed if the file has changed since it was listed.
	Status Status
	// Parts has one bit for each part, the lowest first: 1 if it differs.
	Parts []byte
}

// Differs reports whether a part differs.
func (m Differ) Differs(part int64) bool { return m.Parts[part/8]>>(part%8)&1 == 1 }

// Append appends the message.
func (m Differ) Append(b []byte) []byte { return codec.AppendBytes(append(b, byte(m.Status)), m.Parts) }

// ReadDiffer reads a Differ about a number of parts.
func ReadDiffer(b []byte, parts int64) (Differ, error) {
	r := codec.NewReader(b)
	m := Differ{Status: Status(r.Uvarint(uint64(Changed))), Parts: r.Bytes(MaxParts / 8)}
	if int64(len(m.Parts)) != (parts+7)/8 {
		r.Fail("%d bytes about %d parts", len(m.Parts), parts)
	}
	return m, r.End()
}
