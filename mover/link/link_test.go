package link

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func identityOf(t testing.TB) Identity {
	t.Helper()
	i, err := NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func listen(t testing.TB, own Identity, peer Fingerprint, refused func(error)) *Listener {
	t.Helper()
	l, err := Listen("127.0.0.1:0", own, peer, refused)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// exchange sends a byte each way.
func exchange(t testing.TB, one, two net.Conn) {
	t.Helper()
	for _, way := range [][2]net.Conn{{one, two}, {two, one}} {
		if _, err := way[0].Write([]byte{7}); err != nil {
			t.Fatal(err)
		}
		var b [1]byte
		if _, err := way[1].Read(b[:]); err != nil || b[0] != 7 {
			t.Fatal(b, err)
		}
	}
}

// TestConnect: two movers that know each other connect with TLS 1.3, while other callers send nothing or
// garbage, or present another key.
func TestConnect(t *testing.T) {
	one, two, stranger := identityOf(t), identityOf(t), identityOf(t)
	var refused atomic.Int64
	l := listen(t, one, two.Fingerprint, func(error) { refused.Add(1) })
	for range 3 {
		probe, err := net.Dial("tcp", l.Address())
		if err != nil {
			t.Fatal(err)
		}
		_ = probe.Close()
	}
	silent, err := net.Dial("tcp", l.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	loud, err := net.Dial("tcp", l.Address())
	if err != nil {
		t.Fatal(err)
	}
	_, _ = loud.Write([]byte("GET / HTTP/1.0\r\n\r\n"))
	defer func() { _ = loud.Close() }()
	if c, err := (Dialer{Address: l.Address(), Identity: stranger, Peer: one.Fingerprint}).Connect(t.Context()); err == nil {
		if _, err := c.Read(make([]byte, 1)); err == nil {
			t.Error("a stranger was let in")
		}
		_ = c.Close()
	}
	ours, err := Dialer{Address: l.Address(), Identity: two, Peer: one.Fingerprint}.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := l.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	exchange(t, ours, theirs)
	if c, ok := ours.(interface{ ConnectionState() tls.ConnectionState }); !ok || c.ConnectionState().Version != tls.VersionTLS13 {
		t.Error("it is not TLS 1.3")
	}
	if refused.Load() == 0 {
		t.Error("nobody was turned away")
	}
}

// TestWrongPeer: a peer with another key is refused, and the error names both fingerprints.
func TestWrongPeer(t *testing.T) {
	one, two, other := identityOf(t), identityOf(t), identityOf(t)
	l := listen(t, one, two.Fingerprint, nil)
	_, err := Dialer{Address: l.Address(), Identity: two, Peer: other.Fingerprint}.Connect(t.Context())
	var wrong *WrongPeer
	if !errors.As(err, &wrong) || wrong.Got != one.Fingerprint || wrong.Want != other.Fingerprint {
		t.Errorf("got %v", err)
	}
}

// TestFlood: handshakes are limited in number, and once they end the peer can connect.
func TestFlood(t *testing.T) {
	one, two := identityOf(t), identityOf(t)
	l := listen(t, one, two.Fingerprint, nil)
	var open []net.Conn
	for range 2 * handshakes {
		c, err := net.Dial("tcp", l.Address())
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
	}
	for _, c := range open {
		_ = c.Close()
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		c, err := Dialer{Address: l.Address(), Identity: two, Peer: one.Fingerprint}.Connect(ctx)
		if err == nil {
			theirs, err := l.Connect(ctx)
			if err != nil {
				t.Fatal(err)
			}
			exchange(t, c, theirs)
			return
		}
		if ctx.Err() != nil {
			t.Fatal(err)
		}
	}
}

// TestClose: a caller that waits for a connection gets an error when the listener is closed.
func TestClose(t *testing.T) {
	l := listen(t, identityOf(t), identityOf(t).Fingerprint, nil)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Connect(t.Context()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

// TestIdentity: a key in a file is created once.
func TestIdentity(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	one, err := LoadIdentity(path)
	if err != nil {
		t.Fatal(err)
	}
	two, err := LoadIdentity(path)
	if err != nil || one.Fingerprint != two.Fingerprint {
		t.Errorf("%s, then %s: %v", one.Fingerprint, two.Fingerprint, err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := os.WriteFile(path, []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadIdentity(path); err == nil || !strings.Contains(err.Error(), "remove it") {
		t.Errorf("got %v", err)
	}
	if got, err := ParseFingerprint(" " + string(one.Fingerprint) + "\n"); err != nil || got != one.Fingerprint {
		t.Errorf("got %s, %v", got, err)
	}
	for _, text := range []string{"", "sha256:", "sha256:12", "md5:" + string(one.Fingerprint[7:]), string(one.Fingerprint) + "00"} {
		if _, err := ParseFingerprint(text); err == nil {
			t.Errorf("%q is a fingerprint", text)
		}
	}
}

// counting counts the calls of Write, which are system calls.
type counting struct {
	net.Conn
	writes atomic.Int64
}

func (c *counting) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(p)
}

// TestGather: data that are written at once use few system calls, and are sent when Write returns.
func TestGather(t *testing.T) {
	here, there := net.Pipe()
	below := &counting{Conn: here}
	own, peer := identityOf(t), identityOf(t)
	raw := newGather(below)
	c := &conn{tls.Client(raw, own.config(peer.Fingerprint)), raw}
	server := tls.Server(there, peer.config(own.Fingerprint))
	shaken := make(chan error, 1)
	go func() { shaken <- server.Handshake() }()
	if err := errors.Join(c.Handshake(), <-shaken); err != nil {
		t.Fatal(err)
	}
	const size = 1 << 20
	received := make(chan error, 1)
	go func() {
		_, err := io.ReadFull(server, make([]byte, 2*size))
		received <- err
	}()
	below.writes.Store(0)
	for range 2 {
		if _, err := c.Write(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-received; err != nil {
		t.Fatal(err)
	}
	const most = 2 * (size/gathered + 2)
	if n := below.writes.Load(); n > most {
		t.Errorf("%d calls for %d bytes, and %d are enough", n, 2*size, most)
	}
	// There is no reader any more: a blocked Write ends with Close.
	hangs := make(chan error, 1)
	go func() {
		_, err := c.Write(make([]byte, size))
		hangs <- err
	}()
	before := below.writes.Load()
	for below.writes.Load() == before {
		runtime.Gosched()
	}
	begin := time.Now()
	_ = c.Close()
	if err := <-hangs; err == nil {
		t.Error("what nobody read was written")
	}
	const soon = 2 * time.Second
	if took := time.Since(begin); took > soon {
		t.Errorf("Close took %s", took)
	}
}
