package wire

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/sliceshift/sliceshift/mover/codec"
	"github.com/sliceshift/sliceshift/mover/entry"
)

// Role is the side of a peer.
type Role uint8

// The roles.
const (
	Sender Role = 1 + iota
	Receiver
)

// magic begins the first message, so that a peer that is not a mover is recognised.
const magic = "sliceshift-mover"

// Hello is the first message of either side on each connection.
type Hello struct {
	Version uint64
	Role    Role
	// Session identifies the receiver's process. With a new one, the streams of the old session end.
	Session [16]byte
	// Device is true if it moves a block device, not a tree.
	Device bool
	// Connections is how many connections the receiver wants, if the sender opens them.
	Connections uint64
	// Reading says where and when the sender reads (differ.Reading); empty if no later reading may rely on that.
	Reading []byte
}

// MaxConnections is how many a receiver may want.
const MaxConnections = 64

// maxReading is the most bytes of a reading.
const maxReading = 8 << 10

// Append appends the message.
func (m Hello) Append(b []byte) []byte {
	b = append(b, magic...)
	b = binary.AppendUvarint(b, m.Version)
	b = append(b, byte(m.Role))
	b = append(b, m.Session[:]...)
	b = binary.AppendUvarint(codec.AppendBool(b, m.Device), m.Connections)
	return codec.AppendBytes(b, m.Reading)
}

// ReadHello reads a Hello. For another version, only the version is set.
func ReadHello(b []byte) (Hello, error) {
	r := codec.NewReader(b)
	if string(r.Fixed(len(magic))) != magic {
		r.Fail("this is no mover")
	}
	m := Hello{Version: r.Uvarint(math.MaxUint64)}
	if r.Err() == nil && m.Version != Version {
		return m, nil
	}
	m.Role = Role(r.Uvarint(uint64(Receiver)))
	copy(m.Session[:], r.Fixed(len(m.Session)))
	m.Device, m.Connections = r.Bool(), r.Uvarint(MaxConnections)
	m.Reading = bytes.Clone(r.Bytes(maxReading))
	return m, r.End()
}

// List requests all entries in order, from the one after the first After on.
type List struct {
	// Stream distinguishes the lists of a session. A new one ends the one before.
	Stream uint64
	After  uint64
	// Digest requests the digests of contents, and the root over all of them.
	Digest bool
	// Settled is true if nothing may change any more, so that a change is an error. Otherwise the entry is left
	// out.
	Settled bool
	// Known is true if content known from an earlier reading need not be read again (verify: Changed).
	Known bool
	// Synced is true if the sender writes its source to the disk first: the change times then are of all writes
	// before (verify: Later).
	Synced bool
}

// Append appends the message.
func (m List) Append(b []byte) []byte {
	b = binary.AppendUvarint(b, m.Stream)
	b = binary.AppendUvarint(b, m.After)
	b = codec.AppendBool(b, m.Digest)
	b = codec.AppendBool(b, m.Settled)
	b = codec.AppendBool(b, m.Known)
	return codec.AppendBool(b, m.Synced)
}

// ReadList reads a List.
func ReadList(b []byte) (List, error) {
	r := codec.NewReader(b)
	m := List{Stream: r.Uvarint(math.MaxUint64), After: r.Uvarint(math.MaxUint64), Digest: r.Bool(), Settled: r.Bool(), Known: r.Bool(), Synced: r.Bool()}
	return m, r.End()
}

// AppendEntries appends the head of a frame of entries, of which the first has this number, counted from 0. The
// entries themselves follow, by entry.Append.
func AppendEntries(b []byte, first uint64) []byte { return binary.AppendUvarint(b, first) }

// ReadEntries reads a frame of entries.
func ReadEntries(b []byte) (first uint64, entries []entry.Entry, err error) {
	r := codec.NewReader(b)
	first = r.Uvarint(math.MaxUint64)
	for r.Err() == nil && r.Len() > 0 {
		e := entry.Read(r)
		if r.Err() == nil {
			entries = append(entries, e)
		}
	}
	return first, entries, r.End()
}

// Whole is the Ack of a stream whose end was received.
const Whole = math.MaxUint64

// AppendAck appends how many entries of a stream were received: they need not be kept any longer.
func AppendAck(b []byte, count uint64) []byte { return binary.AppendUvarint(b, count) }

// ReadAck reads an Ack.
func ReadAck(b []byte) (uint64, error) {
	r := codec.NewReader(b)
	count := r.Uvarint(math.MaxUint64)
	return count, r.End()
}

// ListEnd ends a stream of entries.
type ListEnd struct {
	entry.Totals
	// Root is that of a stream with digests.
	Root [32]byte
	// Problem is why it ended early.
	Problem string
}

// Append appends the message.
func (m ListEnd) Append(b []byte) []byte {
	for _, n := range []uint64{m.Entries, m.Files, m.Bytes, m.Holes, m.Unsettled, m.Read, m.Trusted, m.Known, m.Young} {
		b = binary.AppendUvarint(b, n)
	}
	b = append(b, m.Root[:]...)
	return codec.AppendBytes(b, Cut(m.Problem))
}

// ReadListEnd reads a ListEnd.
func ReadListEnd(b []byte) (ListEnd, error) {
	r := codec.NewReader(b)
	var m ListEnd
	for _, n := range []*uint64{&m.Entries, &m.Files, &m.Bytes, &m.Holes, &m.Unsettled, &m.Read, &m.Trusted, &m.Known, &m.Young} {
		*n = r.Uvarint(math.MaxUint64)
	}
	copy(m.Root[:], r.Fixed(len(m.Root)))
	m.Problem = string(r.Bytes(MaxText))
	return m, r.End()
}

// Done is the receiver's last message: the result, after which the sender may exit.
type Done struct {
	OK bool
	// Text is the receiver's report, as JSON.
	Text string
}

// Append appends the message.
func (m Done) Append(b []byte) []byte {
	return codec.AppendBytes(codec.AppendBool(b, m.OK), Cut(m.Text))
}

// ReadDone reads a Done.
func ReadDone(b []byte) (Done, error) {
	r := codec.NewReader(b)
	m := Done{OK: r.Bool(), Text: string(r.Bytes(MaxText))}
	return m, r.End()
}

// Cut shortens a text to the size that a message has room for.
func Cut(text string) string { return text[:min(len(text), MaxText)] }
