package progress

import (
	"time"

	"github.com/sliceshift/sliceshift/migration"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// State is where a run is, for the bar.
type State struct {
	start time.Time
	// Moved ordinals have arrived, of total; on the way back they have not left.
	Moved, Total int32
	back         bool
	// ordinal is on its way since then, if any.
	ordinal *int32
	since   time.Time
	// fresh is true when this process saw the ordinal's beginning.
	fresh bool
	step  api.Step
	// hold is what is waited for since then, if anything.
	hold      *plan.Hold
	holdSince time.Time
	// mean is how long an ordinal takes; 0 before the first has arrived.
	mean time.Duration
	// sides are both slices, the source first; first is the first of replicas ordinals of the application, of
	// which budget may be unavailable.
	sides                   [2]side
	first, replicas, budget int32
	// clients are what requests of the probe came to; nil: there is none.
	clients *api.ProbeStatus
}

// measure updates the figures from a snapshot. A pass that observed nothing, or could not
// read both sides, changes none.
func (t *Tracker) measure(now time.Time, m *api.Migration, outcome migration.Outcome) {
	s := outcome.Snapshot
	if s.Source.Reach != plan.Seen || s.Destination.Reach != plan.Seen || m.Status.Baseline == nil {
		return
	}
	t.first, t.replicas, t.budget = m.Status.Baseline.Start, m.Status.Baseline.Replicas, m.Status.Baseline.Budget
	t.sides = [2]side{seen(s, s.Source), seen(s, s.Destination)}
	available := plan.Available(s.Now, s.Source) + plan.Available(s.Now, s.Destination)
	if t.fewestAvailable < 0 || available < t.fewestAvailable {
		t.fewestAvailable = available
	}
	fence := m.Status.Fence
	if back := fence != nil && fence.Direction == api.Back; back != t.back {
		// The time of an ordinal that is turned round starts again.
		t.back, t.since = back, now
	}
	has := planner.DestinationSlice(s)
	t.Moved, t.Total = migration.Progress(s, *m.Status.Baseline)
	if h := m.Status.Handoff; h != nil {
		switch there := has.Presence == plan.Seen && has.Has(h.Ordinal); {
		case there && !t.back:
			t.Moved--
		case !there && t.back:
			t.Moved++
		}
	}
}

// follow keeps track of the ordinal on its way.
func (t *Tracker) follow(now time.Time, m *api.Migration, decision plan.Decision) {
	h := m.Status.Handoff
	switch {
	case h == nil:
		t.ordinal, t.step = nil, ""
		return
	case t.ordinal == nil || *t.ordinal != h.Ordinal:
		ordinal := h.Ordinal
		t.ordinal, t.since, t.fresh = &ordinal, now, true
	}
	if t.step = h.Step; decision.Step != "" {
		t.step = decision.Step
	}
}

// NotDriven is the state of a migration that no process has driven since then, with a message for people.
func (p State) NotDriven(since time.Time, message string) State {
	p.hold, p.holdSince = &plan.Hold{Reason: api.ReasonNotDriven, Message: message, Stalled: true}, since
	return p
}

// Reason is that of what is waited for; empty: nothing is.
func (p State) Reason() string {
	if p.hold == nil {
		return ""
	}
	return p.hold.Reason
}
