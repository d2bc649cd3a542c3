package planner

import (
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

	round int
	// near is true while only the caches' state of one ordinal was read.
	near bool
	// overdue is true when the API servers must be read although nothing is to write.
	overdue bool
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
