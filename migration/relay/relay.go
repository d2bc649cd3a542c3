// Package relay carries bytes between two movers that do not reach each other: both listen, and the relay connects to both.
//
//	sender <- connection that waits <- relay -> connection, once the sender has spoken -> receiver
//
// One connection to the sender is always kept that nobody uses yet. By its first byte the sender takes it; then the relay
// connects to the receiver, passes on what comes either way, and keeps another one. So the movers alone say how many
// connections there are, and each that breaks is made again by them.
//
// What passes is TLS 1.3 between two keys that the relay does not have: it can read nothing, change nothing that is not
// noticed, and connect nobody who is not known to the other side. Two relays for the same movers do not meet: each carries
// connections of its own.
//
// Each connection has its own way through the API servers. Several on one way would wait for each other: a receiver that
// has enough of one of them, until another one has brought something, would wait for ever.
package relay

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	// most is how many connections of two movers are carried at once; a receiver has six.
	most = 16
	// ahead is what is read before it is written, either way; what more comes waits where it is.
	ahead = 32 << 10
	// linger is how long one way of a connection goes on after the other has ended.
	linger = 5 * time.Second
	// faultWithin is how long what a kubelet says about a connection may come after its end.
	faultWithin = time.Second
	// firstPause and longestPause lie between two tries, each of which is twice as long as the one before.
	firstPause, longestPause = 100 * time.Millisecond, 5 * time.Second
	// patient is how many tries may fail before somebody is told: a mover listens some time after it was told its peer.
	patient = 6
)

// Conn is a connection to a mover.
type Conn interface {
	io.ReadWriteCloser
	// CloseWrite ends what is written, and nothing of what is read.
	CloseWrite() error
	// Fault is what was said about the connection by who made it, once it has ended; empty: nothing.
	Fault(ctx context.Context) string
}

// Dial connects to a mover.
type Dial func(ctx context.Context) (Conn, error)

// Relay carries the bytes of one sender and its receiver.
type Relay struct {
	Sender, Receiver Dial

	mu     sync.Mutex
	failed int
	why    string
}

// Run relays until ctx ends, and returns when nothing of it is left.
func (r *Relay) Run(ctx context.Context) {
	var carrying sync.WaitGroup
	defer carrying.Wait()
	slots := make(chan struct{}, most)
	for pause := firstPause; ; {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		one, end := context.WithCancel(ctx)
		sender, err := r.spoken(one)
		if err != nil {
			end()
			<-slots
			r.fails(err)
			if !sleep(ctx, pause) {
				return
			}
			pause = min(2*pause, longestPause)
			continue
		}
		pause = firstPause
		carrying.Go(func() {
			defer func() { <-slots }()
			defer end()
			if err := r.carry(one, sender); err != nil {
				r.fails(err)
			}
		})
	}
}

// Trouble is why nothing gets through, once that has been tried for a while; empty: something does.
func (r *Relay) Trouble() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed < patient {
		return ""
	}
	return r.why
}

func (r *Relay) fails(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed, r.why = r.failed+1, err.Error()
}

func (r *Relay) works() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed, r.why = 0, ""
}

// spoken is a connection to the sender on which that has begun to speak.
func (r *Relay) spoken(ctx context.Context) (Conn, error) {
	conn, err := r.Sender(ctx)
	if err != nil {
		return nil, fmt.Errorf("the sender: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	begun := &peeked{Conn: conn, in: bufio.NewReaderSize(conn, ahead)}
	if _, err := begun.in.Peek(1); err != nil {
		return nil, errors.Join(fmt.Errorf("the sender: %w", silent(ctx, conn, err)), conn.Close())
	}
	return begun, nil
}

// silent is why a mover has said nothing.
func silent(ctx context.Context, conn Conn, err error) error {
	ctx, stop := context.WithTimeout(ctx, faultWithin)
	defer stop()
	if said := conn.Fault(ctx); said != "" {
		return errors.New(said)
	}
	if errors.Is(err, io.EOF) {
		return errors.New("it has ended the connection")
	}
	return err
}

// carry connects the sender to its receiver, until either has ended the connection.
func (r *Relay) carry(ctx context.Context, sender Conn) error {
	receiver, err := r.Receiver(ctx)
	if err != nil {
		return errors.Join(fmt.Errorf("the receiver: %w", err), sender.Close())
	}
	answers := &peeked{Conn: receiver, in: bufio.NewReaderSize(receiver, ahead), first: r.works}
	if ended := pump(ctx, sender, answers); answers.first != nil && ctx.Err() == nil {
		return fmt.Errorf("the receiver: %w", silent(ctx, receiver, ended))
	}
	return nil // a link that has worked may end at any time
}

// pump passes on what comes from either, until both ways have ended. Both connections are closed then. Of what could not
// be read or written it returns the first; io.EOF is that nothing was amiss.
func pump(ctx context.Context, one, two Conn) error {
	end := sync.OnceFunc(func() { _ = errors.Join(one.Close(), two.Close()) })
	defer end()
	defer context.AfterFunc(ctx, end)()
	ways := make(chan error, 2)
	for _, way := range [][2]Conn{{one, two}, {two, one}} {
		go func() {
			_, err := io.Copy(way[1], way[0])
			if err != nil {
				end()
			}
			_ = way[1].CloseWrite()
			ways <- err
		}()
	}
	first := <-ways
	late := time.NewTimer(linger)
	defer late.Stop()
	select {
	case second := <-ways:
		return firstOf(first, second)
	case <-late.C:
	}
	end()
	return firstOf(first, <-ways)
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return io.EOF
}

// peeked is a connection of which something was read ahead. first is told when something was read, once.
type peeked struct {
	Conn
	in    *bufio.Reader
	first func()
}

// Read implements io.Reader.
func (p *peeked) Read(data []byte) (n int, err error) {
	n, err = p.in.Read(data)
	if n > 0 && p.first != nil {
		p.first()
		p.first = nil
	}
	return n, err
}

// sleep is false when ctx ends before.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
