package migration

import "fmt"

// PlannedStep is one write of a dry run, and the world after it.
type PlannedStep struct {
	Effect      Effect   `json:"effect"`
	Description string   `json:"description"`
	Source      Forecast `json:"source"`
	Destination Forecast `json:"destination"`
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

// Simulation is a dry run.
type Simulation struct {
	Steps []PlannedStep `json:"steps"`
	// Fewest is the fewest replicas available at any time.
	Fewest int32 `json:"fewestAvailable"`
	// Outcome is the reason of the condition Completed that it ends with.
	Outcome string `json:"outcome,omitempty"`
	// Held is what it ends with when it cannot go on.
	Held *Hold `json:"held,omitempty"`
}

// stepsPerOrdinal bounds a dry run: more writes for one ordinal than any plan has.
const stepsPerOrdinal = 64

// Simulate iterates Plan over an abstract world that begins as the snapshot and in
// which nothing fails. The snapshot must cover all ordinals. It never writes.
func Simulate(s Snapshot) Simulation {
	if finding := s.unbounded(); finding != nil {
		return Simulation{Held: finding.hold()}
	}
	w := newWorld(s)
	w.state.Holder, w.state.Engaged = "dry-run", false
	w.settle()
	result := Simulation{Fewest: available(w)}
	limit := stepsPerOrdinal * int(s.Source.Set.Replicas+s.Destination.Set.Replicas+2)
	for range limit {
		decision := Plan(w.state)
		switch {
		case decision.Record != nil:
			given := givenNow(w.state)
			w.state.Record = *decision.Record
			w.state.Record.Given = given
			claim := decision.Record.Claim
			w.state.Engaged = claim != nil && claim.Holder == w.state.Holder
		case decision.Effect != nil:
			if err := w.apply(*decision.Effect); err != nil {
				result.Held = &Hold{Reason: "Simulation", Message: fmt.Sprintf("%s: %v", decision.Effect, err), Stalled: true}
				return result
			}
			if decision.Effect.OfOrdinal() {
				w.only = &decision.Effect.Ordinal
			}
			step := plannedStep(w, *decision.Effect)
			result.Fewest = min(result.Fewest, step.Available)
			result.Steps = append(result.Steps, step)
			w.settle()
		case decision.Done != "":
			result.Outcome, result.Held = decision.Done, decision.Hold
			return result
		case decision.Wait == 0:
			result.Held = decision.Hold
			return result
		default:
			// The hold names what is waited for; in this world only time has yet to pass for it.
			w.state.Now = w.state.Now.Add(decision.Wait)
		}
	}
	result.Held = &Hold{Reason: "Simulation", Message: "the plan does not end", Stalled: true}
	return result
}

// plannedStep is taken before the controllers have acted: an ordinal that its slice does not own any
// more does not count as available, so that the step shows the fewest there are in it.
func plannedStep(w *world, e Effect) PlannedStep {
	return PlannedStep{
		Effect: e, Description: e.String(),
		Source: forecast(w.state, w.state.Source), Destination: forecast(w.state, w.state.Destination),
		Available: available(w),
	}
}

func forecast(s Snapshot, side Side) Forecast {
	return Forecast{Start: side.Set.Start, Replicas: side.Set.Replicas, MaxUnavailable: Allowed(s, side)}
}

func available(w *world) int32 {
	return Available(w.state.Now, w.state.Source) + Available(w.state.Now, w.state.Destination)
}
