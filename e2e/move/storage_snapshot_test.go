package move

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/csi/sidecar"
	"github.com/sliceshift/sliceshift/volumes"
)

// TestStorageBySnapshot: the volumes of a running set get another class of the same driver from snapshots, which the driver
// restores into it.
func TestStorageBySnapshot(t *testing.T) {
	t.Parallel()
	d := disksOfOne(t, true, sidecar.SnapshotController, sidecar.Snapshotter)
	v := d.inPlace(t, 2, func(v *storage) {
		v.Migration.Spec.Volumes = []api.VolumeSpec{{ClaimTemplate: "data", Method: api.MethodSnapshot, StorageClassName: new(fastClass)}}
	})
	data, w := v.fill(), v.watch()
	left := []string{v.claim("data", 0).Spec.VolumeName, v.claim("data", 1).Spec.VolumeName}
	v.Run(v.recreated())
	v.expectClaims(fastClass, oldSize)
	v.expectContent(data)
	w.agree()
	v.expectNoMovers()
	for _, name := range left {
		volume, err := v.Source.CoreV1().PersistentVolumes().Get(v.Ctx, name, metav1.GetOptions{})
		v.Must(err)
		if _, parked := volumes.KeptOf(volume); !parked || volume.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimRetain {
			t.Errorf("volume %s is not kept: %+v", name, volume.Spec)
		}
	}
}
