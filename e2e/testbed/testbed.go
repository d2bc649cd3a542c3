// Package testbed repeats a run that failed because its testbed broke. The control planes and kwok are many processes
// on one machine, and now and then one of them crashes. A run with a violated invariant fails in any case.
package testbed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sliceshift/sliceshift/e2e/cluster"
)

// Testbed is the environment of a run: the components of the embedded clusters.
type Testbed interface {
	// Usable returns an error that describes the fault of the testbed, or nil.
	Usable(ctx context.Context) error
	// Renew replaces the clusters by new ones.
	Renew(ctx context.Context) error
	// Deaths returns the parts that crashed since a time, including those of clusters that were replaced since.
	Deaths(since time.Time) []Death
}

// Runs repeats runs whose testbed broke. They share the testbed, and a run that broke it does not affect the next.
type Runs struct {
	Testbed Testbed
	// inUse is held for reading by each run, and for writing while the testbed is renewed.
	inUse sync.RWMutex
	// generation counts the renewals.
	generation int
}

const (
	// mostTries bounds the attempts of one run. A run that meets a broken testbed twice fails.
	mostTries = 2
	// mostRenewals bounds the renewals of a testbed that is not usable before a run.
	mostRenewals = 2
	checkLimit   = 30 * time.Second
	renewalLimit = 5 * time.Minute
	auditLimit   = time.Minute
)

// Do runs body on a usable testbed, and once more if it failed because the testbed broke. The counts of the last attempt
// are added to total.
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

// try is one attempt. If its testbed broke, the testbed is renewed.
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

// begin waits for a usable testbed, which is not renewed until the run has ended.
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

// happen performs the run and returns its facts.
func (r *Runs) happen(a *Attempt, began time.Time, body func(*Attempt)) facts {
	defer r.inUse.RUnlock()
	a.run(func() { body(a) })
	var f facts
	if a.Failed() {
		// Check first: a part that has just crashed gets the time to restart, for the auditors.
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

// renew replaces the testbed when no run uses it, unless another run has done so.
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

// Deaths returns the parts of the testbed that crashed since a time.
func (r *Runs) Deaths(since time.Time) []Death { return r.Testbed.Deaths(since) }

// Death is the unexpected end of a part of the testbed.
type Death struct {
	cluster.Death
	// Side is the side of every move that the part's cluster is.
	Side string
}

func (d Death) name() string { return string(d.Role) + " of the " + d.Side }

// facts are the known facts of a run that has ended.
type facts struct {
	// failed is true if the run did not reach a state that it requires.
	failed bool
	// violated is true if an auditor has proved that an invariant was broken.
	violated bool
	// deaths are the parts of the testbed that crashed during the run.
	deaths []Death
	// unusable is the result of the check of the testbed after the run had failed.
	unusable error
}

// result is the verdict on a run.
type result string

const (
	passed          result = "it passed"
	testbedBroke    result = "the testbed broke"
	migrationFailed result = "the migration failed"
)

// result distinguishes a run whose testbed broke from a run whose migration failed. A broken testbed does not excuse a
// violation: the invariants hold in any case. Nor is it a failure: a migration that completes has passed, whatever
// crashed meanwhile.
func (f facts) result() result {
	switch {
	case f.violated:
		return migrationFailed
	case !f.failed:
		return passed
	case len(f.deaths) > 0 || f.unusable != nil:
		return testbedBroke
	}
	return migrationFailed
}

// reasons returns the parts of the testbed that broke, each once.
func (f facts) reasons() []string {
	var reasons []string
	for _, d := range f.deaths {
		reasons = append(reasons, d.name()+" died unexpectedly")
	}
	if len(reasons) == 0 && f.unusable != nil {
		reasons = append(reasons, "pods did not come and go when the run was over")
	}
	slices.Sort(reasons)
	return slices.Compact(reasons)
}
