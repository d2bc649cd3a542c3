package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// toRecover asks for the recovery, with the word that the destination's cluster is off.
func toRecover(s *Snapshot) { s.Spec.Mode, s.Spec.Recovery = api.ModeRecover, "w" }

// TestRecoverable: a recovery begins with the word that this destination is off: else its ordinals would run
// twice (I1); and where the source has none of the disks, it is refused. It is over when all is back.
func TestRecoverable(t *testing.T) {
	completed := func(reason string) func(*Snapshot) { return func(s *Snapshot) { s.Record.Completed = reason } }
	deletes := func(s *Snapshot) { s.Spec.DeleteSource = true }
	for name, tc := range map[string]struct {
		change func(*Snapshot)
		want   string
	}{
		"half has moved":                 {nil, ""},
		"another mode":                   {func(s *Snapshot) { s.Spec.Mode, s.Spec.Recovery = api.ModeRun, "" }, ""},
		"it is deleted":                  {func(s *Snapshot) { s.Deleting, s.Spec.Recovery = true, "" }, ""},
		"no word":                        {func(s *Snapshot) { s.Spec.Recovery = "" }, api.ReasonRecoveryUnconfirmed},
		"another cluster is off":         {func(s *Snapshot) { s.Spec.Recovery = "e" }, api.ReasonRecoveryUnconfirmed},
		"it has not begun":               {func(s *Snapshot) { s.Record.Baseline = nil }, api.ReasonNothingToRecover},
		"in one cluster":                 {func(s *Snapshot) { s.Spec.SameCluster = true }, api.ReasonNothingToRecover},
		"it began in one cluster":        {func(s *Snapshot) { s.Record.Baseline.SourceCluster = "w" }, api.ReasonNothingToRecover},
		"it is recovered":                {inTurn(completed(api.ReasonRecovered), func(s *Snapshot) { s.Spec.Recovery = "" }), ""},
		"it is rolled back":              {inTurn(completed(api.ReasonRolledBack), func(s *Snapshot) { s.Spec.Recovery = "" }), ""},
		"moved, and the source is gone":  {inTurn(completed(api.ReasonMoved), deletes), api.ReasonNothingToRecover},
		"the source is to go in the end": {deletes, ""},
	} {
		if got := does(parted(inTurn(toRecover, tc.change)).recoverable()); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	p := parted(inTurn(toRecover, completed(api.ReasonMoved)))
	want := p.Record
	want.Completed = ""
	if diff := cmp.Diff(&Decision{Record: &want}, p.recoverable()); diff != "" {
		t.Errorf("one that was completed is taken up again: -want +got\n%s", diff)
	}
}

// TestLostSlice: a destination that is lost for good had what the source does not own, at its own end of the
// application, but for the ordinal that is on its way back.
func TestLostSlice(t *testing.T) {
	back := func(k int32) func(*Snapshot) {
		return func(s *Snapshot) { s.Record.Handoff = &api.Handoff{Ordinal: k} }
	}
	for name, tc := range map[string]struct {
		change          func(*Snapshot)
		start, replicas int32
	}{
		"half of them":                    {nil, 3, 2},
		"all":                             {allMoved, 1, 4},
		"none any more":                   {allBack, 5, 0},
		"more were started by hand":       {func(s *Snapshot) { s.Source.Set.Replicas = 6 }, 5, 0},
		"from the other end":              {func(s *Snapshot) { s.Spec.Order, s.Source.Set.Start = api.LowestFirst, 3 }, 1, 2},
		"one is on its way back":          {back(3), 4, 1},
		"one is back":                     {inTurn(func(s *Snapshot) { divide(s, 4) }, back(3)), 4, 1},
		"the source is gone":              {sourceGone, 1, 4},
		"it is gone, one on its way":      {inTurn(sourceGone, back(1)), 2, 3},
		"it was not seen, one on its way": {inTurn(back(1), func(s *Snapshot) { s.Source.Set.Presence = Unreachable }), 2, 3},
	} {
		want := Set{Presence: Seen, Start: tc.start, Replicas: tc.replicas}
		if diff := cmp.Diff(want, lostSlice(parted(tc.change).Snapshot)); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// TestDestinationSlice: the destination has what was seen there, and when it is lost for good what it had.
func TestDestinationSlice(t *testing.T) {
	lost := func(s *Snapshot) { destinationGone(s); s.Destination.Lost = true }
	for name, tc := range map[string]struct {
		change func(*Snapshot)
		want   string
	}{
		"as it was seen":         {func(s *Snapshot) { s.Destination.Set.Start = 7 }, "[7,9)"},
		"lost":                   {lost, "[3,5)"},
		"gone, but not lost":     {destinationGone, "[0,0)"},
		"lost before it began":   {inTurn(lost, func(s *Snapshot) { s.Record.Baseline = nil }), "[0,0)"},
		"as seen, and not begun": {func(s *Snapshot) { s.Record.Baseline = nil }, "[3,5)"},
	} {
		slice := DestinationSlice(parted(tc.change).Snapshot)
		if got := Span(slice.Start, slice.Replicas); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}
