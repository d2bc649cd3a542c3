// Package portforward connects to ports of pods through API servers, neither of which is trusted: what comes back is bounded,
// and no faster than it is taken.
package portforward

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// What may come back through a forwarded port. The library that reads it would take frames of 16 MiB, up to 50 of them ahead for
// each of 5 workers, and headers that unpack to a thousand times what they are.
const (
	// maxFrame bounds the content of one frame, in bytes. Container runtimes copy with io.Copy, 32 KiB at once.
	maxFrame = 64 << 10
	// maxControl bounds what is no content: the longest of it answers a stream that was opened, with no headers.
	maxControl = 1 << 10
	// maxReplies is how many such answers there are: one for what goes through the port, one for what is said about it.
	maxReplies = 2
	// maxAhead is how much content may have been read that nobody has taken; the frame that is begun then comes in addition.
	maxAhead = 128 << 10
)

// The types of frames that a kubelet sends which is asked for a port (SPDY/3.1, 2.6). It opens no streams.
const (
	frameReply  = 2
	frameReset  = 3
	frameSet    = 4
	framePing   = 6
	frameGoAway = 7
	frameWindow = 9
)

// frames passes on what comes from a forwarded port, one frame after the other, for as long as each is one that a kubelet
// would send, and no faster than it is taken.
type frames struct {
	net.Conn
	head    []byte // of the frame that is passed on, what is left of it
	left    int64  // of its content
	replies int

	mu      sync.Mutex
	room    sync.Cond
	ahead   int64
	closed  bool
	err     error
	refused chan struct{}
}

func newFrames(of net.Conn) *frames {
	f := &frames{Conn: of, refused: make(chan struct{})}
	f.room.L = &f.mu
	return f
}

// Read implements net.Conn. One goroutine reads.
func (f *frames) Read(data []byte) (n int, err error) {
	if len(f.head) == 0 && f.left == 0 {
		if err := f.next(); err != nil {
			return 0, err
		}
	}
	if len(f.head) > 0 {
		n = copy(data, f.head)
		f.head = f.head[n:]
		return n, nil
	}
	n, err = f.Conn.Read(data[:min(int64(len(data)), f.left)])
	f.left -= int64(n)
	return n, err
}

// Close implements net.Conn.
func (f *frames) Close() error {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.room.Broadcast()
	return f.Conn.Close()
}

// took says that bytes of content were taken, which makes room for others.
func (f *frames) took(n int) {
	f.mu.Lock()
	f.ahead -= int64(n)
	f.mu.Unlock()
	f.room.Broadcast()
}

// refusal is why a frame was not passed on; nil: none was.
func (f *frames) refusal() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// next reads the head of a frame once there is room for it.
func (f *frames) next() error {
	if err := f.wait(); err != nil {
		return err
	}
	head := make([]byte, 8)
	if _, err := io.ReadFull(f.Conn, head); err != nil {
		return err
	}
	first, second := binary.BigEndian.Uint32(head), binary.BigEndian.Uint32(head[4:])
	const control, length = 1 << 31, 1<<24 - 1
	size := int64(second & length)
	if err := f.judge(first&control != 0, first&0xffff, size); err != nil {
		return f.refuse(err)
	}
	if first&control == 0 {
		f.took(-int(size))
	}
	f.head, f.left = head, size
	return nil
}

func (f *frames) wait() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.ahead > maxAhead && !f.closed {
		f.room.Wait()
	}
	if f.closed {
		return cmp.Or(f.err, net.ErrClosed)
	}
	return nil
}

// judge says why a frame is none that a kubelet would send.
func (f *frames) judge(control bool, kind uint32, size int64) error {
	if !control {
		return longer(size, maxFrame)
	}
	switch kind {
	case frameReply:
		if f.replies++; f.replies > maxReplies {
			return fmt.Errorf("more than %d streams are answered, and no others were opened", maxReplies)
		}
	case frameReset, frameSet, framePing, frameGoAway, frameWindow:
	default:
		return fmt.Errorf("a frame of type %d is none that a kubelet sends", kind)
	}
	return longer(size, maxControl)
}

func longer(size, most int64) error {
	if size <= most {
		return nil
	}
	return fmt.Errorf("a frame of %d bytes is longer than the %d that a kubelet may send", size, most)
}

// refuse ends the connection: nothing that comes after such a frame is worth reading.
func (f *frames) refuse(err error) error {
	err = fmt.Errorf("the forwarded port was broken off: %w", err)
	f.mu.Lock()
	f.err = err
	f.mu.Unlock()
	close(f.refused)
	return errors.Join(err, f.Close())
}

// taken counts what is taken of a stream, and ends it with why it was broken off.
type taken struct {
	io.Reader
	of *frames
}

// Read implements io.Reader.
func (t taken) Read(data []byte) (n int, err error) {
	n, err = t.Reader.Read(data)
	t.of.took(n)
	if refused := t.of.refusal(); err != nil && refused != nil {
		err = refused
	}
	return n, err
}
