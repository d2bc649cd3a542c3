package observe

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// onDisk is a volume object of a disk.
func onDisk(name, handle string) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)}, Spec: corev1.PersistentVolumeSpec{
		PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "d", VolumeHandle: handle}},
	}}
}

// TestTwins: a disk that was filled for nothing is known to be another volume's as well, in whichever cluster, and that
// is asked for only once nobody goes on with it. A cluster that does not answer is not one without it.
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
