package move

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// TestRetainOfTheOwner moves volumes to the destination, where their owner sets them to Retain, and back. The
// policy that an earlier Migration recorded is not restored (G3).
func TestRetainOfTheOwner(t *testing.T) {
	for name, where := range map[string]harness.Setting{"clusters": harness.AcrossClusters, "namespaces": harness.AcrossNamespaces} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newMove(t, harness.Usual(2), where)
			v.Run()
			v.ExpectMoved()
			for _, volume := range v.bound(v.There(), 2) {
				patch := []byte(`{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}`)
				_, err := v.Destination.CoreV1().PersistentVolumes().Patch(v.Ctx, volume.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "owner"})
				v.Must(err)
			}
			v.Migration.Spec.Source.Namespace, v.Migration.Spec.Destination.Namespace = v.ToNamespace, v.App.Namespace
			v.back("back", api.OrdinalsSpec{})
			v.ExpectSlice(v.Here(), 0, 2)
			for _, volume := range v.bound(v.Here(), 2) {
				if policy := volume.Spec.PersistentVolumeReclaimPolicy; policy != corev1.PersistentVolumeReclaimRetain {
					t.Errorf("volume %s has policy %s, and its owner had set Retain", volume.Name, policy)
				}
			}
			v.Audit()
		})
	}
}

// bound returns the volumes that are bound to the claims of a slice.
func (v *move) bound(at harness.Endpoint, want int) []corev1.PersistentVolume {
	v.T.Helper()
	all, err := at.Client.CoreV1().PersistentVolumes().List(v.Ctx, metav1.ListOptions{})
	v.Must(err)
	var found []corev1.PersistentVolume
	for _, volume := range all.Items {
		ref := volume.Spec.ClaimRef
		if ref != nil && ref.Namespace == at.Namespace && v.IsClaim(ref.Name, at.Set) && volume.Status.Phase == corev1.VolumeBound {
			found = append(found, volume)
		}
	}
	if len(found) != want {
		v.T.Fatalf("%d volumes are bound in %s, want %d", len(found), at.Namespace, want)
	}
	return found
}

// TestDeletedWhenSecured deletes a Migration that has set a volume to Retain and stopped nothing. The volume
// has its original policy again. So the next Migration records that policy and restores it at its end (G3).
func TestDeletedWhenSecured(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(2), harness.AcrossClusters)
	v.Migration.Finalizers = []string{api.Finalizer}
	c, err := harness.Client(v.From)
	v.Must(err)
	v.Must(c.Create(v.Ctx, v.Migration))
	v.releasedWhenSecured(c)
	v.ExpectSlice(v.Here(), 0, 2)
	v.ExpectBudget(v.Here())
	v.ExpectVolumes(v.Here(), 2)
	v.another("again", func(*api.MigrationSpec) {})
	v.Run()
	v.ExpectMovedCleanly()
}

// releasedWhenSecured drives the Migration in this process and deletes it between two steps.
func (v *move) releasedWhenSecured(c client.Client) {
	v.T.Helper()
	store := records.Resource{Client: c, Namespace: v.Migration.Namespace, Name: v.Migration.Name}
	both := v.rejoin()
	bell := engine.NewBell()
	e := engine.NewEngine(v.Migration, engine.Options{Source: both.Source, Destination: both.Destination, Records: store, Holder: "test", Notify: bell.Ring, Policy: volumes.Unrestricted()})
	secured := false
	deletes := func(m *api.Migration, outcome engine.Outcome) error {
		if secured || !outcome.Wrote || outcome.Decision.Effect.Verb != plan.CarryVolume {
			return nil
		}
		secured = true
		if err := c.Delete(v.Ctx, v.Migration); err != nil {
			return err
		}
		return c.Get(v.Ctx, client.ObjectKeyFromObject(v.Migration), m)
	}
	err := engine.Loop{Engine: e, Store: store, Bell: bell, Report: deletes}.Run(v.Ctx)
	v.Must(err)
	if !secured {
		v.T.Error("nothing was secured")
	}
	v.Must(c.Patch(v.Ctx, v.Migration, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))
}
