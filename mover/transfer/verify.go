package transfer

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/sync/errgroup"

	"github.com/sliceshift/sliceshift/mover/differ"
	"github.com/sliceshift/sliceshift/mover/entry"
	"github.com/sliceshift/sliceshift/mover/tree"
)

// prove lets both sides read their content, except for content known from the pass before. It keeps the
// findings of a warm pass.
func (r *Receiver) prove(ctx context.Context, before found) (Outcome, error) {
	defer r.attend(ctx)()
	if r.options.Verify != VerifyChanged {
		before = found{}
	}
	if before.peer != nil {
		if err := r.give(ctx, before.peer); err != nil {
			return Outcome{}, err
		}
	}
	record := r.begin()
	if record != nil {
		defer func() { _ = record.Close() }()
	}
	outcome, err := r.verify(ctx, before.own, record)
	if err == nil && record != nil && outcome.Own.Known > 0 {
		outcome.Kept = r.keep(ctx, record)
	}
	return outcome, err
}

// attend keeps a connection open until end is called, so that a receiver that reads its own side without
// requests is not treated as lost.
func (r *Receiver) attend(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err := r.call(ctx, func(_ context.Context, c *conn) error {
			_, err := c.receive(0)
			return err
		})
		r.options.Log.Debug("the sender is not attended any more", "why", err)
	}()
	return func() {
		cancel()
		<-ended
	}
}

// verify lets both sides read their content, and compares it: entry by entry, to report where they differ, and
// by the roots, which each side computes alone.
func (r *Receiver) verify(ctx context.Context, known, record *os.File) (Outcome, error) {
	options := tree.ListOptions{Digest: true, Settled: true, Progress: &r.Counts.Verified}
	return r.compareWith(ctx, r.listing(known, record), options, r.listPeer(true), differ.Difference)
}

// listing returns the list of the destination.
func (r *Receiver) listing(known, record *os.File) listing {
	l := listing{source: r.source(), sync: r.sync, now: r.options.Now, log: r.options.Log, known: known, record: record}
	if r.options.Tree != nil {
		l.reading = r.reading
	}
	return l
}

// compareWith lists the destination, and compares it with the sender's list. While the destination writes to its
// disk, the source is read. The roots are compared if the sender's list has one.
func (r *Receiver) compareWith(ctx context.Context, l listing, options tree.ListOptions, peer *peerList, differs func(source, own *entry.Entry) string) (Outcome, error) {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return peer.run(ctx) })
	own := make(chan *entry.Entry, cap(peer.entries))
	var outcome Outcome
	var listed tree.Listed
	group.Go(func() error {
		var err error
		listed, err = list(ctx, l, options, func(e *entry.Entry) error {
			r.advance()
			select {
			case own <- e:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		if err == nil {
			close(own)
		}
		return r.note(err)
	})
	group.Go(func() error { return outcome.compare(ctx, peer.entries, own, differs) })
	if err := group.Wait(); err != nil {
		return outcome, err
	}
	outcome.Own, outcome.Peer = &listed, &peer.result
	if !r.options.Settled && r.options.Verify == VerifyChanged {
		return outcome, nil // the source keeps changing: differences are left to the next pass
	}
	if peer.request.Digest && outcome.Differences == 0 && peer.result.Unsettled == 0 && listed.Root != peer.result.Root {
		outcome.Differences, outcome.First = 1, Difference{What: "the roots differ and no entry does"}
	}
	if outcome.Differences > 0 {
		return outcome, fmt.Errorf("%w in %d entries, first in %q: %s", ErrDifferent, outcome.Differences, outcome.First.Path, outcome.First.What)
	}
	return outcome, nil
}

// compare compares the two lists.
func (o *Outcome) compare(ctx context.Context, peer, own <-chan *entry.Entry, differs func(source, own *entry.Entry) string) error {
	next := func(from <-chan *entry.Entry) (*entry.Entry, error) {
		select {
		case e := <-from:
			return e, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	a, err := next(peer)
	if err != nil {
		return err
	}
	b, err := next(own)
	if err != nil {
		return err
	}
	for a != nil || b != nil {
		order := 0
		switch {
		case a == nil:
			order = 1
		case b == nil:
			order = -1
		default:
			order = entry.Compare(a.Path, b.Path)
		}
		switch {
		case order < 0:
			o.differ(a.Path, "the destination has no "+a.Kind.String()+" there")
		case order > 0:
			o.differ(b.Path, "the source has no "+b.Kind.String()+" there")
		default:
			if what := differs(a, b); what != "" {
				o.differ(a.Path, what)
			}
		}
		if order <= 0 {
			if a, err = next(peer); err != nil {
				return err
			}
		}
		if order >= 0 {
			if b, err = next(own); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *Outcome) differ(path, what string) {
	if o.Differences == 0 {
		o.First = Difference{Path: path, What: what}
	}
	o.Differences++
}
