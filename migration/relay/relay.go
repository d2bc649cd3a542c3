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
	"cmp"
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
	// ahead is what is read of a sender before its receiver is connected to. Either way 32 KiB are read before they are written, which
	// is how io.Copy does it; what more comes waits where it is.
	ahead = 512
	// linger is how long one way of a connection goes on after the other has ended.
	linger = 5 * time.Second
	// dialWithin is how long a connection may take to be made.
	dialWithin = 30 * time.Second
	// stuck is how long a write may take. A mover gives up what nothing is read from for 90 s, which is not noticed here before that
	// write has ended.
	stuck = 3 * time.Minute
	// settled is how long a connection that waits has stood when its end is no sign that none can be made.
	settled = 5 * time.Second
	// faultWithin is how long what a kubelet says about a connection may come after its end.
	faultWithin = time.Second
	// firstPause and longestPause lie between two tries, each of which is twice as long as the one before.
	firstPause, longestPause = 100 * time.Millisecond, 5 * time.Second
)

// Conn is a connection to a mover. Its Close ends what is being read and written soon.
type Conn interface {
	io.ReadWriteCloser
	// CloseWrite ends what is written, and nothing of what is read.
	CloseWrite() error
	// Fault is what was said about the connection by who made it, once it has ended; empty: nothing.
	Fault(ctx context.Context) string
}

// Dial connects to a mover. The connection ends with its context.
type Dial func(ctx context.Context) (Conn, error)

// Relay carries the bytes of one sender and its receiver.
type Relay struct {
	Sender, Receiver Dial

	// 0: as the constants.
	most   int
	linger time.Duration

	mu     sync.Mutex
	links  int // that have brought an answer
	failed int
	why    string
}

// Run relays until ctx ends, and returns when nothing of it is left.
func (r *Relay) Run(ctx context.Context) {
	var carrying sync.WaitGroup
	defer carrying.Wait()
	slots := make(chan struct{}, cmp.Or(r.most, most))
	for pause := firstPause; ; {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		one, end := context.WithCancel(ctx)
		sender, err := r.spoken(one, end)
		if err != nil {
			end()
			<-slots
			if errors.Is(err, errIdle) && r.carries() {
				pause = firstPause
			} else {
				r.fails(err)
			}
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
			if err := r.carry(one, end, sender); err != nil {
				r.fails(err)
			}
		})
	}
}

// dialled connects to a mover in time. Where that takes longer its context is ended.
func dialled(ctx context.Context, end context.CancelFunc, dial Dial) (Conn, error) {
	late := time.AfterFunc(dialWithin, end)
	conn, err := dial(ctx)
	if late.Stop() {
		return conn, err
	}
	if err == nil {
		_ = conn.Close()
	}
	return nil, fmt.Errorf("there is no connection within %s", dialWithin)
}

var (
	errEnded = errors.New("it has ended the connection")
	// errIdle is the end of one that nobody has used for a while: whatever balances connections ends those.
	errIdle = fmt.Errorf("%w, which had waited for a while", errEnded)
)

// spoken is a connection to the sender on which that has begun to speak. end ends the context.
func (r *Relay) spoken(ctx context.Context, end context.CancelFunc) (Conn, error) {
	conn, err := dialled(ctx, end, r.Sender)
	if err != nil {
		return nil, fmt.Errorf("the sender: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	begun := bufio.NewReaderSize(conn, ahead)
	stood := time.Now()
	if _, err := begun.Peek(1); err != nil {
		idle := time.Since(stood) >= settled
		why := silent(ctx, conn, err)
		if idle && errors.Is(why, errEnded) {
			why = errIdle
		}
		return nil, errors.Join(fmt.Errorf("the sender: %w", why), conn.Close())
	}
	return &peeked{Conn: conn, in: begun}, nil
}

// silent is why a mover has said nothing.
func silent(ctx context.Context, conn Conn, err error) error {
	ctx, stop := context.WithTimeout(ctx, faultWithin)
	defer stop()
	if said := conn.Fault(ctx); said != "" {
		return errors.New(said)
	}
	if errors.Is(err, io.EOF) {
		return errEnded
	}
	return err
}

// carry connects the sender to its receiver, until either has ended the connection. end ends the context.
func (r *Relay) carry(ctx context.Context, end context.CancelFunc, sender Conn) error {
	receiver, err := dialled(ctx, end, r.Receiver)
	if err != nil {
		return errors.Join(fmt.Errorf("the receiver: %w", err), sender.Close())
	}
	answers := &peeked{Conn: receiver, in: receiver, first: r.works}
	ended := r.pump(ctx, sender, answers)
	if answers.first == nil { // a link that has worked may end at any time
		r.worked()
		return nil
	}
	if ctx.Err() == nil {
		return fmt.Errorf("the receiver: %w", silent(ctx, receiver, ended))
	}
	return nil
}

// pump passes on what comes from either, until both ways have ended. Both connections are closed then. Of what could not
// be read or written it returns the first; io.EOF is that nothing was amiss.
func (r *Relay) pump(ctx context.Context, one, two Conn) error {
	end := sync.OnceFunc(func() { _ = errors.Join(one.Close(), two.Close()) })
	defer end()
	defer context.AfterFunc(ctx, end)()
	ways := make(chan error, 2)
	for _, way := range [][2]Conn{{one, two}, {two, one}} {
		go func() {
			_, err := io.Copy(prompt{way[1], end}, way[0])
			if err != nil {
				end()
			}
			_ = way[1].CloseWrite()
			ways <- err
		}()
	}
	first := <-ways
	late := time.NewTimer(cmp.Or(r.linger, linger))
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

// prompt is a connection that is ended when a write to it takes too long.
type prompt struct {
	io.Writer
	end func()
}

// Write implements io.Writer.
func (p prompt) Write(data []byte) (int, error) {
	late := time.AfterFunc(stuck, p.end)
	defer late.Stop()
	return p.Writer.Write(data)
}

// peeked is a connection of which something may have been read ahead. first is told when something was read, once.
type peeked struct {
	Conn
	in    io.Reader
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
