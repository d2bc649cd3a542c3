package volumes

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/internal/shell"
)

// TestShareable: a claim that all ordinals share gets a second volume object only if both clusters may mount it
// at once, and no action of one cluster deletes its storage (I2, I3).
func TestShareable(t *testing.T) {
	type (
		claim  = *corev1.PersistentVolumeClaim
		volume = *corev1.PersistentVolume
	)
	only := func(modes ...corev1.PersistentVolumeAccessMode) func(claim, volume) {
		return func(c claim, v volume) { c.Spec.AccessModes, v.Spec.AccessModes = modes, modes }
	}
	source := func(of corev1.PersistentVolumeSource) func(claim, volume) {
		return func(_ claim, v volume) { v.Spec.PersistentVolumeSource = of }
	}
	for name, tc := range map[string]struct {
		change func(claim, volume)
		want   string
	}{
		"NFS":                  {nil, ""},
		"CSI":                  {source(corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "efs", VolumeHandle: "fs"}}), ""},
		"it is only read":      {only(corev1.ReadOnlyMany), ""},
		"one of several modes": {only(corev1.ReadWriteOnce, corev1.ReadWriteMany), ""},
		"of one machine":       {only(corev1.ReadWriteOnce), ReasonClaimNotShareable},
		"of one pod":           {only(corev1.ReadWriteOncePod), ReasonClaimNotShareable},
		"without a mode":       {only(), ReasonClaimNotShareable},
		"the volume of one": {func(_ claim, v volume) {
			v.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
		}, ReasonClaimNotShareable},
		"a path": {source(corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/a"}}), ReasonClaimNotShareable},
		"a disk": {source(corev1.PersistentVolumeSource{ISCSI: &corev1.ISCSIPersistentVolumeSource{}}), ReasonClaimNotShareable},
		"deleted with its claim": {func(_ claim, v volume) {
			v.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimDelete
		}, ReasonVolumeNotRetain},
		"not bound yet":           {func(c claim, _ volume) { c.Status.Phase = corev1.ClaimPending }, ReasonClaimNotBound},
		"its volume is another's": {func(_ claim, v volume) { v.Spec.ClaimRef.Name = "other" }, ReasonClaimNotBound},
		"made again":              {func(c claim, _ volume) { c.UID = "later" }, ReasonClaimNotBound},
		"of no volume":            {func(c claim, _ volume) { c.Spec.VolumeName = "" }, ReasonClaimNotBound},
	} {
		c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "shared", UID: "c"}}
		c.Spec.VolumeName, c.Spec.AccessModes, c.Status.Phase = "nfs", []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}, corev1.ClaimBound
		v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "nfs"}, Spec: corev1.PersistentVolumeSpec{
			AccessModes: c.Spec.AccessModes, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			ClaimRef:               &corev1.ObjectReference{Namespace: "shop", Name: "shared", UID: "c"},
			PersistentVolumeSource: corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{Server: "a", Path: "/"}},
		}}
		if tc.change != nil {
			tc.change(c, v)
		}
		got := Shareable(c, v, shell.Kubectl{})
		if tc.want == "" && got != nil || tc.want != "" && (got == nil || got.Reason != tc.want || got.Message == "" || got.Remedy == "") {
			t.Errorf("%s: %+v, want %q", name, got, tc.want)
		}
		if got := Shareable(c, nil, shell.Kubectl{}); got == nil || got.Reason != ReasonClaimNotBound {
			t.Errorf("%s, without the volume: %+v", name, got)
		}
	}
}
