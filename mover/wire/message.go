package wire

import (
	"encoding/binary"
	"math"

	"github.com/sliceshift/sliceshift/mover/codec"
	"github.com/sliceshift/sliceshift/mover/entry"
)

// Role is which side a peer is.
type Role uint8

// The roles.
const (
	Sender Role = 1 + iota
	Receiver
)

// magic begins the first message, so that what is no mover is told from one.
const magic = "sliceshift-mover"

// Hello is the first message of either side on each connection.
type Hello struct {
	Version uint64
	Role    Role
	// Session is the receiver's: a new process of it has a new one, and the streams of the old end.
	Session [16]byte
	// Device: it moves a block device, not a tree.
	Device bool
	// Connections is how many of them the receiver wants, if the sender makes them.
	Connections uint64
}

// MaxConnections is how many a receiver may want.
const MaxConnections = 64

// Append appends the message.
func (m Hello) Append(b []byte) []byte {
	b = append(b, magic...)
	b = binary.AppendUvarint(b, m.Version)
	b = append(b, byte(m.Role))
	b = append(b, m.Session[:]...)
	return binary.AppendUvarint(codec.AppendBool(b, m.Device), m.Connections)
}

// ReadHello reads a Hello. Of another version only that is known.
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
	return m, r.End()
}

// List asks for all entries in order, from the one after the first After on.
type List struct {
	// Stream tells the lists of a session apart. A new one ends the one before.
	Stream uint64
	After  uint64
	// Digest: with the digests of contents, and the root over all of them.
	Digest bool
	// Settled: nothing changes any more, so that what does is an error. Without it, it is left out.
	Settled bool
	// Known: what is known from an earlier reading need not be read again (verify: Changed).
	Known bool
}

// Append appends the message.
func (m List) Append(b []byte) []byte {
	b = binary.AppendUvarint(b, m.Stream)
	b = binary.AppendUvarint(b, m.After)
	b = codec.AppendBool(b, m.Digest)
	b = codec.AppendBool(b, m.Settled)
	return codec.AppendBool(b, m.Known)
}

// ReadList reads a List.
func ReadList(b []byte) (List, error) {
	r := codec.NewReader(b)
	m := List{Stream: r.Uvarint(math.MaxUint64), After: r.Uvarint(math.MaxUint64), Digest: r.Bool(), Settled: r.Bool(), Known: r.Bool()}
	return m, r.End()
}

// AppendEntries appends the head of a frame of entries, of which the first has this number, counted
// from 0. The entries themselves follow, by entry.Append.
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

// Whole is the Ack of a stream of which the end was received.
const Whole = math.MaxUint64

// AppendAck says how many entries of a stream were received: they need not be kept any longer.
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
	// Root is of a stream with digests.
	Root [32]byte
	// Problem is why it ended before all was told.
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

// Done is the receiver's last message: the sender may go, with what came out.
type Done struct {
	OK bool
	// Text is what the receiver reports, as JSON.
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

// Cut keeps of a text what a message has room for.
func Cut(text string) string { return text[:min(len(text), MaxText)] }
