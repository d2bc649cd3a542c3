// Package portforward connects to ports of pods through API servers. It trusts neither: received data is limited in size,
// and is read only as fast as the caller takes it.
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

// Limits of the data received through a forwarded port. The SPDY library alone would accept frames of 16 MiB, up to 50 of
// them in advance for each of 5 workers, and headers that decompress to a thousand times their size.
const (
	// maxFrame limits the content of one data frame, in bytes. Container runtimes copy with io.Copy, 32 KiB at once.
	maxFrame = 64 << 10
	// maxControl limits a control frame. The longest one replies to an opened stream, without headers.
	maxControl = 1 << 10
	// maxReplies is the number of such replies: one for the data stream and one for the error stream.
	maxReplies = 2
	// maxAhead is the maximum of content that was read and not yet taken. The frame in progress is added to it.
	maxAhead = 128 << 10
)

// The types of frames that a kubelet sends for a forwarded port (SPDY/3.1, 2.6). It opens no streams.
const (
	frameReply  = 2
	frameReset  = 3
	frameSet    = 4
	framePing   = 6
	frameGoAway = 7
	frameWindow = 9
)

// frames passes the frames of a forwarded port, as long as each could be sent by a kubelet, and only as fast as they are
// taken.
type frames struct {
	net.Conn
	head    []byte // the rest of the current frame's header
	left    int64  // the rest of its content
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

// took records that n bytes of content were taken, which allows further reads.
func (f *frames) took(n int) {
	f.mu.Lock()
	f.ahead -= int64(n)
	f.mu.Unlock()
	f.room.Broadcast()
}

// refusal returns why a frame was refused, or nil.
func (f *frames) refusal() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// next reads the header of a frame once there is room for its content.
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

// judge returns an error if a kubelet would not send such a frame.
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

// refuse closes the connection, because nothing after a refused frame is usable.
func (f *frames) refuse(err error) error {
	err = fmt.Errorf("the forwarded port was broken off: %w", err)
	f.mu.Lock()
	f.err = err
	f.mu.Unlock()
	close(f.refused)
	return errors.Join(err, f.Close())
}

// taken counts the bytes taken from a stream, and returns the refusal as its error.
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
