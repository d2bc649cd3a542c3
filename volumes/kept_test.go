package volumes

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/shell"
)

// TestKept: a volume was left behind if its claimRef names a claim that cannot exist. Its annotations name the
// migration that has parked it.
func TestKept(t *testing.T) {
	of := func(claim string, annotations map[string]string) *corev1.PersistentVolume {
		v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv", Annotations: annotations}}
		v.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
		v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "d", VolumeHandle: "h"}
		if claim != "" {
			v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "shop", Name: claim}
		}
		return v
	}
	kept := Kept{Volume: "pv", Claim: Ref{Namespace: "shop", Name: "data-web-0"}, Handle: "d/h", Policy: corev1.PersistentVolumeReclaimRetain}
	by := func(change func(*Kept)) Kept { all := kept; change(&all); return all }
	for name, tc := range map[string]struct {
		volume *corev1.PersistentVolume
		parked bool
		want   Kept
	}{
		"of no claim":            {of("", nil), false, Kept{}},
		"in use":                 {of("data-web-0", nil), false, kept},
		"parked":                 {of("data-web-0_parked", nil), true, kept},
		"with a note":            {of("data-web-0_parked", map[string]string{api.OriginalReclaimPolicyAnnotationKey: "Delete uid", api.FenceAnnotationKey: "other.3"}), true, by(func(k *Kept) { k.By = "uid" })},
		"with a fence alone":     {of("data-web-0_parked", map[string]string{api.FenceAnnotationKey: "uid.3"}), true, by(func(k *Kept) { k.By = "uid" })},
		"a copy, after its way":  {of("data-web-0_parked", map[string]string{api.SealAnnotationKey: "blake3:1"}), true, kept},
		"pointed at another one": {of("parked", nil), false, by(func(k *Kept) { k.Claim.Name = "parked" })},
	} {
		got, parked := KeptOf(tc.volume)
		if diff := cmp.Diff(tc.want, got); diff != "" || parked != tc.parked {
			t.Errorf("%s: parked: %t (-want +got):\n%s", name, parked, diff)
		}
	}
}

// TestLeftBehind: for a claim whose volume an earlier migration has parked, the problem names that migration,
// and the data on the volume with their age. It also says that the volume outlives the claim. Each method that
// needs the claim's place reports this.
func TestLeftBehind(t *testing.T) {
	at := time.Date(2026, 11, 27, 5, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		change  func(*Pair)
		message []string
		remedy  []string
	}{
		"by a migration that is known": {
			func(p *Pair) { p.Taker.Volume.ParkedBy, p.Taker.Volume.PhaseSince = "shop/web", at.Unix() },
			[]string{"claim west/data-web-0 is left over from migration shop/web", "volume pv-left is parked", "as of 2026-11-27T05:00:00Z, without what the ordinal has written since, on volume pv-now"},
			[]string{"volume pv-left stays parked with policy Retain", ": kubectl --context west delete pvc -n west data-web-0; ", "how to delete them: kubectl migrate kept --context west"},
		},
		"by one that is not, and nobody knows when": {func(*Pair) {}, []string{"the migration with the UID former", "its data as of then, without"}, nil},
		"its fence alone says who": {
			func(p *Pair) { p.Taker.Volume.Note, p.Taker.Volume.Fence = Note{}, "former.3" },
			[]string{"the migration with the UID former"},
			nil,
		},
		"nothing says who":               {func(p *Pair) { p.Taker.Volume.Note, p.Taker.Volume.Fence = Note{}, "" }, []string{"an earlier migration"}, nil},
		"bound until just now":           {func(p *Pair) { p.Taker.Volume.PhaseSince, p.Taker.Volume.Phase = at.Unix(), corev1.VolumeBound }, []string{"its data as of then"}, nil},
		"the ordinal runs on that disk":  {func(p *Pair) { p.Giver.Volume.Handle = p.Taker.Volume.Handle }, []string{"has the same disk that the ordinal runs on now;"}, nil},
		"nothing is known of the giver":  {func(p *Pair) { p.Giver.Volume = Volume{} }, []string{"has its data as of then;"}, nil},
		"a policy would delete the disk": {func(p *Pair) { p.Taker.Volume.Policy = corev1.PersistentVolumeReclaimDelete }, nil, []string{`patch pv pv-left -p '{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}' && kubectl --context west delete pvc`}},
	} {
		t.Run(name, func(t *testing.T) {
			pair := Pair{Owner: owner, Giver: held("east", ""), Taker: parked("west")}
			pair.Giver.Volume.Name, pair.Giver.Claim.Volume, pair.Giver.Volume.Handle = "pv-now", "pv-now", "d/now"
			pair.Taker.Volume.Name, pair.Taker.Claim.Volume = "pv-left", "pv-left"
			pair.Taker.Volume.Note.By, pair.Taker.Volume.Phase, pair.Taker.Kubectl = "former", corev1.VolumeAvailable, shell.Kubectl{Flags: "--context west"}
			tc.change(&pair)
			beside := pair // by Rebind the taker's volume is the one that arrives, and that of its claim is observed separately
			beside.Taker.Left, beside.Taker.Volume = new(pair.Taker.Volume), Volume{}
			frees := map[string]func() *Reason{
				"Second": func() *Reason { return refusal(Second{}, pair, BeforeStop) },
				"Empty":  func() *Reason { return refusal(Empty{}, pair, BeforeStop) },
			}
			if pair.Giver.Volume.Found {
				frees["Rebind"] = func() *Reason { return refusal(Rebind{}, beside, BeforeStop) }
				frees["Rebind, in mid-move"] = func() *Reason {
					beside.Giver, beside.Fence = secure(beside.Giver), fence
					beside.Giver.Volume.ClaimRef = Parked(beside.Giver.Ref)
					return Rebind{}.Transfer(beside).Hold
				}
			}
			for method, free := range frees {
				got := free()
				if got == nil || got.Reason != ReasonForeignClaim {
					t.Fatalf("%s: %+v", method, got)
				}
				for _, part := range tc.message {
					if !strings.Contains(got.Message, part) {
						t.Errorf("%s: no %q in: %s", method, part, got.Message)
					}
				}
				for _, part := range tc.remedy {
					if !strings.Contains(got.Remedy, part) {
						t.Errorf("%s: no %q in: %s", method, part, got.Remedy)
					}
				}
			}
		})
	}
}
