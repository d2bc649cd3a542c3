// Package simulate contains a small abstract model of the two clusters of a migration, and the dry run: the plan,
// carried out in a world without failures.
package simulate

import (
	"fmt"
	"slices"

	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
)

// Step is one write of a dry run, and the world after it.
type Step struct {
	Effect      plan.Effect `json:"effect"`
	Description string      `json:"description"`
	Source      Forecast    `json:"source"`
	Destination Forecast    `json:"destination"`
	// Available is how many replicas are available on both sides after the write, before the controllers have
	// caught up: the minimum during this step.
	Available int32 `json:"available"`
}

// Forecast is the state of one slice in a dry run.
type Forecast struct {
	Start    int32 `json:"start"`
	Replicas int32 `json:"replicas"`
	// MaxUnavailable is the number that the slice's PodDisruptionBudget allows; nil without one or in its author's own form.
	MaxUnavailable *int32 `json:"maxUnavailable,omitempty"`
}

// Result is the result of a dry run.
type Result struct {
	Steps []Step `json:"steps"`
	// Fewest is the minimum of available replicas at any time.
	Fewest int32 `json:"fewestAvailable"`
	// Outcome is the final reason of the condition Completed.
	Outcome string `json:"outcome,omitempty"`
	// Held is the final hold if the dry run cannot continue.
	Held *plan.Hold `json:"held,omitempty"`
}

// stepsPerOrdinal bounds a dry run. No plan has that number of writes for one ordinal.
const stepsPerOrdinal = 64

// Run iterates Plan over an abstract world that begins as the snapshot and in which nothing fails. The snapshot
// must cover all ordinals. Run writes to no cluster.
func Run(s plan.Snapshot) Result { return listed(s, Each) }

// listed returns a dry run with its steps.
func listed(s plan.Snapshot, each func(plan.Snapshot, func(Step)) Result) Result {
	var steps []Step
	result := each(s, func(step Step) { steps = append(steps, step) })
	result.Steps = steps
	return result
}

// Each is Run for callers that do not keep all steps: it passes each step to show.
func Each(s plan.Snapshot, show func(Step)) Result {
	result, _ := End(s, show)
	return result
}

// End is Each with the final state of the two sides.
func End(s plan.Snapshot, show func(Step)) (Result, plan.Snapshot) {
	w := NewWorld(s)
	w.tally = newTally(w)
	w.allHooks()
	result := w.run(decideAll, show)
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
	var waits *plan.Hold // the last hold, for a dry run that does not end
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
			w.restoring = decision.Effect.Restores()
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
			// The hold names the condition; in this world, only time must pass for it.
			w.State.Now = w.State.Now.Add(decision.Wait)
			w.Settle()
		}
	}
	result.Held = endless(waits)
	return result
}

// endless returns the final hold of a dry run that has waited for too long, although nothing fails in its world:
// the awaited change must come from outside.
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
	for _, is := range record.InFlight() {
		if !w.State.Record.Moves(is.Ordinal) {
			w.begun++
		}
	}
	w.State.Record = record.Stored(w.State.Spec.Order)
	w.copies()
}

// decideAll plans like an engine for all ordinals in flight. Of several, it stops as many as may be down before it starts
// one, so that the steps show the fewest available replicas.
func decideAll(w *World) plan.Decision {
	record := w.State.Record
	defer func() { w.State.Record = record }()
	foci := planner.Foci(w.State, plan.Decision{})
	if record.Handoff != nil && len(foci) > 0 {
		foci = append([]plan.Focus{{Ordinal: &record.Handoff.Ordinal}}, foci...)
		giver := w.State.Side(planner.Giver(w.State)).Set
		slices.SortStableFunc(foci, func(a, b plan.Focus) int { return rank(giver, a) - rank(giver, b) })
	} else {
		foci = []plan.Focus{{}}
	}
	var waits *plan.Decision
	for _, focus := range foci {
		w.State.Record = focus.Of(record)
		decision := decideNear(w)
		if !planner.OnlyHolds(decision) {
			return decision
		}
		if waits != nil {
			decision = planner.Together(*waits, decision)
		}
		waits = &decision
	}
	return *waits
}

// rank orders what is decided about ordinals in flight: another handoff begins, those at the giver are stopped, and then
// the others go on.
func rank(giver plan.Set, focus plan.Focus) int {
	switch {
	case focus.Begins:
		return 0
	case giver.Has(*focus.Ordinal):
		return 1
	default:
		return 2
	}
}

// decideNear plans like an engine. While an ordinal moves, and while reclaim policies are restored one volume at a
// time, it reads only the volumes of that ordinal and its neighbours. It reads all volumes if the next step
// depends on them. A problem elsewhere exists from the beginning, so everything is read until one ordinal has
// moved.
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
	restores := decision.Effect != nil && decision.Effect.Restores()
	if decision.Done != "" || w.restoring && !restores || planner.For(near, decision).Wide {
		return planner.Plan(w.State)
	}
	return decision
}

// stepOf returns the step before the controllers have acted. An ordinal that its slice no longer owns does not
// count as available, so the step shows the minimum.
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
