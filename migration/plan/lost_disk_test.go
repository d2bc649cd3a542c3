package plan

import (
	"testing"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

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
