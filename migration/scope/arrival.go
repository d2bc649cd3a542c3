package scope

import (
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
)

// arriving is the ordinal of which the other side is asked whether it would let it in, before a decision is carried out; nil: none.
func arriving(s plan.Snapshot, decision plan.Decision) *int32 {
	if ordinal, stops := planner.AboutToStop(s, decision); stops {
		return &ordinal
	}
	return nil
}

// asksOf says whether the same was asked of an arrival as a wider scope asks for.
func (sc Reads) asksOf(need Reads) bool {
	return need.Arrival == nil || sc.Arrival != nil && *sc.Arrival == *need.Arrival
}

// takesForAnother says whether a record takes one StatefulSet for another one.
func takesForAnother(s plan.Snapshot, decision plan.Decision) bool {
	was, is := s.Record.Baseline, decision.Record.Baseline
	return was.DestinationUID != "" && is.DestinationUID != was.DestinationUID || is.SourceUID != was.SourceUID
}
