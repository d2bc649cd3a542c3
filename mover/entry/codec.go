package entry

import (
	"encoding/binary"
	"math"

	"github.com/sliceshift/sliceshift/mover/codec"
)

// Append appends all fields of an entry, as it is sent and stored.
func Append(b []byte, e *Entry) []byte {
	b = codec.AppendBytes(b, e.Path)
	b = append(b, byte(e.Kind))
	b = appendKept(b, e)
	b = binary.AppendUvarint(b, e.Inode.Dev)
	b = binary.AppendUvarint(b, e.Inode.Ino)
	b = binary.AppendUvarint(b, e.Names)
	b = e.Changed.Append(b)
	b = binary.AppendUvarint(b, uint64(e.Allocated))
	return append(b, e.Digest[:]...)
}

// AppendRow appends the kept fields of an entry, which a seal digests. A folder's size depends on its file
// system and is left out. A hard link has only its target; its file has the rest.
func AppendRow(b []byte, e *Entry) []byte {
	b = codec.AppendBytes(b, e.Path)
	b = append(b, byte(e.Kind))
	if e.Kind == Link {
		return codec.AppendBytes(b, e.Target)
	}
	b = appendKept(b, e)
	if e.Kind.HasContent() {
		b = append(b, e.Digest[:]...)
	}
	return b
}

func appendKept(b []byte, e *Entry) []byte {
	size := e.Size
	if !e.Kind.HasContent() {
		size = 0
	}
	b = binary.AppendUvarint(b, uint64(size))
	b = binary.AppendUvarint(b, uint64(e.Mode))
	b = binary.AppendUvarint(b, uint64(e.UID))
	b = binary.AppendUvarint(b, uint64(e.GID))
	b = e.Modified.Append(b)
	b = binary.AppendUvarint(b, e.Device)
	b = codec.AppendBytes(b, e.Target)
	b = binary.AppendUvarint(b, uint64(len(e.Xattrs)))
	for _, x := range e.Xattrs {
		b = codec.AppendBytes(b, x.Name)
		b = codec.AppendBytes(b, x.Value)
	}
	return b
}

// Append appends the time.
func (t Time) Append(b []byte) []byte {
	return binary.AppendUvarint(binary.AppendVarint(b, t.Sec), uint64(t.Nsec))
}

// Read reads an entry, and refuses values that no file system holds.
func Read(r *codec.Reader) Entry {
	e := Entry{Path: string(r.Bytes(MaxPath))}
	if !Valid(e.Path) {
		r.Fail("the path %.200q leaves the root, or is none", e.Path)
	}
	e.Kind = Kind(r.Uvarint(uint64(Device)))
	if e.Kind == 0 {
		r.Fail("an entry of no kind")
	}
	e.Size = int64(r.Uvarint(MaxSize))
	e.Mode = uint32(r.Uvarint(0o7777))
	e.UID = uint32(r.Uvarint(math.MaxUint32))
	e.GID = uint32(r.Uvarint(math.MaxUint32))
	e.Modified = ReadTime(r)
	e.Device = r.Uvarint(math.MaxUint64)
	e.Target = string(r.Bytes(MaxPath))
	if e.Kind == Link && (e.Target == "" || !Valid(e.Target) || Compare(e.Target, e.Path) >= 0) {
		r.Fail("a hard link to %.200q, which is not before it", e.Target)
	}
	e.Xattrs = readXattrs(r)
	e.Inode = ID{Dev: r.Uvarint(math.MaxUint64), Ino: r.Uvarint(math.MaxUint64)}
	e.Names = r.Uvarint(math.MaxUint64)
	e.Changed = ReadTime(r)
	e.Allocated = int64(r.Uvarint(MaxSize))
	copy(e.Digest[:], r.Fixed(len(e.Digest)))
	return e
}

// ReadTime reads a time.
func ReadTime(r *codec.Reader) Time {
	return Time{Sec: r.Varint(), Nsec: uint32(r.Uvarint(999_999_999))}
}

func readXattrs(r *codec.Reader) []Xattr {
	const most = MaxMeta / 4 // as many as there is room for
	n := r.Uvarint(most)
	var xattrs []Xattr
	size := 0
	for range n {
		x := Xattr{Name: string(r.Bytes(MaxName)), Value: append([]byte{}, r.Bytes(MaxXattr)...)}
		if size += len(x.Name) + len(x.Value); size > MaxMeta {
			r.Fail("extended attributes of more than %d bytes", MaxMeta)
		}
		if r.Err() == nil && !Kept(x.Name) {
			r.Fail("the extended attribute %.200q, which movers do not carry", x.Name)
		}
		if last := len(xattrs) - 1; last >= 0 && xattrs[last].Name >= x.Name {
			r.Fail("extended attributes that are not sorted")
		}
		if r.Err() != nil {
			return nil
		}
		xattrs = append(xattrs, x)
	}
	return xattrs
}
