package move

import (
	"context"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// deleteSet deletes a StatefulSet as a user would.
func (v *move) deleteSet(at harness.Endpoint, propagation metav1.DeletionPropagation) error {
	return at.Client.AppsV1().StatefulSets(at.Namespace).Delete(v.Ctx, at.Set, metav1.DeleteOptions{PropagationPolicy: &propagation})
}

// TestGiverLosesItsSet rolls a move back after its first ordinal. The destination's StatefulSet is deleted
// while the returning pod still exists. The ordinal does not start at the source before that pod is deleted,
// and the rollback completes (G1).
func TestGiverLosesItsSet(t *testing.T) {
	const pod = "web-2"
	stopped := harness.WroteOn(plan.DestinationSide, plan.ScaleDown)
	turned := harness.When(func(m *api.Migration, _ engine.Outcome) bool {
		handoff := m.Status.Handoff
		return handoff != nil && handoff.Ordinal == 2 && m.Status.Fence.Direction == api.Back
	})
	for name, tc := range map[string]struct {
		propagation metav1.DeletionPropagation
		loses       harness.Moment
		// stopped is true if the pod is already Terminating when the StatefulSet is deleted.
		stopped bool
		reason  string
	}{
		"in the background":        {metav1.DeletePropagationBackground, stopped, true, api.ReasonPodTerminating},
		"orphaned":                 {metav1.DeletePropagationOrphan, stopped, true, api.ReasonPodTerminating},
		"orphaned before the stop": {metav1.DeletePropagationOrphan, turned, false, api.ReasonPodRunning},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newMove(t, harness.Usual(3), harness.AcrossClusters)
			mover := v.Mover()
			pods := v.Destination.CoreV1().Pods(v.ToNamespace)
			lose := func() error {
				if tc.stopped { // wait until its controller has acted
					v.Eventually("the pod is Terminating", func(ctx context.Context) (bool, error) {
						found, err := pods.Get(ctx, pod, metav1.GetOptions{})
						return err == nil && found.DeletionTimestamp != nil, err
					})
				}
				return v.deleteSet(v.There(), tc.propagation)
			}
			waited := false
			v.Drive(mover, harness.Arrival(2)(func() error {
				if err := v.finalize(v.There(), pod, `["example.com/hold"]`); err != nil {
					return err
				}
				return mover.Store.SetMode(v.Ctx, api.ModeRollback)
			}), tc.loses(lose), func(_ *api.Migration, outcome engine.Outcome) error {
				hold := outcome.Decision.Hold
				if waited || hold == nil || hold.Reason != tc.reason || outcome.Snapshot.Destination.Set.Presence != plan.Absent {
					return nil
				}
				waited = true
				if _, err := v.Source.CoreV1().Pods(v.App.Namespace).Get(v.Ctx, pod, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
					return fmt.Errorf("%s is on both sides: %w", pod, err)
				}
				if err := v.finalize(v.There(), pod, `null`); err != nil || tc.stopped {
					return err
				}
				return pods.Delete(v.Ctx, pod, metav1.DeleteOptions{}) // the hold asks for this: no controller deletes it
			})
			if !waited {
				t.Error("it was not held")
			}
			v.ExpectBack()
			v.Audit()
		})
	}
}

// TestTakerLosesItsSet: the destination's StatefulSet is deleted just after it has received its first ordinal.
// It has no other ordinal, so it is recreated. The migration does not treat the ordinal as missing (G1).
func TestTakerLosesItsSet(t *testing.T) {
	for _, propagation := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationOrphan} {
		t.Run(string(propagation), func(t *testing.T) {
			t.Parallel()
			v := newMove(t, harness.Usual(3), harness.AcrossClusters)
			lost := false
			v.Run(harness.WroteOn(plan.DestinationSide, plan.ScaleUp)(func() error {
				lost = true
				v.Auditor.Blame(2)
				if err := v.deleteSet(v.There(), propagation); err != nil {
					return err
				}
				// Wait, because an ordinal that arrives before the deletion would belong to the slice.
				v.Eventually("the StatefulSet is gone", func(ctx context.Context) (bool, error) {
					_, err := v.Destination.AppsV1().StatefulSets(v.ToNamespace).Get(ctx, v.There().Set, metav1.GetOptions{})
					return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
				})
				return nil
			}))
			if !lost {
				t.Error("no StatefulSet was deleted")
			}
			v.ExpectMovedCleanly()
		})
	}
}
