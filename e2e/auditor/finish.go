package auditor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/utils/clock"

	"github.com/sliceshift/sliceshift/e2e/auditor/judge"
)

// Finish reads everything once more, waits for the running checks, compares the volumes that ordinals have left with what
// it has kept of their copies, and returns the report. Checks that are not proved
// when the context ends are reported as unproved. A second call returns the first report.
func (a *Auditor) Finish(ctx context.Context) Report {
	a.once.Do(func() {
		if err := a.ended(); err != nil {
			a.ledger.notProved(I1, WholeSet, fmt.Sprintf("the watches ended before Finish: %v", err))
		}
		a.live.Store(false)
		a.stopWatching()
		a.watching.Wait()
		a.lastLook(ctx)
		// The checks end with Finish's context as well as with that of Start.
		stop := context.AfterFunc(ctx, a.stopChecking)
		a.checking.Wait()
		stop()
		a.stopChecking()
		a.checkKept(ctx)
		a.finishInPlace()
		a.requireCoverage()
		a.report = a.summary()
	})
	return a.report
}

// lastLook reads the changes that the watches have not delivered yet and judges the end state.
func (a *Auditor) lastLook(ctx context.Context) {
	if err := a.relist(ctx); err != nil {
		for _, invariant := range a.applies() {
			a.ledger.notProved(invariant, WholeSet, fmt.Sprintf("last look: %v", err))
		}
	}
	if err := a.untilAnswered(ctx, a.replicas.settle); err != nil {
		for _, invariant := range []Invariant{I1, I4} {
			a.ledger.notProved(invariant, WholeSet, fmt.Sprintf("last look at the replicas: %v", err))
		}
	}
	if err := a.untilAnswered(ctx, a.storage.settle); err != nil {
		for _, invariant := range []Invariant{I2, I3} {
			a.ledger.notProved(invariant, WholeSet, fmt.Sprintf("last look at the volumes: %v", err))
		}
	}
}

// requireCoverage records the observations that are missing for the ordinals that moved: the timely check of the new
// pod's appearance, and each volume on the new side.
func (a *Auditor) requireCoverage() {
	a.state.do(func(s *state) {
		for _, ordinal := range slices.Sorted(maps.Keys(s.served.Moved)) {
			if at := s.served.On[ordinal]; at != judge.Nowhere && !s.apart[ordinal][at] {
				a.ledger.notProved(I1, ordinal, fmt.Sprintf("the appearance of %s in %s was not checked in time",
					judge.PodName(a.sides[at].Set, ordinal), a.sides[at].Name))
			}
		}
		for _, key := range slices.SortedFunc(maps.Keys(s.recorded), judge.CompareKeys) {
			at := s.served.On[key.Ordinal]
			if s.served.Moved[key.Ordinal] && at != judge.Nowhere && !s.verified[key][at] {
				a.ledger.notProved(I3, key.Ordinal, fmt.Sprintf("claim %s was never seen bound to %q in %s",
					key.ClaimName(a.sides[at].Set), s.recorded[key].Handle, a.sides[at].Name))
			}
		}
		for _, key := range slices.SortedFunc(maps.Keys(s.copied), judge.CompareKeys) {
			at := s.served.On[key.Ordinal]
			if s.served.Moved[key.Ordinal] && at != judge.Nowhere && !s.comparedOn(key, at) {
				a.ledger.notProved(I3, key.Ordinal, fmt.Sprintf("the content of claim %s was never compared in %s", key.ClaimName(a.sides[at].Set), a.sides[at].Name))
			}
		}
	})
}

// applies lists the invariants that this run could break.
func (a *Auditor) applies() []Invariant {
	applies := []Invariant{I1}
	if len(a.sides[judge.Source].templates) > 0 {
		applies = append(applies, I2, I3)
	}
	if a.bounded() {
		applies = append(applies, I4)
	}
	return applies
}

func (a *Auditor) summary() Report {
	r := Report{
		Source:      a.sides[judge.Source].String(),
		Destination: a.sides[judge.Destination].String(),
		Applies:     a.applies(),
		Replicas:    int32(len(a.ordinals)),
		Budget:      a.options.Budget,
	}
	if r.InPlace = a.options.InPlace; r.InPlace {
		r.Destination = "other volumes"
	}
	a.ledger.fill(&r)
	a.state.do(func(s *state) {
		onOthers, onFirst := s.startedAgain()
		r.Moved, r.Returned = len(s.served.Moved)+onOthers, onFirst
		r.FewestAvailable, r.FewestAt = s.fewest, s.fewestAt
		r.Ordinals = slices.Clone(s.timeline.Moves)
		r.ContentsCompared, r.ContentsSealed = s.comparisons(), len(s.sealed)
		for key, on := range s.verified {
			if o, known := s.recorded[key]; known && on[o.Side.Other()] {
				r.VolumesVerified++
			}
		}
	})
	return r
}

// ledger collects the findings of the checks. It is safe for concurrent use.
type ledger struct {
	clock clock.PassiveClock

	mu         sync.Mutex
	checks     map[Invariant]int
	violations []Finding
	unproved   []Finding
	known      map[string]bool
	torn       int
	broken     int
}

func newLedger(c clock.PassiveClock) *ledger {
	return &ledger{clock: c, checks: map[Invariant]int{}, known: map[string]bool{}}
}

// checked counts a completed check, whatever its result.
func (l *ledger) checked(invariant Invariant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.checks[invariant]++
}

// violated records a violation once, however many checks find it.
func (l *ledger) violated(invariant Invariant, ordinal int32, message string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.violations = l.record("violated", l.violations, Finding{Invariant: invariant, Ordinal: ordinal, Message: message})
}

// notProved records a check that could not be completed.
func (l *ledger) notProved(invariant Invariant, ordinal int32, message string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unproved = l.record("unproved", l.unproved, Finding{Invariant: invariant, Ordinal: ordinal, Message: message})
}

func (l *ledger) record(kind string, list []Finding, f Finding) []Finding {
	key := kind + "\x00" + string(f.Invariant) + "\x00" + f.Message
	if l.known[key] {
		return list
	}
	l.known[key] = true
	f.Time = l.clock.Now()
	return append(list, f)
}

// tornSample counts a sample during which something changed.
func (l *ledger) tornSample() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.torn++
}

// interrupted counts a watch that broke off.
func (l *ledger) interrupted() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken++
}

// fill copies the findings into the report.
func (l *ledger) fill(r *Report) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.Checks = maps.Clone(l.checks)
	r.Violations = append([]Finding(nil), l.violations...)
	r.Unproved = append([]Finding(nil), l.unproved...)
	r.TornSamples, r.Interruptions = l.torn, l.broken
}
