package move

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sliceshift/sliceshift/e2e/harness"
)

// proxy sits between a client and an API server and simulates network failures.
type proxy struct {
	target   string
	listener net.Listener
	// cut refuses new connections; delay delays each piece of data.
	cut   atomic.Bool
	delay atomic.Int64

	mu    sync.Mutex
	conns map[net.Conn]struct{}
}

// startProxy starts a proxy on its own port until the test ends.
func startProxy(t testing.TB, target string) *proxy {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{target: target, listener: listener, conns: map[net.Conn]struct{}{}}
	t.Cleanup(func() {
		_ = listener.Close()
		p.reset()
	})
	go p.accept(context.WithoutCancel(t.Context()))
	return p
}

func (p *proxy) address() string { return p.listener.Addr().String() }

func (p *proxy) accept(ctx context.Context) {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.serve(ctx, client)
	}
}

func (p *proxy) serve(ctx context.Context, client net.Conn) {
	defer p.drop(client)
	p.hold(client)
	if p.cut.Load() {
		return
	}
	server, err := (&net.Dialer{}).DialContext(ctx, "tcp", p.target)
	if err != nil {
		return
	}
	defer p.drop(server)
	p.hold(server)
	done := make(chan struct{}, 2) //nolint:mnd // one for each direction
	for _, way := range [2][2]net.Conn{{client, server}, {server, client}} {
		go func() {
			p.copy(way[1], way[0])
			done <- struct{}{}
		}()
	}
	<-done
}

// copy forwards data until one end is closed.
func (p *proxy) copy(to io.Writer, from io.Reader) {
	const piece = 32 << 10
	buffer := make([]byte, piece)
	for {
		n, err := from.Read(buffer)
		if wait := time.Duration(p.delay.Load()); wait > 0 {
			harness.Sleep(context.Background(), wait)
		}
		if _, failed := to.Write(buffer[:n]); failed != nil || err != nil {
			return
		}
	}
}

func (p *proxy) hold(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[c] = struct{}{}
}

func (p *proxy) drop(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
	_ = c.Close()
}

// reset resets all connections, even during a transfer.
func (p *proxy) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		if tcp, is := c.(*net.TCPConn); is {
			_ = tcp.SetLinger(0) // close with RST
		}
		_ = c.Close()
	}
}

// TestProxy: data pass through the proxy, except while the connection is cut.
func TestProxy(t *testing.T) {
	t.Parallel()
	echo, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer echo.Close()
	go func() {
		for {
			c, err := echo.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c) }()
		}
	}()
	p := startProxy(t, echo.Addr().String())
	ask := func() error {
		c, err := (&net.Dialer{Timeout: time.Second}).DialContext(t.Context(), "tcp", p.address())
		if err != nil {
			return err
		}
		defer c.Close()
		if _, err := c.Write([]byte("x")); err != nil {
			return err
		}
		_, err = io.ReadFull(c, make([]byte, 1))
		return err
	}
	if err := ask(); err != nil {
		t.Fatal(err)
	}
	p.cut.Store(true)
	if err := ask(); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("cut, and still: %v", err)
	}
	p.cut.Store(false)
	if err := ask(); err != nil {
		t.Errorf("after it: %v", err)
	}
}
