package relay

import (
	"context"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// ends are the mover's ends of connections, which buffer nothing.
type ends chan net.Conn

func (e ends) dial(ctx context.Context) (Conn, error) {
	here, there := net.Pipe()
	select {
	case e <- there:
		return piped{Conn: here}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// silentDial is an API server that does not answer.
func silentDial(ctx context.Context) (Conn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// start runs a relay, and returns a function that ends it.
func start(t *testing.T, r *Relay) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.Run(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

// say writes to a connection of a mover.
func say(t *testing.T, to net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(to, text); err != nil {
		t.Error(err)
	}
}

// hear reads from a connection of a mover.
func hear(t *testing.T, from net.Conn, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(from, got); err != nil || string(got) != want {
		t.Errorf("got %q (%v), want %q", got, err, want)
	}
}

// TestIdleEnds: an idle connection that is ended after a while, as by load balancers, is no trouble while
// another link works. Without a working link, or if it is ended at once, it is.
func TestIdleEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		link  bool
		after time.Duration
		want  string
	}{
		"beside a link":          {true, 50 * time.Second, ""},
		"at once":                {true, 0, "the sender: it has ended the connection"},
		"with no link beside it": {false, 50 * time.Second, "the sender: it has ended the connection, which had waited for a while"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				senders, receivers := make(ends), make(ends)
				r := &Relay{Sender: senders.dial, Receiver: receivers.dial}
				defer start(t, r)()
				var sender, receiver net.Conn
				if tc.link {
					sender = <-senders
					say(t, sender, "hello")
					receiver = <-receivers
					hear(t, receiver, "hello")
					say(t, receiver, "answer")
					hear(t, sender, "answer")
				}
				for range patient + 1 {
					spare := <-senders
					time.Sleep(tc.after)
					_ = spare.Close()
				}
				<-senders
				if got := r.Trouble(); got != tc.want {
					t.Errorf("got %q, want %q", got, tc.want)
				}
				if tc.link {
					say(t, sender, "more")
					hear(t, receiver, "more")
				}
			})
		})
	}
}

// TestSilentAPIServer: an API server that does not answer is reported, and does not hold a place indefinitely.
func TestSilentAPIServer(t *testing.T) {
	t.Run("the sender's", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := &Relay{Sender: silentDial, Receiver: make(ends).dial}
			defer start(t, r)()
			time.Sleep(patient * (dialWithin + longestPause))
			if got, want := r.Trouble(), "the sender: there is no connection within 30s"; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	})
	t.Run("the receiver's", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			senders := make(ends)
			r := &Relay{Sender: senders.dial, Receiver: silentDial}
			defer start(t, r)()
			for range most + 1 {
				sender := <-senders
				say(t, sender, "hello")
				_ = sender.Close() // it does not wait for an answer
			}
			synctest.Wait() // all of them are closed at the same time
			if got, want := r.Trouble(), "the receiver: there is no connection within 30s"; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	})
}

// TestStuckReceiver: links whose sender has ended while their receiver reads nothing do not hold a place
// indefinitely.
func TestStuckReceiver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		senders, receivers := make(ends), make(ends)
		defer start(t, &Relay{Sender: senders.dial, Receiver: receivers.dial})()
		began := time.Now()
		for range most + 1 {
			sender := <-senders
			say(t, sender, "hello")
			<-receivers
			_ = sender.Close()
		}
		if took := time.Since(began); took > stuck+linger {
			t.Errorf("the next connection was there after %s", took)
		}
	})
}
