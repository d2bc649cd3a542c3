package testbed

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sliceshift/sliceshift/e2e/auditor"
)

// fakeTestbed breaks as a test requires.
type fakeTestbed struct {
	mu       sync.Mutex
	sick     error
	incurred []Death
	renewals int
	// forGood is true if a renewed testbed is broken too.
	forGood bool
}

func (b *fakeTestbed) Usable(context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sick
}

func (b *fakeTestbed) Renew(context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.renewals++
	if !b.forGood {
		b.sick = nil
	}
	return nil
}

func (b *fakeTestbed) Deaths(since time.Time) []Death {
	b.mu.Lock()
	defer b.mu.Unlock()
	var deaths []Death
	for _, d := range b.incurred {
		if d.Time.After(since) {
			deaths = append(deaths, d)
		}
	}
	return deaths
}

func (b *fakeTestbed) kill() {
	b.mu.Lock()
	defer b.mu.Unlock()
	d := kwokDied
	d.Time = time.Now()
	b.incurred = append(b.incurred, d)
}

func (b *fakeTestbed) sicken() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sick = errors.New("no pods")
}

// refuting is an auditor that reports a violation.
type refuting struct{}

// Finish implements watcher.
func (refuting) Finish(context.Context) auditor.Report {
	return auditor.Report{Violations: []auditor.Finding{{Invariant: auditor.I1}}}
}

// TestRuns: only a run whose testbed broke is repeated, once, and its failed attempt is not counted.
func TestRuns(t *testing.T) {
	t.Parallel()
	atFirst := func(harm func(*fakeTestbed), fail func(*Attempt, ...any)) func(*fakeTestbed, *Attempt, int) {
		return func(b *fakeTestbed, a *Attempt, try int) {
			if try == 1 {
				harm(b)
				fail(a, "no pods")
			}
		}
	}
	tests := map[string]struct {
		before func(*fakeTestbed)
		// run is the behaviour in a try; the first try is 1.
		run                      func(b *fakeTestbed, a *Attempt, try int)
		tries, counted, renewals int
		fails                    bool
		says                     string
	}{
		"it passes": {tries: 1, counted: 1, says: "No part of the testbed died by itself."},
		"it fails": {
			run:   func(_ *fakeTestbed, a *Attempt, _ int) { a.Fatal("too slow") },
			tries: 1, counted: 1, fails: true,
		},
		"kwok dies, and it passes": {
			run:   func(b *fakeTestbed, _ *Attempt, _ int) { b.kill() },
			tries: 1, counted: 1, says: "died by themselves, 1 in all: kwok of the destination (1).",
		},
		"kwok dies, and it fails": {
			run:   atFirst((*fakeTestbed).kill, (*Attempt).Fatal),
			tries: 2, counted: 1, renewals: 1, says: "repeated because the testbed broke, 1 in all: kwok of the destination died by itself (1).",
		},
		"it hangs, and so does the testbed": {
			run:   atFirst((*fakeTestbed).sicken, (*Attempt).Error),
			tries: 2, counted: 1, renewals: 1, says: "repeated because the testbed broke, 1 in all: pods did not come and go when the run was over (1).",
		},
		"kwok dies every time": {
			run: func(b *fakeTestbed, a *Attempt, _ int) {
				b.kill()
				a.Fatal("no pods")
			},
			tries: 2, counted: 1, renewals: 2, fails: true,
		},
		"it fails in the end": {
			run: func(b *fakeTestbed, a *Attempt, try int) {
				if try == 1 {
					b.kill()
				}
				a.Fatal("no pods")
			},
			tries: 2, counted: 1, renewals: 1, fails: true,
		},
		"kwok dies, and an invariant is violated": {
			run: func(b *fakeTestbed, a *Attempt, _ int) {
				a.Watch(refuting{})
				b.kill()
				a.Fatal("no pods")
			},
			tries: 1, counted: 1, fails: true,
		},
		"an invariant is violated, and nobody asks": {
			run:   func(_ *fakeTestbed, a *Attempt, _ int) { a.Watch(refuting{}) },
			tries: 1, counted: 1, fails: true,
		},
		"a cleanup fails": {
			run:   func(_ *fakeTestbed, a *Attempt, _ int) { a.Cleanup(func() { a.Fatal("left something") }) },
			tries: 1, counted: 1, fails: true,
		},
		"the one before has spoilt the testbed": {
			before: (*fakeTestbed).sicken,
			tries:  1, counted: 1, renewals: 1,
		},
		"the testbed is spoilt for good": {
			before: func(b *fakeTestbed) { b.forGood = true; b.sicken() },
			fails:  true, renewals: mostRenewals,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			b, total, began, tries := &fakeTestbed{}, NewTally(), time.Now(), 0
			if tc.before != nil {
				tc.before(b)
			}
			outer := start(t)
			outer.run(func() {
				(&Runs{Testbed: b}).Do(outer, total, func(a *Attempt) {
					tries++
					a.Tally.Ran(1)
					if tc.run != nil {
						tc.run(b, a, tries)
					}
				})
			})
			outer.close()
			total.Bury(b.Deaths(began))
			if tries != tc.tries || total.runs != tc.counted || b.renewals != tc.renewals || outer.Failed() != tc.fails {
				t.Errorf("%d tries, %d counted, %d renewals, failed: %t; want %d, %d, %d, %t",
					tries, total.runs, b.renewals, outer.Failed(), tc.tries, tc.counted, tc.renewals, tc.fails)
			}
			if !strings.Contains(total.Sentence(), tc.says) {
				t.Errorf("the tally says %q, want it to say %q", total.Sentence(), tc.says)
			}
		})
	}
}

// TestRunsShareTheBench: the testbed is not renewed during a run, and only once for all runs that it failed.
func TestRunsShareTheBench(t *testing.T) {
	t.Parallel()
	const together = 4
	b, total := &fakeTestbed{}, NewTally()
	shared := &Runs{Testbed: b}
	var met, running sync.WaitGroup
	var onIt atomic.Int32
	met.Add(together)
	for range together {
		running.Go(func() {
			tries := 0
			shared.Do(t, total, func(a *Attempt) {
				onIt.Add(1)
				defer onIt.Add(-1)
				if tries++; tries > 1 {
					return
				}
				met.Done()
				met.Wait() // all of them are on the testbed when it breaks
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
