package volumes

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// TestSecondIsFree: objects that this migration has created or left at the taker are no obstacle.
func TestSecondIsFree(t *testing.T) {
	for name, tc := range map[string]struct {
		taker Holding
		want  string
	}{
		"nothing":                   {empty("west"), ""},
		"a claim of somebody":       {held("west", ""), ReasonForeignClaim},
		"a claim of this migration": {Holding{Claim: Claim{Found: true, Ours: true}}, ""},
		"what was left there":       {parked("west"), ""},
		"parked by another one": {func() Holding {
			h := parked("west")
			h.Volume.Note.By = "another"
			return h
		}(), ReasonForeignClaim},
		"secured, and in use": {secure(held("west", "")), ReasonForeignClaim},
	} {
		t.Run(name, func(t *testing.T) {
			wantReason(t, refusal(Second{}, Pair{Owner: owner, Giver: held("east", ""), Taker: tc.taker}, BeforeStop), tc.want)
		})
	}
}

// TestSecondIsConfirmed: a stopped ordinal has the volume that was recorded at its stop, or one that was taken
// over in this handoff. Or the taker has the recorded volume, and nothing was carried away from there.
func TestSecondIsConfirmed(t *testing.T) {
	recorded := Disk("d/h")
	taken := func(change func(*Pair)) func(*Pair) { // a second volume that was just taken over, before the move was reversed
		return func(p *Pair) {
			p.Giver.Volume.Handle, p.Giver.Volume.Seal = "d/second", "root"
			p.Copy = &Copying{Back: true, Attempt: api.CopyAttempt{Seal: api.CopySeal{Root: "root", Volume: "pv", To: Disk("d/second")}}}
			change(p)
		}
	}
	for name, tc := range map[string]struct {
		change func(*Pair)
		want   string
	}{
		"secured, the disk that it had": {func(*Pair) {}, ""},
		"there is no volume":            {func(p *Pair) { p.Giver.Volume = Volume{} }, ""},
		"not secured":                   {func(p *Pair) { p.Giver.Volume.Note = Note{} }, ReasonAnotherDisk},
		"parked by another migration":   {func(p *Pair) { p.Giver = parked("east"); p.Giver.Volume.Note.By = "another" }, ""},
		"another disk":                  {func(p *Pair) { p.Giver.Volume.Handle = "d/another" }, ReasonAnotherDisk},
		"another disk, and the taker has it still": {func(p *Pair) {
			p.Giver.Volume.Handle, p.Taker = "d/another", held("west", "")
		}, ""},
		"the taker has another one": {func(p *Pair) {
			p.Giver.Volume.Handle, p.Taker = "d/another", held("west", "")
			p.Taker.Volume.Handle = "d/third"
		}, ReasonAnotherDisk},
		"it was taken away from there": {func(p *Pair) { p.Giver.Volume.Handle, p.Taker = "d/another", parked("west") }, ReasonAnotherDisk},
		"just taken over":              {taken(func(*Pair) {}), ""},
		"the move has not turned":      {taken(func(p *Pair) { p.Copy.Back = false }), ReasonAnotherDisk},
		"nothing is known of a copy":   {taken(func(p *Pair) { p.Copy = nil }), ReasonAnotherDisk},
		"sealed of another volume":     {taken(func(p *Pair) { p.Copy.Attempt.Seal.Volume = "another" }), ReasonAnotherDisk},
		"sealed of another disk":       {taken(func(p *Pair) { p.Copy.Attempt.Seal.To = Disk("d/another") }), ReasonAnotherDisk},
		"sealed by another root":       {taken(func(p *Pair) { p.Giver.Volume.Seal = "another" }), ReasonAnotherDisk},
		"not sealed": {taken(func(p *Pair) {
			p.Giver.Volume.Seal, p.Copy.Attempt.Seal.Root = "", ""
		}), ReasonAnotherDisk},
	} {
		t.Run(name, func(t *testing.T) {
			pair := Pair{Separate: true, Owner: owner, Giver: secure(held("east", "")), Taker: empty("west"), Disk: recorded}
			tc.change(&pair)
			wantReason(t, refusal(Second{}, pair, AfterStop), tc.want)
		})
	}
}

// TestSecondIsCarried: an ordinal that has moved is on the volume that was filled for it and that has a seal.
func TestSecondIsCarried(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Pair)
		want   bool
	}{
		"as it was handed over":           {func(*Pair) {}, true},
		"the claim is gone":               {func(p *Pair) { p.Taker.Claim = Claim{} }, false},
		"the volume is gone":              {func(p *Pair) { p.Taker.Volume = Volume{} }, false},
		"gone, and the claim names none":  {func(p *Pair) { p.Taker.Volume, p.Taker.Claim.Volume = Volume{}, "" }, false},
		"the claim names another":         {func(p *Pair) { p.Taker.Claim.Volume = "another" }, false},
		"without a seal":                  {func(p *Pair) { p.Taker.Volume.Seal = "" }, false},
		"without a seal, another's move":  {func(p *Pair) { p.Carried, p.Taker.Volume.Seal = false, "" }, true},
		"on the disk that it had":         {func(p *Pair) { p.Giver.Volume.Handle = p.Taker.Volume.Handle }, false},
		"on that one, another's move":     {func(p *Pair) { p.Carried, p.Giver.Volume.Handle = false, p.Taker.Volume.Handle }, true},
		"nothing is left of the first":    {func(p *Pair) { p.Giver.Volume = Volume{Handle: p.Taker.Volume.Handle} }, true},
		"the claim has lost its volume":   {func(p *Pair) { p.Taker.Claim.Phase = corev1.ClaimLost }, false},
		"the claim is of another time":    {func(p *Pair) { p.Taker.Claim.UID = "another" }, false},
		"all of it, without a first disk": {func(p *Pair) { p.Giver = Holding{} }, true},
	} {
		t.Run(name, func(t *testing.T) {
			at := held("west", "")
			at.Volume.Handle, at.Volume.Seal = "d/second", "root"
			taken := Pair{Carried: true, Giver: parked("east"), Taker: at}
			tc.change(&taken)
			got := refusal(Second{}, taken, AfterArrival)
			if (got == nil) != tc.want || got != nil && got.Reason != ReasonAnotherDisk {
				t.Errorf("got %+v", got)
			}
			if absent := got != nil && strings.Contains(got.Message, "does not exist"); absent == taken.Taker.Claim.Found {
				t.Errorf("claim found %t: %+v", taken.Taker.Claim.Found, got)
			}
		})
	}
}

// TestReturns: an ordinal that goes back to a side from which nothing was carried away has its volume there.
func TestReturns(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Pair)
		want   bool
	}{
		"nothing was carried away":           {func(*Pair) {}, true},
		"what the other side has was left":   {func(p *Pair) { p.Giver = parked("east") }, true},
		"the other side has one":             {func(p *Pair) { p.Giver = held("east", "") }, false},
		"there is no volume":                 {func(p *Pair) { p.Taker.Volume = Volume{} }, false},
		"gone, and somebody's word":          {func(p *Pair) { p.Taker.Volume.Found, p.Word.ReturnsToKept = false, true }, false},
		"there is no claim":                  {func(p *Pair) { p.Taker.Claim = Claim{} }, false},
		"it was left behind":                 {func(p *Pair) { p.Taker = parked("west") }, false},
		"it was left behind, and is current": {func(p *Pair) { p.Taker, p.Word.ReturnsToKept = parked("west"), true }, true},
		"of somebody else, and a word":       {func(p *Pair) { p.Taker.Volume.ClaimRef.Name, p.Word.ReturnsToKept = "another", true }, false},
	} {
		pair := Pair{Owner: owner, Giver: empty("east"), Taker: held("west", "")}
		tc.change(&pair)
		if got := Returns(pair); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
