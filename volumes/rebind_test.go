package volumes

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

const (
	fence = "migration.1"
	owner = "migration"
)

// held returns a bound claim with its volume, as a StatefulSet leaves it.
func held(namespace string, policy corev1.PersistentVolumeReclaimPolicy) Holding {
	ref := Ref{Namespace: namespace, Name: "data-web-0"}
	return Holding{
		Ref:   ref,
		Claim: Claim{Found: true, UID: types.UID(namespace + "-claim"), ResourceVersion: "1", Phase: corev1.ClaimBound, Volume: "pv"},
		Volume: Volume{
			Found: true, Name: "pv", UID: types.UID(namespace + "-pv"), ResourceVersion: "1", Policy: policy, Phase: corev1.VolumeBound,
			ClaimRef: Ref{Namespace: namespace, Name: ref.Name, UID: types.UID(namespace + "-claim")}, Handle: "d/h",
		},
	}
}

func empty(namespace string) Holding {
	return Holding{Ref: Ref{Namespace: namespace, Name: "data-web-0"}}
}

func secure(h Holding) Holding {
	h.Volume.Policy, h.Volume.Note, h.Volume.Fence = corev1.PersistentVolumeReclaimRetain, Note{Policy: corev1.PersistentVolumeReclaimDelete, By: owner}, fence
	return h
}

func TestRebindBlocks(t *testing.T) {
	foreign := empty("west")
	foreign.Claim = Claim{Found: true, UID: "other", Phase: corev1.ClaimBound, Volume: "another-pv"}
	disk := empty("west")
	disk.Volume = Volume{Found: true, Name: "pv", Handle: "another disk"}
	taken := secure(held("east", corev1.PersistentVolumeReclaimRetain))
	taken.Volume.ClaimRef = Ref{Namespace: "x", Name: "y", UID: "z"}
	unsecured := held("east", corev1.PersistentVolumeReclaimDelete)
	unsecured.Volume.Note, unsecured.Volume.ClaimRef = Note{Policy: corev1.PersistentVolumeReclaimDelete, By: owner}, taken.Volume.ClaimRef
	barred, twin := parked("east"), parked("east")
	barred.Volume.Barred, twin.Volume.Twin = Reason{Reason: ReasonVolumeNotAllowed}, "another-pv"
	lost := empty("east")
	lost.Claim = held("east", "").Claim
	tests := map[string]struct {
		pair Pair
		want string
	}{
		"a foreign claim":            {Pair{Giver: parked("east"), Taker: foreign}, ReasonForeignClaim},
		"a foreign claim, shared":    {Pair{Shared: true, Giver: secure(held("east", "")), Taker: foreign}, ReasonForeignClaim},
		"M-067 a foreign disk":       {Pair{Giver: parked("east"), Taker: disk}, ReasonForeignVolume},
		"the volume is gone":         {Pair{Giver: lost, Taker: empty("west")}, ReasonVolumeLost},
		"the claim is gone":          {Pair{Giver: empty("east"), Taker: empty("west")}, ReasonClaimMissing},
		"the same, shared":           {Pair{Shared: true, Giver: empty("east"), Taker: empty("west")}, ReasonClaimMissing},
		"somebody took the volume":   {Pair{Giver: taken, Taker: empty("west")}, ReasonForeignVolume},
		"S1 it may not be made":      {Pair{Giver: barred, Taker: empty("west")}, ReasonVolumeNotAllowed},
		"M-067 S1 the disk is there": {Pair{Giver: twin, Taker: empty("west")}, ReasonForeignVolume},
		"the volume of a victim":     {Pair{Giver: unsecured, Taker: empty("west")}, ReasonForeignVolume},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tc.pair.Fence, tc.pair.Owner = fence, owner
			got := Rebind{}.Transfer(tc.pair)
			if got.Hold == nil || got.Hold.Reason != tc.want || got.Action != nil {
				t.Errorf("got %+v, want %s", got, tc.want)
			}
		})
	}
}

// TestForeignVolumesAreNotWritten: whatever was observed, a write only goes to a volume whose claimRef names
// the claim or the parked reference of the written side. If both sides share the volume, it may also name the
// giver's claim. Any other volume may belong to another user (I9, S5).
func TestForeignVolumesAreNotWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pair := Pair{Shared: rapid.Bool().Draw(t, "shared"), Fence: fence, Owner: owner, Giver: anyHolding(t, "east"), Taker: anyHolding(t, "west")}
		if pair.Shared && rapid.Bool().Draw(t, "one volume") {
			pair.Taker.Volume = pair.Giver.Volume
		}
		for _, verdict := range []Verdict{Rebind{}.Transfer(pair), (Rebind{}).Prepare(pair)} {
			if verdict.Action != nil {
				wantOwnVolume(t, pair, *verdict.Action)
			}
		}
	})
}

func wantOwnVolume(t *rapid.T, pair Pair, action Action) {
	t.Helper()
	written, side := pair.Giver.Volume, pair.Giver.Ref
	switch action.Verb {
	case Secure, Park:
	case Point: // it is written at the taker, so the giver's view of that volume does not count
		side, written = pair.Taker.Ref, pair.Taker.Volume
	default:
		return // it writes no volume that exists
	}
	ref := written.ClaimRef
	marked := Holding{Volume: written}.SecuredBy(owner) && written.Fence == fence && (!pair.Giver.Volume.Found || written.UID == pair.Giver.Volume.UID)
	own := ref.Names(side) || ref.Names(Parked(side)) || pair.Shared && ref.Names(pair.Giver.Ref) && (marked || action.Verb != Point)
	if action.UID != written.UID || action.ResourceVersion != written.ResourceVersion || !own {
		t.Fatalf("%s of volume %s, whose claimRef names %s/%s", action.Verb, action.UID, ref.Namespace, ref.Name)
	}
}

// anyHolding returns a holding with its claim, its volume, both or none. The volume may be of any owner.
func anyHolding(t *rapid.T, namespace string) Holding {
	h := held(namespace, rapid.SampledFrom([]corev1.PersistentVolumeReclaimPolicy{corev1.PersistentVolumeReclaimRetain, corev1.PersistentVolumeReclaimDelete}).Draw(t, "policy"))
	if rapid.Bool().Draw(t, "secured") {
		h = secure(h)
	}
	h.Volume.Fence = rapid.SampledFrom([]string{"", fence, "migration.0", "another.1"}).Draw(t, "fence")
	h.Volume.ClaimRef = rapid.SampledFrom([]Ref{
		h.Volume.ClaimRef,
		Parked(h.Ref),
		{Namespace: h.Ref.Namespace, Name: h.Ref.Name},
		{Namespace: h.Ref.Namespace, Name: h.Ref.Name, UID: "z"},
		{},
		{Namespace: "victim", Name: h.Ref.Name, UID: "z"},
		{Namespace: h.Ref.Namespace, Name: "data-victim-0", UID: "z"},
		Parked(Ref{Namespace: "victim", Name: h.Ref.Name}),
	}).Draw(t, "claimRef")
	if rapid.Bool().Draw(t, "no claim") {
		h.Claim = Claim{}
	}
	if rapid.Bool().Draw(t, "no volume") {
		h.Volume = Volume{}
	}
	return h
}

func parked(namespace string) Holding {
	h := secure(held(namespace, corev1.PersistentVolumeReclaimRetain))
	h.Volume.ClaimRef = Parked(h.Ref)
	return h
}

// TestDepartingVolume: the claimRef of a volume whose object was deleted is not changed. The object would
// disappear, and with it the record of the ordinal's disk (I3).
func TestDepartingVolume(t *testing.T) {
	giver := secure(held("east", corev1.PersistentVolumeReclaimRetain))
	giver.Volume.Terminating = true
	pair := Pair{Owner: owner, Fence: fence, Giver: giver, Taker: empty("west")}
	shared, separate := pair, pair
	shared.Shared, separate.Separate = true, true
	for name, got := range map[string]Verdict{
		"Rebind": Rebind{}.Transfer(pair), "Rebind in one cluster": Rebind{}.Transfer(shared), "Empty": Empty{}.Transfer(separate),
		"Copy and Snapshot": Handing{Pair: separate, Copying: Copying{Outgoing: Holding{Ref: OutgoingRef(giver.Ref, owner)}}}.Release(),
	} {
		if got.Hold == nil || got.Hold.Reason != ReasonVolumeLost {
			t.Errorf("%s: %+v", name, got)
		}
	}
	pair.Giver = parked("east")
	pair.Giver.Volume.Terminating = true
	if got := (Rebind{}).Transfer(pair); got.Hold != nil {
		t.Errorf("once it was parked its disk is carried over all the same: %+v", got)
	}
}

func TestSecureGiverRefuses(t *testing.T) {
	pending := held("east", corev1.PersistentVolumeReclaimDelete)
	pending.Claim.Phase = corev1.ClaimPending
	owned := held("east", corev1.PersistentVolumeReclaimDelete)
	owned.Claim.OwnedByPod = true
	lost := held("east", corev1.PersistentVolumeReclaimDelete)
	lost.Volume.ClaimRef.UID = "another"
	gone := held("east", corev1.PersistentVolumeReclaimDelete)
	gone.Volume = Volume{}
	barred, twin := held("east", corev1.PersistentVolumeReclaimDelete), secure(held("east", corev1.PersistentVolumeReclaimDelete))
	barred.Volume.Barred, twin.Volume.Twin = Reason{Reason: ReasonVolumeNotAllowed}, "another-pv"
	for name, tc := range map[string]struct {
		giver Holding
		want  string
	}{
		"it may not be made": {barred, ReasonVolumeNotAllowed},
		"its disk is there":  {twin, ReasonForeignVolume},
		"no claim":           {empty("east"), ReasonClaimMissing},
		"pending":            {pending, ReasonClaimNotBound},
		"owned by its pod":   {owned, ReasonClaimOwned},
		"bound to another":   {lost, ReasonClaimNotBound},
		"without its volume": {gone, ReasonVolumeLost},
	} {
		t.Run(name, func(t *testing.T) {
			got := Rebind{}.Prepare(Pair{Fence: fence, Owner: owner, Giver: tc.giver, Taker: empty("west")})
			if got.Hold == nil || got.Hold.Reason != tc.want {
				t.Errorf("got %+v, want %s", got, tc.want)
			}
		})
	}
}

// TestK1MarkIsReadBack: within one cluster a volume is pointed elsewhere only once the mark that was written
// over the giver's connection is read over the taker's. The giver's view of that volume does not count.
func TestK1MarkIsReadBack(t *testing.T) {
	of := func(change func(giver, taker *Holding)) Pair {
		pair := Pair{Shared: true, Fence: fence, Owner: owner, Giver: secure(held("east", "")), Taker: empty("west")}
		pair.Taker.Volume = pair.Giver.Volume
		change(&pair.Giver, &pair.Taker)
		return pair
	}
	for name, tc := range map[string]struct {
		change func(giver, taker *Holding)
		// prepared and transferred are the verb, the reason, or "done".
		prepared, transferred string
	}{
		"one volume":                      {func(_, _ *Holding) {}, "done", string(Point)},
		"the taker's side has none":       {func(_, taker *Holding) { taker.Volume = Volume{} }, api.ReasonClusterNotProven, api.ReasonClusterNotProven},
		"it has another one of the name":  {func(_, taker *Holding) { taker.Volume.UID = "of-a-victim" }, api.ReasonClusterNotProven, api.ReasonClusterNotProven},
		"the giver's side gives no UID":   {func(giver, taker *Holding) { giver.Volume.UID, taker.Volume.UID = "", "" }, api.ReasonClusterNotProven, api.ReasonClusterNotProven},
		"it was cloned before the mark":   {func(_, taker *Holding) { taker.Volume.Note, taker.Volume.Fence = Note{}, "" }, api.ReasonClusterNotProven, api.ReasonClusterNotProven},
		"its mark is another migration's": {func(_, taker *Holding) { taker.Volume.Note.By = "another" }, api.ReasonClusterNotProven, api.ReasonClusterNotProven},
		"its mark is of an epoch before":  {func(_, taker *Holding) { taker.Volume.Fence = "migration.0" }, api.ReasonClusterNotProven, api.ReasonClusterNotProven},
		"its policy is Delete there":      {func(_, taker *Holding) { taker.Volume.Policy = corev1.PersistentVolumeReclaimDelete }, api.ReasonClusterNotProven, api.ReasonClusterNotProven},
		"it is a victim's there": {func(_, taker *Holding) {
			taker.Volume.ClaimRef = Ref{Namespace: "victims", Name: "data-db-0", UID: "x"}
		}, "done", ReasonForeignVolume},
		"only the giver's side says that it has moved": {func(giver, taker *Holding) { giver.Volume.ClaimRef = taker.Ref }, ReasonClaimNotBound, api.ReasonClusterNotProven},
	} {
		pair := of(tc.change)
		for verb, got := range map[string][2]string{"prepare": {tc.prepared, inAWord(Rebind{}.Prepare(pair))}, "transfer": {tc.transferred, inAWord(Rebind{}.Transfer(pair))}} {
			if got[0] != got[1] {
				t.Errorf("%s: %s: got %s, want %s", name, verb, got[1], got[0])
			}
		}
	}
	got := Rebind{}.Transfer(of(func(giver, taker *Holding) {
		giver.Volume.ResourceVersion, taker.Volume.ResourceVersion = "of the giver's", "7"
	}))
	if got.Action == nil || got.Action.ResourceVersion != "7" {
		t.Errorf("it is not written as the taker's side shows it: %+v", got)
	}
}

// inAWord returns the verb of a verdict, the reason why it waits, or "done".
func inAWord(v Verdict) string {
	switch {
	case v.Action != nil:
		return string(v.Action.Verb)
	case v.Hold != nil:
		return v.Hold.Reason
	case v.Waits != "":
		return v.Waits
	}
	return "done"
}

// TestBarred: the policy is checked for a volume to be created, and for no other. In one cluster there is one
// volume, and an existing volume is not created again (S1).
func TestBarred(t *testing.T) {
	giver, made := held("east", corev1.PersistentVolumeReclaimDelete), empty("west")
	giver.Volume.Barred, made.Volume = Reason{Reason: ReasonVolumeNotAllowed}, Volume{Found: true}
	for name, tc := range map[string]struct {
		pair Pair
		want bool
	}{
		"it is to be made":        {Pair{Giver: giver, Taker: empty("west")}, true},
		"it is there":             {Pair{Giver: giver, Taker: made}, false},
		"in one cluster":          {Pair{Shared: true, Giver: giver, Taker: empty("west")}, false},
		"in one cluster, and two": {Pair{Shared: true, Giver: giver, Taker: made}, false},
		"it may be made":          {Pair{Giver: held("east", ""), Taker: empty("west")}, false},
	} {
		if got := tc.pair.barred(); (got != nil) != tc.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestReplaced: an ordinal must be on the recorded disk. If none was recorded, or no volume is found, nothing
// is known (I3).
func TestReplaced(t *testing.T) {
	on := held("east", "")
	on.Volume.Handle = "d/h"
	for name, tc := range map[string]struct {
		holding Holding
		disk    string
		want    bool
	}{
		"the same":     {on, Disk("d/h"), false},
		"another":      {on, Disk("d/i"), true},
		"not recorded": {on, "", false},
		"not found":    {empty("east"), Disk("d/h"), false},
	} {
		if got := (Pair{Giver: tc.holding, Disk: tc.disk}).Replaced(); (got != nil) != tc.want || got != nil && got.Reason != ReasonAnotherDisk {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestThereAndBack: a volume moves to the other side and back again, with a binder between the steps. At no
// step is the disk usable on both sides. Nothing is pointed elsewhere without Retain. A claimRef never has the
// UID of a claim that does not exist (I2, I3).
func TestThereAndBack(t *testing.T) {
	for name, shared := range map[string]bool{"between clusters": false, "in one cluster": true} {
		t.Run(name, func(t *testing.T) {
			pair := Pair{Shared: shared, Fence: fence, Owner: owner, Giver: held("east", corev1.PersistentVolumeReclaimDelete), Taker: empty("west")}
			if shared {
				pair.Taker.Volume = pair.Giver.Volume
			}
			carry(t, &pair)
			pair.Giver, pair.Taker, pair.Fence = pair.Taker, pair.Giver, "migration.2"
			carry(t, &pair)
			if original := pair.Taker.Volume.OriginalFor(owner); original != corev1.PersistentVolumeReclaimDelete {
				t.Errorf("the original policy is %q", original)
			}
		})
	}
}

func carry(t *testing.T, pair *Pair) {
	t.Helper()
	for range 30 {
		verdict := Rebind{}.Prepare(*pair)
		if verdict.Action == nil {
			verdict = Rebind{}.Transfer(*pair)
		}
		if verdict.Hold != nil {
			verdict = Rebind{}.Transfer(*pair)
		}
		switch {
		case verdict.Hold != nil:
			t.Fatalf("blocked: %+v", verdict.Hold)
		case verdict.Done():
			if !pair.Taker.Bound() || pair.Giver.Bound() {
				t.Fatalf("done, but not bound: %+v", pair)
			}
			return
		case verdict.Action != nil:
			write(t, pair, *verdict.Action)
		}
		bindAll(pair)
		if pair.Giver.Bound() && pair.Taker.Bound() {
			t.Fatal("I2: the disk is usable on both sides")
		}
	}
	t.Fatal("it does not end")
}

// write acts as the API server.
func write(t *testing.T, pair *Pair, action Action) {
	t.Helper()
	put := func(volume Volume) {
		pair.Taker.Volume = volume
		if pair.Shared {
			pair.Giver.Volume = volume
		}
	}
	if action.Ref.UID != "" && action.Ref.UID != pair.Taker.Claim.UID && action.Verb == Point {
		t.Fatalf("I3: %+v names a claim that is not there", action)
	}
	switch action.Verb {
	case Secure:
		pair.Giver = secureUnder(pair.Giver, action.Fence)
		if pair.Shared {
			put(pair.Giver.Volume)
		}
	case Park:
		if !pair.Giver.SecuredBy(owner) {
			t.Fatal("I3: parked without Retain")
		}
		pair.Giver.Volume.ClaimRef, pair.Giver.Volume.Fence = action.Ref, action.Fence
	case Point:
		volume := pair.Taker.Volume
		if volume.Policy != corev1.PersistentVolumeReclaimRetain {
			t.Fatal("I3: pointed elsewhere without Retain")
		}
		volume.ClaimRef, volume.Fence, volume.Phase = action.Ref, action.Fence, ""
		put(volume)
	case CreateVolume:
		volume := pair.Giver.Volume
		volume.ClaimRef, volume.Fence, volume.UID, volume.Phase = action.Ref, action.Fence, "made", ""
		put(volume)
	case CreateClaim:
		pair.Taker.Claim = Claim{Found: true, UID: "made-claim", Phase: corev1.ClaimPending, Volume: action.Volume, Fence: action.Fence}
	case MarkClaim:
		pair.Taker.Claim.Fence = action.Fence
	case Restore:
		t.Fatal("nothing is restored before the end")
	default:
		t.Fatalf("%s is no write of this method", action.Verb)
	}
}

func secureUnder(h Holding, by string) Holding {
	h.Volume.Note = Note{Policy: h.Volume.OriginalFor(owner), By: owner}
	h.Volume.Policy, h.Volume.Fence = corev1.PersistentVolumeReclaimRetain, by
	return h
}

// bindAll acts as the binder of both clusters.
func bindAll(pair *Pair) {
	for _, h := range []*Holding{&pair.Giver, &pair.Taker} {
		volume := &h.Volume
		if h.Claim.Found && volume.ClaimRef.Names(h.Ref) && volume.ClaimRef.UID == "" && h.Claim.Volume == volume.Name {
			volume.ClaimRef.UID = h.Claim.UID
		}
		volume.Phase = corev1.VolumeBound
		if volume.ClaimRef.UID == "" {
			volume.Phase = corev1.VolumeAvailable
		}
		h.Claim.Phase = corev1.ClaimLost
		if volume.ClaimRef.Names(h.Ref) && volume.ClaimRef.UID == h.Claim.UID {
			h.Claim.Phase = corev1.ClaimBound
		}
		if pair.Shared {
			pair.Giver.Volume, pair.Taker.Volume = *volume, *volume
		}
	}
}

// TestMarkOfAClaim: the mark separates the fence and the number of calls. A mark that was edited is no fence of
// this migration.
func TestMarkOfAClaim(t *testing.T) {
	for _, calls := range []int{0, 1, 4} {
		if by, n := unmark(marked(fence, calls)); by != fence || n != calls {
			t.Errorf("%d calls under %s become %d under %s", calls, fence, n, by)
		}
	}
	for value, want := range map[string]string{"": "", "another.2": "another.2", fence + "+x": "", fence + "+-1": ""} {
		if by, n := unmark(value); by != want || n != 0 {
			t.Errorf("%q is %d calls under %q", value, n, by)
		}
	}
}

// TestRetainIsReadBack: if a user has changed the policy of a volume that carries the mark of this epoch, it is
// secured again before any further step.
func TestRetainIsReadBack(t *testing.T) {
	spoiled := secure(held("east", ""))
	spoiled.Volume.Policy = corev1.PersistentVolumeReclaimDelete
	for name, got := range map[string]Verdict{
		"before the stop":     Rebind{}.Prepare(Pair{Fence: fence, Owner: owner, Giver: spoiled, Taker: empty("west")}),
		"before it is parked": Rebind{}.Transfer(Pair{Fence: fence, Owner: owner, Giver: spoiled, Taker: empty("west")}),
		"in one cluster":      Rebind{}.Transfer(Pair{Fence: fence, Owner: owner, Shared: true, Giver: spoiled, Taker: empty("west")}),
	} {
		if got.Action == nil || got.Action.Verb != Secure {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

// TestNotesOfOthersDoNotCount: the policy to restore is the one that this migration has noted, however often it
// secures the volume. The note of another migration does not show what the volume's author has chosen since
// (G3).
func TestNotesOfOthersDoNotCount(t *testing.T) {
	const retain, discard = corev1.PersistentVolumeReclaimRetain, corev1.PersistentVolumeReclaimDelete
	giver := held("west", retain)
	giver.Volume.Note = Note{Policy: discard, By: "an earlier migration"}
	verdict := Rebind{}.Prepare(Pair{Fence: fence, Owner: owner, Giver: giver, Taker: empty("east")})
	if verdict.Action == nil || verdict.Action.After.Note != (Note{Policy: retain, By: owner}) {
		t.Errorf("the first time: got %+v", verdict)
	}
	giver.Volume.Note = Note{Policy: discard, By: owner}
	verdict = Rebind{}.Prepare(Pair{Fence: fence, Owner: owner, Giver: giver, Taker: empty("east")})
	if verdict.Action == nil || verdict.Action.After.Note != (Note{Policy: discard, By: owner}) {
		t.Errorf("the second time, under another fence: got %+v", verdict)
	}
	left := parked("east")
	left.Volume.Note = Note{Policy: discard, By: "an earlier migration"}
	gives := parked("west")
	gives.Volume.Note = Note{Policy: retain, By: owner}
	verdict = Rebind{}.Transfer(Pair{Fence: fence, Owner: owner, Giver: gives, Taker: left})
	if verdict.Action == nil || verdict.Action.Verb != Point || verdict.Action.After.Note != (Note{Policy: retain, By: owner}) {
		t.Errorf("on the volume that an earlier migration had parked: got %+v", verdict)
	}
}
