package link

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// carry connects a mover that waits for a relay with one that listens, and forwards data until the test ends.
func carry(t *testing.T, from, to string) (ends [2]net.Conn) {
	t.Helper()
	for i, address := range []string{from, to} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		ends[i] = conn
	}
	for _, way := range [][2]net.Conn{{ends[0], ends[1]}, {ends[1], ends[0]}} {
		go func() {
			_, _ = io.Copy(way[0], way[1])
			_ = way[0].Close()
		}()
	}
	return ends
}

// TestRelayed: two listening movers are connected through a relay, and each knows the other by its key. A
// connection that a relay has closed, or that sends nothing, is skipped. A caller that is not the peer is
// refused.
func TestRelayed(t *testing.T) {
	one, two, stranger := identityOf(t), identityOf(t), identityOf(t)
	l := listen(t, one, two.Fingerprint, nil)
	r, err := ListenForRelay("127.0.0.1:0", two, one.Fingerprint)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	left, err := net.Dial("tcp", r.Address())
	if err != nil {
		t.Fatal(err)
	}
	_ = left.Close()
	if _, err := r.Connect(t.Context()); err == nil {
		t.Error("a connection that was left is good")
	}
	other := listen(t, stranger, two.Fingerprint, nil)
	carry(t, r.Address(), other.Address())
	var wrong *WrongPeer
	if _, err := r.Connect(t.Context()); !errors.As(err, &wrong) || wrong.Got != stranger.Fingerprint {
		t.Errorf("got %v", err)
	}
	for range 3 {
		carry(t, r.Address(), l.Address())
		ours, err := r.Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := l.Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		exchange(t, ours, theirs)
		_ = ours.Close()
		if _, err := theirs.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("the peer has ended it, and the other one sees %v", err)
		}
	}
}

// TestRelayedEnds: a wait for a relay that does not come ends with its context, and every wait ends with Close.
func TestRelayedEnds(t *testing.T) {
	own := identityOf(t)
	r, err := ListenForRelay("127.0.0.1:0", own, own.Fingerprint)
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := r.Connect(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	waits := make(chan error, 1)
	go func() {
		_, err := r.Connect(t.Context())
		waits <- err
	}()
	waiting, err := net.Dial("tcp", r.Address())
	if err != nil {
		t.Fatal(err)
	}
	_ = waiting.Close()
	if err := <-waits; err == nil { // it has got the connection that was closed
		t.Error("a connection that was closed is one")
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if _, err := r.Connect(t.Context()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v", err)
	}
}
