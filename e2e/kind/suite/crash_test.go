package suite

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/e2e/kind"
	"github.com/sliceshift/sliceshift/e2e/kind/cases"
	"github.com/sliceshift/sliceshift/e2e/kind/setup"
	"github.com/sliceshift/sliceshift/migration/engine"
)

// TestCrashLoop: a move to a cluster in which the container crashes stalls with the ordinal at the destination, and
// reports how its container ends. It continues when the cause is removed, and can be rolled back.
func TestCrashLoop(t *testing.T) {
	t.Parallel()
	t.Run("cured", func(t *testing.T) {
		t.Parallel()
		v, mover := deployCrashing(t, "a test")
		v.drive(mover, v.onStall(api.ReasonPodNotReady, "CrashLoopBackOff", v.cure))
		v.audit(v.expectMoved(), "crash loop, then the cause is removed")
	})
	t.Run("out of memory", func(t *testing.T) {
		t.Parallel()
		v, mover := deployCrashing(t, "out of memory")
		v.drive(mover, v.onStall(api.ReasonPodNotReady, "OOMKilled", v.cure))
		v.audit(v.expectMoved(), "out of memory, then the cause is removed")
	})
	t.Run("rolled back", func(t *testing.T) {
		t.Parallel()
		v, mover := deployCrashing(t, "a test")
		v.drive(mover, v.onStall(api.ReasonPodNotReady, "CrashLoopBackOff", func() error { return mover.Store.SetMode(v.ctx, api.ModeRollback) }))
		v.audit(v.expectBack(), "crash loop, then rolled back")
	})
}

// TestSlowStart: the next ordinal waits while a container takes long to start at the destination.
func TestSlowStart(t *testing.T) {
	t.Parallel()
	const delay = 8 * time.Second
	v := deploy(t, usual())
	v.troubleInWest("START_DELAY", delay.String())
	v.watch()
	v.drive(v.mover())
	journals := v.expectMoved()
	for _, j := range journals {
		for _, silent := range cases.Silences(j) {
			if silent < delay {
				t.Errorf("%s was silent for %s only: it did not start slowly", j.Pod, silent)
			}
		}
	}
	v.audit(journals, "the container takes 8 s to start")
}

// TestLiveness: during the move, the kubelet restarts a replica that has not moved yet, and then one that has moved.
// The migration waits for each.
func TestLiveness(t *testing.T) {
	t.Parallel()
	a := usual()
	a.liveness = true
	v := deploy(t, a)
	v.watch()
	v.drive(v.mover(), func(_ *api.Migration, outcome engine.Outcome) error {
		switch {
		case outcome.Finished == nil:
			return nil
		case outcome.Finished.Ordinal == 2:
			return v.restart(pair.East, "web-0")
		case outcome.Finished.Ordinal == 1:
			return v.restart(pair.West, "web-2")
		}
		return nil
	})
	v.audit(v.expectMoved(), "the kubelet restarts one at each side")
}

// restart makes a replica stuck and waits until the kubelet has restarted it.
func (v *move) restart(at *kind.Cluster, pod string) error {
	if err := v.tell(at, pod, "stuck"); err != nil {
		return err
	}
	return v.awaitPod(at, pod, func(pod *corev1.Pod) bool { return pod.Status.ContainerStatuses[0].RestartCount > 0 })
}

func deployCrashing(t *testing.T, reason string) (*move, *fixture.Mover) {
	t.Helper()
	v := deploy(t, usual())
	v.m.Spec.Handoff.ProgressDeadlineSeconds = ptr.To[int32](20)
	v.troubleInWest("CRASH", reason)
	v.watch()
	return v, v.mover()
}

func (v *move) troubleInWest(variable, value string) {
	v.t.Helper()
	v.must(setup.Namespace(v.ctx, pair.West, v.app.namespace))
	cause := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: v.app.namespace, Name: trouble}, Data: map[string]string{variable: value}}
	_, err := pair.West.Client.CoreV1().ConfigMaps(v.app.namespace).Create(v.ctx, cause, metav1.CreateOptions{})
	v.must(err)
}

// cure removes the cause of the trouble.
func (v *move) cure() error {
	return pair.West.Client.CoreV1().ConfigMaps(v.app.namespace).Delete(v.ctx, trouble, metav1.DeleteOptions{})
}

// onStall calls do once, when the migration stalls with this reason and a message that contains words. It fails the
// test if that never happens.
func (v *move) onStall(reason, words string, do func() error) harness.Report {
	stalled := false
	v.t.Cleanup(func() {
		if !stalled {
			v.t.Errorf("it did not stall with %s: %s", reason, words)
		}
	})
	return func(_ *api.Migration, outcome engine.Outcome) error {
		hold := outcome.Decision.Hold
		if stalled || hold == nil || !hold.Stalled {
			return nil
		}
		if hold.Reason != reason {
			return fmt.Errorf("it stalled with %s, want %s: %s", hold.Reason, reason, hold.Message)
		}
		if !strings.Contains(hold.Message, words) {
			return nil
		}
		stalled = true
		v.t.Logf("stalled: %s: %s", hold.Reason, hold.Message)
		return do()
	}
}
