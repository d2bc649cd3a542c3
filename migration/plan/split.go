package plan

import (
	"fmt"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/pdb"
	"github.com/sliceshift/sliceshift/volumes"
)

// Extent is the range of the whole application: what was recorded, or else what the source
// owns, and with it a destination that owns the rest.
func (s Snapshot) Extent() (start, replicas int32) {
	if base := s.Record.Baseline; base != nil {
		return base.Start, base.Replicas
	}
	source, destination := s.Source.Set, s.Destination.Set
	start, replicas = source.Start, source.Replicas
	if s.Split() {
		start, replicas = min(start, destination.Start), replicas+destination.Replicas
	}
	return start, replicas
}

// Split says whether both slices own ordinals, and side by side: then they are one
// application, which another migration has left so (KEP-3335, story 1).
func (s Snapshot) Split() bool {
	source, destination := s.Source.Set, s.Destination.Set
	return source.Presence == Seen && destination.Presence == Seen && source.Replicas > 0 && destination.Replicas > 0 &&
		(destination.Start == source.End() || source.Start == destination.End())
}

// splitFindings are about a destination that owns ordinals already. Nobody is told to scale
// it down: what runs there may be the only one of its ordinal.
func splitFindings(s Snapshot) []Finding {
	side, set := s.Destination, s.Destination.Set
	if set.Presence != Seen || set.Replicas == 0 || set.UID == s.Source.Set.UID {
		return nil
	}
	if !s.Split() {
		return []Finding{{
			Reason: api.ReasonDestinationNotEmpty, Object: side.object(),
			Message: fmt.Sprintf("%s owns ordinals %s, and the source %s: they are not side by side, so the ordinals of one may run on the other too", side.object(), Span(set.Start, set.Replicas), Span(s.Source.Set.Start, s.Source.Set.Replicas)),
			Remedy:  "name another destination; if both are parts of one application, neither may own an ordinal of the other, and none between them may be missing",
		}}
	}
	findings := append(orderFindings(s), healthFindings(s, side)...)
	for _, v := range s.Volumes {
		if !set.Has(v.Ordinal) {
			continue
		}
		if problem := v.method().Carried(volumes.Taken{Shared: v.shared(s.Spec), From: v.Source, At: v.Destination}); problem != nil {
			findings = append(findings, Finding{
				Reason: problem.Reason, Object: fmt.Sprintf("claim %s/%s of ordinal %d", v.Destination.Ref.Namespace, v.Destination.Ref.Name, v.Ordinal),
				Message: problem.Message, Remedy: problem.Remedy,
			})
		}
	}
	return findings
}

// orderFindings refuse an order in which the next ordinal would not be the one beside the
// destination's.
func orderFindings(s Snapshot) []Finding {
	want, next := api.HighestFirst, s.Source.Set.End()-1
	if s.Destination.Set.Start < s.Source.Set.Start {
		want, next = api.LowestFirst, s.Source.Set.Start
	}
	if s.Spec.Order == want {
		return nil
	}
	return []Finding{{
		Reason: api.ReasonSplitNotAdjacent, Object: s.Destination.object(),
		Message: fmt.Sprintf("%s owns ordinals %s: the next one that it can take is %d, the one beside them, and spec.ordinals.order is %s",
			s.Destination.object(), Span(s.Destination.Set.Start, s.Destination.Set.Replicas), next, s.Spec.Order),
		Remedy: fmt.Sprintf("create the Migration again with spec.ordinals.order %s (--order %s)", want, want),
	}}
}

// handOver brings the budget of an application that stays split to the side that it is asked
// for, when the migration has been completed: with d = 1 only one side can have it at a time,
// and the nodes of the other cannot be drained without.
func (p settlePlanner) handOver() *Decision {
	if p.Record.Completed != api.ReasonMoved || p.Deleting || p.direction() == api.Back || p.layout.broken != "" || p.whole() || p.layout.moved == 0 || !p.holdsBudgets() {
		return nil
	}
	want := p.budget.wanted(0)
	move, _ := pdb.Next(p.budget.applied(SourceSide, 0, want.Source), p.budget.applied(DestinationSide, 0, want.Destination), want)
	if move == pdb.Reached {
		return nil
	}
	if !p.Engaged || p.Record.Fence.Holder != p.Holder {
		return fencePlanner{p.View}.nextFence()
	}
	return p.budget.reserveBudget(0)
}

// holdsBudgets says whether both PodDisruptionBudgets are still as this migration has split
// them, and no other one has begun on the split.
func (p settlePlanner) holdsBudgets() bool {
	for _, name := range SideNames {
		side := p.Side(name)
		if owner := api.FenceOwner(side.Set.Fence); owner != "" && owner != p.UID {
			return false
		}
		if len(side.Budgets) != 1 || api.FenceOwner(side.Budgets[0].Fence) != p.UID || side.Budgets[0].EditedBy != "" {
			return false
		}
	}
	return !p.Spec.SameNamespace
}

// Ordinals are those of the whole application, ascending; none where its numbers are no application's.
func (s Snapshot) Ordinals() []int32 {
	if s.Unbounded() != nil {
		return nil
	}
	start, replicas := s.Extent()
	ordinals := make([]int32, 0, replicas)
	for ordinal := start; ordinal < start+replicas; ordinal++ {
		ordinals = append(ordinals, ordinal)
	}
	return ordinals
}
