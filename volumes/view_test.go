package volumes

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/shell"
)

var csi = corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "d", VolumeHandle: "h"}}

// TestViewClaim: the view of a claim has its owner, its users and its marks.
func TestViewClaim(t *testing.T) {
	now := metav1.Now()
	for name, tc := range map[string]struct {
		claim corev1.PersistentVolumeClaim
		want  Claim
	}{
		"new": {corev1.PersistentVolumeClaim{}, Claim{Found: true}},
		"ours, bound, called to, and going": {
			corev1.PersistentVolumeClaim{
				ObjectMeta: metav1.ObjectMeta{
					UID: "u", ResourceVersion: "7", DeletionTimestamp: &now,
					Annotations:     map[string]string{api.OwnerAnnotationKey: owner, api.FenceAnnotationKey: fence + "+3"},
					OwnerReferences: []metav1.OwnerReference{{Kind: "Pod"}, {Kind: "StatefulSet"}},
				},
				Spec:   corev1.PersistentVolumeClaimSpec{VolumeName: "pv"},
				Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound},
			},
			Claim{
				Found: true, UID: "u", ResourceVersion: "7", Phase: corev1.ClaimBound, Volume: "pv", Terminating: true, Ours: true,
				Fence: fence, Calls: 3, OwnedByPod: true, Owned: true, DeletedAt: now.Unix(),
			},
		},
		"of another migration, and of a set": {
			corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
				Annotations:     map[string]string{api.OwnerAnnotationKey: "another", api.FenceAnnotationKey: "another.4"},
				OwnerReferences: []metav1.OwnerReference{{Kind: "StatefulSet"}},
			}},
			Claim{Found: true, Fence: "another.4", Owned: true},
		},
		"called to no times": {
			corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{api.FenceAnnotationKey: fence + "+0"}}},
			Claim{Found: true, Fence: fence},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, ViewClaim(&tc.claim, owner)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// TestViewVolume: the view of a volume has its owner, its reservation and its marks.
func TestViewVolume(t *testing.T) {
	now := metav1.Now()
	for name, tc := range map[string]struct {
		volume corev1.PersistentVolume
		want   Volume
	}{
		"free": {
			corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}, Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: csi}},
			Volume{Found: true, Name: "pv", Handle: "d/h"},
		},
		"ours, bound, noted, and going": {
			corev1.PersistentVolume{
				ObjectMeta: metav1.ObjectMeta{
					Name: "pv", UID: "u", ResourceVersion: "7", DeletionTimestamp: &now,
					Annotations: map[string]string{
						api.OwnerAnnotationKey: owner, api.FenceAnnotationKey: fence, api.OriginalReclaimPolicyAnnotationKey: "Delete " + owner,
					},
				},
				Spec: corev1.PersistentVolumeSpec{
					PersistentVolumeSource: csi, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
					ClaimRef: &corev1.ObjectReference{Namespace: "shop", Name: "data-web-0", UID: "c"},
				},
				Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeBound, LastPhaseTransitionTime: &now},
			},
			Volume{
				Found: true, Name: "pv", UID: "u", ResourceVersion: "7", Phase: corev1.VolumeBound, Policy: corev1.PersistentVolumeReclaimRetain, PhaseSince: now.Unix(),
				Note: Note{Policy: corev1.PersistentVolumeReclaimDelete, By: owner}, ClaimRef: Ref{Namespace: "shop", Name: "data-web-0", UID: "c"},
				Handle: "d/h", Terminating: true, Ours: true, Fence: fence, DeletedAt: now.Unix(),
			},
		},
		"of another migration": {
			corev1.PersistentVolume{
				ObjectMeta: metav1.ObjectMeta{Name: "pv", Annotations: map[string]string{api.OwnerAnnotationKey: "another"}},
				Spec:       corev1.PersistentVolumeSpec{PersistentVolumeSource: csi},
			},
			Volume{Found: true, Name: "pv", Handle: "d/h"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, ViewVolume(&tc.volume, owner)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// TestHandle: one disk has one handle, and two disks have two, whatever kind of volume it is.
func TestHandle(t *testing.T) {
	if Disk("") != "" || len(Disk("d/h")) != 32 || Disk("d/h") == Disk("d/i") {
		t.Errorf("the digests are %q, %q and %q", Disk(""), Disk("d/h"), Disk("d/i"))
	}
	volume := func(source corev1.PersistentVolumeSource) string {
		return Handle(&corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: source}})
	}
	folder := func(path string) corev1.PersistentVolumeSource {
		return corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: path}}
	}
	attributed := corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "d", VolumeHandle: "h", VolumeAttributes: map[string]string{"tier": "fast"}}}
	if volume(csi) != volume(attributed) {
		t.Error("attributes make it another disk")
	}
	other := corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "d", VolumeHandle: "i"}}
	seen := map[string]bool{}
	for _, source := range []corev1.PersistentVolumeSource{csi, other, folder("/a"), folder("/b")} {
		seen[volume(source)] = true
	}
	if len(seen) != 4 || seen[""] {
		t.Errorf("four disks have the handles %v", seen)
	}
}

// TestCommandsNameTheCluster: a command names its cluster, because the claim of the same name on the other side
// may be in use.
func TestCommandsNameTheCluster(t *testing.T) {
	h := Holding{Ref: Ref{Namespace: "shop", Name: "data-web-0"}, Volume: Volume{Name: "pv-1"}, Kubectl: shell.Kubectl{Flags: "--context east"}}
	for got, want := range map[string]string{
		foreignClaim(h).Remedy: "kubectl --context east delete pvc -n shop data-web-0",
		notEmpty(h).Remedy:     "kubectl --context east delete pvc -n shop data-web-0",
		inTheWay(h).Remedy:     "kubectl --context east delete pvc -n shop data-web-0",
		h.DescribeVolume():     "kubectl --context east describe pv pv-1",
		Holding{}.Describe():   "kubectl describe pvc -n '' ''",
	} {
		if !strings.HasSuffix(got, want) {
			t.Errorf("%q does not end with %q", got, want)
		}
	}
}

// TestChosen: a volume that the binder has chosen existed before the claim. A provisioned volume did not, also
// if the binder itself has created it.
func TestChosen(t *testing.T) {
	for name, tc := range map[string]struct {
		volume string
		marked bool
		want   bool
	}{
		"a driver has made it":                 {"pvc-uid", false, false},
		"somebody has reserved it":             {"disk-7", false, false},
		"the binder has made it":               {"pvc-uid", true, false},
		"the binder has chosen it":             {"disk-7", true, true},
		"it was made for another claim before": {"pvc-another", true, true},
	} {
		pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: tc.volume}}
		pv.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "shop", Name: "data-web-0", UID: "uid"}
		if tc.marked {
			pv.Annotations = map[string]string{boundByController: "yes"}
		}
		if got := ViewVolume(pv, "").Chosen; got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
