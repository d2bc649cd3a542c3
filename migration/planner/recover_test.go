package planner

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
)

// toRecover requests the recovery, with the confirmation that the destination's cluster is off.
func toRecover(s *plan.Snapshot) { s.Spec.Mode, s.Spec.Recovery = api.ModeRecover, "w" }

// TestRecoverable: a recovery begins with the confirmation that this destination is off, because its ordinals
// would otherwise run twice (I1). If the source has none of the disks, it is refused. It is complete when all
// ordinals are back.
func TestRecoverable(t *testing.T) {
	completed := func(reason string) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) { s.Record.Completed = reason }
	}
	deletes := func(s *plan.Snapshot) { s.Spec.DeleteSource = true }
	elsewhere := func(s *plan.Snapshot) { s.MovedOn = "Migration shop/on" }
	settled := func(s *plan.Snapshot) { s.Spec.NothingMovedOn = true }
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   string
	}{
		"half has moved":                 {nil, ""},
		"another mode":                   {func(s *plan.Snapshot) { s.Spec.Mode, s.Spec.Recovery = api.ModeRun, "" }, ""},
		"it is deleted":                  {func(s *plan.Snapshot) { s.Deleting, s.Spec.Recovery = true, "" }, ""},
		"no word":                        {func(s *plan.Snapshot) { s.Spec.Recovery = "" }, api.ReasonRecoveryUnconfirmed},
		"another cluster is off":         {func(s *plan.Snapshot) { s.Spec.Recovery = "e" }, api.ReasonRecoveryUnconfirmed},
		"it has not begun":               {func(s *plan.Snapshot) { s.Record.Baseline = nil }, api.ReasonNothingToRecover},
		"in one cluster":                 {func(s *plan.Snapshot) { s.Spec.SameCluster = true }, api.ReasonNothingToRecover},
		"it began in one cluster":        {func(s *plan.Snapshot) { s.Record.Baseline.SourceCluster = "w" }, api.ReasonNothingToRecover},
		"it is recovered":                {plantest.InTurn(completed(api.ReasonRecovered), func(s *plan.Snapshot) { s.Spec.Recovery = "" }), ""},
		"it is rolled back":              {plantest.InTurn(completed(api.ReasonRolledBack), func(s *plan.Snapshot) { s.Spec.Recovery = "" }), ""},
		"moved, and the source is gone":  {plantest.InTurn(completed(api.ReasonMoved), deletes), api.ReasonNothingToRecover},
		"the source is to go in the end": {deletes, ""},
		"moved":                          {completed(api.ReasonMoved), api.ReasonRecoveryUnconfirmed},
		"moved, and of another cluster":  {plantest.InTurn(completed(api.ReasonMoved), settled, func(s *plan.Snapshot) { s.Spec.Recovery = "e" }), api.ReasonRecoveryUnconfirmed},
		"moved on":                       {elsewhere, api.ReasonMovedOn},
		"moved on, whatever is said":     {plantest.InTurn(completed(api.ReasonMoved), settled, elsewhere), api.ReasonMovedOn},
		"moved on, and not recovered":    {func(s *plan.Snapshot) { elsewhere(s); s.Spec.Mode = api.ModeRollback }, ""},
		"recovered, and moved on":        {plantest.InTurn(completed(api.ReasonRecovered), elsewhere), ""},
	} {
		if got := does(parted(plantest.InTurn(toRecover, tc.change)).recoverable()); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	p := parted(plantest.InTurn(toRecover, completed(api.ReasonMoved), settled))
	want := p.Record
	want.Completed = ""
	if diff := cmp.Diff(&plan.Decision{Record: &want}, p.recoverable()); diff != "" {
		t.Errorf("one that was completed is taken up again: -want +got\n%s", diff)
	}
}

// TestLostSlice: a lost destination had the ordinals that the source does not own, at its own end of the
// application, except the ordinal that is moving back.
func TestLostSlice(t *testing.T) {
	back := func(k int32) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) { s.Record.Handoff = &api.Handoff{Ordinal: k} }
	}
	for name, tc := range map[string]struct {
		change          func(*plan.Snapshot)
		start, replicas int32
	}{
		"half of them":                    {nil, 3, 2},
		"all":                             {plantest.AllMoved, 1, 4},
		"none any more":                   {plantest.AllBack, 5, 0},
		"more were started by hand":       {func(s *plan.Snapshot) { s.Source.Set.Replicas = 6 }, 5, 0},
		"from the other end":              {func(s *plan.Snapshot) { s.Spec.Order, s.Source.Set.Start = api.LowestFirst, 3 }, 1, 2},
		"one is on its way back":          {back(3), 4, 1},
		"one is back":                     {plantest.InTurn(func(s *plan.Snapshot) { plantest.Divide(s, 4) }, back(3)), 4, 1},
		"the source is gone":              {sourceGone, 1, 4},
		"it is gone, one on its way":      {plantest.InTurn(sourceGone, back(1)), 2, 3},
		"it was not seen, one on its way": {plantest.InTurn(back(1), func(s *plan.Snapshot) { s.Source.Set.Presence = plan.Unreachable }), 2, 3},
	} {
		want := plan.Set{Presence: plan.Seen, Start: tc.start, Replicas: tc.replicas}
		if diff := cmp.Diff(want, lostSlice(parted(tc.change).Snapshot)); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// TestDestinationSlice: the destination has its observed slice, and a lost one the slice that it had.
func TestDestinationSlice(t *testing.T) {
	lost := func(s *plan.Snapshot) { destinationGone(s); s.Destination.Lost = true }
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   string
	}{
		"as it was seen":         {func(s *plan.Snapshot) { s.Destination.Set.Start = 7 }, "[7,9)"},
		"lost":                   {lost, "[3,5)"},
		"gone, but not lost":     {destinationGone, "[0,0)"},
		"lost before it began":   {plantest.InTurn(lost, func(s *plan.Snapshot) { s.Record.Baseline = nil }), "[0,0)"},
		"as seen, and not begun": {func(s *plan.Snapshot) { s.Record.Baseline = nil }, "[3,5)"},
	} {
		slice := DestinationSlice(parted(tc.change).Snapshot)
		if got := plan.Span(slice.Start, slice.Replicas); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

// TestRecoversToWhatWasLeft: a recovery from a lost destination implies the confirmation that ordinals return to
// the disks that they left.
func TestRecoversToWhatWasLeft(t *testing.T) {
	for _, lost := range []bool{false, true} {
		p := midway(func(s *plan.Snapshot) { s.Destination.Lost = lost })
		if got := p.pair(p.Volumes[0]).Word.ReturnsToKept; got != lost {
			t.Errorf("lost %t: %t", lost, got)
		}
	}
}
