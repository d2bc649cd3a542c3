package transfer

import (
	"context"
	"errors"
	"net"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// pipes connects a sender and a receiver in one process, without keys.
type pipes struct {
	ready chan net.Conn
	wrap  func(net.Conn) net.Conn
	made  atomic.Int64
}

func newPipes() *pipes { return &pipes{ready: make(chan net.Conn)} }

// Connect returns the receiver's end.
func (p *pipes) Connect(ctx context.Context) (net.Conn, error) {
	one, two, err := socketPair()
	if err != nil {
		return nil, err
	}
	select {
	case p.ready <- two:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	p.made.Add(1)
	if p.wrap != nil {
		one = p.wrap(one)
	}
	return one, nil
}

// socketPair returns two ends that buffer some data, as a network does.
func socketPair() (one, two net.Conn, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	ends := [2]net.Conn{}
	for i, fd := range fds {
		file := os.NewFile(uintptr(fd), "socket")
		c, err := net.FileConn(file)
		if err = errors.Join(err, file.Close()); err != nil {
			return nil, nil, err
		}
		ends[i] = c
	}
	return ends[0], ends[1], nil
}

// accepts is the sender's end.
type accepts struct{ *pipes }

func (a accepts) Connect(ctx context.Context) (net.Conn, error) {
	select {
	case c := <-a.ready:
		return c, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

var errCut = errors.New("the link is cut")

// cut is a connection that breaks after some bytes, counted over both directions.
type cut struct {
	net.Conn
	left *atomic.Int64
}

func (c cut) Read(p []byte) (int, error) {
	left := c.left.Load()
	if left <= 0 {
		_ = c.Close()
		return 0, errCut
	}
	n, err := c.Conn.Read(p[:min(int64(len(p)), left)])
	c.left.Add(int64(-n))
	return n, err
}

func (c cut) Write(p []byte) (int, error) {
	left := c.left.Load()
	if left < int64(len(p)) {
		n, _ := c.Conn.Write(p[:max(left, 0)])
		c.left.Store(0)
		_ = c.Close()
		return n, errCut
	}
	n, err := c.Conn.Write(p)
	c.left.Add(int64(-n))
	return n, err
}
