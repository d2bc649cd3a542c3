// Package relay carries bytes between two movers that cannot reach each other. Both movers listen, and the
// relay connects to both.
//
//	sender <- waiting connection <- relay -> connection, after the sender's first byte -> receiver
//
// The relay always keeps one unused connection to the sender. With its first byte, the sender starts to use it.
// The relay then connects to the receiver, copies bytes in both directions, and opens another connection to the
// sender. The movers alone determine the number of connections, and replace those that break.
//
// The bytes are TLS 1.3 between two keys that the relay does not have. The relay cannot read them, cannot
// change them without detection, and cannot connect a peer that is unknown to the other side. Two relays for
// the same movers do not interfere: each carries its own connections.
//
// Each connection has its own stream through the API servers. Several connections on one stream would block
// each other: a receiver that stops reading one of them until another one delivers data would wait
// indefinitely.
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
	// most is the number of concurrent connections of two movers; a receiver has six.
	most = 16
	// ahead is the number of bytes that are read from a sender before its receiver is connected. Afterwards
	// io.Copy buffers 32 KiB in each direction; further data waits at its origin.
	ahead = 512
	// linger is how long one direction of a connection continues after the other has ended.
	linger = 5 * time.Second
	// dialWithin is the timeout for opening a connection.
	dialWithin = 30 * time.Second
	// stuck is the timeout of a write. A mover closes a connection whose data is not read for 90 s, which the relay
	// notices only after its write has ended.
	stuck = 3 * time.Minute
	// settled is the age from which the end of a waiting connection does not count as a failure to connect.
	settled = 5 * time.Second
	// faultWithin is how long to wait for the kubelet's error after a connection has ended.
	faultWithin = time.Second
	// firstPause and longestPause bound the pause between two attempts, which doubles each time.
	firstPause, longestPause = 100 * time.Millisecond, 5 * time.Second
)

// Conn is a connection to a mover. Close soon ends pending reads and writes.
type Conn interface {
	io.ReadWriteCloser
	// CloseWrite ends writing, but not reading.
	CloseWrite() error
	// Fault returns the error that the tunnel has reported about the connection after its end; empty if there
	// is none.
	Fault(ctx context.Context) string
}

// Dial connects to a mover. The connection ends with its context.
type Dial func(ctx context.Context) (Conn, error)

// Relay carries the bytes between one sender and its receiver.
type Relay struct {
	Sender, Receiver Dial

	// 0 means the value of the constants.
	most   int
	linger time.Duration

	mu     sync.Mutex
	links  int // that have delivered an answer
	failed int
	why    string
}

// Run relays until ctx ends, and returns after all its goroutines have ended.
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

// dialled connects to a mover within the timeout. After the timeout it cancels the context.
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
	// errIdle is the end of a connection that was idle for a while: load balancers close those.
	errIdle = fmt.Errorf("%w, which had waited for a while", errEnded)
)

// spoken returns a connection to the sender after its first byte. end cancels the context.
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

// silent returns the reason why a mover sent nothing.
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

// carry connects the sender to its receiver until one of them ends the connection. end cancels the context.
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

// pump copies bytes in both directions until both have ended, and then closes both connections. It returns the
// first error of a read or write, or io.EOF if there was none.
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

// prompt is a connection that is closed when a write to it takes too long.
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

// peeked is a connection from which bytes may have been read ahead. first is called once, after the first read.
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

// sleep waits for d. It returns false if ctx ends first.
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
