package move

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
)

// runsJobs returns a gate that runs a Job whose pod is not retried.
func runsJobs(at ...api.GatePoint) api.HealthGate {
	return quick(api.HealthGate{Name: "leave-the-ring", At: at, Job: &api.JobGate{Spec: api.JobSpec{JobSpec: oneTry()}}})
}

// endJobs ends the pods of Jobs until the test ends, as their containers would: Succeeded if well is true,
// otherwise Failed.
func (v *move) endJobs(t *testing.T, side kubernetes.Interface, well *atomic.Bool) {
	v.endPods(t, side, func(map[string]string) string {
		if well.Load() {
			return `{"status":{"phase":"Succeeded"}}`
		}
		return `{"status":{"phase":"Failed"}}`
	})
}

// jobsOf describes the Jobs that ran on a side by point, ordinal, side and direction.
func (v *move) jobsOf(side kubernetes.Interface) []string {
	v.T.Helper()
	return v.jobsIn(side, v.App.Namespace, func(_ string, told map[string]string) string {
		return strings.Join([]string{told["POINT"], told["ORDINAL"], told["SIDE"], told["DIRECTION"]}, " ")
	})
}

// TestGateJobs: a Job runs once before each stop, after each start and at the end, with its context in the
// environment. A failed Job holds the next stop, while every replica runs, until the Job runs again.
func TestGateJobs(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(2), harness.AcrossClusters, withGates(runsJobs(api.GateBeforeStop, api.GateAfterStart, api.GateAtEnd)))
	var well atomic.Bool
	v.endJobs(t, v.Source, &well)
	v.endJobs(t, v.Destination, &well)
	held := false
	mover := v.Mover()
	v.Drive(mover, harness.StalledWith(api.ReasonGateFailed)(func() error {
		held = true
		m, err := mover.Store.Load(v.Ctx)
		if err != nil {
			return err
		}
		if m.Status.Source.Replicas != 2 || m.Status.Source.Available != 2 {
			t.Errorf("the source is at %+v while the first has failed", m.Status.Source)
		}
		if diff := cmp.Diff([]string{"BeforeStop 1 Source Forward"}, v.jobsOf(v.Source)); diff != "" {
			t.Errorf("Jobs at the source while the first has failed (-want +got):\n%s", diff)
		}
		well.Store(true)
		return v.Source.BatchV1().Jobs(v.App.Namespace).DeleteCollection(v.Ctx,
			metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}, metav1.ListOptions{LabelSelector: api.MigrationLabelKey})
	}))
	if !held {
		t.Error("a Job that has failed has held nothing")
	}
	if diff := cmp.Diff([]string{"BeforeStop 0 Source Forward", "BeforeStop 1 Source Forward"}, v.jobsOf(v.Source)); diff != "" {
		t.Errorf("Jobs at the source (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"AfterStart 0 Destination Forward", "AfterStart 1 Destination Forward", "AtEnd  Destination Forward"}, v.jobsOf(v.Destination)); diff != "" {
		t.Errorf("Jobs at the destination (-want +got):\n%s", diff)
	}
	v.ExpectMovedCleanly()
	v.Audit()
}
