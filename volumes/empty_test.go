package volumes

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// said holds the confirmations of a user who knows the application.
var said = Word{FillsFromPeers: true, FilledShown: true}

// leaving returns the pair of an ordinal that is to start empty at the other side.
func leaving() Pair {
	return Pair{Fence: fence, Owner: owner, Giver: secure(held("east", "")), Taker: empty("west"), Template: "data", Word: said}
}

// anew returns a claim of this migration with its new volume.
func anew(namespace string) Holding {
	h := held(namespace, corev1.PersistentVolumeReclaimDelete)
	h.Claim.Ours, h.Claim.Fence, h.Claim.Volume = true, fence, "pvc-new"
	h.Volume.Name, h.Volume.Handle = "pvc-new", "d/new"
	return h
}

// TestEmptyIsRefused: nothing is stopped before the user has confirmed the assumptions of the method, nor for a
// place that holds data.
func TestEmptyIsRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Pair)
		want   string
	}{
		"all is said":                    {func(*Pair) {}, ""},
		"nothing is said":                {func(p *Pair) { p.Word = Word{} }, ReasonEmptyUnconfirmed},
		"nothing says when it is full":   {func(p *Pair) { p.Word.FilledShown = false }, ReasonFillingUnknown},
		"a claim of somebody else":       {func(p *Pair) { p.Taker = held("west", ""); p.Taker.Volume.Handle = "d/other" }, ReasonForeignClaim},
		"an empty claim of theirs":       {func(p *Pair) { p.Taker.Claim = Claim{Found: true} }, ReasonForeignClaim},
		"a claim that was made for it":   {func(p *Pair) { p.Taker.Claim = Claim{Found: true, Ours: true} }, ""},
		"a new volume":                   {func(p *Pair) { p.Taker = anew("west") }, ""},
		"a new volume, and no word":      {func(p *Pair) { p.Taker = anew("west"); p.Word = Word{} }, ReasonEmptyUnconfirmed},
		"the volume was carried over":    {func(p *Pair) { p.Taker = held("west", ""); p.Taker.Claim.Ours = true }, ReasonForeignVolume},
		"a kept volume":                  {func(p *Pair) { p.Taker = kept("west") }, ReasonReturnUnconfirmed},
		"a kept volume, and the word":    {func(p *Pair) { p.Taker = kept("west"); p.Word = Word{ReturnsToKept: true} }, ""},
		"the giver's claim is not there": {func(p *Pair) { p.Giver = empty("east") }, ReasonClaimMissing},
		"the giver is not bound":         {func(p *Pair) { p.Giver.Claim.Phase = corev1.ClaimPending }, ReasonClaimNotBound},
	} {
		t.Run(name, func(t *testing.T) {
			pair := leaving()
			tc.change(&pair)
			wantReason(t, refusal(Empty{}, pair, BeforeMove), tc.want)
			if blockedAt := refusal(Empty{}, pair, BeforeStop); blockedAt != nil {
				return // the gates check that before the stop
			}
			wantReason(t, Empty{}.Prepare(pair).Hold, tc.want)
		})
	}
}

// kept returns the holding on a side that an ordinal has left, with the volume that it had there.
func kept(namespace string) Holding {
	h := parked(namespace)
	h.Claim.Phase, h.Volume.Handle, h.Volume.Name, h.Claim.Volume = corev1.ClaimLost, "d/kept", "pv-kept", "pv-kept"
	return h
}

// TestEmptyMessages: a refusal names the field to set.
func TestEmptyMessages(t *testing.T) {
	for problem, want := range map[*Reason]string{
		unconfirmed("data"): "empty.fillsFromPeers: true for claim template data", fillingUnknown("data"): "empty.readyWhenFilled: true for claim template data",
		new(startsEmpty("data")): "claim template data", returning(Pair{Taker: kept("west"), Template: "data"}): "empty.returnsToKept: true for claim template data",
	} {
		if text := problem.Message + problem.Remedy; !strings.Contains(text, want) {
			t.Errorf("%s lacks %q", text, want)
		}
	}
}

// TestEmptyTransfer: the steps of an ordinal that leaves its volume behind.
func TestEmptyTransfer(t *testing.T) {
	unbound := empty("west")
	unbound.Claim = Claim{Found: true, Ours: true, Fence: fence, Phase: corev1.ClaimPending}
	for name, tc := range map[string]struct {
		change       func(*Pair)
		verb         Verb
		blocked      string
		done, awaits bool
	}{
		"never secured by us":               {change: func(p *Pair) { p.Giver = held("east", "") }, blocked: ReasonAnotherDisk},
		"not secured, and made by us":       {change: func(p *Pair) { p.Giver = anew("east") }, verb: Secure},
		"secured":                           {change: func(*Pair) {}, verb: Park},
		"secured under an older fence":      {change: func(p *Pair) { p.Giver.Volume.Fence = "migration.0" }, verb: Secure},
		"parked":                            {change: func(p *Pair) { p.Giver = parked("east") }, verb: CreateClaim},
		"the claim is made":                 {change: func(p *Pair) { p.Giver, p.Taker = parked("east"), unbound }, done: true},
		"under an older fence":              {change: func(p *Pair) { p.Giver, p.Taker = parked("east"), unbound; p.Taker.Claim.Fence = "" }, verb: MarkClaim},
		"it goes":                           {change: func(p *Pair) { p.Giver, p.Taker = parked("east"), unbound; p.Taker.Claim.Terminating = true }, awaits: true},
		"somebody else has made it":         {change: func(p *Pair) { p.Giver, p.Taker = parked("east"), unbound; p.Taker.Claim.Ours = false }, blocked: ReasonForeignClaim},
		"it has a new volume":               {change: func(p *Pair) { p.Giver, p.Taker = parked("east"), anew("west") }, verb: Point},
		"it has it, under this fence":       {change: func(p *Pair) { p.Giver, p.Taker = parked("east"), anew("west"); p.Taker.Volume.Fence = fence }, done: true},
		"the new volume is gone":            {change: func(p *Pair) { p.Giver, p.Taker = parked("east"), anew("west"); p.Taker.Volume = Volume{} }, blocked: ReasonVolumeLost},
		"the kept one is gone":              {change: func(p *Pair) { p.Giver = parked("east"); p.Giver.Volume = Volume{} }, blocked: ReasonVolumeLost},
		"somebody took the kept one":        {change: func(p *Pair) { p.Giver.Volume.ClaimRef = Ref{Name: "x"} }, blocked: ReasonForeignVolume},
		"it was carried over by Rebind":     {change: func(p *Pair) { p.Giver, p.Taker = parked("east"), held("west", "") }, blocked: ReasonForeignVolume},
		"back to a kept one":                {change: func(p *Pair) { p.Giver, p.Taker = parked("east"), kept("west") }, blocked: ReasonReturnUnconfirmed},
		"back to it, with the word":         {change: func(p *Pair) { p.Giver, p.Taker, p.Word = parked("east"), kept("west"), Word{ReturnsToKept: true} }, verb: Point},
		"back, and it never ran there":      {change: func(p *Pair) { p.Giver, p.Taker = unbound, kept("west") }, verb: Point},
		"back, and its claim is gone":       {change: func(p *Pair) { p.Giver, p.Taker = unbound, kept("west"); p.Taker.Claim = Claim{} }, blocked: ReasonClaimMissing},
		"turned round before it was parked": {change: func(p *Pair) { p.Giver, p.Taker = empty("east"), secure(held("west", "")); p.Taker.Claim.Fence = fence }, done: true},
	} {
		t.Run(name, func(t *testing.T) {
			pair := leaving()
			tc.change(&pair)
			got := Empty{}.Transfer(pair)
			if got.Done() != tc.done || (got.Waits != "") != tc.awaits {
				t.Errorf("got %+v", got)
			}
			wantReason(t, got.Hold, tc.blocked)
			if (got.Action == nil) != (tc.verb == "") || got.Action != nil && got.Action.Verb != tc.verb {
				t.Errorf("got %+v, want %s", got.Action, tc.verb)
			}
		})
	}
}

// TestEmptyKeepsBothPolicies: the policy that the author of one volume has chosen is not noted on the other.
func TestEmptyKeepsBothPolicies(t *testing.T) {
	pair := leaving()
	pair.Giver, pair.Taker = secure(anew("east")), kept("west")
	pair.Taker.Volume.Note.Policy = corev1.PersistentVolumeReclaimRetain
	pair.Giver.Volume.Note, pair.Word = Note{}, Word{ReturnsToKept: true}
	pair.Giver.Volume.Policy = corev1.PersistentVolumeReclaimDelete
	if note := (Empty{}).Transfer(pair).Action.After.Note; note.Policy != corev1.PersistentVolumeReclaimDelete {
		t.Errorf("the new volume would go back to %s", note.Policy)
	}
	pair.Giver = parked("east")
	if note := (Empty{}).Transfer(pair).Action.After.Note; note.Policy != corev1.PersistentVolumeReclaimRetain {
		t.Errorf("the kept volume would go back to %s", note.Policy)
	}
}

// TestEmptyConfirm: an ordinal leaves the disk that it was stopped with, or goes back to it from a new one on
// which it has never run.
func TestEmptyConfirm(t *testing.T) {
	back := func(p *Pair) { p.Giver, p.Taker = anew("east"), kept("west") }
	for name, tc := range map[string]struct {
		change func(*Pair)
		disk   string
		want   string
	}{
		"what it was stopped with":         {func(*Pair) {}, leaving().Giver.Volume.Handle, ""},
		"nothing was recorded":             {func(*Pair) {}, "", ""},
		"another disk":                     {func(*Pair) {}, "d/another", ReasonAnotherDisk},
		"back before it was started":       {back, "d/kept", ""},
		"it has its volume again":          {func(p *Pair) { back(p); p.Taker.Volume.ClaimRef = p.Taker.Ref }, "d/kept", ""},
		"back from where it has run":       {back, "d/new", ""},
		"to another one than it had":       {back, "d/another", ReasonAnotherDisk},
		"what it had is gone":              {func(p *Pair) { back(p); p.Taker.Volume = Volume{} }, "d/kept", ReasonAnotherDisk},
		"what it leaves was never secured": {func(p *Pair) { back(p); p.Giver.Claim.Ours = false }, "d/kept", ReasonAnotherDisk},
	} {
		pair := leaving()
		tc.change(&pair)
		if tc.disk != "" {
			pair.Disk = Disk(tc.disk)
		}
		got := refusal(Empty{}, pair, AfterStop)
		if (got == nil) != (tc.want == "") || got != nil && got.Reason != tc.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestEmptyCarried: an ordinal that has moved by this method is on the volume that was created for it, or will
// be.
func TestEmptyCarried(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Pair)
		want   string
	}{
		"on its new volume": {func(*Pair) {}, ""},
		"it has none yet": {func(x *Pair) {
			x.Taker.Claim.Volume, x.Taker.Claim.Phase, x.Taker.Volume = "", corev1.ClaimPending, Volume{}
		}, ""},
		"it is about to be bound":   {func(x *Pair) { x.Taker.Claim.Phase = corev1.ClaimPending }, ""},
		"the claim is gone":         {func(x *Pair) { x.Taker = empty("west") }, ReasonAnotherDisk},
		"the claim was made again":  {func(x *Pair) { x.Taker.Claim.Ours = false }, ReasonAnotherDisk},
		"it was there before":       {func(x *Pair) { x.Taker.Claim.Ours, x.Carried = false, false }, ""},
		"the volume is gone":        {func(x *Pair) { x.Taker.Volume = Volume{} }, ReasonVolumeLost},
		"the volume was taken":      {func(x *Pair) { x.Taker.Volume.ClaimRef.UID = "another" }, ReasonAnotherDisk},
		"the volume is parked":      {func(x *Pair) { x.Taker.Volume.ClaimRef = Parked(x.Taker.Ref) }, ReasonAnotherDisk},
		"it was carried over":       {func(x *Pair) { x.Taker.Volume.Handle = x.Giver.Volume.Handle }, ReasonAnotherDisk},
		"carried over before this":  {func(x *Pair) { x.Taker.Volume.Handle, x.Carried = x.Giver.Volume.Handle, false }, ""},
		"it is on another volume":   {func(x *Pair) { x.Taker.Claim.Volume = "pvc-other" }, ReasonAnotherDisk},
		"what was kept is not read": {func(x *Pair) { x.Giver.Volume = Volume{} }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			taken := Pair{Carried: true, Giver: parked("east"), Taker: anew("west")}
			tc.change(&taken)
			wantReason(t, refusal(Empty{}, taken, AfterArrival), tc.want)
		})
	}
}

// TestEmptyMisplaced: a claim that was created for an ordinal may wait for its volume. A claim that another
// client has created, or whose volume is parked, shows that the ordinal was started too early.
func TestEmptyMisplaced(t *testing.T) {
	for name, tc := range map[string]struct {
		taker Holding
		want  bool
	}{
		"nothing is there":     {empty("west"), false},
		"it waits":             {Holding{Claim: Claim{Found: true, Ours: true}}, false},
		"somebody has made it": {Holding{Claim: Claim{Found: true}}, true},
		"parked":               {kept("west"), true},
		"a new volume":         {anew("west"), false},
		"back on its own":      {held("west", ""), false},
	} {
		pair := leaving()
		pair.Separate, pair.Taker = true, tc.taker
		if got := pair.Misplaced(); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestEmptySettle: a new volume has the policy of its class, and a volume that was written is restored to its
// own policy.
func TestEmptySettle(t *testing.T) {
	pair := leaving()
	pair.Giver, pair.Taker = parked("east"), anew("west")
	if got := (Empty{}).Settle(pair); !got.Done() {
		t.Errorf("got %+v", got)
	}
	pair.Taker.Volume.Note, pair.Taker.Volume.Fence = Note{Policy: corev1.PersistentVolumeReclaimDelete, By: owner}, fence
	if got := (Empty{}).Settle(pair); got.Action == nil || got.Action.Verb != Restore || got.Action.After.Policy != corev1.PersistentVolumeReclaimDelete {
		t.Errorf("got %+v", got)
	}
	pair.Taker.Claim.Volume, pair.Taker.Volume = "", Volume{}
	if got := (Empty{}).Settle(pair); !got.Done() {
		t.Errorf("got %+v", got)
	}
}
