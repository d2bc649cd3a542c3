package volumes

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// arrived returns the taker's side of a disk that has been carried over: bound, under this fence.
func arrived() Holding {
	h := secure(held("west", ""))
	h.Claim.Fence = fence
	return h
}

// TestBind: the next step for each state of the taker, once the giver's volume is parked.
func TestBind(t *testing.T) {
	const discard = corev1.PersistentVolumeReclaimDelete
	ref := empty("west").Ref
	bound := Ref{Namespace: ref.Namespace, Name: ref.Name, UID: "west-claim"}
	note := Note{Policy: discard, By: owner}
	point := func(to Ref) Verdict {
		return Verdict{Action: &Action{Verb: Point, Volume: "pv", Ref: to, UID: "west-pv", ResourceVersion: "1", Fence: fence, After: State{
			Policy: corev1.PersistentVolumeReclaimRetain, Note: note, ClaimRef: to, Fence: fence,
		}}}
	}
	mark := Action{Verb: MarkClaim, Volume: "pv", Ref: ref, UID: "west-claim", ResourceVersion: "1", Fence: fence}
	again := mark
	again.Calls = 3
	for name, tc := range map[string]struct {
		change func(*Holding)
		want   Verdict
	}{
		"bound":                       {func(*Holding) {}, Verdict{}},
		"not marked under this fence": {func(h *Holding) { h.Claim.Fence = "migration.0" }, Verdict{Action: &mark}},
		"the binder lags": {
			func(h *Holding) { h.Claim.Phase, h.Claim.Calls = corev1.ClaimPending, 2 },
			Verdict{Waits: "claim data-web-0 is bound to volume pv", Call: &again},
		},
		"parked":                       {func(h *Holding) { h.Volume.ClaimRef = Parked(h.Ref) }, point(bound)},
		"parked, without a claim":      {func(h *Holding) { h.Volume.ClaimRef = Parked(h.Ref); h.Claim = Claim{} }, point(ref)},
		"written under another fence":  {func(h *Holding) { h.Volume.Fence = "migration.0" }, point(bound)},
		"of a claim that was before":   {func(h *Holding) { h.Volume.ClaimRef.UID = "before" }, point(bound)},
		"of a claim that is gone":      {func(h *Holding) { h.Claim = Claim{} }, point(ref)},
		"of a claim without a uid yet": {func(h *Holding) { h.Claim.UID, h.Volume.ClaimRef.UID = "", "before" }, point(ref)},
		"reserved, and the claim is not there": {
			func(h *Holding) { h.Claim, h.Volume.ClaimRef, h.Volume.Phase = Claim{}, h.Ref, corev1.VolumeAvailable },
			Verdict{Action: &Action{Verb: CreateClaim, Volume: "pv", Ref: ref, Fence: fence}},
		},
		"reserved, and not known to the binder": {
			func(h *Holding) { h.Claim, h.Volume.ClaimRef, h.Volume.Phase = Claim{}, h.Ref, corev1.VolumePending },
			Verdict{Waits: "volume pv is known to the binder"},
		},
		"parked, and not known to the binder": {
			func(h *Holding) { h.Volume.ClaimRef, h.Volume.Phase = Parked(h.Ref), corev1.VolumePending },
			Verdict{Waits: "volume pv is known to the binder"},
		},
		"H7: the claim is being deleted": {
			func(h *Holding) { h.Claim.Terminating, h.Claim.Keeps = true, []string{"example.com/keep"} },
			Verdict{Waits: "claim west/data-web-0 is deleted: the finalizers example.com/keep keep it", Deletion: &Deletion{
				Object: "claim west/data-web-0", Keeps: []string{"example.com/keep"}, Look: "kubectl get pvc -n west data-web-0 -o yaml",
			}},
		},
		"H7: the volume is being deleted": {
			func(h *Holding) { h.Volume.Terminating = true },
			Verdict{Waits: "volume pv is deleted", Deletion: &Deletion{Object: "volume pv", Look: "kubectl get pv pv -o yaml"}}, //nolint:dupword // the volume is called pv
		},
	} {
		t.Run(name, func(t *testing.T) {
			taker := arrived()
			tc.change(&taker)
			if a := tc.want.Action; a != nil && a.Verb == Point {
				a.Before = taker.Volume.State()
			}
			got := Rebind{}.Transfer(Pair{Fence: fence, Owner: owner, Giver: parked("east"), Taker: taker})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if got.Done() != (name == "bound") {
				t.Errorf("done: %v", got.Done())
			}
		})
	}
}

// TestBindRefuses: objects at the taker that must not be touched.
func TestBindRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Pair)
		want   string
	}{
		"the claim is on another volume":     {func(p *Pair) { p.Taker.Claim.Volume = "another" }, ReasonForeignClaim},
		"the volume is of another claim":     {func(p *Pair) { p.Taker.Volume.ClaimRef.Name = "another" }, ReasonForeignVolume},
		"it would be deleted":                {func(p *Pair) { p.Taker.Volume.Policy = "Delete"; p.Taker.Volume.ClaimRef = Parked(p.Taker.Ref) }, ReasonVolumeNotRetain},
		"another disk":                       {func(p *Pair) { p.Taker.Volume.Handle = "another" }, ReasonForeignVolume},
		"the giver's was never secured":      {func(p *Pair) { p.Giver = held("east", ""); p.Taker = empty("west") }, ReasonAnotherDisk},
		"shared, and was never secured":      {func(p *Pair) { p.Shared, p.Giver = true, held("east", ""); p.Taker = empty("west") }, ReasonAnotherDisk},
		"the volumes are gone, one claim is": {func(p *Pair) { p.Giver = empty("east"); p.Taker.Volume = Volume{} }, ReasonVolumeLost},
	} {
		t.Run(name, func(t *testing.T) {
			pair := Pair{Fence: fence, Owner: owner, Giver: parked("east"), Taker: arrived()}
			tc.change(&pair)
			got := Rebind{}.Transfer(pair)
			wantReason(t, got.Hold, tc.want)
			if got.Action != nil || got.Waits != "" || got.Done() {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// TestCarriedOnce: without the giver's volume, the taker's is the disk. A claim of the taker that waits for its
// volume is not foreign. One volume that both sides share is read on either side.
func TestCarriedOnce(t *testing.T) {
	pair := Pair{Fence: fence, Owner: owner, Giver: empty("east"), Taker: arrived()}
	if got := (Rebind{}).Transfer(pair); !got.Done() {
		t.Errorf("without the giver's volume: got %+v", got)
	}
	pair = Pair{Fence: fence, Owner: owner, Giver: parked("east"), Taker: empty("west")}
	pair.Taker.Claim = Claim{Found: true, UID: "c", Volume: "pv"}
	if got := (Rebind{}).Transfer(pair); got.Action == nil || got.Action.Verb != CreateVolume || got.Action.Ref != Parked(pair.Taker.Ref) {
		t.Errorf("with a claim that waits: got %+v", got)
	}
	pair = Pair{Shared: true, Fence: fence, Owner: owner, Giver: secure(held("east", "")), Taker: empty("west")}
	pair.Taker.Volume, pair.Giver.Volume = pair.Giver.Volume, Volume{}
	pair.Taker.Ref.UID = "of no use"
	got := Rebind{}.Transfer(pair)
	if got.Action == nil || got.Action.Verb != Point || got.Action.Ref != empty("west").Ref {
		t.Errorf("seen from the taker alone: got %+v", got)
	}
}
