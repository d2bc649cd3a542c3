package planner

import (
	"slices"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// Do is a kind of Step.
type Do int

// Actions of a process.
const (
	// Rest ends the pass.
	Rest Do = iota
	// Read observes both sides as Reads requests, and calls Next.
	Read
	// Confirm writes the Migration again unchanged, which is refused if it was changed since, and calls Answered.
	// The StatefulSets were read before, so that the write of our fence is refused if a fence was written or
	// removed since.
	Confirm
	// Write carries out the Effect of the Decision, and calls Answered.
	Write
	// SaveRecord copies the Record of the Decision into the status, writes the status, and calls Answered.
	SaveRecord
	// Report describes the Decision in the status. If that is new, and Postpones returns no delay, the status is
	// written, and Answered is called.
	Report
)

// Step is the next action of a pass.
type Step struct {
	Do    Do
	Reads Reads
	// Snapshot is the input of the Decision. Both are kept to the end of the pass.
	Snapshot plan.Snapshot
	Decision plan.Decision
	// RequeueAfter is when to reconcile at the latest.
	RequeueAfter time.Duration
	// Focus is the handoff that the Reads are for, of several in flight. Waits lists those of them that only wait.
	Focus plan.Focus
	Waits []Waiter

	// foci lists what is still to decide in this pass, once it is known.
	foci  []plan.Focus
	known bool
	// waiting is the wait to report if the rest of the pass waits as well.
	waiting *Step
	round   int
	// near is true while only the caches' state of one ordinal was read.
	near bool
	// overdue is true when the API servers must be read although nothing is to write.
	overdue bool
}

// Waiter is an ordinal in flight that waits at a step.
type Waiter struct {
	Ordinal int32
	Step    api.Step
}

// onward continues a pass with the next handoff in flight, if the decision about this one is only to wait. So one write
// ends a pass, and a wait is reported only when all of them wait.
func (step Step) onward(concluded Step) Step {
	concluded.Focus, concluded.Waits, concluded.foci, concluded.known = step.Focus, step.Waits, step.foci, step.known
	if concluded.Do != Report || !OnlyHolds(concluded.Decision) {
		return concluded
	}
	if handoff := concluded.Snapshot.Record.Handoff; handoff != nil {
		concluded.Waits = append(slices.Clone(step.Waits), Waiter{handoff.Ordinal, concluded.Decision.Step})
	}
	if foci := Foci(concluded.Snapshot, concluded.Decision); !step.known {
		concluded.foci, concluded.known = foci, true
	} else if concluded.Decision.Hold.Stalled {
		concluded.foci = slices.DeleteFunc(foci, func(f plan.Focus) bool { return !listed(step.foci, f) })
	}
	if step.waiting != nil {
		concluded = step.waiting.with(concluded)
	}
	if len(concluded.foci) == 0 {
		return concluded
	}
	record := concluded.foci[0].Of(concluded.Snapshot.Record)
	return Step{
		Do: Read, Focus: concluded.foci[0], Reads: Near(record), near: record.Handoff != nil,
		Waits: concluded.Waits, foci: concluded.foci[1:], known: true, waiting: &concluded,
	}
}

// with returns the Step of two waits that is reported, with what was found since.
func (step Step) with(other Step) Step {
	reported := step
	if explains(*other.Decision.Hold, *step.Decision.Hold) {
		reported = other
	}
	reported.RequeueAfter = min(step.RequeueAfter, other.RequeueAfter)
	reported.Waits, reported.foci, reported.known = other.Waits, other.foci, true
	return reported
}

func listed(all []plan.Focus, f plan.Focus) bool {
	return slices.ContainsFunc(all, func(o plan.Focus) bool {
		return o.Begins == f.Begins && (o.Ordinal == nil) == (f.Ordinal == nil) && (o.Ordinal == nil || *o.Ordinal == *f.Ordinal)
	})
}

// again reads more, up to a maximal number of rounds.
func (step Step) again(reads Reads) Step {
	if step.round++; step.round == rounds {
		return Step{RequeueAfter: RequeueUnobserved}
	}
	step.Reads, step.near = reads, false
	return step
}

// stepOf returns the step for a decision whose reads have been done.
func stepOf(snapshot plan.Snapshot, decision plan.Decision) Step {
	step := Step{Do: Report, Snapshot: snapshot, Decision: decision, RequeueAfter: requeueAfter(decision)}
	switch {
	case decision.Effect != nil && decision.Effect.Fences():
		step.Do = Confirm
	case decision.Effect != nil:
		step.Do = Write
	case decision.Record != nil:
		step.Do = SaveRecord
	}
	return step
}

// Stall returns the Step that reports why a process cannot observe the sides.
func Stall(hold plan.Hold) Step {
	return stepOf(plan.Snapshot{}, plan.Decision{Hold: &hold})
}

// rest ends the pass.
func (step Step) rest(after time.Duration) Step {
	step.Do, step.RequeueAfter = Rest, after
	return step
}

// report continues with a decision that describes why the former one could not be carried out.
func (step Step) report(stalled *plan.Decision) Step {
	return stepOf(step.Snapshot, *stalled)
}

// Postpones returns how much longer the write of a status that reports only a wait is delayed: most waits end
// sooner. 0 or less: write it now. stalled is true if the last status reported Stalled.
func (s *State) Postpones(step Step, stalled bool, now time.Time) time.Duration {
	hold := step.Decision.Hold
	if hold == nil || hold.Stalled || hold.Reason == api.ReasonPaused || step.Decision.Done != "" || stalled {
		return 0
	}
	if s.UnreportedSince.IsZero() {
		s.UnreportedSince = now
	}
	return reportAfter - now.Sub(s.UnreportedSince)
}
