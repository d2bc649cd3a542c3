package world

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// onDisk returns a volume object of a disk.
func onDisk(name, handle string) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)}, Spec: corev1.PersistentVolumeSpec{
		PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "d", VolumeHandle: handle}},
	}}
}

// TestTwins: a disk of an abandoned copy is recognized as that of another volume, in either cluster. This is read
// only after the attempt was dropped. A cluster that does not answer does not count as one without such a volume.
func TestTwins(t *testing.T) {
	copied := onDisk("copy", "disk")
	for name, tc := range map[string]struct {
		dropped      bool
		here, there  *corev1.PersistentVolume
		fails        error
		want, failed string
	}{
		"it is nobody else's":               {dropped: true, here: copied, there: onDisk("other", "another-disk")},
		"one of its own cluster":            {dropped: true, here: onDisk("twin", "disk"), there: onDisk("other", "another-disk"), want: "twin"},
		"one of the other cluster":          {dropped: true, here: copied, there: onDisk("twin", "disk"), want: "twin"},
		"of the same name over there":       {dropped: true, here: copied, there: func() *corev1.PersistentVolume { v := onDisk("copy", "disk"); v.UID = "x"; return v }(), want: "copy"},
		"nobody asks as long as it is used": {here: onDisk("twin", "disk"), there: copied, fails: errors.New("gone")},
		"a cluster does not answer":         {dropped: true, here: copied, there: copied, fails: errors.New("gone"), failed: "gone"},
	} {
		t.Run(name, func(t *testing.T) {
			source := &observed{endpoint: listingSnapshots(tc.fails, tc.there)}
			destination := &observed{
				endpoint: listingSnapshots(nil, tc.here), volumes: map[string]*corev1.PersistentVolume{"copy": copied},
				copying: map[string]*copyPart{"data": {role: volumes.RoleReceiver, volumeName: "copy", dropped: tc.dropped}},
			}
			readTwins(t.Context(), source, destination)
			if got := destination.incoming(&api.Migration{}, destination.copying["data"]).Volume.Twin; got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			if failed := source.err != nil; failed != (tc.failed != "") {
				t.Errorf("failed: %v", source.err)
			}
		})
	}
}

// TestNeeded: a new volume has the size of the claim that is copied: that of the side that the attempt copies from,
// where it may have been resized.
func TestNeeded(t *testing.T) {
	claim := func(size string) map[string]*corev1.PersistentVolumeClaim {
		asked := corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}}
		return map[string]*corev1.PersistentVolumeClaim{"data-web-2": {Spec: corev1.PersistentVolumeClaimSpec{Resources: asked}}}
	}
	ref := volumes.Holding{Ref: volumes.Ref{Name: "data-web-2"}}
	v := plan.OrdinalVolume{Ordinal: 2, Template: "data", Method: api.MethodCopy, Source: ref, Destination: ref}
	for giver, want := range map[plan.SideName]int64{"": 1 << 30, plan.SourceSide: 1 << 30, plan.DestinationSide: 3 << 30} {
		m := &api.Migration{Status: api.MigrationStatus{Handoff: &api.Handoff{Ordinal: 2, Volumes: []api.HandoffVolume{{
			ClaimTemplate: "data", Copy: api.CopyAttempt{Number: 7, Giver: string(giver)},
		}}}}}
		if got := copyingOf(m, &observed{claims: claim("1Gi")}, &observed{claims: claim("3Gi")}, v).Asked.Needed; got != want {
			t.Errorf("copied from %q: %d bytes, want %d", giver, got, want)
		}
	}
}
