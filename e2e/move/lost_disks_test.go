package move

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/auditor"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// TestDisksOfTheMoved: two ordinals that have moved lose their claims and volumes at the destination, with or
// without their StatefulSet. The controller creates empty claims with the same names, and the provisioner gives
// them other disks. No process stops another ordinal, and the source keeps the record of the original disks.
// Once the user has stopped the pods at the destination, recovery takes the ordinals back (G2).
func TestDisksOfTheMoved(t *testing.T) {
	for name, tc := range map[string]struct {
		set    bool
		reason string
	}{
		"with the StatefulSet": {true, api.ReasonDestinationReplaced},
		"the claims alone":     {false, volumes.ReasonAnotherDisk},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newMove(t, harness.Usual(4), harness.AcrossClusters)
			mover, disks := v.Mover(), v.disks()
			lose := harness.Arrival(2)(func() error { return v.loseDisks(tc.set, 2, 3) })
			for range 2 {
				if hold := v.stalls(mover, lose); hold.Reason != tc.reason || !strings.Contains(hold.Remedy, "recover") {
					t.Errorf("stalled with %+v, want %s", hold, tc.reason)
				}
				v.Must(fixture.App{Namespace: v.App.Namespace, Name: v.App.Name}.AwaitReady(v.Ctx, v.Source))
				if left := v.parked(); !slices.Equal(left, []string{"data-web-2_parked", "data-web-3_parked"}) {
					t.Errorf("the source keeps %q", left)
				}
			}
			set, err := v.Source.AppsV1().StatefulSets(v.App.Namespace).Get(v.Ctx, v.App.Name, metav1.GetOptions{})
			v.Must(err)
			if *set.Spec.Replicas != 2 {
				t.Errorf("the source owns %d ordinals", *set.Spec.Replicas)
			}
			_, err = v.takeSet(metav1.DeletePropagationForeground)
			v.Must(err)
			v.Must(mover.Store.SetMode(v.Ctx, api.ModeRecover))
			v.recovered()
			v.expectOnFormerDisks(4, disks)
			v.onlyLost(2, 3)
		})
	}
}

// TestLastRecordOfADisk: the disks are lost after the migration has completed, while it deletes its source. The
// objects that are left at the source are kept (G2).
func TestLastRecordOfADisk(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(3), harness.AcrossClusters, harness.WithSpec(func(s *api.MigrationSpec) { s.Cleanup.Source = api.CleanupDelete }))
	mover := v.Mover()
	lose := harness.OnVerb(plan.DeleteClaim, func() error { return v.loseDisks(true, 0, 1, 2) })
	for range 2 {
		if hold := v.stalls(mover, lose); hold.Reason != volumes.ReasonAnotherDisk {
			t.Errorf("stalled with %+v", hold)
		}
		if left := v.parked(); len(left) != 3 {
			t.Errorf("the source keeps %q", left)
		}
	}
	v.onlyLost(0, 1, 2)
}

// TestDestinationComesBack: the destination's StatefulSet is deleted, with or without its pods. A new
// StatefulSet with the same ordinals takes over, and the move continues (G2).
func TestDestinationComesBack(t *testing.T) {
	for _, propagation := range []metav1.DeletionPropagation{metav1.DeletePropagationOrphan, metav1.DeletePropagationForeground} {
		t.Run(string(propagation), func(t *testing.T) {
			t.Parallel()
			v := newMove(t, harness.Usual(3), harness.AcrossClusters)
			var lost *appsv1.StatefulSet
			missing := false
			v.Run(harness.Arrival(2)(func() (err error) {
				v.Auditor.Blame(2)
				lost, err = v.takeSet(propagation)
				return err
			}), harness.StalledWith(api.ReasonDestinationMissing)(func() error {
				missing = true
				return v.createSet(lost)
			}))
			if !missing {
				t.Error("it was not missed")
			}
			v.ExpectMovedCleanly()
		})
	}
}

var errStalled = errors.New("it stalls")

// stalls runs the move until it stalls and returns the hold.
func (v *move) stalls(mover *fixture.Mover, reports ...harness.Report) plan.Hold {
	v.T.Helper()
	var hold *plan.Hold
	err := harness.Follow(v.Ctx, v.T, mover, append(reports, func(_ *api.Migration, outcome engine.Outcome) error {
		if hold = outcome.Decision.Hold; hold != nil && hold.Stalled {
			return errStalled
		}
		return nil
	})...)
	if !errors.Is(err, errStalled) {
		v.T.Fatalf("the run ended with: %v", err)
	}
	return *hold
}

// takeSet deletes the destination's StatefulSet, waits until it is deleted, and returns a copy as its owner
// would create it.
func (v *move) takeSet(propagation metav1.DeletionPropagation) (*appsv1.StatefulSet, error) {
	sets := v.Destination.AppsV1().StatefulSets(v.ToNamespace)
	set, err := sets.Get(v.Ctx, v.ToName, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if err := v.deleteSet(v.There(), propagation); err != nil {
		return nil, err
	}
	v.Eventually("the StatefulSet is gone", func(ctx context.Context) (bool, error) {
		_, err := sets.Get(ctx, v.ToName, metav1.GetOptions{})
		return apierrors.IsNotFound(err), ignoreMissing(err)
	})
	return &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: set.Name, Labels: set.Labels}, Spec: set.Spec}, nil
}

func (v *move) createSet(set *appsv1.StatefulSet) error {
	_, err := v.Destination.AppsV1().StatefulSets(v.ToNamespace).Create(v.Ctx, set, metav1.CreateOptions{})
	return err
}

// loseDisks deletes the claims of ordinals at the destination and their volumes, and waits until the ordinals
// run on other volumes.
func (v *move) loseDisks(withSet bool, ordinals ...int32) error {
	var set *appsv1.StatefulSet
	former := map[string]string{}
	for _, ordinal := range ordinals {
		v.Auditor.Blame(ordinal)
		claim, err := v.claim(ordinal)
		if err != nil {
			return err
		}
		former[claim.Name] = claim.Spec.VolumeName
		patch := []byte(`{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}`) // completed moves have restored the reclaim policy
		if _, err := v.Destination.CoreV1().PersistentVolumes().Patch(v.Ctx, claim.Spec.VolumeName, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	if withSet {
		var err error
		if set, err = v.takeSet(metav1.DeletePropagationBackground); err != nil {
			return err
		}
	}
	for name, volume := range former {
		if err := v.sweep(name, volume); err != nil {
			return err
		}
	}
	if set != nil {
		if err := v.createSet(set); err != nil {
			return err
		}
	}
	return fixture.App{Namespace: v.ToNamespace, Name: v.ToName}.AwaitReady(v.Ctx, v.Destination)
}

func (v *move) claim(ordinal int32) (*corev1.PersistentVolumeClaim, error) {
	return v.Destination.CoreV1().PersistentVolumeClaims(v.ToNamespace).Get(v.Ctx, fmt.Sprintf("data-%s-%d", v.ToName, ordinal), metav1.GetOptions{})
}

// sweep deletes a claim of the destination, the pod that uses it, and the volume that was bound to it.
func (v *move) sweep(claim, volume string) error {
	claims, all := v.Destination.CoreV1().PersistentVolumeClaims(v.ToNamespace), v.Destination.CoreV1().PersistentVolumes()
	was, err := claims.Get(v.Ctx, claim, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if err := claims.Delete(v.Ctx, claim, metav1.DeleteOptions{}); err != nil {
		return err
	}
	pod := strings.TrimPrefix(claim, "data-")
	if err := v.Destination.CoreV1().Pods(v.ToNamespace).Delete(v.Ctx, pod, metav1.DeleteOptions{}); ignoreMissing(err) != nil {
		return err
	}
	v.Eventually("the claim is gone", func(ctx context.Context) (bool, error) {
		now, err := claims.Get(ctx, claim, metav1.GetOptions{})
		return apierrors.IsNotFound(err) || err == nil && now.UID != was.UID, ignoreMissing(err)
	})
	v.Eventually("the volume is released", func(ctx context.Context) (bool, error) {
		now, err := all.Get(ctx, volume, metav1.GetOptions{})
		return err == nil && now.Status.Phase == corev1.VolumeReleased, err
	})
	return all.Delete(v.Ctx, volume, metav1.DeleteOptions{})
}

// parked returns the claims that the source's parked volumes name.
func (v *move) parked() []string {
	v.T.Helper()
	all, err := v.Source.CoreV1().PersistentVolumes().List(v.Ctx, metav1.ListOptions{})
	v.Must(err)
	var names []string
	for _, volume := range all.Items {
		if ref := volume.Spec.ClaimRef; ref != nil && ref.Namespace == v.App.Namespace && strings.HasSuffix(ref.Name, "_parked") {
			names = append(names, ref.Name)
		}
	}
	slices.Sort(names)
	return names
}

// onlyLost checks that the auditor has found exactly these ordinals on other disks, and no other violation.
func (v *move) onlyLost(ordinals ...int32) {
	v.T.Helper()
	verdict, found := v.Auditor.Finish(v.Ctx), map[int32]bool{}
	for _, violation := range verdict.Violations {
		found[violation.Ordinal] = true
		if violation.Invariant != auditor.I3 || !slices.Contains(ordinals, violation.Ordinal) {
			v.T.Errorf("the auditor found %+v", violation)
		}
	}
	if len(found) != len(ordinals) {
		v.T.Errorf("the auditor saw that ordinals %v lost their disks, want %v", found, ordinals)
	}
}

// TestClaimLostOnTheWayBack: an ordinal is stopped, rolled back and started again at the source. Its claim is
// deleted before its pod exists, and the controller creates an empty claim. No process treats the ordinal as
// back until its claim is bound to the recorded volume.
func TestClaimLostOnTheWayBack(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(2), harness.AcrossClusters)
	mover, disks := v.Mover(), v.disks()
	claims := v.Source.CoreV1().PersistentVolumeClaims(v.App.Namespace)
	was, err := claims.Get(v.Ctx, "data-web-1", metav1.GetOptions{})
	v.Must(err)
	var recorded string
	turn := harness.OnVerb(plan.ScaleDown, func() error {
		v.keepPodsOut(v.Here())
		return mover.Store.SetMode(v.Ctx, api.ModeRollback)
	})
	lose := harness.OnVerb(plan.ScaleUp, func() error { return claims.Delete(v.Ctx, "data-web-1", metav1.DeleteOptions{}) })
	note := func(m *api.Migration, _ engine.Outcome) error {
		if m.Status.Handoff != nil {
			recorded = m.Status.Handoff.Volume("data").Name
		}
		return nil
	}
	for range 2 {
		if hold := v.stalls(mover, turn, lose, note); hold.Reason != volumes.ReasonAnotherDisk {
			t.Fatalf("stalled with %+v", hold)
		}
	}
	v.Eventually("the claim is on its volume", func(ctx context.Context) (bool, error) {
		claim, err := claims.Get(ctx, "data-web-1", metav1.GetOptions{})
		if err == nil && claim.Spec.VolumeName == recorded {
			return true, nil
		}
		again := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data-web-1"}, Spec: was.Spec}
		again.Spec.VolumeName = recorded
		if err := claims.Delete(ctx, "data-web-1", metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return false, err
		}
		if _, err := claims.Create(ctx, again, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return false, err
		}
		return false, nil
	})
	_, err = v.Source.CoreV1().PersistentVolumes().Patch(v.Ctx, recorded, types.JSONPatchType, []byte(`[{"op":"remove","path":"/spec/claimRef/uid"}]`), metav1.PatchOptions{})
	v.Must(err)
	v.Must(v.letPodsIn(v.Here()))
	v.Drive(mover)
	v.expectOnFormerDisks(2, disks)
	v.onlyLost(1)
}
