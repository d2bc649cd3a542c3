package planner

import (
	"github.com/sliceshift/sliceshift/migration/plan"
)

// arriving returns the ordinal for which the taking side must dry-run the pod before a decision is carried out;
// nil: none.
func arriving(s plan.Snapshot, decision plan.Decision) *int32 {
	if ordinal, stops := AboutToStop(s, decision); stops {
		return &ordinal
	}
	return nil
}

// asksOf reports whether the dry run that need requests was done.
func (sc Reads) asksOf(need Reads) bool {
	return need.Arrival == nil || sc.Arrival != nil && *sc.Arrival == *need.Arrival
}

// takesForAnother reports whether a record accepts another StatefulSet in place of the recorded one.
func takesForAnother(s plan.Snapshot, decision plan.Decision) bool {
	was, is := s.Record.Baseline, decision.Record.Baseline
	return was.DestinationUID != "" && is.DestinationUID != was.DestinationUID || is.SourceUID != was.SourceUID
}
