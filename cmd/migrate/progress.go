package main

import (
	"time"

	"github.com/sliceshift/sliceshift/migration"
	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// progress is where a run is, for the bar.
type progress struct {
	start time.Time
	// moved ordinals have arrived, of total; on the way back they have not left.
	moved, total int32
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
}

// measure takes from a snapshot what counts. A pass that looked at nothing, or
// could not read both sides, says nothing.
func (n *narrator) measure(now time.Time, m *api.Migration, outcome migration.Outcome) {
	s := outcome.Snapshot
	if s.Source.Reach != plan.Seen || s.Destination.Reach != plan.Seen || m.Status.Baseline == nil {
		return
	}
	n.replicas = m.Status.Baseline.Replicas
	available := plan.Available(s.Now, s.Source) + plan.Available(s.Now, s.Destination)
	if n.fewest < 0 || available < n.fewest {
		n.fewest = available
	}
	claim := m.Status.Claim
	if back := claim != nil && claim.Direction == api.Back; back != n.back {
		// The time of an ordinal that is turned round counts anew.
		n.back, n.since = back, now
	}
	has := plan.DestinationSlice(s)
	n.moved, n.total = migration.Progress(s, *m.Status.Baseline)
	if h := m.Status.Handoff; h != nil {
		switch there := has.Presence == plan.Seen && has.Has(h.Ordinal); {
		case there && !n.back:
			n.moved--
		case !there && n.back:
			n.moved++
		}
	}
}

// follow keeps track of the ordinal on its way.
func (n *narrator) follow(now time.Time, m *api.Migration, decision plan.Decision) {
	h := m.Status.Handoff
	switch {
	case h == nil:
		n.ordinal, n.step = nil, ""
		return
	case n.ordinal == nil || *n.ordinal != h.Ordinal:
		ordinal := h.Ordinal
		n.ordinal, n.since, n.fresh = &ordinal, now, true
	}
	if n.step = h.Step; decision.Step != "" {
		n.step = decision.Step
	}
}
