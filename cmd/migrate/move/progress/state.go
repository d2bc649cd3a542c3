package progress

import (
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/view"
)

// State is the state of a migration that is drawn in place. It contains the figures of its row, which all screens share.
type State struct {
	view.Row
	// ready is the readiness of each ordinal, if a snapshot has shown it.
	ready map[int32]view.Readiness
	// clients holds the results of the probe; nil if there is none.
	clients *api.ProbeStatus
}

// Recorded returns the state in the status of a migration, at a time of the API server that stores it.
func Recorded(m *api.Migration, record bool, now time.Time) State {
	return State{Row: view.NewRow(m, record).At(m, now), clients: m.Status.Probe}
}

// WithHold returns the state with another hold.
func (p State) WithHold(hold view.Hold) State {
	p.Hold = &hold
	return p
}

// Reason returns the reason of the hold, or an empty string.
func (p State) Reason() string {
	if p.Hold == nil {
		return ""
	}
	return p.Hold.Reason
}

// measure updates the figures from a snapshot, which may be newer than the status. A pass that observed nothing, or
// could not read both sides, changes nothing.
func (t *Tracker) measure(m *api.Migration, outcome engine.Outcome) {
	s := outcome.Snapshot
	if s.Source.Reach != plan.Seen || s.Destination.Reach != plan.Seen || m.Status.Baseline == nil {
		return
	}
	available := plan.Available(s.Now, s.Source) + plan.Available(s.Now, s.Destination)
	if t.fewestAvailable < 0 || available < t.fewestAvailable {
		t.fewestAvailable = available
	}
	hold := t.Hold
	t.Row = view.NewRow(engine.AsSeen(m, s), true)
	t.Hold = hold
	t.ready = map[int32]view.Readiness{}
	for _, side := range []plan.Side{s.Source, s.Destination} {
		for ordinal := side.Set.Start; ordinal < side.Set.End(); ordinal++ {
			t.ready[ordinal] = view.NotReady
			if pod, found := side.Pod(ordinal); found && pod.Available(s.Now, side.Set.MinReady) {
				t.ready[ordinal] = view.Ready
			}
		}
	}
}

// follow tracks the ordinal in flight.
func (t *Tracker) follow(m *api.Migration, decision plan.Decision) {
	row := view.NewRow(m, true)
	t.Handoff, t.Further = row.Handoff, row.Further
	if t.Handoff == nil {
		t.seen = nil
		return
	}
	if t.seen == nil || *t.seen != t.Handoff.Ordinal {
		t.seen, t.fresh = new(t.Handoff.Ordinal), true
	}
	if decision.Step != "" && len(t.Further) == 0 {
		t.Handoff.Step = decision.Step
	}
}

// inFlight returns the ordinal in flight and its step; nil if there is none.
func (p State) inFlight() (*int32, api.Step) {
	if p.Handoff == nil {
		return nil, ""
	}
	return &p.Handoff.Ordinal, p.Handoff.Step
}
