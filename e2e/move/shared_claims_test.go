package move

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// sharedVolume returns the volume of the shared claim on a side, or nil if it does not exist.
func (v *move) sharedVolume(at harness.Endpoint) *corev1.PersistentVolume {
	v.T.Helper()
	volume, err := at.Client.CoreV1().PersistentVolumes().Get(v.Ctx, "shared-"+v.App.Namespace, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	v.Must(err)
	return volume
}

// expectShared checks that the claim on a side is bound to a volume of the shared storage with policy Retain.
func (v *move) expectShared(at harness.Endpoint) {
	v.T.Helper()
	claim, err := at.Client.CoreV1().PersistentVolumeClaims(at.Namespace).Get(v.Ctx, "shared", metav1.GetOptions{})
	v.Must(err)
	volume := v.sharedVolume(at)
	if volume == nil || claim.Status.Phase != corev1.ClaimBound || claim.Spec.VolumeName != volume.Name || volume.Spec.ClaimRef.UID != claim.UID {
		v.T.Fatalf("namespace %s: claim %+v, volume %+v", at.Namespace, claim, volume)
	}
	if volume.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimRetain || volume.Spec.NFS == nil || volume.Spec.NFS.Path != "/a" {
		v.T.Errorf("the volume is %+v", volume.Spec)
	}
}

// TestSharedClaim: before the first ordinal stops, the destination gets its own volume and claim for the
// storage that all ordinals share. Each side keeps its own (I2 refers to the volume of one ordinal).
func TestSharedClaim(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(2), harness.AcrossClusters, copying(nil))
	v.shareClaim("/a", "")
	listed := v.exits(v.cli("plan", "--copy-dependencies"), 0)
	for _, step := range []string{"make volume shared-" + v.App.Namespace + " on the destination for the storage that all ordinals share", "copy PersistentVolumeClaim shared to the destination"} {
		if !strings.Contains(listed, step) {
			t.Errorf("the plan does not say: %s\n%s", step, listed)
		}
	}
	stops := 0
	v.Drive(v.Mover(), harness.OnVerb(plan.ScaleDown, func() error {
		stops++
		v.expectShared(v.There())
		return nil
	}))
	if stops == 0 {
		t.Error("nothing was stopped")
	}
	v.expectShared(v.Here())
	v.expectShared(v.There())
	origin := v.sharedVolume(v.There()).Annotations[api.OriginAnnotationKey]
	if !strings.Contains(origin, "//shared-"+v.App.Namespace+" ") {
		t.Errorf("the volume does not say what it is a copy of: %q", origin)
	}
	v.ExpectMovedCleanly()
}

// TestSharedClaimOfOneMachine: a shared claim is refused if only one node may mount its volume, or if its
// storage is deleted with the claim. The finding names the claim and the remedy. In the second case the move
// succeeds after the remedy.
func TestSharedClaimOfOneMachine(t *testing.T) {
	t.Parallel()
	t.Run("U-33: ReadWriteOnce", func(t *testing.T) {
		t.Parallel()
		v := newMove(t, harness.Usual(1), harness.AcrossClusters)
		v.shareClaim("/a", "", func(s *corev1.PersistentVolumeSpec) {
			s.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
		})
		out := v.exits(v.cli("run", "--copy-dependencies"), exitRefused)
		for _, want := range []string{volumes.ReasonClaimNotShareable, v.App.Namespace + "/shared", "ReadWriteOnce", "ReadWriteMany volume"} {
			if !strings.Contains(out, want) {
				t.Errorf("it does not say %q:\n%s", want, out)
			}
		}
		if v.sharedVolume(v.There()) != nil {
			t.Error("the volume was made all the same")
		}
	})
	t.Run("U-33: deleted with its claim", func(t *testing.T) {
		t.Parallel()
		v := newMove(t, harness.Usual(1), harness.AcrossClusters)
		v.shareClaim("/a", "", func(s *corev1.PersistentVolumeSpec) {
			s.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimDelete
		})
		const mends = `'{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}'`
		if out := v.exits(v.cli("run", "--copy-dependencies"), exitRefused); !strings.Contains(out, volumes.ReasonVolumeNotRetain) || !strings.Contains(out, mends) {
			t.Errorf("it does not say what mends it:\n%s", out)
		}
		_, err := v.Source.CoreV1().PersistentVolumes().Patch(v.Ctx, "shared-"+v.App.Namespace, types.MergePatchType, []byte(strings.Trim(mends, "'")), metav1.PatchOptions{})
		v.Must(err)
		v.exits(v.cli("run", "--copy-dependencies"), 0)
		v.expectShared(v.There())
		v.ExpectMovedCleanly()
	})
}

// TestSharedVolumeOfSomebody: a foreign volume with the same name and other storage is never changed, whatever
// the conflict policy.
func TestSharedVolumeOfSomebody(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(1), harness.AcrossClusters)
	v.shareClaim("/a", "")
	theirs := v.sharedVolume(v.Here()).DeepCopy()
	theirs.ObjectMeta = metav1.ObjectMeta{Name: theirs.Name}
	theirs.Spec.NFS.Path, theirs.Spec.ClaimRef = "/b", nil
	_, err := v.Destination.CoreV1().PersistentVolumes().Create(v.Ctx, theirs, metav1.CreateOptions{})
	v.Must(err)
	for _, policy := range []string{"stall", "keep", "overwrite"} {
		out := v.exits(v.cli("run", "--copy-dependencies", "--on-conflict", policy), exitRefused)
		if !strings.Contains(out, volumes.ReasonClaimDiverges) || !strings.Contains(out, `-"/b" +"/a"`) {
			t.Errorf("%s: it does not show what differs:\n%s", policy, out)
		}
	}
	if got := v.sharedVolume(v.There()); got.Spec.NFS.Path != "/b" || got.Annotations[api.OriginAnnotationKey] != "" {
		t.Errorf("it was written over: %+v", got)
	}
}

// TestSharedClaimOfTwoMigrations: a second migration uses the copies that the first has created. From then on
// neither deletes them.
func TestSharedClaimOfTwoMigrations(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(1), harness.AcrossClusters, copying(nil))
	v.shareClaim("/a", "")
	_, to := v.clients()
	changed := false
	v.Drive(v.Mover(), harness.OnVerb(plan.ScaleDown, func() error {
		if changed {
			return nil
		}
		changed = true
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"`+api.OwnerLabelKey+`":"another"}}}`))
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: v.ToNamespace, Name: "shared"}}
		if err := to.Patch(v.Ctx, claim, patch); err != nil {
			return err
		}
		return to.Patch(v.Ctx, &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: v.sharedVolume(v.There()).Name}}, patch)
	}))
	claim := &corev1.PersistentVolumeClaim{}
	v.Must(to.Get(v.Ctx, client.ObjectKey{Namespace: v.ToNamespace, Name: "shared"}, claim))
	if owners := claim.Labels[api.OwnerLabelKey] + v.sharedVolume(v.There()).Labels[api.OwnerLabelKey]; owners != "" {
		t.Errorf("migration %s may delete what this one needs, too", owners)
	}
	v.expectShared(v.There())
	v.ExpectMovedCleanly()
}

// TestSharedClaimGoesBack: on request, a rollback deletes the copies of the shared claim and volume, and keeps
// the storage (I3).
func TestSharedClaimGoesBack(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(1), harness.AcrossClusters, copying(func(d *api.DependenciesSpec) { d.Cleanup = api.CleanupDelete }))
	v.shareClaim("/a", "")
	mover := v.Mover()
	v.Drive(mover, harness.OnVerb(plan.ScaleUp, func() error {
		v.expectShared(v.There())
		return mover.Store.SetMode(v.Ctx, api.ModeRollback)
	}))
	v.ExpectBack()
	v.Eventually("the copies are gone", func(context.Context) (bool, error) { return v.sharedVolume(v.There()) == nil, nil })
	v.expectShared(v.Here())
	v.Audit()
}
