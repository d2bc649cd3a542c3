package plan

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// sourceGone lets the source's StatefulSet be deleted.
func sourceGone(s *Snapshot) { s.Source.Set = Set{Presence: Absent, Name: "web"} }

// destinationGone lets the destination's StatefulSet be deleted.
func destinationGone(s *Snapshot) { s.Destination.Set = Set{Presence: Absent, Name: "web"} }

// destinationAnew lets the destination's StatefulSet be deleted and made again.
func destinationAnew(s *Snapshot) { s.Destination.Set.UID = "new" }

// fourIsEmpty lets ordinal 4 be on a claim that its controller has made again, empty.
func fourIsEmpty(s *Snapshot) {
	h := &s.Volumes[3].Destination
	h.Claim.UID, h.Claim.Volume = "empty", "pv-empty"
}

// takesFor is the record in which another StatefulSet is the destination.
func takesFor(p *planners, uid types.UID) *Decision {
	next, base := p.Record, *p.Record.Baseline
	base.DestinationUID = uid
	next.Baseline = &base
	return &Decision{Record: &next}
}

// TestLostSets: a migration stalls when one of its StatefulSets is lost, before anything is written on it,
// and lets go when it is being deleted. What is only to be recorded is recorded then, too.
func TestLostSets(t *testing.T) {
	deleting := func(s *Snapshot) { s.Deleting = true }
	for name, tc := range map[string]struct {
		change func(*Snapshot)
		want   string
	}{
		"neither":                        {nil, ""},
		"neither, and it is deleted":     {deleting, ""},
		"the source":                     {sourceGone, api.ReasonSourceMissing},
		"the destination":                {destinationGone, api.ReasonDestinationMissing},
		"both, the source's comes first": {inTurn(sourceGone, destinationGone), api.ReasonSourceMissing},
	} {
		if got := does(parted(tc.change).lost()); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	p := parted(inTurn(sourceGone, deleting))
	released := p.Record
	released.Completed = api.ReasonReleased
	if diff := cmp.Diff(&Decision{Record: &released}, p.lost()); diff != "" {
		t.Errorf("it is deleted: -want +got\n%s", diff)
	}
	p = parted(inTurn(destinationAnew, deleting))
	if diff := cmp.Diff(takesFor(p, "new"), p.lost()); diff != "" {
		t.Errorf("it is deleted, and another is the destination: -want +got\n%s", diff)
	}
}

// TestLostSource: a source that is gone is missed, unless it was to be deleted and the destination has all
// of its ordinals; another one in its place is not the one that was begun with (I1).
func TestLostSource(t *testing.T) {
	deletes := func(s *Snapshot) { s.Spec.DeleteSource = true }
	for name, tc := range map[string]struct {
		change func(*Snapshot)
		want   string
	}{
		"it is there":                     {nil, ""},
		"it is there, and to be deleted":  {deletes, ""},
		"gone with its ordinals":          {sourceGone, api.ReasonSourceMissing},
		"to be deleted, with its own":     {inTurn(deletes, sourceGone), api.ReasonSourceMissing},
		"to be deleted, one on its way":   {inTurn(deletes, func(s *Snapshot) { divide(s, 2) }, sourceGone), api.ReasonSourceMissing},
		"emptied, and to be deleted":      {inTurn(allMoved, deletes, sourceGone), ""},
		"emptied, and to stay":            {inTurn(allMoved, sourceGone), api.ReasonSourceMissing},
		"emptied, and others are counted": {inTurn(allMoved, deletes, sourceGone, func(s *Snapshot) { s.Destination.Set.Start = 2 }), api.ReasonSourceMissing},
		"another one":                     {func(s *Snapshot) { s.Source.Set.UID = "new" }, api.ReasonSourceReplaced},
		"it cannot be seen":               {func(s *Snapshot) { s.Source.Set.Presence, s.Source.Set.UID = Unreachable, "" }, ""},
	} {
		if got := does(parted(tc.change).lostSource()); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestLostDestination: a destination that is gone is missed when it has been given ordinals. Another one is
// taken for it when none was given, or when all of them are known to be on their disks (I3): that is
// recorded.
func TestLostDestination(t *testing.T) {
	const taken = "something else"
	unknown := func(s *Snapshot) { s.Record.Baseline.DestinationUID = "" }
	oneGiven := func(s *Snapshot) { divide(s, 4) }
	focused := func(s *Snapshot) { s.Focused = true }
	for name, tc := range map[string]struct {
		change func(*Snapshot)
		want   string
	}{
		"it is there":                       {nil, ""},
		"gone":                              {destinationGone, api.ReasonDestinationMissing},
		"gone with one ordinal":             {inTurn(oneGiven, destinationGone), api.ReasonDestinationMissing},
		"gone, and none was given":          {inTurn(allBack, destinationGone), ""},
		"gone, and it was not known":        {inTurn(unknown, destinationGone), ""},
		"gone, and declared to be off":      {inTurn(destinationGone, func(s *Snapshot) { s.Destination.Lost = true }), ""},
		"another one, none was given":       {inTurn(allBack, destinationAnew), taken},
		"another one on the same disks":     {destinationAnew, taken},
		"another one, of one ordinal":       {inTurn(oneGiven, destinationAnew), taken},
		"another one, one disk is not":      {inTurn(destinationAnew, fourIsEmpty), api.ReasonDestinationReplaced},
		"another one with other ordinals":   {inTurn(destinationAnew, func(s *Snapshot) { s.Destination.Set.Start = 2 }), api.ReasonDestinationReplaced},
		"another one, not all were read":    {inTurn(destinationAnew, focused), api.ReasonDestinationReplaced},
		"another of one, not all were read": {inTurn(oneGiven, destinationAnew, focused), api.ReasonDestinationReplaced},
		"another, none was given or read":   {inTurn(allBack, destinationAnew, focused), taken},
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

// TestGiven: the destination must have what the source does not own, but for the ordinal on its way, which
// may run there, too (I1).
func TestGiven(t *testing.T) {
	halfwayOut := func(k int32) func(*Snapshot) {
		return func(s *Snapshot) { s.Record.Handoff = &api.Handoff{Ordinal: k} }
	}
	stopped := func(s *Snapshot) { s.Source.Set.Replicas = 1 }
	for name, tc := range map[string]struct {
		change      func(*Snapshot)
		given, away []int32
	}{
		"half of them":                 {nil, []int32{3, 4}, []int32{3, 4}},
		"none":                         {allBack, nil, nil},
		"all":                          {allMoved, []int32{1, 2, 3, 4}, []int32{1, 2, 3, 4}},
		"one is to be stopped":         {halfwayOut(2), []int32{3, 4}, []int32{3, 4}},
		"one is stopped":               {inTurn(halfwayOut(2), stopped), []int32{3, 4}, []int32{2, 3, 4}},
		"one is started":               {halfwayOut(3), []int32{4}, []int32{3, 4}},
		"somebody has scaled":          {stopped, []int32{2, 3, 4}, []int32{2, 3, 4}},
		"the source is gone":           {sourceGone, []int32{1, 2, 3, 4}, []int32{1, 2, 3, 4}},
		"the source was not seen":      {func(s *Snapshot) { s.Source.Set.Presence = Unreachable }, []int32{1, 2, 3, 4}, []int32{1, 2, 3, 4}},
		"it began with another's half": {func(s *Snapshot) { s.Source.Set.Start = 2 }, []int32{1, 4}, []int32{1, 4}},
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
		change func(*Snapshot)
		want   string
	}{
		"neither":               {nil, ""},
		"the source":            {func(s *Snapshot) { s.Source.Set.Reserves = true }, api.ReasonForeignScale},
		"the destination":       {func(s *Snapshot) { s.Destination.Set.Reserves = true }, api.ReasonForeignScale},
		"one that was not seen": {func(s *Snapshot) { s.Source.Set.Reserves, s.Source.Set.Presence = true, Absent }, ""},
	} {
		if got := does(parted(tc.change).reserved()); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestLostDisks: a migration stalls while an ordinal that has moved is not on its disk (I3); that is not
// concluded where the disks were not read.
func TestLostDisks(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Snapshot)
		want   string
	}{
		"all are on theirs":                {nil, ""},
		"one is not":                       {fourIsEmpty, volumes.ReasonAnotherDisk},
		"not all were read":                {inTurn(fourIsEmpty, func(s *Snapshot) { s.Focused = true }), ""},
		"the destination is declared lost": {inTurn(fourIsEmpty, func(s *Snapshot) { s.Destination.Lost = true }), ""},
		"another was left behind":          {func(s *Snapshot) { s.Volumes[3].Source.Volume.Handle = "disk-other" }, volumes.ReasonAnotherDisk},
	} {
		if got := does(parted(tc.change).lostDisks()); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestAnotherDisk: each ordinal that the destination must have has to be on its disk there (I3). One that
// somebody has taken from both slices counts when its volume was carried away; what this migration has
// carried over is known by its own volume when the one that was left behind is gone.
func TestAnotherDisk(t *testing.T) {
	threeLeft := func(s *Snapshot) { s.Destination.Set.Start, s.Destination.Set.Replicas = 4, 1 }
	threeGone := func(s *Snapshot) { s.Volumes[2].Destination.Claim = volumes.Claim{} }
	unknown := func(at int) func(*Snapshot) {
		return func(s *Snapshot) { s.Volumes[at].Source, s.Volumes[at].Destination.Volume.Ours = nothingOf(1), false }
	}
	hadOne := func(s *Snapshot) { s.Record.Baseline.DestinationReplicas = 1 }
	for name, tc := range map[string]struct {
		change func(*Snapshot)
		want   bool
	}{
		"all are on theirs":                    {nil, false},
		"the last is not":                      {fourIsEmpty, true},
		"the first is not":                     {threeGone, true},
		"it is on its way":                     {inTurn(threeGone, func(s *Snapshot) { s.Record.Handoff = &api.Handoff{Ordinal: 3} }), false},
		"taken from both, carried away":        {inTurn(threeLeft, threeGone), true},
		"taken from the source, never carried": {func(s *Snapshot) { s.Source.Set.Replicas = 1 }, false},
		"started where its volume is not":      {func(s *Snapshot) { s.Volumes[2] = stayed(3) }, true},
		"carried over, by whom is not known":   {unknown(3), true},
		"the destination had it before":        {inTurn(hadOne, unknown(3)), false},
		"the destination had another before":   {inTurn(hadOne, unknown(2)), true},
		"one of the source's is nowhere":       {func(s *Snapshot) { s.Volumes[0].Source = nothingOf(1) }, false},
	} {
		if got := parted(tc.change).anotherDisk(); (got != nil) != tc.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestLeft: a volume has left the source when it does not name the source's claim any more.
func TestLeft(t *testing.T) {
	for name, tc := range map[string]struct {
		v    OrdinalVolume
		want bool
	}{
		"it has stayed":    {stayed(1), false},
		"it is parked":     {carriedOver(1), true},
		"it is gone":       {OrdinalVolume{Source: nothingOf(1)}, true},
		"it has come back": {returned(1), false},
	} {
		if got := parted(nil).left(tc.v); got != tc.want {
			t.Errorf("%s: left %t", name, got)
		}
	}
}

// TestOffItsDisk: an ordinal that has just been started is on its disk, or nothing goes on (I3); of volumes
// that were not read nothing is concluded.
func TestOffItsDisk(t *testing.T) {
	focused := func(s *Snapshot) { s.Focused = true }
	unread := func(s *Snapshot) { s.Focused, s.VolumesRead = true, false }
	read := func(s *Snapshot) { s.Focused, s.VolumesRead = true, true }
	foundHere := func(name SideName) func(*Snapshot) {
		return func(s *Snapshot) {
			other := name.Other()
			*s.Volumes[3].Holding(other) = nothingOf(4)
			side := map[SideName]string{SourceSide: "s", DestinationSide: "d"}[name]
			*s.Volumes[3].Holding(name) = boundAt(side, 4)
			s.Volumes[3].Holding(name).Volume.Ours = false
		}
	}
	for name, tc := range map[string]struct {
		change func(*Snapshot)
		want   string
	}{
		"it is on its disk":               {nil, ""},
		"it is not":                       {fourIsEmpty, volumes.ReasonAnotherDisk},
		"it is not, and is read alone":    {inTurn(fourIsEmpty, read), volumes.ReasonAnotherDisk},
		"it is not, and was not read":     {inTurn(fourIsEmpty, unread), ""},
		"another one is not":              {func(s *Snapshot) { s.Volumes[2].Destination = nothingOf(3) }, ""},
		"not carried there":               {foundHere(DestinationSide), volumes.ReasonAnotherDisk},
		"on its way back to its own":      {inTurn(allBack, foundHere(SourceSide)), ""},
		"on its way back, and it has not": {inTurn(allBack, func(s *Snapshot) { s.Volumes[3].Source = parkedAt("s", 4) }), volumes.ReasonAnotherDisk},
		"nothing of it is known":          {inTurn(focused, func(s *Snapshot) { s.Volumes = nil }), ""},
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

// TestInitially: the destination owned its ordinals from its own end of the application on, before the
// migration began.
func TestInitially(t *testing.T) {
	for order, want := range map[api.Order]int32{api.HighestFirst: 4, api.LowestFirst: 1} {
		p := parted(func(s *Snapshot) { s.Spec.Order, s.Record.Baseline.DestinationReplicas = order, 1 })
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
