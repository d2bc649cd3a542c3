package e2e

import (
	"context"
	"os"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// TestKubeconfigReplaced puts the kubeconfig of another cluster into the
// destination's Secret while an ordinal has been started there: nothing is written
// anywhere, and the migration goes on when the former one is back.
func TestKubeconfigReplaced(t *testing.T) {
	t.Parallel()
	v := newMove(t, usual(2), acrossClusters)
	c := v.managed()
	former, err := v.to.UserKubeconfig("mover")
	v.must(err)
	v.must(v.makeNamespace())
	v.keepPodsOut(v.there())
	process := startManager(t, v.app.Namespace)
	v.must(c.Create(v.ctx, v.m))
	v.eventually("ordinal 1 is started", func(ctx context.Context) (bool, error) {
		m := &api.Migration{}
		err := c.Get(ctx, client.ObjectKeyFromObject(v.m), m)
		return m.Status.Handoff != nil && m.Status.Handoff.Step == api.StepAwaitReadiness, err
	})
	process.kill()
	v.replaceKubeconfig(v.from.Kubeconfig())
	before := v.fingerprint()
	process.start()
	if condition := v.await(c, api.ConditionStalled, metav1.ConditionTrue); condition.Reason != api.ReasonClusterReplaced || !contains(condition.Message, "west") {
		t.Errorf("stalled with %s: %s", condition.Reason, condition.Message)
	}
	if after := v.fingerprint(); after != before {
		t.Errorf("something was changed:\n%s\n%s", before, after)
	}
	v.replaceKubeconfig(former)
	v.must(v.letPodsIn(v.there()))
	v.await(c, api.ConditionCompleted, metav1.ConditionTrue)
	v.expectMoved()
	v.audit()
}

func (v *move) replaceKubeconfig(path string) {
	v.t.Helper()
	data, err := os.ReadFile(path)
	v.must(err)
	v.useKubeconfig(data)
}

// TestTwoMigrations lets two Migrations of one StatefulSet begin at the same time:
// one moves it while the other one is held, and finds nothing left to move when its
// turn comes.
func TestTwoMigrations(t *testing.T) {
	t.Parallel()
	v := newMove(t, usual(3), acrossClusters)
	c := v.managed()
	both := []*api.Migration{v.m, v.m.DeepCopy()}
	both[1].Name = "web-again"
	for _, m := range both {
		v.must(c.Create(v.ctx, m))
	}
	startManager(t, v.app.Namespace)
	refused, completed := map[string]bool{}, []string(nil)
	v.eventually("both are completed", func(ctx context.Context) (bool, error) {
		for _, m := range both {
			if err := c.Get(ctx, client.ObjectKeyFromObject(m), m); err != nil {
				return false, err
			}
			if stalled := meta.FindStatusCondition(m.Status.Conditions, api.ConditionStalled); stalled != nil && stalled.Reason == api.ReasonClaimedByAnother {
				refused[m.Name] = true
			}
			if meta.IsStatusConditionTrue(m.Status.Conditions, api.ConditionCompleted) && !slices.Contains(completed, m.Name) {
				completed = append(completed, m.Name)
			}
		}
		return len(completed) == 2, nil
	})
	if len(refused) != 1 || refused[completed[0]] {
		t.Errorf("%s was the first, and held were %v", completed[0], refused)
	}
	v.expectMoved()
	v.audit()
}

// TestTwoManagers lets two managers that know nothing of each other drive one Migration:
// each takes over from the other one, and whoever was taken over writes no more.
func TestTwoManagers(t *testing.T) {
	t.Parallel()
	v := newMove(t, usual(3), acrossClusters)
	c := v.managed()
	for _, name := range []string{"first.log", "second.log"} {
		m := newManager(t, v.app.Namespace, name)
		m.args = append(m.args, "--leader-election-enabled=false")
		m.start()
		t.Cleanup(func() {
			m.kill()
			m.tellLog()
		})
	}
	v.must(c.Create(v.ctx, v.m))
	v.await(c, api.ConditionCompleted, metav1.ConditionTrue)
	v.expectMoved()
	v.audit()
}

// TestRunBesideManager: a command cannot act on what a manager is moving.
func TestRunBesideManager(t *testing.T) {
	t.Parallel()
	v := newMove(t, usual(2), acrossClusters)
	c := v.managed()
	v.must(v.makeNamespace())
	v.keepPodsOut(v.there())
	startManager(t, v.app.Namespace)
	v.must(c.Create(v.ctx, v.m))
	v.eventually("ordinal 1 is on its way", func(ctx context.Context) (bool, error) {
		m := &api.Migration{}
		err := c.Get(ctx, client.ObjectKeyFromObject(v.m), m)
		return m.Status.Handoff != nil && m.Status.Handoff.Step == api.StepAwaitReadiness, err
	})
	before := v.fingerprint()
	if out := v.exits(v.cli("run"), 3); !contains(out, api.ReasonClaimedByAnother) {
		t.Errorf("it does not say whose it is:\n%s", out)
	}
	if after := v.fingerprint(); after != before {
		t.Errorf("something was changed:\n%s\n%s", before, after)
	}
	v.must(v.letPodsIn(v.there()))
	v.await(c, api.ConditionCompleted, metav1.ConditionTrue)
	v.expectMoved()
	v.audit()
}
