package transfer

import (
	"context"
	"time"

	"github.com/sliceshift/sliceshift/mover/differ"
	"github.com/sliceshift/sliceshift/mover/entry"
	"github.com/sliceshift/sliceshift/mover/tree"
)

// With VerifyLater the receiver reads back what it has written, and keeps the digests of all parts of 1 MiB from one
// pass to the next. At the end of the last pass its root covers everything, of which only the last changes were read
// after the stop. The source is read whole later, by a Seal of its own: no earlier read of the source says what is on
// it. Everything but the contents is compared with the source at once. An ordinal starts on that copy before the source
// is read, so no file is taken for unchanged by its size and time alone: see sources.

// recall opens the digests that the pass before has kept, for a pass.
func (r *Receiver) recall(before found) {
	if !r.keeps() || before.own == nil {
		return
	}
	index, err := tree.OpenIndex(before.own, r.reading(r.options.Now()))
	if err != nil {
		r.options.Log.Warn("all is read back: the previous index is unusable", "why", err)
		return
	}
	r.known = index
}

func (r *Receiver) reading(now time.Time) differ.Reading {
	return r.options.Tree.Reading(r.options.Copy, "receiver", now)
}

// readBack reads the written parts, and returns the root over it and the kept digests.
func (r *Receiver) readBack(ctx context.Context, before found) (Outcome, error) {
	defer r.attend(ctx)()
	record := r.begin()
	if record != nil {
		defer func() { _ = record.Close() }()
	}
	var tally tree.Tally
	options := tree.ListOptions{Digest: true, Settled: true, Parts: true, Written: r.ledger.written, Progress: &r.Counts.Verified}
	if r.options.Settled {
		options.Tally = &tally
		outcome, err := r.compareWith(ctx, r.listing(before.own, nil), options, r.listPeer(false), differButContent)
		outcome.Tally = tally
		return outcome, err
	}
	listed, err := list(ctx, r.listing(before.own, record), options, func(*entry.Entry) error {
		r.advance()
		return nil
	})
	outcome := Outcome{Own: &listed}
	if err == nil && record != nil && listed.Known > 0 {
		outcome.Kept, outcome.Young = r.keepBoth(record), r.sources.young
	}
	return outcome, r.note(err)
}

// differButContent describes how a path differs, apart from the bytes of its content.
func differButContent(source, own *entry.Entry) string {
	seen := *source
	seen.Digest = own.Digest
	return differ.Difference(&seen, own)
}

// Locate returns the first entry of a source, in its order, with a part of one of the numbers, and describes the part.
// Both are empty if there is none.
func Locate(ctx context.Context, source tree.Source, numbers map[uint64]bool) (path, what string, err error) {
	if len(numbers) == 0 {
		return "", "", nil
	}
	_, err = source.List(ctx, tree.ListOptions{}, func(e *entry.Entry) error {
		if what == "" {
			path, what = e.Path, tree.PartOf(e, numbers)
		}
		return nil
	})
	if what == "" {
		path = ""
	}
	return path, what, err
}
