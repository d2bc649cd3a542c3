package plan

import (
	"fmt"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// recoverable goes before everything else in the mode Recover: it asks for the person's word
// that the destination is off, and takes a migration up again that had been completed, as
// long as the source still has what it left behind.
func (p *planner) recoverable() *Decision {
	if p.Spec.Mode != api.ModeRecover || p.Deleting {
		return nil
	}
	base := p.Record.Baseline
	switch {
	case p.Record.Completed == api.ReasonRecovered, p.Record.Completed == api.ReasonRolledBack:
		return nil
	case base == nil:
		return Stalled(api.ReasonNothingToRecover, "no ordinal has left the source: the migration has not begun", "set spec.mode to Run, or delete this Migration")
	case p.Spec.SameCluster || base.SourceCluster == base.DestinationCluster:
		return Stalled(api.ReasonNothingToRecover, "source and destination are in one cluster, and share their volumes: what is lost there is lost here too",
			"set spec.mode to Rollback, which asks both sides")
	case p.Spec.Recovery != base.DestinationCluster:
		return p.unconfirmed()
	case p.Record.Completed == api.ReasonMoved && p.Spec.DeleteSource:
		return Stalled(api.ReasonNothingToRecover, "the migration had been completed, and the source was deleted as it was asked for: no record of the disks is left there",
			"restore the application from a backup")
	case p.Record.Completed == api.ReasonMoved:
		next := p.Record
		next.Completed = ""
		return &Decision{Record: &next}
	}
	return nil
}

func (p *planner) unconfirmed() *Decision {
	id := p.Record.Baseline.DestinationCluster
	return Stalled(api.ReasonRecoveryUnconfirmed,
		fmt.Sprintf("to recover is to start ordinal %s at the source without asking cluster %s; if it still runs there, it runs twice, on one disk, and destroys it", listOrdinals(p.away()), p.Destination.Cluster),
		fmt.Sprintf("turn the machines of that cluster off, or cut them off from the storage; then: kubectl migrate recover, or spec.recovery.destinationIsOff: %s", id))
}

// DestinationSlice is what the destination owns: of one that is lost for good, the ordinals
// that are not back yet and not on their way.
func DestinationSlice(s Snapshot) Set {
	if s.Destination.Lost && s.Record.Baseline != nil {
		return lostSlice(s)
	}
	return s.Destination.Set
}

// lostSlice is what a destination that is lost for good had: the ordinals that the source does
// not own and that are not on their way back.
func lostSlice(s Snapshot) Set {
	base, source := s.Record.Baseline, s.Source.Set
	moved := base.Replicas
	if source.Presence == Seen {
		moved -= source.Replicas
	}
	if handoff := s.Record.Handoff; handoff != nil && (source.Presence != Seen || !source.Has(handoff.Ordinal)) {
		moved--
	}
	moved = max(0, moved)
	slice := Set{Presence: Seen, Start: base.Start, Replicas: moved}
	if s.Spec.Order != api.LowestFirst {
		slice.Start = base.Start + base.Replicas - moved
	}
	return slice
}

// StartedByHand says that the source owns ordinals of a destination that is lost which no handoff
// has brought back: they may run on empty disks, and the volumes that they had are parked (I3).
func StartedByHand(s Snapshot) string {
	given := s.Record.Given
	if !s.Destination.Lost || given == nil {
		return ""
	}
	onItsWay := int32(0)
	if s.Record.Handoff != nil {
		onItsWay = 1
	}
	if lostSlice(s).Replicas >= *given-onItsWay {
		return ""
	}
	return fmt.Sprintf("the source owns %s, and %d ordinals were at the destination that is lost", Span(s.Source.Set.Start, s.Source.Set.Replicas), *given)
}

// DestinationCount is how many ordinals the destination owns, as it is to be written down.
func DestinationCount(s Snapshot) *int32 {
	if StartedByHand(s) != "" {
		return s.Record.Given
	}
	return new(DestinationSlice(s).Replicas)
}
