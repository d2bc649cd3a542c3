package portforward

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

const (
	// maxFault bounds what a kubelet says about a connection, in bytes.
	maxFault = 4 << 10
	// faultWithin is how long what it says may come after the end of the connection.
	faultWithin = time.Second
	// closeWithin is how long the other end may take to be told of one.
	closeWithin = time.Second
)

// Conn is a connection to a port of a pod.
type Conn struct {
	net.Conn
	data  httpstream.Stream
	fault chan string
}

// Fault is what the kubelet has said about the connection, once it has ended; empty: nothing.
func (c *Conn) Fault(ctx context.Context) string {
	select {
	case said := <-c.fault:
		return said
	case <-ctx.Done():
		return ""
	}
}

// CloseWrite ends what is written to the port, and nothing of what comes from there.
func (c *Conn) CloseWrite() error { return c.data.Close() }

// Open connects to a port of a pod, on the way that the API server has answered a request with: no more than atMost bytes come
// back on it, with what they are wrapped in. The connection ends with the context.
func Open(ctx context.Context, way io.ReadWriteCloser, port int32, atMost int64) (*Conn, error) {
	in := newFrames(&pipe{Reader: io.LimitReader(way, atMost), Writer: way, Closer: way})
	context.AfterFunc(ctx, func() { in.Conn.Close() })
	streams, err := spdy.NewClientConnection(in)
	if err != nil {
		return nil, err
	}
	type opened struct {
		conn *Conn
		err  error
	}
	// The streams are waited for by a clock of their own, longer than the context may last.
	done := make(chan opened, 1)
	go func() {
		conn, err := forward(streams, in, port)
		done <- opened{conn, err}
	}()
	select {
	case got := <-done:
		if got.err != nil {
			_ = tunnel{streams, in}.Close()
		}
		return got.conn, got.err
	case <-in.refused:
		in.Conn.Close()
		return nil, in.refusal()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// forward opens the two streams of a port: what is said about it, and what goes through it.
func forward(streams httpstream.Connection, in *frames, port int32) (*Conn, error) {
	header := http.Header{}
	header.Set(corev1.StreamType, corev1.StreamTypeError)
	header.Set(corev1.PortHeader, strconv.Itoa(int(port)))
	header.Set(corev1.PortForwardRequestIDHeader, "0")
	faults, err := streams.CreateStream(header)
	if err != nil {
		return nil, err
	}
	faults.Close() // nothing is written to it
	header.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := streams.CreateStream(header)
	if err != nil {
		return nil, err
	}
	through := &pipe{Reader: taken{data, in}, Writer: data, Closer: tunnel{streams, in}, heard: make(chan struct{})}
	conn := &Conn{Conn: through, data: data, fault: make(chan string, 1)}
	go func() {
		defer close(through.heard)
		said, err := io.ReadAll(io.LimitReader(taken{faults, in}, maxFault))
		if err != nil && !errors.Is(err, io.EOF) {
			said = nil
		}
		conn.fault <- string(said)
	}()
	return conn, nil
}

// tunnel closes the streams of a connection, and what they go through.
type tunnel struct {
	streams httpstream.Connection
	through io.Closer
}

// Close implements io.Closer. To end a stream something is written, which waits for what is being written now: for ever, where
// the other end reads nothing.
func (t tunnel) Close() error {
	late := time.AfterFunc(closeWithin, func() { _ = t.through.Close() })
	defer late.Stop()
	return t.streams.Close()
}

// pipe is a connection of which only the two ways are known.
type pipe struct {
	io.Reader
	io.Writer
	io.Closer
	// ended is true once the other end has ended it, and heard is closed when nothing is said about it any more.
	ended atomic.Bool
	heard chan struct{}
}

// Read implements net.Conn.
func (p *pipe) Read(data []byte) (n int, err error) {
	if n, err = p.Reader.Read(data); err != nil {
		p.ended.Store(true)
	}
	return n, err
}

// Close implements net.Conn. What is said about a connection that the other end has ended would be lost with it.
func (p *pipe) Close() error {
	if p.ended.Load() {
		select {
		case <-p.heard:
		case <-time.After(faultWithin):
		}
	}
	return p.Closer.Close()
}

// LocalAddr, RemoteAddr and the deadlines implement net.Conn: a context bounds it.
func (*pipe) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (*pipe) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (*pipe) SetDeadline(time.Time) error      { return nil }
func (*pipe) SetReadDeadline(time.Time) error  { return nil }
func (*pipe) SetWriteDeadline(time.Time) error { return nil }
