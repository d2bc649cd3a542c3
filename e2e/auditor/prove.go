package auditor

import (
	"context"
	"errors"
	"fmt"

	"github.com/sliceshift/sliceshift/e2e/auditor/feed"
)

// maxChecks bounds the reads of all checks at one time.
const maxChecks = 32

// subject describes a check.
type subject struct {
	Invariant Invariant
	Ordinal   int32
	// What completes the sentence "not proved that ...".
	What string
	// Settled runs when the check completed while the watches ran. May be nil.
	Settled func()
}

// outcome is the result of one attempt.
type outcome int

const (
	// pending: the reads prove nothing; read again.
	pending outcome = iota
	// settled: the check is complete, whatever its result.
	settled
	// abandoned: the check can never complete; the reason is recorded.
	abandoned
)

// prove runs attempt in the background until it is no longer pending. An API server that does not answer proves
// nothing, so each error is retried. At the timeout the check is recorded as unproved.
func (a *Auditor) prove(about subject, attempt func(context.Context) (outcome, error)) {
	live := a.live.Load()
	a.background(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, a.options.CheckTimeout)
		defer cancel()
		last := errors.New("what was read kept changing")
		for ctx.Err() == nil {
			result, err := a.attempt(ctx, attempt)
			if err != nil {
				last = err
			}
			if result == settled && live {
				a.settle(about)
			}
			if result != pending {
				return
			}
			feed.Pause(ctx, feed.RetryPause/4)
		}
		a.ledger.notProved(about.Invariant, about.Ordinal, fmt.Sprintf("not proved that %s: %v", about.What, last))
	})
}

// settle counts a completed check.
func (a *Auditor) settle(about subject) {
	a.ledger.checked(about.Invariant)
	if about.Settled != nil {
		about.Settled()
	}
}

// attempt waits for a free slot and bounds one attempt.
func (a *Auditor) attempt(ctx context.Context, attempt func(context.Context) (outcome, error)) (outcome, error) {
	select {
	case a.slots <- struct{}{}:
		defer func() { <-a.slots }()
	case <-ctx.Done():
		return pending, nil
	}
	ctx, cancel := context.WithTimeout(ctx, a.options.RequestTimeout)
	defer cancel()
	return attempt(ctx)
}

// untilAnswered repeats f until it succeeds or the check times out.
func (a *Auditor) untilAnswered(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, a.options.CheckTimeout)
	defer cancel()
	for {
		err := f(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		feed.Pause(ctx, feed.RetryPause)
	}
}
