package volumes

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/sliceshift/sliceshift/internal/shell"
)

// atTaker returns a pair whose taker's side has a volume of the giver's name.
func atTaker(change func(*Volume)) Pair {
	pair := Pair{Fence: fence, Owner: owner, Template: "data", Giver: held("east", corev1.PersistentVolumeReclaimDelete), Taker: empty("west")}
	pair.Taker.Kubectl = shell.Kubectl{Flags: "--context west"}
	pair.Taker.Volume = Volume{
		Found: true, Name: "pv", UID: "prepared", ResourceVersion: "1", Handle: pair.Giver.Volume.Handle, Policy: corev1.PersistentVolumeReclaimRetain,
		Phase: corev1.VolumeAvailable, ClaimRef: pair.Taker.Ref,
	}
	change(&pair.Taker.Volume)
	return pair
}

// TestP3Prepared: a volume that the user has created for the disk, with Retain and reserved for the ordinal's
// claim, is taken over and keeps its policy.
func TestP3Prepared(t *testing.T) {
	pair := atTaker(func(*Volume) {})
	if problem := refusal(Rebind{}, pair, BeforeMove); problem != nil {
		t.Fatalf("it is refused: %+v", problem)
	}
	pair.Giver = parked("east")
	got := Rebind{}.Transfer(pair)
	if got.Action == nil || got.Action.Verb != Point || got.Action.UID != "prepared" {
		t.Fatalf("it is not taken over: %+v", got)
	}
	if want := (Note{Policy: corev1.PersistentVolumeReclaimRetain, By: owner}); got.Action.After.Note != want {
		t.Errorf("it would get %+v, which its author has not chosen", got.Action.After.Note)
	}
	twin := atTaker(func(*Volume) {})
	twin.Giver.Volume.Twin = "another"
	if verdict := (Rebind{}).Prepare(twin); verdict.Hold == nil || verdict.Hold.Reason != ReasonForeignVolume {
		t.Errorf("a third volume of the disk is not seen: %+v", verdict)
	}
}

// TestP2SameDisk: a volume that is not prepared is refused, with a remedy that keeps the disk whatever its
// policy is.
func TestP2SameDisk(t *testing.T) {
	const retain, remove = `kubectl --context west patch pv pv -p '{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}'`, "kubectl --context west delete pv pv" //nolint:dupword // the volume is called pv
	for name, tc := range map[string]struct {
		change func(*Volume)
		says   []string
	}{
		"no claim, policy Delete": {func(v *Volume) { v.ClaimRef, v.Policy = Ref{}, corev1.PersistentVolumeReclaimDelete }, []string{"no claim", "of this disk already", retain, remove, "is taken over"}},
		"no claim":                {func(v *Volume) { v.ClaimRef = Ref{} }, []string{"no claim", retain, `"name":"data-web-0"`}},
		"reserved, policy Delete": {func(v *Volume) { v.Policy = corev1.PersistentVolumeReclaimDelete }, []string{"policy Delete", retain}},
		"bound to another claim":  {func(v *Volume) { v.ClaimRef = Ref{Namespace: "n", Name: "theirs", UID: "x"} }, []string{"claim n/theirs", "stop them", retain + " && " + remove}},
		"bound to the claim":      {func(v *Volume) { v.ClaimRef.UID = "x" }, []string{"stop them", retain + " && " + remove}},
	} {
		pair := atTaker(tc.change)
		problem := refusal(Rebind{}, pair, BeforeMove)
		if problem == nil || problem.Reason != ReasonForeignVolume {
			t.Errorf("%s: %+v", name, problem)
			continue
		}
		for _, want := range append(tc.says, pair.Giver.Volume.Handle) {
			if !strings.Contains(problem.Message+"\n"+problem.Remedy, want) {
				t.Errorf("%s: it does not say %q: %+v", name, want, problem)
			}
		}
		keepsDisks(t, name, problem)
		if strings.Contains(problem.Message, "names /") || strings.Contains(problem.Remedy, "rename") {
			t.Errorf("%s: %+v", name, problem)
		}
	}
}

// TestP17OtherDisk: a volume of the same name that is another disk stays unchanged: the remedy is another name.
func TestP17OtherDisk(t *testing.T) {
	problem := refusal(Rebind{}, atTaker(func(v *Volume) { v.Handle = "d/other" }), BeforeMove)
	if problem == nil || problem.Reason != ReasonForeignVolume || !strings.Contains(problem.Remedy, "--volume data=copy") || strings.Contains(problem.Remedy, "delete") {
		t.Errorf("%+v", problem)
	}
}

// keepsDisks checks a remedy: it deletes the object of a volume, deletes a claim, or reserves a volume, only
// after that volume is set to Retain. A reserved volume of policy Delete is deleted with its claim.
func keepsDisks(t *testing.T, name string, problem *Reason) {
	t.Helper()
	for _, remove := range []string{"delete pv ", "delete pvc ", `{"claimRef":`} {
		at := strings.Index(problem.Remedy, remove)
		if at >= 0 && !strings.Contains(problem.Remedy[:at], `"persistentVolumeReclaimPolicy":"Retain"}}' && `) {
			t.Errorf("%s: the disk may be deleted: %s", name, problem.Remedy)
		}
	}
}

// TestRemediesKeepDisks: whatever claim or volume is in the way, the remedy deletes no disk.
func TestRemediesKeepDisks(t *testing.T) {
	theirs := held("west", corev1.PersistentVolumeReclaimDelete)
	named := empty("west")
	named.Claim = Claim{Found: true, UID: "c", Volume: "theirs"}
	for name, h := range map[string]Holding{"bound": theirs, "its volume was not read": named} {
		for what, problem := range map[string]*Reason{
			"a foreign claim": foreignClaim(h), "not empty": notEmpty(h), "in the way": inTheWay(h), "left behind": leftBehind(Pair{Taker: h}),
			"a twin": TwinOf("pv", "theirs", h), "strayed": strayed(h), "unprepared": unprepared(Pair{Taker: h}), "another disk": otherDisk(Pair{Taker: h}),
		} {
			if problem != nil {
				keepsDisks(t, name+", "+what, problem)
			}
		}
	}
	kept := held("west", corev1.PersistentVolumeReclaimRetain)
	if got := kept.Delete(); got != "kubectl delete pvc -n west data-web-0" {
		t.Errorf("a volume that is kept anyway: %s", got)
	}
}
