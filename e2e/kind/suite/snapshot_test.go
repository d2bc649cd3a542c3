package suite

import (
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/e2e/kind/disks"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// TestSnapshot: replicas that write continuously move by snapshots of a CSI driver, whose disks kubelets mount. Each
// starts on a disk with all its data at the stop. No line that a reader has seen is lost, and no snapshot remains. The
// same holds on the way back.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	d := startDisks(t, disks.Site{Cluster: pair.East, Driver: oneDriver, Snapshots: true}, disks.Site{Cluster: pair.West, Driver: oneDriver, Snapshots: true})
	t.Run("M-060: disks that are made at once", func(t *testing.T) {
		v, w := deployDisks(t, d, oneDriver)
		before := v.handles(pair.East)
		v.drive(v.mover())
		journals := v.expectMoved()
		v.expectKnown(w, pair.West)
		v.expectOthers(before, v.handles(pair.West), pair.East)
		v.expectCompared(3)
		v.expectNoSnapshots(d)
		v.audit(journals, "by snapshots of a CSI driver")
	})
	t.Run("made for a pod, and rolled back", func(t *testing.T) {
		v, w := deployDisks(t, d, disks.Late(oneDriver))
		before, mover := v.handles(pair.East), v.mover()
		v.drive(mover, harness.Arrival(1)(func() error { return mover.Store.SetMode(v.ctx, api.ModeRollback) }))
		journals := v.expectBack()
		for i, runs := range []int{1, 3, 3} {
			if len(journals[i].Runs) != runs {
				t.Errorf("%s ran %d times, want %d", journals[i].Pod, len(journals[i].Runs), runs)
			}
		}
		v.expectKnown(w, pair.East)
		now := v.handles(pair.East)
		if now["web-0"] != before["web-0"] {
			t.Errorf("web-0 was not moved, and is on disk %s instead of %s", now["web-0"], before["web-0"])
		}
		delete(before, "web-0")
		v.expectOthers(before, now, pair.East)
		v.expectCompared(4)
		v.expectNoSnapshots(d)
		v.audit(journals, "by snapshots of a CSI driver, two there and back")
	})
	t.Run("turned back", func(t *testing.T) {
		v, w := deployDisks(t, d, disks.Late(oneDriver))
		before, mover := v.handles(pair.East), v.mover()
		restoring := harness.Wrote(func(e *plan.Effect) bool {
			return e.Verb == plan.CarryVolume && e.Volume.Verb == volumes.CreateIncoming
		})
		v.drive(mover, restoring(func() error { return mover.Store.SetMode(v.ctx, api.ModeRollback) }))
		journals := v.expectBack()
		v.expectKnown(w, pair.East)
		if now := v.handles(pair.East); !maps.Equal(now, before) {
			t.Errorf("the disks are %v, and were %v", now, before)
		}
		v.expectNoSnapshots(d)
		v.audit(journals, "turned back while its snapshot is restored")
	})
}

// deployDisks starts an application that writes to disks of a class, and that moves by snapshots to disks of that
// class.
func deployDisks(t *testing.T, d *disks.Disks, class string) (*move, *witness) {
	t.Helper()
	v := deploy(t, busy(class))
	v.m.Spec.Volumes = []api.VolumeSpec{{ClaimTemplate: "data", Method: api.MethodSnapshot, StorageClassName: &class}}
	v.watchDisks(d)
	return v, v.witnessed()
}

// expectCompared checks on how many disks the auditor has found the replica's previous content.
func (v *move) expectCompared(want int) {
	v.t.Helper()
	if got := v.auditor.Compared(); got != want {
		v.t.Errorf("the auditor has compared %d disks, want %d", got, want)
	}
}

// expectNoSnapshots waits until no snapshot remains. csi-provisioner releases a snapshot whose restore was reverted
// only at its periodic check. No request was for a disk that another node had.
func (v *move) expectNoSnapshots(d *disks.Disks) {
	v.t.Helper()
	const patience = 2 * time.Minute
	ctx, cancel := context.WithTimeout(v.ctx, patience)
	defer cancel()
	var left []string
	err := wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
		var err error
		left, err = d.Snapshots(ctx)
		return len(left) == 0, err
	})
	if err != nil {
		v.t.Errorf("left: %s (%v)", strings.Join(left, ", "), err)
	}
	if refused, err := d.Folder.Refusals(); len(refused) > 0 || err != nil {
		v.t.Errorf("%d calls were refused (%v): %+v", len(refused), err, refused)
	}
}
