package e2e

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration"
	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// TestRetainOfTheOwner moves volumes there, where their owner sets them to Retain, and back:
// what an earlier Migration had noted does not come back with them (G3).
func TestRetainOfTheOwner(t *testing.T) {
	for name, where := range map[string]setting{"clusters": acrossClusters, "namespaces": acrossNamespaces} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newMove(t, usual(2), where)
			v.run()
			v.expectMoved()
			for _, volume := range v.bound(v.there(), 2) {
				patch := []byte(`{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}`)
				_, err := v.destination.CoreV1().PersistentVolumes().Patch(v.ctx, volume.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "owner"})
				v.must(err)
			}
			v.m.Spec.Source.Namespace, v.m.Spec.Destination.Namespace = v.toNamespace, v.app.Namespace
			v.back("back", api.OrdinalsSpec{})
			v.expectSlice(v.here(), 0, 2)
			for _, volume := range v.bound(v.here(), 2) {
				if policy := volume.Spec.PersistentVolumeReclaimPolicy; policy != corev1.PersistentVolumeReclaimRetain {
					t.Errorf("volume %s has policy %s, and its owner had set Retain", volume.Name, policy)
				}
			}
			v.audit()
		})
	}
}

// bound are the volumes that the claims of a slice are bound to.
func (v *move) bound(at end, want int) []corev1.PersistentVolume {
	v.t.Helper()
	all, err := at.client.CoreV1().PersistentVolumes().List(v.ctx, metav1.ListOptions{})
	v.must(err)
	var found []corev1.PersistentVolume
	for _, volume := range all.Items {
		ref := volume.Spec.ClaimRef
		if ref != nil && ref.Namespace == at.namespace && v.isClaim(ref.Name, at.set) && volume.Status.Phase == corev1.VolumeBound {
			found = append(found, volume)
		}
	}
	if len(found) != want {
		v.t.Fatalf("%d volumes are bound in %s, want %d", len(found), at.namespace, want)
	}
	return found
}

// TestDeletedWhenSecured deletes a Migration that has secured a volume and stopped nothing: the
// volume has its author's policy again, so that the next Migration, which finds it so, gives
// it back in the end (G3).
func TestDeletedWhenSecured(t *testing.T) {
	t.Parallel()
	v := newMove(t, usual(2), acrossClusters)
	v.m.Finalizers = []string{api.Finalizer}
	c, err := direct(v.from)
	v.must(err)
	v.must(c.Create(v.ctx, v.m))
	v.releasedWhenSecured(c)
	v.expectSlice(v.here(), 0, 2)
	v.expectBudget(v.here())
	v.expectVolumes(v.here(), 2)
	v.another("again", func(*api.MigrationSpec) {})
	v.run()
	v.expectMoved()
	v.audit()
}

// releasedWhenSecured drives the Migration in this process, and deletes it between two steps.
func (v *move) releasedWhenSecured(c client.Client) {
	v.t.Helper()
	store := records.Resource{Client: c, Namespace: v.m.Namespace, Name: v.m.Name}
	both := v.rejoin()
	bell := migration.NewBell()
	engine := migration.NewEngine(v.m, migration.Options{Source: both.Source, Destination: both.Destination, Records: store, Holder: "test", Notify: bell.Ring, Policy: volumes.Unrestricted()})
	secured := false
	deletes := func(m *api.Migration, outcome migration.Outcome) error {
		if secured || !outcome.Wrote || outcome.Decision.Effect.Verb != plan.CarryVolume {
			return nil
		}
		secured = true
		if err := c.Delete(v.ctx, v.m); err != nil {
			return err
		}
		return c.Get(v.ctx, client.ObjectKeyFromObject(v.m), m)
	}
	err := migration.Loop{Engine: engine, Store: store, Bell: bell, Report: deletes}.Run(v.ctx)
	v.must(err)
	if !secured {
		v.t.Error("nothing was secured")
	}
	v.must(c.Patch(v.ctx, v.m, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))
}
