package suite

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/kind/setup"
	"github.com/sliceshift/sliceshift/migration"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// TestCrashLoop moves to a cluster in which the container crashes. The migration stalls with
// the ordinal at the destination; it goes on when the cause is gone, and can be rolled back.
func TestCrashLoop(t *testing.T) {
	t.Run("cured", func(t *testing.T) {
		t.Parallel()
		v, mover := deployCrashing(t)
		v.drive(mover, v.onStall(api.ReasonPodNotReady, func() error {
			return pair.West.Client.CoreV1().ConfigMaps(v.app.namespace).Delete(v.ctx, crashes, metav1.DeleteOptions{})
		}))
		v.audit(v.expectMoved(), "crash loop, then the cause is removed")
	})
	t.Run("rolled back", func(t *testing.T) {
		t.Parallel()
		v, mover := deployCrashing(t)
		v.drive(mover, v.onStall(api.ReasonPodNotReady, func() error { return mover.Store.SetMode(v.ctx, api.ModeRollback) }))
		v.audit(v.expectBack(), "crash loop, then rolled back")
	})
}

func deployCrashing(t *testing.T) (*move, *fixture.Mover) {
	t.Helper()
	v := deploy(t, usual())
	v.m.Spec.Handoff.ProgressDeadlineSeconds = ptr.To[int32](20)
	v.must(setup.Namespace(v.ctx, pair.West, v.app.namespace))
	cause := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: v.app.namespace, Name: crashes}, Data: map[string]string{"reason": "a test"}}
	_, err := pair.West.Client.CoreV1().ConfigMaps(v.app.namespace).Create(v.ctx, cause, metav1.CreateOptions{})
	v.must(err)
	v.watch()
	return v, v.mover()
}

// onStall calls do once, when the migration stalls for this reason, and fails the test when
// it never does.
func (v *move) onStall(reason string, do func() error) report {
	stalled := false
	v.t.Cleanup(func() {
		if !stalled {
			v.t.Error("it did not stall with " + reason)
		}
	})
	return func(_ *api.Migration, outcome migration.Outcome) error {
		hold := outcome.Decision.Hold
		if stalled || hold == nil || !hold.Stalled {
			return nil
		}
		if hold.Reason != reason {
			return fmt.Errorf("it stalled with %s, want %s: %s", hold.Reason, reason, hold.Message)
		}
		stalled = true
		v.t.Logf("stalled: %s: %s", hold.Reason, hold.Message)
		return do()
	}
}
