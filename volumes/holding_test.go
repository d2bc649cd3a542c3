package volumes

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestBound: claim and volume are bound only if all fields agree.
func TestBound(t *testing.T) {
	if h := held("east", ""); !h.Bound() {
		t.Fatalf("%+v is not bound", h)
	}
	for name, spoil := range map[string]func(*Holding){
		"no claim":                   func(h *Holding) { h.Claim.Found = false },
		"no volume":                  func(h *Holding) { h.Volume.Found = false },
		"the claim goes":             func(h *Holding) { h.Claim.Terminating = true },
		"the volume goes":            func(h *Holding) { h.Volume.Terminating = true },
		"the binder has not agreed":  func(h *Holding) { h.Claim.Phase = corev1.ClaimPending },
		"the claim names another":    func(h *Holding) { h.Claim.Volume = "another" },
		"the volume names another":   func(h *Holding) { h.Volume.ClaimRef.Name = "another" },
		"of another namespace":       func(h *Holding) { h.Volume.ClaimRef.Namespace = "another" },
		"of a claim that was before": func(h *Holding) { h.Volume.ClaimRef.UID = "before" },
	} {
		h := held("east", "")
		if spoil(&h); h.Bound() {
			t.Errorf("%s: bound", name)
		}
	}
}

// TestParkedAndSecured: a volume is parked if its claimRef names a claim that cannot exist. It is secured if it
// is Retain and this migration has noted the policy to restore.
func TestParkedAndSecured(t *testing.T) {
	h := parked("east")
	if !h.Parked() || !h.SecuredBy(owner) || h.Volume.ClaimRef.Name == h.Ref.Name {
		t.Fatalf("%+v is not parked and secured", h)
	}
	for name, spoil := range map[string]func(*Holding){
		"no volume":            func(h *Holding) { h.Volume = Volume{} },
		"bound":                func(h *Holding) { h.Volume.ClaimRef = h.Ref },
		"parked by another":    func(h *Holding) { h.Volume.ClaimRef.Namespace = "another" },
		"reserved for nothing": func(h *Holding) { h.Volume.ClaimRef = Ref{} },
	} {
		h := parked("east")
		if spoil(&h); h.Parked() {
			t.Errorf("%s: parked", name)
		}
	}
	for name, spoil := range map[string]func(*Holding){
		"Delete":           func(h *Holding) { h.Volume.Policy = corev1.PersistentVolumeReclaimDelete },
		"nothing is noted": func(h *Holding) { h.Volume.Note.Policy = "" },
		"noted by another": func(h *Holding) { h.Volume.Note.By = "another" },
	} {
		h := parked("east")
		if spoil(&h); h.SecuredBy(owner) {
			t.Errorf("%s: secured", name)
		}
	}
}

// TestOriginalFor: the policy to restore is the one that this migration has noted.
func TestOriginalFor(t *testing.T) {
	const retain, discard = corev1.PersistentVolumeReclaimRetain, corev1.PersistentVolumeReclaimDelete
	for name, tc := range map[string]struct {
		note Note
		want corev1.PersistentVolumeReclaimPolicy
	}{
		"noted":            {Note{Policy: discard, By: owner}, discard},
		"noted by another": {Note{Policy: discard, By: "another"}, retain},
		"not noted":        {Note{}, retain},
		"noted, and empty": {Note{By: owner}, retain},
	} {
		volume := Volume{Found: true, Policy: retain, Note: tc.note}
		if got := volume.OriginalFor(owner); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
		pair := Pair{Owner: owner, Giver: Holding{Volume: volume}}
		if got := pair.original(volume); got != tc.want {
			t.Errorf("%s: what is written goes back to %q, want %q", name, got, tc.want)
		}
	}
}

// TestSwapped: a stopped ordinal has its former volume if this migration has secured it, or if the other side
// has the same disk.
func TestSwapped(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Pair)
		want   bool
	}{
		"bound, and never secured":         {func(*Pair) {}, true},
		"secured by this migration":        {func(p *Pair) { p.Giver = secure(p.Giver) }, false},
		"secured by another":               {func(p *Pair) { p.Giver.Volume.Note = Note{Policy: "Delete", By: "another"} }, true},
		"parked":                           {func(p *Pair) { p.Giver.Volume.ClaimRef = Parked(p.Giver.Ref) }, false},
		"there is no volume":               {func(p *Pair) { p.Giver.Volume = Volume{} }, false},
		"the taker has the same disk":      {func(p *Pair) { p.Taker = held("west", "") }, false},
		"the taker has another disk":       {func(p *Pair) { p.Taker = held("west", ""); p.Taker.Volume.Handle = "another" }, true},
		"without a handle, and no taker":   {func(p *Pair) { p.Giver.Volume.Handle = "" }, true},
		"shared: the volume is the same":   {func(p *Pair) { p.Shared, p.Taker.Volume = true, p.Giver.Volume }, true},
		"shared: the taker has it already": {func(p *Pair) { p.Shared = true; p.Giver.Volume.ClaimRef = p.Taker.Ref }, false},
		"shared: there is no volume":       {func(p *Pair) { p.Shared = true; p.Giver.Volume = Volume{} }, false},
		"taken by somebody, not shared":    {func(p *Pair) { p.Giver.Volume.ClaimRef = Ref{Name: "z"} }, true},
	} {
		t.Run(name, func(t *testing.T) {
			pair := Pair{Owner: owner, Giver: held("east", ""), Taker: empty("west")}
			tc.change(&pair)
			if got := swapped(pair); (got != nil) != tc.want || got != nil && got.Reason != ReasonAnotherDisk {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// TestMisplaced: the taker's claim exists, and the volume has not been carried over to it.
func TestMisplaced(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Pair)
		want   bool
	}{
		"carried over":                     {func(*Pair) {}, false},
		"no claim":                         {func(p *Pair) { p.Taker.Claim = Claim{}; p.Giver.Claim.Volume = "another" }, false},
		"no claim, and parked":             {func(p *Pair) { p.Taker = parked("west"); p.Taker.Claim = Claim{} }, false},
		"another volume":                   {func(p *Pair) { p.Taker.Claim.Volume = "another" }, true},
		"nobody knows which one it was":    {func(p *Pair) { p.Giver.Claim.Volume = ""; p.Taker.Claim.Volume = "another" }, false},
		"still parked":                     {func(p *Pair) { p.Taker = parked("west") }, true},
		"shared, and carried over":         {func(p *Pair) { p.Shared = true }, false},
		"shared, and still the giver's":    {func(p *Pair) { p.Shared = true; p.Taker.Volume.ClaimRef = p.Giver.Ref }, true},
		"the same name in another cluster": {func(p *Pair) { p.Taker.Volume.ClaimRef = p.Giver.Ref }, false},
		"shared, and the volume is gone":   {func(p *Pair) { p.Shared = true; p.Taker.Volume = Volume{ClaimRef: p.Giver.Ref} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			pair := Pair{Owner: owner, Giver: parked("east"), Taker: held("west", "")}
			tc.change(&pair)
			if got := pair.Misplaced(); got != tc.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// TestFree: objects of other clients under the taker's names are an obstacle, and those that an earlier
// migration has left are not.
func TestFree(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Pair)
		want   string
	}{
		"nothing is there":               {func(*Pair) {}, ""},
		"nothing to compare with":        {func(p *Pair) { p.Giver.Volume = Volume{}; p.Taker = held("west", "") }, ""},
		"a claim on another volume":      {func(p *Pair) { p.Taker.Claim = Claim{Found: true, Volume: "another", Ours: true} }, ReasonForeignClaim},
		"a claim of ours, no volume":     {func(p *Pair) { p.Taker.Claim = Claim{Found: true, Volume: "pv", Ours: true} }, ""},
		"a claim of others, no volume":   {func(p *Pair) { p.Taker.Claim = Claim{Found: true, Volume: "pv"} }, ReasonForeignClaim},
		"a claim with its parked volume": {func(p *Pair) { p.Taker = parked("west") }, ""},
		"a volume of ours":               {func(p *Pair) { p.Taker = held("west", ""); p.Taker.Volume.Ours = true }, ""},
		"a volume of others":             {func(p *Pair) { p.Taker = held("west", "") }, ReasonForeignVolume},
		"another disk, though ours": {func(p *Pair) {
			p.Taker.Volume = Volume{Found: true, Name: "pv", Handle: "another", Ours: true}
		}, ReasonForeignVolume},
		"shared: the same volume":        {func(p *Pair) { p.Shared = true; p.Taker = held("west", "") }, ""},
		"shared: a claim on another one": {func(p *Pair) { p.Shared = true; p.Taker.Claim = Claim{Found: true, Volume: "another"} }, ReasonForeignClaim},
	} {
		t.Run(name, func(t *testing.T) {
			pair := Pair{Owner: owner, Giver: held("east", ""), Taker: empty("west")}
			tc.change(&pair)
			wantReason(t, refusal(Rebind{}, pair, BeforeStop), tc.want)
			if pair.Giver.Volume.Found {
				wantReason(t, refusal(Rebind{}, pair, BeforeMove), tc.want)
			}
		})
	}
	unbound := Pair{Owner: owner, Giver: held("east", ""), Taker: empty("west")}
	unbound.Giver.Claim = Claim{Found: true}
	unbound.Giver.Volume = Volume{}
	wantReason(t, refusal(Rebind{}, unbound, BeforeMove), ReasonClaimNotBound)
	if message := refusal(Rebind{}, unbound, BeforeMove).Message; !strings.Contains(message, "is without a phase and") {
		t.Errorf("it is told %q", message)
	}
}

// refusal returns why a method refuses a pair at a moment, or nil.
func refusal(method interface {
	Check(pair Pair, at Moment) (*Reason, []Reason)
}, pair Pair, at Moment,
) *Reason {
	refused, _ := method.Check(pair, at)
	return refused
}

func wantReason(t *testing.T, got *Reason, want string) {
	t.Helper()
	switch {
	case got == nil && want != "", got != nil && got.Reason != want:
		t.Errorf("got %+v, want %q", got, want)
	}
}

// TestUsableSaysHowToUnpark: for a claim whose volume was parked, the problem names the checks to make first.
// It also has the command that points the volume at the claim again: its name, its namespace and its UID.
func TestUsableSaysHowToUnpark(t *testing.T) {
	h := parked("east")
	h.Claim.Phase = corev1.ClaimLost
	got := Usable(h)
	if got == nil || got.Reason != ReasonClaimNotBound || !strings.Contains(got.Message, "parked its volume pv") || !strings.Contains(got.Message, "d/h") {
		t.Fatalf("got %+v", got)
	}
	want := "kubectl patch pv " + h.Volume.Name + ` --type=merge -p '{"spec":{"claimRef":{"apiVersion":"v1","kind":"PersistentVolumeClaim","namespace":"east","name":"data-web-0","uid":"east-claim","resourceVersion":null}}}'`
	if !strings.Contains(got.Remedy, want) || !strings.Contains(got.Remedy, "nothing uses this disk") {
		t.Errorf("remedy: %s", got.Remedy)
	}
	h.Claim.Volume = "another"
	if got := Usable(h); got == nil || strings.Contains(got.Remedy, "patch") {
		t.Errorf("a claim of another volume: %+v", got)
	}
}
