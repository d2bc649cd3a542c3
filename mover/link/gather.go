package link

import (
	"bufio"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"sync/atomic"
)

// gathered is how many bytes go into one system call, if as many are available. TLS makes a call for each
// record of 16 KiB, which would slow down a fast network.
const gathered = 128 << 10

// conn is a TLS connection on which each Write makes few system calls. Each Read returns data that have
// arrived.
type conn struct {
	*tls.Conn
	raw *gather
}

// Write returns once all of p was passed to the system.
func (c *conn) Write(p []byte) (int, error) {
	c.raw.waits.Store(true)
	n, err := c.Conn.Write(p)
	return n, errors.Join(err, c.raw.flush())
}

// Close does not wait for a running Write, and ends it.
func (c *conn) Close() error {
	if c.raw.waits.Load() {
		return c.raw.Close()
	}
	return c.Conn.Close()
}

// gather is the layer below TLS.
type gather struct {
	net.Conn
	in *bufio.Reader

	mu  sync.Mutex // the reader writes messages of TLS itself
	out *bufio.Writer
	// waits is true if more will be written at once.
	waits atomic.Bool
}

func newGather(raw net.Conn) *gather {
	return &gather{Conn: raw, in: bufio.NewReaderSize(raw, gathered), out: bufio.NewWriterSize(raw, gathered)}
}

func (g *gather) Read(p []byte) (int, error) { return g.in.Read(p) }

func (g *gather) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n, err := g.out.Write(p)
	if err == nil && !g.waits.Load() {
		err = g.out.Flush()
	}
	return n, err
}

func (g *gather) flush() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	defer g.waits.Store(false)
	return g.out.Flush()
}
