package world

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
	"github.com/sliceshift/sliceshift/migration/endpoint/endpointtest"
	"github.com/sliceshift/sliceshift/migration/jobs"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// TestHookIsRun: a hook runs once, on its side, and its Job gets the variables of its turn.
func TestHookIsRun(t *testing.T) {
	hook := api.Hook{Name: "join", Point: api.HookAfterOrdinal, TimeoutSeconds: new(int32(7))}
	hook.Job.Spec.Template.Spec.Containers = []corev1.Container{{Name: "tool", Image: "tool"}}
	turn := plan.HookTurn{
		Hook: hook, Side: plan.SourceSide, About: plan.DestinationSide, Direction: api.Forward,
		Run: api.HookRun{Name: "join", Point: hook.Point, Ordinal: new(int32(2)), Attempt: 3, Job: "join-1"},
	}
	e := &Executor{Owner: "m", Pair: endpointtest.Pair(clustertest.New(), clustertest.New())}
	effect := plan.Effect{Verb: plan.RunHook, Side: turn.Side, Ordinal: 2, Name: "join-1", Hook: &turn}
	if _, err := e.Do(t.Context(), effect); err != nil {
		t.Fatal(err)
	}
	job := &batchv1.Job{}
	if err := e.Source.Live.Get(t.Context(), client.ObjectKey{Namespace: e.Source.Namespace, Name: "join-1"}, job); err != nil {
		t.Fatal(err)
	}
	told := map[string]string{}
	for _, each := range job.Spec.Template.Spec.Containers[0].Env {
		told[each.Name] = each.Value
	}
	want := map[string]string{
		"SLICESHIFT_HOOK": "join", "SLICESHIFT_POINT": "AfterOrdinal", "SLICESHIFT_ATTEMPT": "3", "SLICESHIFT_DIRECTION": "Forward", "SLICESHIFT_SIDE": "Source",
		"SLICESHIFT_CLUSTER": e.Destination.Cluster, "SLICESHIFT_NAMESPACE": e.Destination.Namespace, "SLICESHIFT_STATEFULSET": e.Destination.Set,
		"SLICESHIFT_POD": e.Destination.Set + "-2", "SLICESHIFT_ORDINAL": "2",
	}
	if diff := cmp.Diff(want, told); diff != "" || *job.Spec.ActiveDeadlineSeconds != 7 {
		t.Errorf("told (-want +got)\n%s", diff)
	}
	if !jobs.Held(job) {
		t.Error("it begins before anybody knows its UID")
	}
	start := plan.Effect{Verb: plan.StartHook, Side: turn.Side, Ordinal: 2, Name: "join-1", UID: job.UID, ResourceVersion: job.ResourceVersion, Hook: &turn}
	if _, err := e.Do(t.Context(), start); err != nil {
		t.Fatal(err)
	}
	if err := e.Source.Live.Get(t.Context(), client.ObjectKeyFromObject(job), job); err != nil || jobs.Held(job) || *job.Spec.Suspend {
		t.Errorf("it is started: %v, %+v", err, job)
	}
	if _, err := e.Do(t.Context(), start); !apierrors.IsConflict(err) {
		t.Errorf("another one than was judged: %v", err)
	}
	if _, err := e.Do(t.Context(), effect); !apierrors.IsAlreadyExists(err) {
		t.Errorf("a second time: %v", err)
	}
}
