// Package wire is the protocol between a sender and a receiver: frames, and the messages in them.
//
// The receiver sends requests and the sender answers, on any number of connections; each answers its requests
// in order. A request leaves no state at the sender except for a stream of entries. So requests of a broken
// connection are repeated on the next one.
//
//	frame  = length (4 bytes, big endian, of type, flags and payload) type (1) flags (1) payload
//	flags  = 1: the payload is a zstd frame
//
// Everything that a peer sends has a limit here. Data beyond it are refused before memory is allocated.
package wire

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/sliceshift/sliceshift/mover/codec"
)

// Version is the protocol version, which must be equal on both sides. Any change of a message changes it.
const Version = 4

// Limits.
const (
	// MaxPayload is the most that a frame holds, in bytes, packed or not.
	MaxPayload = 1 << 20
	// MaxData is how much content one frame holds.
	MaxData = 256 << 10
	// MaxBatch is how many files are requested at once, and MaxBatchBytes is their total size.
	MaxBatch      = 128
	MaxBatchBytes = 1 << 20
	// SmallFile is the most bytes of a file that is requested together with others.
	SmallFile = 128 << 10
	// Block is the unit in which content is compared, in bytes; a page of most databases, or two.
	Block = 16 << 10
	// SumSize is how many bytes of a block's digest are sent. A collision is only possible by intent, and the
	// seal would find it.
	SumSize = 16
	// MaxRange is the most bytes of a file that are requested at once.
	MaxRange = 8 << 20
	// Part is the unit in which large contents are compared first, in bytes: those that a digest is kept of.
	// DigestSize is the size of that digest, and MaxParts how many are sent at once.
	Part       = 1 << 20
	DigestSize = 32
	MaxParts   = 32
	// MaxExtents is how many extents of a file are sent at once.
	MaxExtents = 4096
	// MaxText is the most bytes of an error.
	MaxText = 2048
	header  = 6
)

// Type is the content type of a frame.
type Type uint8

// The types; docs/engineering/mover.md lists their senders.
const (
	TypeHello Type = 1 + iota
	TypeList
	TypeEntries
	TypeAck
	TypeListEnd
	TypeFiles
	TypeFile
	TypeRange
	TypeData
	TypeEnd
	TypeMap
	TypeExtents
	TypeAlive
	TypeDone
	TypeError
	TypeKnown
	TypeRecord
	TypeParts
	TypeDiffer
	lastType = TypeDiffer
)

// Packed is the flag of a payload that is a zstd frame.
const Packed = 1

// Frame is one frame of the protocol.
type Frame struct {
	Type    Type
	Flags   byte
	Payload []byte
}

// WriteFrame writes a frame, with one call of Write for its head.
func WriteFrame(w io.Writer, f Frame) error {
	if len(f.Payload) > MaxPayload {
		return fmt.Errorf("a frame of %d bytes is more than the protocol allows (%d)", len(f.Payload), MaxPayload)
	}
	var head [header]byte
	binary.BigEndian.PutUint32(head[:], uint32(len(f.Payload)+2))
	head[4], head[5] = byte(f.Type), f.Flags
	if _, err := w.Write(head[:]); err != nil {
		return err
	}
	_, err := w.Write(f.Payload)
	return err
}

// ReadFrame reads a frame into buffer, which grows if it must. The payload is valid until the next call with
// that buffer.
func ReadFrame(r io.Reader, buffer []byte) (Frame, []byte, error) {
	var head [header]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return Frame{}, buffer, err
	}
	length := binary.BigEndian.Uint32(head[:])
	if length < 2 || length > MaxPayload+2 {
		return Frame{}, buffer, fmt.Errorf("%w: a frame of %d bytes", codec.ErrMalformed, length)
	}
	f := Frame{Type: Type(head[4]), Flags: head[5]}
	if f.Type == 0 || f.Type > lastType || f.Flags > Packed {
		return Frame{}, buffer, fmt.Errorf("%w: a frame of type %d with flags %d", codec.ErrMalformed, f.Type, f.Flags)
	}
	n := int(length) - 2
	if cap(buffer) < n {
		buffer = make([]byte, n)
	}
	f.Payload = buffer[:n]
	_, err := io.ReadFull(r, f.Payload)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return f, buffer, err
}
