package move

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
)

// TestKubeconfigReplaced puts the kubeconfig of another cluster into the destination's Secret after an ordinal
// has started there. The migration writes to no cluster, and continues when the original kubeconfig is
// restored.
func TestKubeconfigReplaced(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(2), harness.AcrossClusters)
	c := v.Managed()
	former, err := v.To.UserKubeconfig("mover")
	v.Must(err)
	v.Must(v.makeNamespace())
	v.keepPodsOut(v.There())
	process := harness.StartManager(t, v.App.Namespace, harness.Hasty...)
	v.Must(c.Create(v.Ctx, v.Migration))
	v.awaitStarted(c)
	process.Kill()
	v.replaceKubeconfig(v.From.Kubeconfig())
	before := v.fingerprint()
	process.Start()
	if condition := v.Await(c, api.ConditionStalled, metav1.ConditionTrue); condition.Reason != api.ReasonClusterReplaced || !strings.Contains(condition.Message, "west") {
		t.Errorf("stalled with %s: %s", condition.Reason, condition.Message)
	}
	v.expectUnchanged(before)
	v.replaceKubeconfig(former)
	v.Must(v.letPodsIn(v.There()))
	v.awaitMoved(c)
}

// awaitStarted waits until an ordinal has started at the destination.
func (v *move) awaitStarted(c client.Client) {
	v.T.Helper()
	v.Eventually("an ordinal is started", func(ctx context.Context) (bool, error) {
		m := &api.Migration{}
		err := c.Get(ctx, client.ObjectKeyFromObject(v.Migration), m)
		return m.Status.Handoff != nil && m.Status.Handoff.Step == api.StepAwaitReadiness, err
	})
}

func (v *move) replaceKubeconfig(path string) {
	v.T.Helper()
	data, err := os.ReadFile(path)
	v.Must(err)
	v.useKubeconfig(data)
}

// TestTwoMigrations: two Migrations of one StatefulSet start at the same time. One moves it while the other is
// held, and the other then finds no ordinal left to move.
func TestTwoMigrations(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(3), harness.AcrossClusters)
	c := v.Managed()
	both := []*api.Migration{v.Migration, v.Migration.DeepCopy()}
	both[1].Name = "web-again"
	for _, m := range both {
		v.Must(c.Create(v.Ctx, m))
	}
	harness.StartManager(t, v.App.Namespace)
	refused, completed := map[string]bool{}, []string(nil)
	v.Eventually("both are completed", func(ctx context.Context) (bool, error) {
		for _, m := range both {
			if err := c.Get(ctx, client.ObjectKeyFromObject(m), m); err != nil {
				return false, err
			}
			if stalled := meta.FindStatusCondition(m.Status.Conditions, api.ConditionStalled); stalled != nil && stalled.Reason == api.ReasonHeldByAnother {
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
	v.ExpectMovedCleanly()
}

// TestTwoManagers: two managers without leader election drive one Migration. Each takes over from the other,
// and a manager stops writing once the other has taken over.
func TestTwoManagers(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(3), harness.AcrossClusters)
	c := v.Managed()
	for _, name := range []string{"first.log", "second.log"} {
		m := harness.NewManager(t, v.App.Namespace, name)
		m.Args = append(m.Args, "--leader-election-enabled=false")
		m.Run()
	}
	v.Must(c.Create(v.Ctx, v.Migration))
	v.awaitMoved(c)
}

// TestRunBesideManager: a command cannot act on a StatefulSet that a manager is moving.
func TestRunBesideManager(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(2), harness.AcrossClusters)
	c := v.Managed()
	v.Must(v.makeNamespace())
	v.keepPodsOut(v.There())
	harness.StartManager(t, v.App.Namespace)
	v.Must(c.Create(v.Ctx, v.Migration))
	v.awaitStarted(c)
	before := v.fingerprint()
	if out := v.exits(v.cli("run"), 3); !strings.Contains(out, api.ReasonHeldByAnother) {
		t.Errorf("it does not say whose it is:\n%s", out)
	}
	v.expectUnchanged(before)
	v.Must(v.letPodsIn(v.There()))
	v.awaitMoved(c)
}
