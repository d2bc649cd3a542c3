package planner

import (
	"slices"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/inplace"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// AsSlices shows the set of a migration in place as the two slices of a move: the source has the ordinals on their old
// volumes, and the destination those on their new ones. The ordinal whose claims are deleted is on neither, like one that
// was scaled down. So gates, hooks, schedules, the status and the measured outages need no form of their own.
func AsSlices(s plan.Snapshot) plan.Snapshot {
	set := s.Source.Set
	if base := s.Record.Baseline; set.Presence != plan.Seen && base != nil {
		set.Start, set.Replicas = base.Start, base.Replicas
	}
	s.Storage.Set.Start, s.Storage.Set.Replicas = set.Start, set.Replicas
	from, to := splitOf(s, set)
	pods := s.Source.Pods
	s.Destination.Set, s.Destination.Budgets, s.Destination.OtherBudgets = set, s.Source.Budgets, s.Source.OtherBudgets
	s.Source.Set, s.Source.Pods, s.Destination.Pods = set, nil, nil
	s.Source.Set.Start, s.Source.Set.Replicas = from.start, from.count
	s.Destination.Set.Start, s.Destination.Set.Replicas = to.start, to.count
	giver := plan.SourceSide
	if h := s.Record.Storage; h != nil && h.Handoff != nil && h.Handoff.Return {
		giver = plan.DestinationSide
	}
	for _, pod := range pods {
		side := plan.SourceSide
		switch {
		case s.Destination.Set.Has(pod.Ordinal):
			side = plan.DestinationSide
		case !s.Source.Set.Has(pod.Ordinal) && set.Has(pod.Ordinal):
			side = giver
		}
		at := s.Side(side)
		at.Pods = append(at.Pods, pod)
	}
	return s
}

// span is a range of ordinals.
type span struct{ start, count int32 }

// splitOf returns the ordinals of both slices.
func splitOf(s plan.Snapshot, set plan.Set) (from, to span) {
	p := storagePlanner{viewOf(s)}
	in := p.observed()
	lo, hi := set.Start, set.End()
	back := p.direction() == api.Back
	moved := map[int32]bool{}
	behind := in.Behind()
	for k := lo; k < hi; k++ {
		moved[k] = slices.Contains(behind, k) == back
	}
	var gap *int32
	if h := in.Record.Handoff; h != nil {
		switch in.Where() {
		case inplace.Before:
			moved[h.Ordinal] = h.Return
		case inplace.After:
			moved[h.Ordinal] = h.Return == h.Turned
		default:
			gap, moved[h.Ordinal] = &h.Ordinal, false
		}
	}
	edge := edgeOf(lo, hi, p.Spec.Order == api.LowestFirst, back, func(k int32) bool { return moved[k] })
	if p.Spec.Order == api.LowestFirst {
		from, to = span{edge, hi - edge}, span{lo, edge - lo}
		if gap != nil && *gap == edge {
			from = span{edge + 1, hi - edge - 1}
		}
		return from, to
	}
	from, to = span{lo, edge - lo}, span{edge, hi - edge}
	if gap != nil && *gap == edge-1 {
		from.count--
	}
	return from, to
}

// edgeOf returns the first ordinal above the lower slice. On the way forward, the destination ends with the first ordinal
// that has not moved; on the way back, the source ends with the first one that has.
func edgeOf(lo, hi int32, lowest, back bool, moved func(int32) bool) int32 {
	switch {
	case lowest && !back:
		for k := lo; k < hi; k++ {
			if !moved(k) {
				return k
			}
		}
		return hi
	case lowest:
		for k := hi - 1; k >= lo; k-- {
			if moved(k) {
				return k + 1
			}
		}
		return lo
	case !back:
		for k := hi - 1; k >= lo; k-- {
			if !moved(k) {
				return k + 1
			}
		}
		return lo
	}
	for k := lo; k < hi; k++ {
		if moved(k) {
			return k
		}
	}
	return hi
}
