package move

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/csi/sidecar"
	"github.com/sliceshift/sliceshift/volumes"
)

// TestStorageBySnapshot: the volumes of a running set get another class of the same driver from snapshots, which the driver
// restores into it. No second pod mounts a claim, so that access mode ReadWriteOncePod does no harm.
func TestStorageBySnapshot(t *testing.T) {
	t.Parallel()
	d := disksOfOne(t, true, sidecar.SnapshotController, sidecar.Snapshotter)
	for _, mode := range []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce, corev1.ReadWriteOncePod} {
		t.Run(string(mode), func(t *testing.T) { d.bySnapshot(t, mode) })
	}
}

// bySnapshot changes the class of a set whose claims have an access mode.
func (d *disks) bySnapshot(t *testing.T, mode corev1.PersistentVolumeAccessMode) {
	t.Helper()
	v := d.inPlace(t, 2, func(v *storage) {
		v.Migration.Spec.Volumes = []api.VolumeSpec{{ClaimTemplate: "data", Method: api.MethodSnapshot, StorageClassName: new(fastClass)}}
		adapt := v.App.Adapt
		v.App.Adapt = func(set *appsv1.StatefulSet) {
			adapt(set)
			set.Spec.VolumeClaimTemplates[0].Spec.AccessModes = []corev1.PersistentVolumeAccessMode{mode}
		}
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
