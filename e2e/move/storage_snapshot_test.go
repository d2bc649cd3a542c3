package move

import (
	"testing"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/csi/sidecar"
)

// TestStorageBySnapshot: the volumes of a running set get another class of the same driver from snapshots, which the driver
// restores into it.
func TestStorageBySnapshot(t *testing.T) {
	t.Parallel()
	d := disksOfOne(t, sidecar.SnapshotController, sidecar.Snapshotter)
	v := d.inPlace(t, 2, func(v *storage) {
		v.Migration.Spec.Volumes = []api.VolumeSpec{{ClaimTemplate: "data", Method: api.MethodSnapshot, StorageClassName: new(fastClass)}}
	})
	data, w := v.fill(), v.watch()
	v.Run(v.recreated())
	v.expectClaims(fastClass, oldSize)
	v.expectContent(data)
	w.agree()
	v.expectNoMovers()
}
