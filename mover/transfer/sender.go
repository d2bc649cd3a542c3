package transfer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/sliceshift/sliceshift/mover/differ"
	"github.com/sliceshift/sliceshift/mover/entry"
	"github.com/sliceshift/sliceshift/mover/tree"
	"github.com/sliceshift/sliceshift/mover/wire"
)

// SenderOptions configure a sender.
type SenderOptions struct {
	// Source is what is sent. Sync writes it to its disk before contents are read for a digest.
	Source tree.Source
	Sync   func() error
	// Device is true if the source is a block device.
	Device bool
	// Dials is true if the sender opens the connections.
	Dials bool
	// Bandwidth limits sending, and ReadRate reading, in bytes a second; nil is no limit.
	Bandwidth, ReadRate *rate.Limiter
	// Forget drops read data from the system's cache, because another program uses the cache.
	Forget bool
	// Reading returns the Reading of the source that starts at a time. Scratch is a folder for its findings
	// until the receiver has fetched them. Without them nothing is kept, and everything is read.
	Reading func(time.Time) differ.Reading
	Scratch string
	// Patience is how long it waits for its receiver, also for one that was lost.
	Patience time.Duration
	Log      *slog.Logger
	Now      func() time.Time
}

// Sender answers one receiver.
type Sender struct {
	options SenderOptions
	// Sent is how many bytes were sent over the network. Read is how many were read for digests.
	Sent, Read atomic.Int64
	lastHeard  atomic.Int64 // nanoseconds

	mu      sync.Mutex
	session [16]byte
	stream  *stream
	streams sync.WaitGroup
	open    map[net.Conn]bool
	listed  *wire.ListEnd
	done    *wire.Done
	ended   context.CancelFunc

	kept kept
}

// NewSender returns a sender.
func NewSender(options SenderOptions) *Sender {
	return &Sender{options: options, open: map[net.Conn]bool{}}
}

// errImpatient is the error for a receiver that never connected, or was lost.
var errImpatient = errors.New("the receiver was silent for too long: check that it runs, and that it reaches this address")

// Run answers until the receiver reports that it is done.
func (s *Sender) Run(ctx context.Context, connector Connector) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	s.ended = end
	s.lastHeard.Store(time.Now().UnixNano())
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.watch(ctx) })
	group.Go(func() error {
		if s.options.Dials {
			return s.dial(ctx, connector)
		}
		return s.accept(ctx, connector)
	})
	err := group.Wait()
	s.stopStream()
	s.streams.Wait()
	s.kept.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.done == nil:
		return err
	case !s.done.OK:
		return fmt.Errorf("the receiver failed: %q", s.done.Text)
	}
	return nil
}

// Listed returns the last complete list with digests from a time without writers; nil before there is one.
func (s *Sender) Listed() *wire.ListEnd {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listed
}

// watch ends the sender if it does not hear from its receiver.
func (s *Sender) watch(ctx context.Context) error {
	tick := time.NewTicker(max(s.options.Patience/20, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
			s.mu.Lock()
			open := len(s.open)
			s.mu.Unlock()
			if open == 0 && time.Since(time.Unix(0, s.lastHeard.Load())) > s.options.Patience {
				return errImpatient
			}
		}
	}
}

func (s *Sender) accept(ctx context.Context, connector Connector) error {
	group, ctx := errgroup.WithContext(ctx)
	for {
		raw, err := connector.Connect(ctx)
		if err != nil {
			return errors.Join(err, group.Wait())
		}
		group.Go(func() error {
			if err := s.serve(ctx, raw, func(uint64) {}); err != nil {
				s.options.Log.Debug("a connection ended", "error", err)
			}
			return nil
		})
	}
}

// dial opens as many connections as the receiver requests, and each again when it breaks.
func (s *Sender) dial(ctx context.Context, connector Connector) error {
	group, ctx := errgroup.WithContext(ctx)
	var running atomic.Int64
	running.Store(1)
	var keep func() error
	keep = func() error {
		pause := pauses{}
		for ctx.Err() == nil {
			raw, err := connector.Connect(ctx)
			if err == nil {
				pause.reset()
				err = s.serve(ctx, raw, func(wanted uint64) {
					for uint64(running.Load()) < wanted {
						running.Add(1)
						group.Go(keep)
					}
				})
			}
			if err != nil && ctx.Err() == nil {
				s.options.Log.Debug("a connection failed", "error", err)
			}
			pause.wait(ctx)
		}
		return ctx.Err()
	}
	group.Go(keep)
	return group.Wait()
}

// serve answers on one connection until it ends. It calls wanted with the number of connections that the
// receiver wants.
func (s *Sender) serve(ctx context.Context, raw net.Conn, wanted func(uint64)) error {
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	defer stop()
	c, err := newConn(raw, s.options.Bandwidth, &s.Sent)
	if err != nil {
		return err
	}
	defer c.close()
	hello, err := s.greet(ctx, c)
	if err != nil {
		return err
	}
	wanted(hello.Connections)
	s.note(raw, true)
	defer s.note(raw, false)
	a := answer{sender: s, conn: c, reader: s.options.Source.NewReader()}
	defer a.close()
	for {
		f, err := c.receive(0)
		if err != nil {
			return err
		}
		s.lastHeard.Store(time.Now().UnixNano())
		if err := a.one(ctx, f); err != nil {
			return err
		}
	}
}

func (s *Sender) note(raw net.Conn, open bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if open {
		s.open[raw] = true
	} else {
		delete(s.open, raw)
	}
	s.lastHeard.Store(time.Now().UnixNano())
}

func (s *Sender) greet(ctx context.Context, c *conn) (wire.Hello, error) {
	own := wire.Hello{Version: wire.Version, Role: wire.Sender, Device: s.options.Device}
	if s.options.Reading != nil {
		own.Reading = s.options.Reading(s.options.Now()).Append(nil)
	}
	if err := c.reply(ctx, wire.TypeHello, own.Append(nil)); err != nil {
		return own, err
	}
	within := helloTime
	if s.options.Dials {
		within = 0 // the receiver takes a connection when it needs one
	}
	peer, err := receiveHello(c, own, within)
	if err != nil {
		_ = c.reply(ctx, wire.TypeError, appendText(err.Error()))
		return peer, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session != peer.Session {
		s.session = peer.Session
		if s.stream != nil {
			s.stream.cancel()
			s.stream = nil
		}
	}
	return peer, nil
}

func (s *Sender) stopStream() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stream != nil {
		s.stream.cancel()
		s.stream = nil
	}
}

// attach returns the requested stream: the running one, or a new one that replaces it.
func (s *Sender) attach(ctx context.Context, m wire.List) (*stream, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stream != nil && s.stream.id == m.Stream {
		return s.stream, nil
	}
	if m.After > 0 {
		return nil, errors.New("this list is no longer known: the sender has restarted; restart the receiver too")
	}
	if s.stream != nil {
		s.stream.cancel()
	}
	// A stream outlives the connection: it ends with the sender.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	st := newStream(m.Stream, cancel)
	s.stream = st
	s.streams.Go(func() {
		defer cancel()
		s.run(ctx, st, m)
	})
	return st, nil
}

// run creates a list.
func (s *Sender) run(ctx context.Context, st *stream, m wire.List) {
	options := tree.ListOptions{Digest: m.Digest, Settled: m.Settled, Progress: &s.Read}
	if !m.Settled {
		options.Throttle = func(ctx context.Context, n int) error { return wait(ctx, s.options.ReadRate, n) }
	}
	listed, err := s.list(ctx, m, options, func(e *entry.Entry) error { return st.put(ctx, e) })
	end := wire.ListEnd{Totals: listed.Totals, Root: listed.Root}
	if err != nil {
		end.Problem = err.Error()
	} else if m.Digest && m.Settled {
		s.mu.Lock()
		s.listed = &end
		s.mu.Unlock()
	}
	st.finish(end)
}

// list creates a list with the findings that the receiver has sent. It keeps the findings of a reading beside
// the application.
func (s *Sender) list(ctx context.Context, m wire.List, options tree.ListOptions, emit func(*entry.Entry) error) (tree.Listed, error) {
	if m.Synced {
		if err := s.options.Sync(); err != nil {
			return tree.Listed{}, err
		}
	}
	l := listing{source: s.options.Source, sync: s.options.Sync, now: s.options.Now, log: s.options.Log, reading: s.options.Reading}
	if m.Known {
		l.known = s.kept.known()
	}
	if m.Known && m.Digest && !m.Settled {
		var err error
		if l.record, err = scratch(s.options.Scratch); err != nil {
			s.options.Log.Info("the index of this pass is not kept", "why", err)
		}
	}
	listed, err := list(ctx, l, options, emit)
	if l.record != nil && err == nil && listed.Known > 0 {
		s.kept.finish(l.record)
	} else if l.record != nil {
		_ = l.record.Close()
	}
	return listed, err
}

// finish processes the receiver's last message.
func (s *Sender) finish(done wire.Done) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = &done
	s.ended()
}
