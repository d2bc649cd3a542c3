package e2e

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/e2e/auditor"
	"github.com/sliceshift/sliceshift/e2e/cluster"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// fakeBench breaks as a test says.
type fakeBench struct {
	mu       sync.Mutex
	sick     error
	incurred []death
	renewals int
	// forGood: a new one is no better.
	forGood bool
}

func (b *fakeBench) usable(context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sick
}

func (b *fakeBench) renew(context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.renewals++
	if !b.forGood {
		b.sick = nil
	}
	return nil
}

func (b *fakeBench) deaths(since time.Time) []death {
	b.mu.Lock()
	defer b.mu.Unlock()
	var deaths []death
	for _, d := range b.incurred {
		if d.Time.After(since) {
			deaths = append(deaths, d)
		}
	}
	return deaths
}

func (b *fakeBench) kill() {
	b.mu.Lock()
	defer b.mu.Unlock()
	d := kwokDied
	d.Time = time.Now()
	b.incurred = append(b.incurred, d)
}

func (b *fakeBench) sicken() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sick = errors.New("no pods")
}

// refuting is an auditor that has seen a violation.
type refuting struct{}

// Finish implements watcher.
func (refuting) Finish(context.Context) auditor.Report {
	return auditor.Report{Violations: []auditor.Finding{{Invariant: auditor.I1}}}
}

// TestRuns: a run whose bench broke happens once more, and no other does; what it did
// in vain is not counted.
func TestRuns(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		before func(*fakeBench)
		// run is what happens in a try, the first being 1.
		run                      func(b *fakeBench, a *attempt, try int)
		tries, counted, renewals int
		fails                    bool
		says                     string
	}{
		"it passes": {tries: 1, counted: 1, says: "No part of the bench died by itself."},
		"it fails": {
			run:   func(_ *fakeBench, a *attempt, _ int) { a.Fatal("too slow") },
			tries: 1, counted: 1, fails: true,
		},
		"kwok dies, and it passes": {
			run:   func(b *fakeBench, _ *attempt, _ int) { b.kill() },
			tries: 1, counted: 1, says: "died by themselves, 1 in all: kwok of the destination (1).",
		},
		"kwok dies, and it fails": {
			run: func(b *fakeBench, a *attempt, try int) {
				if try == 1 {
					b.kill()
					a.Fatal("no pods")
				}
			},
			tries: 2, counted: 1, renewals: 1, says: "repeated because the bench broke, 1 in all: kwok of the destination died by itself (1).",
		},
		"it hangs, and so does the bench": {
			run: func(b *fakeBench, a *attempt, try int) {
				if try == 1 {
					b.sicken()
					a.Error("no pods")
				}
			},
			tries: 2, counted: 1, renewals: 1, says: "repeated because the bench broke, 1 in all: pods did not come and go when the run was over (1).",
		},
		"kwok dies every time": {
			run: func(b *fakeBench, a *attempt, _ int) {
				b.kill()
				a.Fatal("no pods")
			},
			tries: 2, counted: 1, renewals: 2, fails: true,
		},
		"it fails in the end": {
			run: func(b *fakeBench, a *attempt, try int) {
				if try == 1 {
					b.kill()
				}
				a.Fatal("no pods")
			},
			tries: 2, counted: 1, renewals: 1, fails: true,
		},
		"kwok dies, and an invariant is violated": {
			run: func(b *fakeBench, a *attempt, _ int) {
				a.auditors = append(a.auditors, refuting{})
				b.kill()
				a.Fatal("no pods")
			},
			tries: 1, counted: 1, fails: true,
		},
		"an invariant is violated, and nobody asks": {
			run:   func(_ *fakeBench, a *attempt, _ int) { a.auditors = append(a.auditors, refuting{}) },
			tries: 1, counted: 1, fails: true,
		},
		"a cleanup fails": {
			run:   func(_ *fakeBench, a *attempt, _ int) { a.Cleanup(func() { a.Fatal("left something") }) },
			tries: 1, counted: 1, fails: true,
		},
		"the one before has spoilt the bench": {
			before: (*fakeBench).sicken,
			tries:  1, counted: 1, renewals: 1,
		},
		"the bench is spoilt for good": {
			before: func(b *fakeBench) { b.forGood = true; b.sicken() },
			fails:  true, renewals: mostRenewals,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			b, total, began, tries := &fakeBench{}, newTally(), time.Now(), 0
			if tc.before != nil {
				tc.before(b)
			}
			outer := newAttempt(t)
			outer.run(func() {
				(&runs{bench: b}).do(outer, total, func(a *attempt) {
					tries++
					a.tally.ran(1)
					if tc.run != nil {
						tc.run(b, a, tries)
					}
				})
			})
			outer.close()
			total.bury(b.deaths(began))
			if tries != tc.tries || total.runs != tc.counted || b.renewals != tc.renewals || outer.Failed() != tc.fails {
				t.Errorf("%d tries, %d counted, %d renewals, failed: %t; want %d, %d, %d, %t",
					tries, total.runs, b.renewals, outer.Failed(), tc.tries, tc.counted, tc.renewals, tc.fails)
			}
			if !strings.Contains(total.sentence(), tc.says) {
				t.Errorf("the tally says %q, want it to say %q", total.sentence(), tc.says)
			}
		})
	}
}

// TestRunsShareTheBench: it is not made anew under a run, and once for all whom it failed.
func TestRunsShareTheBench(t *testing.T) {
	t.Parallel()
	const together = 4
	b, total := &fakeBench{}, newTally()
	shared := &runs{bench: b}
	var met, running sync.WaitGroup
	var onIt atomic.Int32
	met.Add(together)
	for range together {
		running.Go(func() {
			tries := 0
			shared.do(t, total, func(a *attempt) {
				onIt.Add(1)
				defer onIt.Add(-1)
				if tries++; tries > 1 {
					return
				}
				met.Done()
				met.Wait() // all of them are on the bench when it breaks
				b.kill()
				a.Fatal("no pods")
			})
		})
	}
	running.Wait()
	if b.renewals != 1 || total.repeated != together || onIt.Load() != 0 {
		t.Errorf("%d renewals for %d repeated runs, want 1 for %d", b.renewals, total.repeated, together)
	}
}

// TestBenchIsMadeAnew kills kwok in mid-move behind the back of the harness. The run that
// fails for it is repeated between new clusters, where the manager is at home as in the
// first ones.
func TestBenchIsMadeAnew(t *testing.T) {
	began, total, tries := time.Now(), newTally(), 0
	first := west
	onBench.do(t, total, func(a *attempt) {
		tries++
		v := newMove(a, usual(2), acrossClusters)
		c := v.managed()
		startCrew(a, v.app.Namespace)
		v.must(c.Create(v.ctx, v.m))
		if tries == 1 {
			v.must(syscall.Kill(parts(v.to).PID(cluster.Kwok), syscall.SIGKILL))
			v.eventually("kwok is counted", func(context.Context) (bool, error) { return len(onBench.deaths(began)) == 1, nil })
			a.Fatal("for want of pods")
		}
		v.await(c, api.ConditionCompleted, metav1.ConditionTrue)
		v.expectMoved()
		a.tally.ran(len(v.audit().Ordinals))
	})
	total.bury(onBench.deaths(began))
	if west == first {
		t.Error("the clusters are the same as before")
	}
	want := "1 runs, 2 handoffs, 0 faults, 0 violations: . Parts of the bench died by themselves, 1 in all: kwok of the destination (1)." +
		" Runs repeated because the bench broke, 1 in all: kwok of the destination died by itself (1)."
	if tries != 2 || total.sentence() != want {
		t.Errorf("%d tries, and the tally says %q, want 2 and %q", tries, total.sentence(), want)
	}
}
