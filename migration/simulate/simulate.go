// Package simulate has a small abstract model of both clusters of a migration, and the dry run: the
// plan, carried out in a world in which nothing fails.
package simulate

import (
	"fmt"

	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/migration/scope"
)

// Step is one write of a dry run, and the world after it.
type Step struct {
	Effect      plan.Effect `json:"effect"`
	Description string      `json:"description"`
	Source      Forecast    `json:"source"`
	Destination Forecast    `json:"destination"`
	// Available is how many replicas are available on both sides after the write,
	// before the controllers have caught up: the fewest in this step.
	Available int32 `json:"available"`
}

// Forecast is one slice in a dry run.
type Forecast struct {
	Start    int32 `json:"start"`
	Replicas int32 `json:"replicas"`
	// MaxUnavailable is what the slice's PodDisruptionBudget allows; nil without one
	// or in its author's own form.
	MaxUnavailable *int32 `json:"maxUnavailable,omitempty"`
}

// Result is a dry run.
type Result struct {
	Steps []Step `json:"steps"`
	// Fewest is the fewest replicas available at any time.
	Fewest int32 `json:"fewestAvailable"`
	// Outcome is the reason of the condition Completed that it ends with.
	Outcome string `json:"outcome,omitempty"`
	// Held is what it ends with when it cannot go on.
	Held *plan.Hold `json:"held,omitempty"`
}

// stepsPerOrdinal bounds a dry run: more writes for one ordinal than any plan has.
const stepsPerOrdinal = 64

// Run iterates Plan over an abstract world that begins as the snapshot and in
// which nothing fails. The snapshot must cover all ordinals. It never writes.
func Run(s plan.Snapshot) Result { return listed(s, Each) }

// listed is a dry run with its steps.
func listed(s plan.Snapshot, each func(plan.Snapshot, func(Step)) Result) Result {
	var steps []Step
	result := each(s, func(step Step) { steps = append(steps, step) })
	result.Steps = steps
	return result
}

// Each is Run for who keeps less than the whole of each step: a step is shown as it is made.
func Each(s plan.Snapshot, show func(Step)) Result {
	result, _ := End(s, show)
	return result
}

// End is Each with what both sides have in the end.
func End(s plan.Snapshot, show func(Step)) (Result, plan.Snapshot) {
	w := NewWorld(s)
	w.tally = newTally(w)
	w.allHooks()
	result := w.run(decideNear, show)
	return result, w.State
}

func (w *World) run(decide func(*World) plan.Decision, show func(Step)) Result {
	s := &w.State
	if finding := s.Unbounded(); finding != nil {
		return Result{Held: finding.Hold()}
	}
	s.Holder, s.Engaged = "dry-run", false
	w.cutOver()
	w.attaching()
	w.passes = true
	w.Settle()
	result := Result{Fewest: available(w)}
	limit := stepsPerOrdinal*int(s.Source.Set.Replicas+s.Destination.Set.Replicas+2) + len(s.Dependencies.List)
	limit += 8 * len(s.Spec.Hooks) * int(s.Source.Set.Replicas+s.Destination.Set.Replicas+2)
	var waits *plan.Hold // for what does not come, if it does not end
	for range limit {
		decision := decide(w)
		waits = decision.Hold
		switch {
		case decision.Record != nil:
			given := planner.DestinationCount(w.State)
			w.Note(*decision.Record)
			w.State.Record.Given = given
			fence := decision.Record.Fence
			w.State.Engaged = fence != nil && fence.Holder == w.State.Holder
		case decision.Effect != nil:
			if err := w.Apply(*decision.Effect); err != nil {
				result.Held = &plan.Hold{Reason: "Simulation", Message: fmt.Sprintf("%s: %v", decision.Effect, err), Stalled: true}
				return result
			}
			if decision.Effect.OfOrdinal() {
				w.only = &decision.Effect.Ordinal
			}
			w.restoring = decision.Effect.Verb == plan.RestorePolicy
			step := stepOf(w, *decision.Effect)
			result.Fewest = min(result.Fewest, step.Available)
			show(step)
			w.Settle()
		case decision.Done != "":
			result.Outcome, result.Held = decision.Done, decision.Hold
			return result
		case w.endPass():
		case decision.Wait == 0:
			result.Held = decision.Hold
			return result
		default:
			// The hold names what is waited for; in this world only time has yet to pass for it.
			w.State.Now = w.State.Now.Add(decision.Wait)
			w.Settle()
		}
	}
	result.Held = endless(waits)
	return result
}

// endless is what a dry run ends with that has waited for too long, though nothing fails in its world: what it waits for
// must come from outside.
func endless(waits *plan.Hold) *plan.Hold {
	if waits == nil {
		return &plan.Hold{Reason: "Simulation", Message: "the plan does not end", Stalled: true}
	}
	held := *waits
	held.Stalled = true
	return &held
}

// Note writes a record, and counts the handoffs that begin.
func (w *World) Note(record plan.Record) {
	if was, is := w.State.Record.Handoff, record.Handoff; is != nil && (was == nil || was.Ordinal != is.Ordinal) {
		w.begun++
	}
	w.State.Record = record
	w.copies()
}

// decideNear asks the plan as an engine does: while an ordinal moves, and while one volume after the
// other gets its reclaim policy back in the end, it looks at the volumes of that one and of its neighbours, and at
// all of them where what comes next depends on that. What is amiss elsewhere is so from the beginning:
// all is looked at until one ordinal has moved.
func decideNear(w *World) plan.Decision {
	at := w.only
	if handoff := w.State.Record.Handoff; handoff != nil {
		at = &handoff.Ordinal
	} else if !w.restoring {
		at = nil
	}
	if at == nil || w.begun < 2 {
		return planner.Plan(w.State)
	}
	near := w.State
	near.Volumes, near.Focused, near.VolumesRead = w.volumesOf(*at-1, max(*at, *at+1)), true, true
	decision := planner.Knowing(near, w.downs())
	restores := decision.Effect != nil && decision.Effect.Verb == plan.RestorePolicy
	if decision.Done != "" || w.restoring && !restores || scope.For(near, decision).Wide {
		return planner.Plan(w.State)
	}
	return decision
}

// stepOf is taken before the controllers have acted: an ordinal that its slice does not own any
// more does not count as available, so that the step shows the fewest there are in it.
func stepOf(w *World, e plan.Effect) Step {
	return Step{
		Effect: e, Description: e.String(),
		Source: forecast(w.State, w.State.Source), Destination: forecast(w.State, w.State.Destination),
		Available: available(w),
	}
}

func forecast(s plan.Snapshot, side plan.Side) Forecast {
	return Forecast{Start: side.Set.Start, Replicas: side.Set.Replicas, MaxUnavailable: plan.Allowed(s, side)}
}
