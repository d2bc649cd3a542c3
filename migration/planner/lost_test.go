package planner

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/volumes"
)

// sourceGone deletes the source's StatefulSet.
func sourceGone(s *plan.Snapshot) { s.Source.Set = plan.Set{Presence: plan.Absent, Name: "web"} }

// destinationGone deletes the destination's StatefulSet.
func destinationGone(s *plan.Snapshot) {
	s.Destination.Set = plan.Set{Presence: plan.Absent, Name: "web"}
}

// destinationAnew deletes and recreates the destination's StatefulSet.
func destinationAnew(s *plan.Snapshot) { s.Destination.Set.UID = "new" }

// fourIsEmpty gives ordinal 4 a recreated, empty claim.
func fourIsEmpty(s *plan.Snapshot) {
	h := &s.Volumes[3].Destination
	h.Claim.UID, h.Claim.Volume = "empty", "pv-empty"
}

// takesFor returns the record in which another StatefulSet is the destination.
func takesFor(p *planners, uid types.UID) *plan.Decision {
	next, base := p.Record, *p.Record.Baseline
	base.DestinationUID = uid
	next.Baseline = &base
	return &plan.Decision{Record: &next}
}

// TestLostSets: a migration stalls when one of its StatefulSets is lost, before it is written, and completes when
// it is being deleted. A change of the record is still written then.
func TestLostSets(t *testing.T) {
	deleting := func(s *plan.Snapshot) { s.Deleting = true }
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   string
	}{
		"neither":                        {nil, ""},
		"neither, and it is deleted":     {deleting, ""},
		"the source":                     {sourceGone, api.ReasonSourceMissing},
		"the destination":                {destinationGone, api.ReasonDestinationMissing},
		"both, the source's comes first": {plantest.InTurn(sourceGone, destinationGone), api.ReasonSourceMissing},
	} {
		if got := does(parted(tc.change).lost()); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	p := parted(plantest.InTurn(sourceGone, deleting))
	released := p.Record
	released.Completed = api.ReasonReleased
	if diff := cmp.Diff(&plan.Decision{Record: &released}, p.lost()); diff != "" {
		t.Errorf("it is deleted: -want +got\n%s", diff)
	}
	p = parted(plantest.InTurn(destinationAnew, deleting))
	if diff := cmp.Diff(takesFor(p, "new"), p.lost()); diff != "" {
		t.Errorf("it is deleted, and another is the destination: -want +got\n%s", diff)
	}
}

// TestLostSource: a deleted source stalls, unless its deletion was requested and the destination has all of its
// ordinals. Another one in its place is not the original (I1).
func TestLostSource(t *testing.T) {
	deletes := func(s *plan.Snapshot) { s.Spec.DeleteSource = true }
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   string
	}{
		"it is there":                     {nil, ""},
		"it is there, and to be deleted":  {deletes, ""},
		"gone with its ordinals":          {sourceGone, api.ReasonSourceMissing},
		"to be deleted, with its own":     {plantest.InTurn(deletes, sourceGone), api.ReasonSourceMissing},
		"to be deleted, one on its way":   {plantest.InTurn(deletes, func(s *plan.Snapshot) { plantest.Divide(s, 2) }, sourceGone), api.ReasonSourceMissing},
		"emptied, and to be deleted":      {plantest.InTurn(plantest.AllMoved, deletes, sourceGone), ""},
		"emptied, and to stay":            {plantest.InTurn(plantest.AllMoved, sourceGone), api.ReasonSourceMissing},
		"emptied, and others are counted": {plantest.InTurn(plantest.AllMoved, deletes, sourceGone, func(s *plan.Snapshot) { s.Destination.Set.Start = 2 }), api.ReasonSourceMissing},
		"another one":                     {func(s *plan.Snapshot) { s.Source.Set.UID = "new" }, api.ReasonSourceReplaced},
		"it cannot be seen":               {func(s *plan.Snapshot) { s.Source.Set.Presence, s.Source.Set.UID = plan.Unreachable, "" }, ""},
	} {
		if got := does(parted(tc.change).lostSource()); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestLostDestination: a deleted destination stalls if it had ordinals. Another one is accepted, and recorded, if
// it had none, or if all of them are known to be on their disks (I3).
func TestLostDestination(t *testing.T) {
	const taken = "something else"
	unknown := func(s *plan.Snapshot) { s.Record.Baseline.DestinationUID = "" }
	oneGiven := func(s *plan.Snapshot) { plantest.Divide(s, 4) }
	focused := func(s *plan.Snapshot) { s.Focused = true }
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   string
	}{
		"it is there":                       {nil, ""},
		"gone":                              {destinationGone, api.ReasonDestinationMissing},
		"gone with one ordinal":             {plantest.InTurn(oneGiven, destinationGone), api.ReasonDestinationMissing},
		"gone, and none was given":          {plantest.InTurn(plantest.AllBack, destinationGone), ""},
		"gone, and it was not known":        {plantest.InTurn(unknown, destinationGone), ""},
		"gone, and declared to be off":      {plantest.InTurn(destinationGone, func(s *plan.Snapshot) { s.Destination.Lost = true }), ""},
		"another one, none was given":       {plantest.InTurn(plantest.AllBack, destinationAnew), taken},
		"another one on the same disks":     {destinationAnew, taken},
		"another one, of one ordinal":       {plantest.InTurn(oneGiven, destinationAnew), taken},
		"another one, one disk is not":      {plantest.InTurn(destinationAnew, fourIsEmpty), api.ReasonDestinationReplaced},
		"another one with other ordinals":   {plantest.InTurn(destinationAnew, func(s *plan.Snapshot) { s.Destination.Set.Start = 2 }), api.ReasonDestinationReplaced},
		"another one, not all were read":    {plantest.InTurn(destinationAnew, focused), api.ReasonDestinationReplaced},
		"another of one, not all were read": {plantest.InTurn(oneGiven, destinationAnew, focused), api.ReasonDestinationReplaced},
		"another, none was given or read":   {plantest.InTurn(plantest.AllBack, destinationAnew, focused), taken},
	} {
		p := parted(tc.change)
		got := p.lostDestination()
		if does(got) != tc.want {
			t.Errorf("%s: %q, want %q", name, does(got), tc.want)
		}
		if tc.want != taken {
			continue
		}
		if diff := cmp.Diff(takesFor(p, "new"), got); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
		if p.Record.Baseline.DestinationUID != "d" {
			t.Errorf("%s: the record itself was changed", name)
		}
	}
}

// TestOtherClaimTemplates: no ordinal starts on a recreated destination with other claim templates, whether it is
// accepted or not. In a rollback, and when all have moved, it has none to start.
func TestOtherClaimTemplates(t *testing.T) {
	other := func(s *plan.Snapshot) { s.Template.Claims = "storage; the source has data" }
	none := plantest.InTurn(plantest.AllBack, destinationAnew, func(s *plan.Snapshot) { s.Spec.Mode, s.Record.Fence.Direction = api.ModeRun, api.Forward })
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   string
	}{
		"none was given":        {plantest.InTurn(none, other), api.ReasonDestinationReplaced},
		"some were":             {plantest.InTurn(destinationAnew, other), api.ReasonDestinationReplaced},
		"it was taken for it":   {other, api.ReasonDestinationReplaced},
		"it is declared off":    {plantest.InTurn(other, func(s *plan.Snapshot) { s.Destination.Lost = true }), ""},
		"on the way back":       {plantest.InTurn(other, inMode(api.ModeRollback)), ""},
		"they are as they were": {nil, ""},
	} {
		if got := does(parted(tc.change).otherClaims()); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	p := parted(plantest.InTurn(none, other))
	if got := p.lost(); got == nil || got.Record != nil || got.Hold == nil || !strings.Contains(got.Hold.Remedy, "kubectl delete ") {
		t.Errorf("it is taken for the destination: %+v", got)
	}
}

// TestGiven: the destination must own the ordinals that the source does not own, except the ordinal in flight,
// which may run there, too (I1).
func TestGiven(t *testing.T) {
	halfwayOut := func(k int32) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) { s.Record.Handoff = &api.Handoff{Ordinal: k} }
	}
	stopped := func(s *plan.Snapshot) { s.Source.Set.Replicas = 1 }
	for name, tc := range map[string]struct {
		change      func(*plan.Snapshot)
		given, away []int32
	}{
		"half of them":                 {nil, []int32{3, 4}, []int32{3, 4}},
		"none":                         {plantest.AllBack, nil, nil},
		"all":                          {plantest.AllMoved, []int32{1, 2, 3, 4}, []int32{1, 2, 3, 4}},
		"one is to be stopped":         {halfwayOut(2), []int32{3, 4}, []int32{3, 4}},
		"one is stopped":               {plantest.InTurn(halfwayOut(2), stopped), []int32{3, 4}, []int32{2, 3, 4}},
		"one is started":               {halfwayOut(3), []int32{4}, []int32{3, 4}},
		"somebody has scaled":          {stopped, []int32{2, 3, 4}, []int32{2, 3, 4}},
		"the source is gone":           {sourceGone, []int32{1, 2, 3, 4}, []int32{1, 2, 3, 4}},
		"the source was not seen":      {func(s *plan.Snapshot) { s.Source.Set.Presence = plan.Unreachable }, []int32{1, 2, 3, 4}, []int32{1, 2, 3, 4}},
		"it began with another's half": {func(s *plan.Snapshot) { s.Source.Set.Start = 2 }, []int32{1, 4}, []int32{1, 4}},
	} {
		p := parted(tc.change)
		if given, away := p.given(), p.away(); !slices.Equal(given, tc.given) || !slices.Equal(away, tc.away) {
			t.Errorf("%s: given %v, away %v", name, given, away)
		}
	}
}

// TestReserved: a slice of our own kind that skips ordinals owns others beyond its end: it stalls (I1).
func TestReserved(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   string
	}{
		"neither":               {nil, ""},
		"the source":            {func(s *plan.Snapshot) { s.Source.Set.Reserves = true }, api.ReasonForeignScale},
		"the destination":       {func(s *plan.Snapshot) { s.Destination.Set.Reserves = true }, api.ReasonForeignScale},
		"one that was not seen": {func(s *plan.Snapshot) { s.Source.Set.Reserves, s.Source.Set.Presence = true, plan.Absent }, ""},
	} {
		if got := does(parted(tc.change).reserved()); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestLostDisks: a migration stalls while a moved ordinal is not on its disk (I3). Nothing is concluded from disks
// that were not read.
func TestLostDisks(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   string
	}{
		"all are on theirs":                {nil, ""},
		"one is not":                       {fourIsEmpty, volumes.ReasonAnotherDisk},
		"not all were read":                {plantest.InTurn(fourIsEmpty, func(s *plan.Snapshot) { s.Focused = true }), ""},
		"the destination is declared lost": {plantest.InTurn(fourIsEmpty, func(s *plan.Snapshot) { s.Destination.Lost = true }), ""},
		"another was left behind":          {func(s *plan.Snapshot) { s.Volumes[3].Source.Volume.Handle = "disk-other" }, volumes.ReasonAnotherDisk},
	} {
		if got := does(parted(tc.change).lostDisks()); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestAnotherDisk: each ordinal that the destination must own must be on its disk there (I3). An ordinal that was
// removed from both slices counts if its volume was moved. If the former volume was deleted, the migration's own
// volume identifies the disk.
func TestAnotherDisk(t *testing.T) {
	threeLeft := func(s *plan.Snapshot) { s.Destination.Set.Start, s.Destination.Set.Replicas = 4, 1 }
	threeGone := func(s *plan.Snapshot) { s.Volumes[2].Destination.Claim = volumes.Claim{} }
	unknown := func(at int) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) {
			s.Volumes[at].Source, s.Volumes[at].Destination.Volume.Ours = plantest.NothingOf(1), false
		}
	}
	hadOne := func(s *plan.Snapshot) { s.Record.Baseline.DestinationReplicas = 1 }
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   bool
	}{
		"all are on theirs":                    {nil, false},
		"the last is not":                      {fourIsEmpty, true},
		"the first is not":                     {threeGone, true},
		"it is on its way":                     {plantest.InTurn(threeGone, func(s *plan.Snapshot) { s.Record.Handoff = &api.Handoff{Ordinal: 3} }), false},
		"taken from both, carried away":        {plantest.InTurn(threeLeft, threeGone), true},
		"taken from the source, never carried": {func(s *plan.Snapshot) { s.Source.Set.Replicas = 1 }, false},
		"started where its volume is not":      {func(s *plan.Snapshot) { s.Volumes[2] = plantest.Stayed(3) }, true},
		"carried over, by whom is not known":   {unknown(3), true},
		"the destination had it before":        {plantest.InTurn(hadOne, unknown(3)), false},
		"the destination had another before":   {plantest.InTurn(hadOne, unknown(2)), true},
		"one of the source's is nowhere":       {func(s *plan.Snapshot) { s.Volumes[0].Source = plantest.NothingOf(1) }, false},
	} {
		if got := parted(tc.change).anotherDisk(); (got != nil) != tc.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestLeft: a volume has left the source when it no longer references the source's claim.
func TestLeft(t *testing.T) {
	for name, tc := range map[string]struct {
		v    plan.OrdinalVolume
		want bool
	}{
		"it has stayed":    {plantest.Stayed(1), false},
		"it is parked":     {plantest.CarriedOver(1), true},
		"it is gone":       {plan.OrdinalVolume{Source: plantest.NothingOf(1)}, true},
		"it has come back": {plantest.Returned(1), false},
	} {
		if got := parted(nil).left(tc.v); got != tc.want {
			t.Errorf("%s: left %t", name, got)
		}
	}
}

// TestOffItsDisk: an ordinal that was just started must be on its disk, or everything stops (I3). Nothing is
// concluded from volumes that were not read.
func TestOffItsDisk(t *testing.T) {
	focused := func(s *plan.Snapshot) { s.Focused = true }
	unread := func(s *plan.Snapshot) { s.Focused, s.VolumesRead = true, false }
	read := func(s *plan.Snapshot) { s.Focused, s.VolumesRead = true, true }
	foundHere := func(name plan.SideName) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) {
			other := name.Other()
			*s.Volumes[3].Holding(other) = plantest.NothingOf(4)
			side := map[plan.SideName]string{plan.SourceSide: "s", plan.DestinationSide: "d"}[name]
			*s.Volumes[3].Holding(name) = plantest.BoundAt(side, 4)
			s.Volumes[3].Holding(name).Volume.Ours = false
		}
	}
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   string
	}{
		"it is on its disk":               {nil, ""},
		"it is not":                       {fourIsEmpty, volumes.ReasonAnotherDisk},
		"it is not, and is read alone":    {plantest.InTurn(fourIsEmpty, read), volumes.ReasonAnotherDisk},
		"it is not, and was not read":     {plantest.InTurn(fourIsEmpty, unread), ""},
		"another one is not":              {func(s *plan.Snapshot) { s.Volumes[2].Destination = plantest.NothingOf(3) }, ""},
		"not carried there":               {foundHere(plan.DestinationSide), volumes.ReasonAnotherDisk},
		"on its way back to its own":      {plantest.InTurn(plantest.AllBack, foundHere(plan.SourceSide)), ""},
		"on its way back, and it has not": {plantest.InTurn(plantest.AllBack, func(s *plan.Snapshot) { s.Volumes[3].Source = plantest.ParkedAt("s", 4) }), volumes.ReasonAnotherDisk},
		"nothing of it is known":          {plantest.InTurn(focused, func(s *plan.Snapshot) { s.Volumes = nil }), ""},
	} {
		got := parted(tc.change).offItsDisk(4)
		if does(got) != tc.want {
			t.Errorf("%s: %q, want %q", name, does(got), tc.want)
		}
		if got != nil && got.Step != api.StepAwaitReadiness {
			t.Errorf("%s: in step %q", name, got.Step)
		}
	}
}

// TestInitially: the destination owned the ordinals from its own end of the application before the migration
// began.
func TestInitially(t *testing.T) {
	for order, want := range map[api.Order]int32{api.HighestFirst: 4, api.LowestFirst: 1} {
		p := parted(func(s *plan.Snapshot) { s.Spec.Order, s.Record.Baseline.DestinationReplicas = order, 1 })
		var got []int32
		for k := int32(1); k < 5; k++ {
			if p.initially(k) {
				got = append(got, k)
			}
		}
		if len(got) != 1 || got[0] != want {
			t.Errorf("%s: %v, want %v", order, got, want)
		}
	}
}
