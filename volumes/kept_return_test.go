package volumes

import (
	"strings"
	"testing"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// lostSide returns a pair on its way back from a lost side: the attempt has carried its data there, or back from there if
// back is false.
func lostSide(back bool) Pair {
	pair := Pair{Separate: true, Owner: owner, Fence: fence, Giver: empty("west"), Taker: parked("east"), Word: Word{ReturnsToKept: true}}
	pair.Taker.Volume.Released = "migration.1"
	seen := &Copying{Back: back, Attempt: api.CopyAttempt{Number: 7}}
	seen.Incoming.Ref, seen.Outgoing.Ref = IncomingRef(pair.Giver.Ref, owner, 7), OutgoingRef(pair.Taker.Ref, owner)
	if !back {
		seen.Incoming.Ref, seen.Outgoing.Ref = IncomingRef(pair.Taker.Ref, owner, 7), OutgoingRef(pair.Giver.Ref, owner)
	}
	pair.Copy = seen
	return pair
}

// TestReturnsToKept: an ordinal returns to the volume that its taker still has if nothing has begun to be filled. With the user's
// confirmation, as when the other side is lost, an attempt counts only if its second volume was taken over.
func TestReturnsToKept(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Pair)
		want   bool
	}{
		"it was left behind":                 {func(*Pair) {}, true},
		"without a confirmation":             {func(p *Pair) { p.Word = Word{} }, false},
		"no attempt, without a confirmation": {func(p *Pair) { p.Word, p.Copy.Attempt.Number, p.Copy.Back = Word{}, 0, false }, false},
		"no attempt, and never left":         {func(p *Pair) { p.Word, p.Taker, p.Copy = Word{}, held("east", ""), nil }, true},
		"the other side has one":             {func(p *Pair) { p.Giver = held("west", "") }, false},
		"its claim was deleted":              {func(p *Pair) { p.Taker.Claim = Claim{} }, false},
		"it is lent":                         {func(p *Pair) { p.Taker.Volume.ClaimRef = OutgoingRef(p.Taker.Ref, owner) }, false},
		"it is the ordinal's again":          {func(p *Pair) { p.Taker = held("east", "") }, true},
		"another copy, not taken over":       {func(p *Pair) { p.Copy.Back = false }, true},
		"another copy, taken over": {func(p *Pair) {
			p.Copy.Back, p.Copy.Incoming.Volume = false, Volume{Found: true, ClaimRef: p.Taker.Ref}
		}, false},
	} {
		pair := lostSide(true)
		tc.change(&pair)
		if got := HandingOf(pair).Kept; got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestGoBackToKept: the volume that an ordinal has left is pointed at its claim, at the side that is not lost. Its release
// mark goes: nothing shows any more that the volume is as it was. Then the claim from which it was copied is deleted.
func TestGoBackToKept(t *testing.T) {
	for _, back := range []bool{true, false} {
		pair := lostSide(back)
		a := HandingOf(pair).GoBack().Action
		if a == nil || a.Verb != Point || a.AtGiver || a.Volume != "pv" || a.After.Released != "" || !a.After.ClaimRef.Names(pair.Taker.Ref) {
			t.Fatalf("back %t: %+v", back, a)
		}
		pair.Taker.Volume = pair.Taker.Volume.In(a.After)
		pair.Taker.Claim.Fence = fence
		if got := HandingOf(pair).GoBack(); !got.Done() {
			t.Errorf("back %t, and bound: %+v", back, got)
		}
	}
	pair := lostSide(true)
	pair.Taker = secure(held("east", ""))
	pair.Taker.Claim.Fence = fence
	pair.Copy.Outgoing.Claim = Claim{Found: true, Ours: true, UID: "out", ResourceVersion: "1", Volume: "pv"}
	if a := HandingOf(pair).GoBack().Action; a == nil || a.Verb != DeleteLost || a.AtGiver || a.UID != "out" {
		t.Errorf("%+v", a)
	}
}

// TestKeptWithoutItsClaim: on the way back, the claim of an ordinal is deleted before it is created on the copy. If the
// other side is lost in between, the message asks for that claim, and not for the volume of a lost cluster.
func TestKeptWithoutItsClaim(t *testing.T) {
	pair := lostSide(false)
	pair.Taker.Claim, pair.Taker.Volume = Claim{}, Volume{}
	got := HandingOf(pair).Release().Hold
	if got == nil || got.Reason != ReasonClaimMissing || !strings.Contains(got.Message, "claim east/data-web-0 has been deleted") || !strings.Contains(got.Remedy, "spec.volumeName") {
		t.Errorf("%+v", got)
	}
	pair.Word = Word{}
	if got := HandingOf(pair).Release().Hold; got == nil || got.Reason != ReasonVolumeLost {
		t.Errorf("without a confirmation: %+v", got)
	}
}
