package volumes

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// TestKept: a volume was left behind when its claimRef names what no claim can be called; who has parked it, it says itself.
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
