package move

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/volumes"
)

// leftBehind moves the volumes of claim template data by method Empty.
func leftBehind(said api.EmptySpec) harness.Setting {
	return harness.WithSpec(func(s *api.MigrationSpec) {
		s.Volumes = []api.VolumeSpec{{ClaimTemplate: "data", Method: api.MethodEmpty, Empty: said}}
	})
}

// TestEmpty: each ordinal starts on a new volume, and its old volume is kept, parked. A rollback returns the
// ordinal to the old volume after the user confirms it. The ordinal continues to run until then.
func TestEmpty(t *testing.T) {
	for name, across := range map[string]harness.Setting{"clusters": harness.AcrossClusters, "namespaces": harness.AcrossNamespaces, "names": harness.AcrossNames} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said := api.EmptySpec{FillsFromPeers: true, ReadyWhenFilled: true}
			v := newMove(t, harness.Usual(2), across, leftBehind(said))
			mover, before, asked := v.Mover(), v.handles(v.Here()), false
			v.Drive(mover, harness.Arrival(0)(func() error {
				v.expectLeft(before)
				return mover.Store.SetMode(v.Ctx, api.ModeRollback)
			}), harness.StalledWith(volumes.ReasonReturnUnconfirmed)(func() error {
				asked = true
				if ready, err := v.isReady(v.There(), v.ToName+"-0"); !ready || err != nil {
					return fmt.Errorf("the ordinal that is to go back does not run: %w", err)
				}
				said.ReturnsToKept = true
				return mover.Store.Change(v.Ctx, records.Change{Volumes: []api.VolumeSpec{{ClaimTemplate: "data", Method: api.MethodEmpty, Empty: said}}})
			}))
			if !asked {
				t.Error("nobody was asked whether the ordinals may go back to what they have left")
			}
			v.ExpectBack()
			if after := v.handles(v.Here()); !slices.Equal(after, before) {
				t.Errorf("it came back to %v, and had left %v", after, before)
			}
			v.Must(mover.Store.SetMode(v.Ctx, api.ModeRun))
			v.Drive(mover)
			v.ExpectMovedCleanly()
			v.expectLeft(before)
		})
	}
}

// TestEmptyCleanup: the cleanup deletes claims, but no PersistentVolume of an old volume.
func TestEmptyCleanup(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(1), harness.AcrossClusters, leftBehind(api.EmptySpec{FillsFromPeers: true, ReadyWhenFilled: true}),
		harness.WithSpec(func(s *api.MigrationSpec) { s.Cleanup.Source = api.CleanupDelete }))
	before := v.handles(v.Here())
	v.Run()
	v.expectLeft(before)
	v.Audit()
}

// TestEmptyWaitsForThePod: if the class binds volumes for the first pod, the ordinal starts on an unbound
// claim. The migration does not treat it as a claim that has lost its volume.
func TestEmptyWaitsForThePod(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(2), harness.AcrossClusters, leftBehind(api.EmptySpec{FillsFromPeers: true, ReadyWhenFilled: true}))
	class := "waits-" + v.App.Namespace
	_, err := v.Destination.StorageV1().StorageClasses().Create(v.Ctx, &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: "kubernetes.io/host-path", VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer),
	}, metav1.CreateOptions{})
	v.Must(err)
	v.Migration.Spec.Volumes[0].StorageClassName = new(class)
	before := v.handles(v.Here())
	v.Run(func(_ *api.Migration, outcome engine.Outcome) error {
		if hold := outcome.Decision.Hold; hold != nil && hold.Stalled {
			return fmt.Errorf("it stalls: %+v", hold)
		}
		return nil
	})
	v.ExpectMoved()
	v.expectLeft(before)
	v.Audit()
}

// TestEmptyRefused: missing confirmations of the user stop a move before its first write.
func TestEmptyRefused(t *testing.T) {
	for reason, said := range map[string]api.EmptySpec{
		volumes.ReasonEmptyUnconfirmed: {ReadyWhenFilled: true}, volumes.ReasonFillingUnknown: {FillsFromPeers: true},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			v := newMove(t, harness.Usual(1), harness.AcrossClusters, leftBehind(said))
			mover, refused := v.Mover(), false
			v.Drive(mover, harness.StalledWith(reason)(func() error {
				refused = true
				return mover.Store.SetMode(v.Ctx, api.ModeRollback)
			}))
			if !refused {
				t.Error("it was not refused")
			}
			v.ExpectSlice(v.Here(), 0, 1)
			v.Audit()
		})
	}
}

// handles returns the storage handles of the volumes of a slice's claims, in the order of the claims.
func (v *move) handles(at harness.Endpoint) []string {
	v.T.Helper()
	var handles []string
	for ordinal := range v.App.Replicas {
		claim, err := at.Client.CoreV1().PersistentVolumeClaims(at.Namespace).Get(v.Ctx, fmt.Sprintf("data-%s-%d", at.Set, ordinal), metav1.GetOptions{})
		v.Must(err)
		volume, err := at.Client.CoreV1().PersistentVolumes().Get(v.Ctx, claim.Spec.VolumeName, metav1.GetOptions{})
		v.Must(err)
		handles = append(handles, volumes.Handle(volume))
	}
	return handles
}

// expectLeft checks that the old volumes are kept, parked, and that the destination uses none of them.
func (v *move) expectLeft(before []string) {
	v.T.Helper()
	for _, handle := range v.handles(v.There()) {
		if slices.Contains(before, handle) {
			v.T.Errorf("%s was carried over", handle)
		}
	}
	v.expectKept(before)
}

// expectKept checks that the source ordinals' old volumes are parked at the source with reclaim policy Retain.
func (v *move) expectKept(before []string) {
	v.T.Helper()
	all, err := v.Source.CoreV1().PersistentVolumes().List(v.Ctx, metav1.ListOptions{})
	v.Must(err)
	kept := 0
	for i := range all.Items {
		volume := &all.Items[i]
		if !slices.Contains(before, volumes.Handle(volume)) {
			continue
		}
		ref := volume.Spec.ClaimRef
		if ref == nil || !strings.HasSuffix(ref.Name, "_parked") || volume.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimRetain {
			v.T.Errorf("volume %s is not kept: %+v", volume.Name, volume.Spec)
			continue
		}
		kept++
	}
	if kept != len(before) {
		v.T.Errorf("%d of %d volumes are kept", kept, len(before))
	}
}
