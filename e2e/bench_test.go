package e2e

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

// bench is what plays the world in a run: the components of the embedded clusters.
type bench interface {
	// usable says what is wrong with it, nil if nothing is.
	usable(ctx context.Context) error
	// renew puts new clusters in the place of those that there are.
	renew(ctx context.Context) error
	// deaths are the parts that died by themselves since a moment, also those of
	// clusters that were replaced since.
	deaths(since time.Time) []death
}

// onBench are the runs on the embedded clusters.
var onBench *runs

// runs are what is repeated when its bench broke. They share the bench, and one that
// broke it does not spoil the next.
type runs struct {
	bench bench
	// inUse is held for reading by each run, and for writing while the bench is renewed.
	inUse sync.RWMutex
	// generation counts the renewals.
	generation int
}

const (
	// mostTries of one run. Whoever meets a broken bench twice is told so.
	mostTries = 2
	// mostRenewals of a bench that is not usable before a run.
	mostRenewals = 2
	checkLimit   = 30 * time.Second
	renewalLimit = 5 * time.Minute
	auditLimit   = time.Minute
)

// do lets a run happen on a usable bench, and once more if it failed because the bench
// broke. What it did is counted in the total if it counts.
func (r *runs) do(t testing.TB, total *tally, body func(*attempt)) {
	t.Helper()
	for try := 1; ; try++ {
		a, f, err := r.try(t, body)
		for _, d := range f.deaths {
			t.Logf("the %s: %s", d.side, d.Death)
		}
		if f.unusable != nil {
			t.Logf("the bench when the run was over: %v", f.unusable)
		}
		if err != nil {
			t.Fatal(err)
		}
		switch f.result() {
		case passed:
			total.merge(a.tally)
			return
		case benchBroke:
			if try < mostTries {
				t.Logf("the bench broke: %q; the run is repeated", f.reasons())
				total.repeat(f.reasons())
				continue
			}
			t.Errorf("the bench broke again: %q; how it ended is above, the rest in the logs of the clusters", f.reasons())
		case migrationFailed:
			t.Error("the run failed, and not because of its bench")
		}
		total.merge(a.tally)
		return
	}
}

// try is one attempt. If its bench broke, that is renewed.
func (r *runs) try(t testing.TB, body func(*attempt)) (*attempt, facts, error) {
	t.Helper()
	began := time.Now()
	generation, err := r.begin(t)
	if err != nil {
		return nil, facts{}, err
	}
	a := newAttempt(t)
	f := r.happen(a, began, body)
	if f.result() == benchBroke {
		err = r.renew(t, generation)
	}
	return a, f, err
}

// begin waits for a bench that is usable. Until the run has happened it stays as it is.
func (r *runs) begin(t testing.TB) (generation int, err error) {
	t.Helper()
	for renewals := 0; ; renewals++ {
		r.inUse.RLock()
		generation = r.generation
		if err = r.check(t.Context()); err == nil {
			return generation, nil
		}
		r.inUse.RUnlock()
		if renewals == mostRenewals {
			return 0, fmt.Errorf("the bench cannot be used, although it was made anew: %w", err)
		}
		t.Logf("the bench is made anew before the run: %v", err)
		if err := r.renew(t, generation); err != nil {
			return 0, err
		}
	}
}

func (r *runs) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	return r.bench.usable(ctx)
}

// happen is the run itself, and what is known of it afterwards.
func (r *runs) happen(a *attempt, began time.Time, body func(*attempt)) facts {
	defer r.inUse.RUnlock()
	a.run(func() { body(a) })
	var f facts
	if a.Failed() {
		// First this: a part that has just died gets the time to come back, for the auditors.
		f.unusable = r.check(a.Context())
	}
	ctx, cancel := context.WithTimeout(a.Context(), auditLimit)
	defer cancel()
	f.violated = a.violated(ctx)
	a.close()
	f.failed = a.Failed()
	f.deaths = r.bench.deaths(began)
	return f
}

// renew makes the bench anew when no run is on it, unless another run has seen to that.
func (r *runs) renew(t testing.TB, generation int) error {
	t.Helper()
	r.inUse.Lock()
	defer r.inUse.Unlock()
	if r.generation != generation {
		return nil
	}
	ctx, cancel := context.WithTimeout(t.Context(), renewalLimit)
	defer cancel()
	if err := r.bench.renew(ctx); err != nil {
		return errors.Join(errors.New("the bench cannot be made anew"), err)
	}
	r.generation++
	return nil
}

// deaths are the parts of the bench that died by themselves since a moment.
func (r *runs) deaths(since time.Time) []death { return r.bench.deaths(since) }
