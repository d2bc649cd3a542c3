package testbed

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

// Testbed is what plays the world in a run: the components of the embedded clusters.
type Testbed interface {
	// Usable says what is wrong with it, nil if nothing is.
	Usable(ctx context.Context) error
	// Renew puts new clusters in the place of those that there are.
	Renew(ctx context.Context) error
	// Deaths are the parts that died by themselves since a moment, also those of
	// clusters that were replaced since.
	Deaths(since time.Time) []Death
}

// Runs are what is repeated when its testbed broke. They share the testbed, and one that
// broke it does not spoil the next.
type Runs struct {
	Testbed Testbed
	// inUse is held for reading by each run, and for writing while the testbed is renewed.
	inUse sync.RWMutex
	// generation counts the renewals.
	generation int
}

const (
	// mostTries of one run. Whoever meets a broken testbed twice is told so.
	mostTries = 2
	// mostRenewals of a testbed that is not usable before a run.
	mostRenewals = 2
	checkLimit   = 30 * time.Second
	renewalLimit = 5 * time.Minute
	auditLimit   = time.Minute
)

// Do lets a run happen on a usable testbed, and once more if it failed because the testbed
// broke. What it did is counted in the total if it counts.
func (r *Runs) Do(t testing.TB, total *Tally, body func(*Attempt)) {
	t.Helper()
	for try := 1; ; try++ {
		a, f, err := r.try(t, body)
		for _, d := range f.deaths {
			t.Logf("the %s: %s", d.Side, d.Death)
		}
		if f.unusable != nil {
			t.Logf("the testbed when the run was over: %v", f.unusable)
		}
		if err != nil {
			t.Fatal(err)
		}
		switch f.result() {
		case passed:
			total.merge(a.Tally)
			return
		case testbedBroke:
			if try < mostTries {
				t.Logf("the testbed broke: %q; the run is repeated", f.reasons())
				total.repeat(f.reasons())
				continue
			}
			t.Errorf("the testbed broke again: %q; how it ended is above, the rest in the logs of the clusters", f.reasons())
		case migrationFailed:
			t.Error("the run failed, and not because of its testbed")
		}
		total.merge(a.Tally)
		return
	}
}

// try is one attempt. If its testbed broke, that is renewed.
func (r *Runs) try(t testing.TB, body func(*Attempt)) (*Attempt, facts, error) {
	t.Helper()
	began := time.Now()
	generation, err := r.begin(t)
	if err != nil {
		return nil, facts{}, err
	}
	a := start(t)
	f := r.happen(a, began, body)
	if f.result() == testbedBroke {
		err = r.renew(t, generation)
	}
	return a, f, err
}

// begin waits for a testbed that is usable. Until the run has happened it stays as it is.
func (r *Runs) begin(t testing.TB) (generation int, err error) {
	t.Helper()
	for renewals := 0; ; renewals++ {
		r.inUse.RLock()
		generation = r.generation
		if err = r.check(t.Context()); err == nil {
			return generation, nil
		}
		r.inUse.RUnlock()
		if renewals == mostRenewals {
			return 0, fmt.Errorf("the testbed cannot be used, although it was recreated: %w", err)
		}
		t.Logf("the testbed is recreated before the run: %v", err)
		if err := r.renew(t, generation); err != nil {
			return 0, err
		}
	}
}

func (r *Runs) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	return r.Testbed.Usable(ctx)
}

// happen is the run itself, and what is known of it afterwards.
func (r *Runs) happen(a *Attempt, began time.Time, body func(*Attempt)) facts {
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
	f.deaths = r.Testbed.Deaths(began)
	return f
}

// renew makes the testbed anew when no run is on it, unless another run has seen to that.
func (r *Runs) renew(t testing.TB, generation int) error {
	t.Helper()
	r.inUse.Lock()
	defer r.inUse.Unlock()
	if r.generation != generation {
		return nil
	}
	ctx, cancel := context.WithTimeout(t.Context(), renewalLimit)
	defer cancel()
	if err := r.Testbed.Renew(ctx); err != nil {
		return errors.Join(errors.New("the testbed cannot be recreated"), err)
	}
	r.generation++
	return nil
}

// Deaths are the parts of the testbed that died by themselves since a moment.
func (r *Runs) Deaths(since time.Time) []Death { return r.Testbed.Deaths(since) }
