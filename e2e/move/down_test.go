package move

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// TestRollbackOfWhatIsDown: an ordinal does not start at the destination, and another ordinal fails at the
// source. The rollback takes the first ordinal back although the budget is exhausted, because an ordinal that
// is down consumes no more budget. With OrderedReady, the controller starts it at the source only after the
// lower ordinal (G4).
func TestRollbackOfWhatIsDown(t *testing.T) {
	const failed = "web-0"
	for name, tc := range map[string]struct {
		policy appsv1.PodManagementPolicyType
		// until is a moment at which the other replica is still down.
		until harness.Moment
	}{
		"in parallel": {parallel, harness.Arrival(2)},
		"in order":    {appsv1.OrderedReadyPodManagement, harness.WroteOn(plan.SourceSide, plan.ScaleUp)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := harness.Usual(3)
			app.Policy = tc.policy
			v := newMove(t, app, harness.AcrossClusters, harness.WithSpec(func(s *api.MigrationSpec) { s.Handoff.ProgressDeadlineSeconds = ptr.To[int32](1) }))
			v.Must(v.makeNamespace())
			v.keepPodsOut(v.There())
			mover := v.Mover()
			stalled, back := false, false
			v.Drive(mover, harness.StalledWith(api.ReasonPodMissing)(func() error {
				stalled = true
				v.Auditor.Blame(0)
				v.breakPod(failed)
				return mover.Store.SetMode(v.Ctx, api.ModeRollback)
			}), tc.until(func() error {
				back = true
				if ready, err := v.isReady(v.Here(), failed); ready || err != nil {
					return fmt.Errorf("%s is Ready again (%t): %w", failed, ready, err)
				}
				return v.Source.CoreV1().Pods(v.App.Namespace).Delete(v.Ctx, failed, metav1.DeleteOptions{})
			}))
			if !stalled || !back {
				t.Errorf("it stalled: %t, the ordinal was taken back while another one was down: %t", stalled, back)
			}
			v.ExpectBack()
			v.Audit()
		})
	}
}

func (v *move) isReady(at harness.Endpoint, name string) (bool, error) {
	pod, err := at.Client.CoreV1().Pods(at.Namespace).Get(v.Ctx, name, metav1.GetOptions{})
	if err != nil {
		return false, err
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue, nil
		}
	}
	return false, nil
}
