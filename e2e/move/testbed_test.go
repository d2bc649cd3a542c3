package move

import (
	"context"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/e2e/testbed"
)

// TestBenchIsMadeAnew kills kwok during a move without telling the harness. The failed run is repeated on new
// clusters, where the manager works as before.
func TestBenchIsMadeAnew(t *testing.T) {
	began, total, tries := time.Now(), testbed.NewTally(), 0
	first := harness.West()
	harness.Repeat(t, total, func(a *testbed.Attempt) {
		tries++
		v := newMove(a, harness.Usual(2), harness.AcrossClusters)
		c := v.Managed()
		harness.StartManagerReplicas(a, v.App.Namespace)
		v.Must(c.Create(v.Ctx, v.Migration))
		if tries == 1 {
			v.Must(syscall.Kill(harness.PartsOf(v.To).PID(cluster.Kwok), syscall.SIGKILL))
			v.Eventually("kwok is counted", func(context.Context) (bool, error) { return len(harness.Deaths(began)) == 1, nil })
			a.Fatal("for want of pods")
		}
		v.Await(c, api.ConditionCompleted, metav1.ConditionTrue)
		v.ExpectMoved()
		a.Tally.Ran(len(v.Audit().Ordinals))
	})
	total.Bury(harness.Deaths(began))
	if harness.West() == first {
		t.Error("the clusters are the same as before")
	}
	want := "1 runs, 2 handoffs, 0 faults, 0 violations: . Parts of the testbed died unexpectedly, 1 in all: kwok of the destination (1)." +
		" Runs repeated because the testbed broke, 1 in all: kwok of the destination died unexpectedly (1)."
	if tries != 2 || total.Sentence() != want {
		t.Errorf("%d tries, and the tally says %q, want 2 and %q", tries, total.Sentence(), want)
	}
}
