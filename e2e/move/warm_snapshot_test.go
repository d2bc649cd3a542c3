package move

import (
	"context"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/internal/treetest"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// forOnePod gives the claims an access mode that allows no second pod.
func forOnePod(v *harness.Move) {
	adapt := v.App.Adapt
	v.App.Adapt = func(set *appsv1.StatefulSet) {
		adapt(set)
		set.Spec.VolumeClaimTemplates[0].Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
	}
}

// TestCopyWarmBySnapshot: while its ordinal runs, a volume that no second pod may mount is copied from a
// restored snapshot. Warm modes Auto and Snapshot both do that. While the ordinal is down, only the data
// written since are copied. No snapshot and no restored disk remains.
func TestCopyWarmBySnapshot(t *testing.T) {
	d := startSnapshots(t)
	for name, setting := range map[string]harness.Setting{
		"M-036: for one pod alone": forOnePod,
		"M-036: asked for":         func(v *harness.Move) { v.Migration.Spec.Volumes[0].Copy.Warm = api.CopyWarmSnapshot },
	} {
		t.Run(name, func(t *testing.T) {
			v := newMove(t, harness.Usual(1), d.app(1), d.asCopy, setting)
			folders := v.mounted(v.Here(), d.sites[0])
			treetest.In(t, folders[0]).File("much", treetest.Bytes(7, much))
			handles, before, seen := v.handles(v.Here()), len(v.diskIDs(d)), &copyOf{}
			var data []string
			stopped := harness.Wrote(func(e *plan.Effect) bool {
				return e.Verb == plan.CarryVolume && e.Volume.Verb == volumes.DropBaseSnapshot
			})(func() error {
				treetest.In(t, folders[0]).File("little", treetest.Bytes(8, little))
				data = v.keep(folders)
				return nil
			})
			v.Drive(v.Mover(), seen.report, stopped)
			v.ExpectMoved()
			v.same(data, v.mounted(v.There(), d.sites[1]))
			v.expectLeft(handles)
			v.expectNoMovers()
			v.expectSeals()
			v.expectNoSnapshots(d)
			v.Eventually("the disks that were restored for warm passes are gone", func(context.Context) (bool, error) {
				return len(v.diskIDs(d)) == before+1, nil // the copy itself
			})
			warm, seal := seen.last.Warm, seen.last.Seal
			if warm.Passes < 1 || warm.Bytes < much || warm.By != api.CopyWarmSnapshot || warm.Why == "" {
				t.Errorf("while it ran: %+v", warm)
			}
			if seal.Written < little || seal.Written > much/4 {
				t.Errorf("while it was down %d bytes were written, and %d had changed", seal.Written, little)
			}
			v.Audit()
		})
	}
}

// diskIDs returns the ids of the disks in the storage.
func (v *move) diskIDs(d *disks) (ids []string) {
	v.T.Helper()
	all, err := d.folder.Volumes()
	v.Must(err)
	for id := range all {
		ids = append(ids, id)
	}
	return ids
}

// TestCopyWarmBySnapshotEnds: if the ordinal is rolled back while a warm pass uses its snapshot, no snapshot
// remains either.
func TestCopyWarmBySnapshotEnds(t *testing.T) {
	d := startSnapshots(t)
	for _, verb := range []volumes.Verb{volumes.TakeBase, volumes.RestoreBase} {
		t.Run(strings.ToLower(string(verb)), func(t *testing.T) {
			v := newMove(t, harness.Usual(1), d.app(1), d.asCopy, forOnePod)
			v.write("before", v.mounted(v.Here(), d.sites[0]))
			disks, mover := v.disks(), v.Mover()
			v.Drive(mover, snapshotted(verb, plan.SourceSide)(func() error { return mover.Store.SetMode(v.Ctx, api.ModeRollback) }))
			v.expectHome()
			if after := v.disks(); after["data-web-0"] != disks["data-web-0"] {
				t.Errorf("the disks are %v, and were %v", after, disks)
			}
			v.expectNoSnapshots(d)
			v.Audit()
		})
	}
}
