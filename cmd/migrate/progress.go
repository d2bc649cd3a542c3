package main

import (
	"time"

	"github.com/sliceshift/sliceshift/migration"
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
	hold      *migration.Hold
	holdSince time.Time
	// mean is how long an ordinal takes; 0 before the first has arrived.
	mean time.Duration
}

// measure updates the figures from a snapshot. A pass that observed nothing, or could not
// read both sides, changes none.
func (n *narrator) measure(now time.Time, m *api.Migration, outcome migration.Outcome) {
	s := outcome.Snapshot
	if s.Source.Reach != migration.Seen || s.Destination.Reach != migration.Seen || m.Status.Baseline == nil {
		return
	}
	n.replicas = m.Status.Baseline.Replicas
	available := migration.Available(s.Now, s.Source) + migration.Available(s.Now, s.Destination)
	if n.fewest < 0 || available < n.fewest {
		n.fewest = available
	}
	claim := m.Status.Claim
	if back := claim != nil && claim.Direction == api.Back; back != n.back {
		// The time of an ordinal that is turned round starts again.
		n.back, n.since = back, now
	}
	has := migration.DestinationSlice(s)
	n.moved, n.total = migration.Progress(s, *m.Status.Baseline)
	if h := m.Status.Handoff; h != nil {
		switch there := has.Presence == migration.Seen && has.Has(h.Ordinal); {
		case there && !n.back:
			n.moved--
		case !there && n.back:
			n.moved++
		}
	}
}

// follow keeps track of the ordinal on its way.
func (n *narrator) follow(now time.Time, m *api.Migration, decision migration.Decision) {
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

// arrived is how many ordinals are at the destination: status.moved without the one
// that still has to become available there, and with the one that is on its way back.
func arrived(status api.MigrationStatus) int32 {
	h, to := status.Handoff, status.Destination
	if h == nil || to == nil {
		return status.Moved
	}
	there := to.Start <= h.Ordinal && h.Ordinal < to.Start+to.Replicas
	switch back := status.Claim != nil && status.Claim.Direction == api.Back; {
	case there && !back:
		return status.Moved - 1
	case !there && back:
		return status.Moved + 1
	}
	return status.Moved
}
