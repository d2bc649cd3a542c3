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
	// maxFault limits the kubelet's error message about a connection, in bytes.
	maxFault = 4 << 10
	// faultWithin is the maximum time between the end of the connection and this message.
	faultWithin = time.Second
	// closeWithin is the maximum time for an orderly close of the streams.
	closeWithin = time.Second
)

// Conn is a connection to a port of a pod.
type Conn struct {
	net.Conn
	data  httpstream.Stream
	fault chan string
}

// Fault returns the kubelet's error message about an ended connection, or an empty string.
func (c *Conn) Fault(ctx context.Context) string {
	select {
	case said := <-c.fault:
		return said
	case <-ctx.Done():
		return ""
	}
}

// CloseWrite ends the data to the port, but not the data from it.
func (c *Conn) CloseWrite() error { return c.data.Close() }

// Open connects to a port of a pod, through the connection that the API server upgraded. At most atMost bytes are received,
// including the framing. The connection ends with the context.
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
	// The streams have a timeout of their own, which may exceed that of the context.
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

// forward opens the error stream and the data stream of a port.
func forward(streams httpstream.Connection, in *frames, port int32) (*Conn, error) {
	header := http.Header{}
	header.Set(corev1.StreamType, corev1.StreamTypeError)
	header.Set(corev1.PortHeader, strconv.Itoa(int(port)))
	header.Set(corev1.PortForwardRequestIDHeader, "0")
	faults, err := streams.CreateStream(header)
	if err != nil {
		return nil, err
	}
	faults.Close() // it only receives
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

// tunnel closes the streams of a connection, and the connection below them.
type tunnel struct {
	streams httpstream.Connection
	through io.Closer
}

// Close implements io.Closer. Closing a stream writes a frame, which waits for writes in progress. That could block forever
// if the other side does not read.
func (t tunnel) Close() error {
	late := time.AfterFunc(closeWithin, func() { _ = t.through.Close() })
	defer late.Stop()
	return t.streams.Close()
}

// pipe is a net.Conn made of a reader, a writer and a closer.
type pipe struct {
	io.Reader
	io.Writer
	io.Closer
	// ended is true once the other side has ended the connection. heard is closed once the error stream has ended.
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

// Close implements net.Conn. If the other side has ended the connection, it first waits for the error message, which would
// be lost otherwise.
func (p *pipe) Close() error {
	if p.ended.Load() {
		select {
		case <-p.heard:
		case <-time.After(faultWithin):
		}
	}
	return p.Closer.Close()
}

// LocalAddr, RemoteAddr and the deadlines implement net.Conn. They do nothing, because a context limits the connection.
func (*pipe) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (*pipe) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (*pipe) SetDeadline(time.Time) error      { return nil }
func (*pipe) SetReadDeadline(time.Time) error  { return nil }
func (*pipe) SetWriteDeadline(time.Time) error { return nil }
