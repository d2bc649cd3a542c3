package relay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// tcp is a connection of a relay.
type tcp struct{ *net.TCPConn }

func (tcp) Fault(context.Context) string { return "" }

// port is the port of a mover in a test.
type port struct {
	*testing.T
	net.Listener
}

func listen(t *testing.T) port {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return port{t, l}
}

func (p port) dial(ctx context.Context) (Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", p.Addr().String())
	if err != nil {
		return nil, err
	}
	return tcp{conn.(*net.TCPConn)}, nil
}

func (p port) take() *net.TCPConn {
	p.Helper()
	conn, err := p.Accept()
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	return conn.(*net.TCPConn)
}

// movers are a sender and a receiver, and the relay between them.
type movers struct {
	*testing.T
	sender, receiver port
	relay            *Relay
	stop             func()
}

func newMovers(t *testing.T) *movers {
	t.Helper()
	m := &movers{T: t, sender: listen(t), receiver: listen(t)}
	m.relay = &Relay{Sender: m.sender.dial, Receiver: m.receiver.dial}
	m.stop = m.run(m.relay)
	return m
}

// run runs a relay, and returns a function that ends it.
func (m *movers) run(r *Relay) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.Run(ctx)
	}()
	stop = func() {
		cancel()
		<-done
	}
	m.Cleanup(stop)
	return stop
}

// connect sends the sender's first byte, and returns both ends of the link.
func (m *movers) connect(word string) (sender, receiver *net.TCPConn) {
	m.Helper()
	sender = m.sender.take()
	m.write(sender, word)
	receiver = m.receiver.take()
	m.expect(receiver, word)
	return sender, receiver
}

func (m *movers) write(to io.Writer, text string) {
	m.Helper()
	if _, err := io.WriteString(to, text); err != nil {
		m.Fatal(err)
	}
}

func (m *movers) expect(from io.Reader, want string) {
	m.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(from, got); err != nil || string(got) != want {
		m.Fatalf("got %q (%v), want %q", got, err, want)
	}
}

// TestOnceTheSenderSpeaks: the receiver is not connected before the sender uses a connection. Then another
// connection waits at the sender.
func TestOnceTheSenderSpeaks(t *testing.T) {
	m := newMovers(t)
	first := m.sender.take()
	called := make(chan net.Conn, 1)
	go func() {
		if conn, err := m.receiver.Accept(); err == nil {
			called <- conn
		}
	}()
	// No connection is opened in advance: the sender has one, and the receiver none.
	select {
	case <-called:
		t.Fatal("the receiver was called before the sender spoke")
	case <-time.After(200 * time.Millisecond):
	}
	m.write(first, "hello")
	receiver := <-called
	defer receiver.Close()
	m.expect(receiver, "hello")
	second := m.sender.take()
	m.write(receiver, "answer")
	m.expect(first, "answer")
	m.write(second, "more")
	m.expect(m.receiver.take(), "more")
}

// TestHalfClosed: a side that has closed its writing end still receives answers.
func TestHalfClosed(t *testing.T) {
	m := newMovers(t)
	sender, receiver := m.connect("hello")
	content := bytes.Repeat([]byte("0123456789"), 100_000)
	go func() {
		_, _ = sender.Write(content)
		_ = sender.CloseWrite()
	}()
	got, err := io.ReadAll(receiver)
	if err != nil || !bytes.Equal(got, content) {
		t.Fatalf("%d bytes (%v), want %d", len(got), err, len(content))
	}
	m.write(receiver, "all of it")
	_ = receiver.Close()
	if got, err := io.ReadAll(sender); err != nil || string(got) != "all of it" {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestBreaks: if either end breaks a connection, the other one notices at once, and the next connection works.
func TestBreaks(t *testing.T) {
	for name, breaks := range map[string]func(sender, receiver *net.TCPConn) (broken, left *net.TCPConn){
		"the sender":   func(s, r *net.TCPConn) (*net.TCPConn, *net.TCPConn) { return s, r },
		"the receiver": func(s, r *net.TCPConn) (*net.TCPConn, *net.TCPConn) { return r, s },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMovers(t)
			broken, left := breaks(m.connect("hello"))
			m.write(left, strings.Repeat("x", 1<<20))
			_ = broken.SetLinger(0) // and drop its unread data
			_ = broken.Close()
			began := time.Now()
			if _, err := io.Copy(io.Discard, left); errors.Is(err, net.ErrClosed) {
				t.Fatal(err)
			}
			if took := time.Since(began); took > linger-time.Second {
				t.Errorf("it took %s", took)
			}
			sender, receiver := m.connect("again")
			m.write(receiver, "good")
			m.expect(sender, "good")
			if trouble := m.relay.Trouble(); trouble != "" {
				t.Errorf("trouble: %s", trouble)
			}
		})
	}
}

// TestEnds: when its context ends, a relay closes all connections, idle or in use, and leaves no goroutines.
func TestEnds(t *testing.T) {
	before := runtime.NumGoroutine()
	m := newMovers(t)
	var ends []*net.TCPConn
	for range 4 {
		sender, receiver := m.connect("hello")
		ends = append(ends, sender, receiver)
	}
	ends = append(ends, m.sender.take()) // a connection that was never used
	m.stop()
	for _, end := range ends {
		if _, err := end.Read(make([]byte, 1)); err == nil {
			t.Error("a connection goes on")
		}
	}
	for late := time.After(10 * time.Second); runtime.NumGoroutine() > before; {
		select {
		case <-late:
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		default:
			runtime.Gosched()
		}
	}
}

// piped is a connection that buffers nothing.
type piped struct {
	net.Conn
	fault string
}

func (p piped) CloseWrite() error            { return p.Close() }
func (p piped) Fault(context.Context) string { return p.fault }

// TestSlowReader: if the receiver does not read, the sender is blocked with no more than one buffer in the
// relay.
func TestSlowReader(t *testing.T) {
	sender, atSender := net.Pipe()
	receiver, atReceiver := net.Pipe()
	m := &movers{T: t}
	var once sync.Once
	m.run(&Relay{
		Sender: func(ctx context.Context) (conn Conn, err error) {
			once.Do(func() { conn = piped{Conn: atSender} })
			if conn == nil {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return conn, nil
		},
		Receiver: func(context.Context) (Conn, error) { return piped{Conn: atReceiver}, nil },
	})
	_ = sender.SetWriteDeadline(time.Now().Add(time.Second))
	taken := 0
	for {
		n, err := sender.Write(make([]byte, 1000))
		taken += n
		if err != nil {
			break
		}
	}
	if most := ahead + 32<<10; taken == 0 || taken > most {
		t.Errorf("the relay has taken %d bytes that nobody reads, want at most %d", taken, most)
	}
	if n, err := io.CopyN(io.Discard, receiver, int64(taken)); err != nil {
		t.Errorf("%d of %d bytes: %v", n, taken, err)
	}
}

// TestTwoAtOnce: two relays for the same movers carry separate connections, and no byte gets from one to
// another.
func TestTwoAtOnce(t *testing.T) {
	m := newMovers(t)
	m.run(&Relay{Sender: m.sender.dial, Receiver: m.receiver.dial})
	const links = 8
	go func() {
		for {
			conn, err := m.receiver.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(conn, conn)
				_ = conn.Close()
			}()
		}
	}()
	var all sync.WaitGroup
	for i := range links {
		sender := m.sender.take()
		all.Go(func() {
			content := bytes.Repeat(fmt.Appendf(nil, "link %d;", i), 50_000)
			go func() {
				_, _ = sender.Write(content)
				_ = sender.CloseWrite()
			}()
			if got, err := io.ReadAll(sender); err != nil || !bytes.Equal(got, content) {
				t.Errorf("link %d: %d bytes (%v), want %d of its own", i, len(got), err, len(content))
			}
		})
	}
	all.Wait()
}

// TestTrouble: an error that keeps a relay from a mover is reported after a while, and removed when it is over.
func TestTrouble(t *testing.T) {
	refused := errors.New("cluster west: pods/portforward is forbidden")
	for name, tc := range map[string]struct {
		spoil func(m *movers, bad func() bool) *Relay
		want  string
	}{
		"the sender is refused": {func(m *movers, bad func() bool) *Relay {
			return &Relay{Receiver: m.receiver.dial, Sender: func(ctx context.Context) (Conn, error) {
				if bad() {
					return nil, refused
				}
				return m.sender.dial(ctx)
			}}
		}, "the sender: " + refused.Error()},
		"the sender does not listen": {func(m *movers, bad func() bool) *Relay {
			return &Relay{Receiver: m.receiver.dial, Sender: func(ctx context.Context) (Conn, error) {
				if bad() {
					here, there := net.Pipe()
					return piped{here, "connection refused"}, there.Close()
				}
				return m.sender.dial(ctx)
			}}
		}, "the sender: connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			m := &movers{T: t, sender: listen(t), receiver: listen(t)}
			var mu sync.Mutex
			good := false
			r := tc.spoil(m, func() bool {
				mu.Lock()
				defer mu.Unlock()
				return !good
			})
			m.run(r)
			m.await(func() bool { return r.Trouble() != "" })
			if got := r.Trouble(); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			mu.Lock()
			good = true
			mu.Unlock()
			sender, receiver := m.connect("hello")
			m.write(receiver, "answer")
			m.expect(sender, "answer")
			m.await(func() bool { return r.Trouble() == "" })
		})
	}
}

func (m *movers) await(so func() bool) {
	m.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	late := time.After(20 * time.Second)
	for !so() {
		select {
		case <-tick.C:
		case <-late:
			m.Fatal("it has not come about in 20 s")
		}
	}
}
