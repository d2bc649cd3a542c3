package pass

import (
	"time"

	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/scope"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Do is a kind of Step.
type Do int

// What a process does.
const (
	// Rest ends the pass.
	Rest Do = iota
	// Read observes both sides as far as Reads say, and calls Next.
	Read
	// Confirm writes the Migration again as it was read, which is refused when it has changed
	// since, and calls Answered. The StatefulSets were read before, so that a fence that was
	// written since, or taken off, refuses ours.
	Confirm
	// Write carries out the Effect of the Decision, and calls Answered.
	Write
	// SaveRecord puts the Record of the Decision into the status, writes that, and calls Answered.
	SaveRecord
	// Report describes the Decision in the status. Where that tells something new, and Postpones
	// says that it is worth a write, it is written, and Answered called.
	Report
)

// Step is what is done next in a pass.
type Step struct {
	Do    Do
	Reads scope.Reads
	// Snapshot is what the Decision was taken on. Both are kept to the end of the pass.
	Snapshot plan.Snapshot
	Decision plan.Decision
	// RequeueAfter is when to look again at the latest.
	RequeueAfter time.Duration

	round int
	// near is true while nothing was looked at but what the caches show of one ordinal.
	near bool
	// overdue is true when the API servers are to be read although nothing is to be written.
	overdue bool
}

// again looks closer, unless that was done too often.
func (step Step) again(reads scope.Reads) Step {
	if step.round++; step.round == rounds {
		return Step{RequeueAfter: RequeueUnobserved}
	}
	step.Reads, step.near = reads, false
	return step
}

// stepOf is what a decision asks for whose reads have been done.
func stepOf(snapshot plan.Snapshot, decision plan.Decision) Step {
	step := Step{Do: Report, Snapshot: snapshot, Decision: decision, RequeueAfter: requeueAfter(decision)}
	switch {
	case decision.Effect != nil && decision.Effect.Verb == plan.WriteFence:
		step.Do = Confirm
	case decision.Effect != nil:
		step.Do = Write
	case decision.Record != nil:
		step.Do = SaveRecord
	}
	return step
}

// Stall is the Step that reports what keeps a process from looking at all.
func Stall(hold plan.Hold) Step {
	return stepOf(plan.Snapshot{}, plan.Decision{Hold: &hold})
}

// rest ends the pass.
func (step Step) rest(after time.Duration) Step {
	step.Do, step.RequeueAfter = Rest, after
	return step
}

// report goes on with a decision that describes why the former one could not be carried out.
func (step Step) report(stalled *plan.Decision) Step {
	return stepOf(step.Snapshot, *stalled)
}

// Postpones is how much longer a status that tells of nothing but a wait is not worth a write: most
// waits are over sooner. 0 or less: write it now. stalled says whether the last status said Stalled.
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
