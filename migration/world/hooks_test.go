package world

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
	"github.com/sliceshift/sliceshift/migration/endpoint/endpointtest"
	"github.com/sliceshift/sliceshift/migration/jobs"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/migration/planner"
)

// waiting returns a migration with a hook that is due before the stop of its ordinal, and the name of its Job.
func waiting(t *testing.T) (plan.Snapshot, string) {
	t.Helper()
	s := plantest.Scenario{Replicas: 1, Prepared: true, Spec: plan.Spec{Hooks: []api.Hook{{Name: "leave", Point: api.HookBeforeOrdinal}}}}.Build()
	s.Record = plan.Record{Baseline: &api.Baseline{Replicas: 1, Budget: 1}, Fence: &api.Fence{Epoch: 1, Direction: api.Forward}}
	s.Destination.Set.Start = 1
	turn, due := planner.DueHook(s)
	if !due {
		t.Fatal("no hook is due")
	}
	s.Record.Hooks = []api.HookRun{turn.Run}
	return s, turn.Run.Job
}

// TestHookJobs: the Job of the hook that is due is observed. An unreadable Job is not absent, and the reason for a
// missing pod is looked up.
func TestHookJobs(t *testing.T) {
	refused := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "leave", errors.New("exceeded quota"))
	noRight := apierrors.NewForbidden(schema.GroupResource{Resource: "jobs"}, "leave", errors.New(`User "mover" cannot get`))
	ends := func(kind batchv1.JobConditionType, reason string) func(*batchv1.Job) {
		return func(job *batchv1.Job) {
			job.Status.Conditions = []batchv1.JobCondition{{Type: kind, Status: corev1.ConditionTrue, Reason: reason, Message: "it has ended"}}
		}
	}
	for name, tc := range map[string]struct {
		none   bool
		change func(*batchv1.Job)
		get    error
		pod    error
		is     func(plan.HookJob) bool
	}{
		"none": {none: true, is: func(j plan.HookJob) bool { return j.Presence == plan.Absent }},
		"it is not read": {get: errors.New("no answer"), is: func(j plan.HookJob) bool {
			return j.Presence == plan.Unreachable && j.Trouble == "no answer" && !j.LacksRight
		}},
		"nobody may read":  {get: noRight, is: func(j plan.HookJob) bool { return j.Presence == plan.Unreachable && j.LacksRight }},
		"it runs":          {change: func(j *batchv1.Job) { j.Status.Active = 1 }, pod: refused, is: func(j plan.HookJob) bool { return j.State == api.HookRunning && j.Ours && j.Refused == "" }},
		"it has no pod":    {pod: refused, is: refusedBy("exceeded quota")},
		"a webhook fails":  {pod: apierrors.NewInternalError(errors.New(`failed calling webhook "policy.corp": no endpoints`)), is: refusedBy("policy.corp")},
		"it will have one": {is: func(j plan.HookJob) bool { return j.State == api.HookRunning && j.Refused == "" }},
		"it is held":       {change: func(j *batchv1.Job) { jobs.Hold(j) }, pod: refused, is: func(j plan.HookJob) bool { return j.Held && j.Refused == "" }},
		"it was just made": {change: func(j *batchv1.Job) { j.CreationTimestamp.Time = plantest.Epoch }, pod: refused, is: func(j plan.HookJob) bool { return j.Refused == "" }},
		"well":             {change: ends(batchv1.JobComplete, ""), is: func(j plan.HookJob) bool { return j.State == api.HookSucceeded && j.Message == "" }},
		"badly": {change: ends(batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded), is: func(j plan.HookJob) bool {
			return j.State == api.HookFailed && j.Message == "it has ended (BackoffLimitExceeded)"
		}},
		"too late":    {change: ends(batchv1.JobFailed, batchv1.JobReasonDeadlineExceeded), is: func(j plan.HookJob) bool { return j.State == api.HookTimedOut && j.Message == "it has ended" }},
		"not our own": {change: func(j *batchv1.Job) { j.Annotations = nil }, is: func(j plan.HookJob) bool { return j.Presence == plan.Seen && !j.Ours }},
		"it is ending": {change: func(j *batchv1.Job) {
			j.DeletionTimestamp, j.Finalizers = new(metav1.NewTime(plantest.Epoch)), []string{"a/b"}
		}, is: func(j plan.HookJob) bool { return j.State == api.HookFailed }},
	} {
		t.Run(name, func(t *testing.T) {
			s, job := waiting(t)
			found := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
				Namespace: "shop", Name: job, UID: "job", CreationTimestamp: metav1.NewTime(plantest.Epoch.Add(-time.Minute)), Annotations: map[string]string{api.OwnerAnnotationKey: string(s.UID)},
			}}
			if tc.change != nil {
				tc.change(found)
			}
			objects := []client.Object{found}
			if tc.none {
				objects = nil
			}
			e := &Observer{Pair: endpointtest.Pair(clustertest.Hooked(answering(tc.get, tc.pod), objects...), clustertest.New())}
			seen := e.hookJobs(t.Context(), s)
			if len(seen.List) != 1 || seen.All || seen.List[0].Name != job || !tc.is(seen.List[0]) {
				t.Errorf("seen %+v", seen)
			}
		})
	}
}

// refusedBy matches a Job whose pod is refused by who.
func refusedBy(who string) func(plan.HookJob) bool {
	return func(j plan.HookJob) bool { return j.State == api.HookRunning && strings.Contains(j.Refused, who) }
}

// answering answers reads and creations of Jobs with errors; nil means none.
func answering(get, create error) clustertest.Hooks {
	return clustertest.Hooks{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
			if _, one := o.(*batchv1.Job); one && get != nil {
				return get
			}
			return c.Get(ctx, key, o, options...)
		},
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return create },
	}
}

// TestNoHookJobs: no Job is read without hooks, before a run is recorded, and after it has failed.
func TestNoHookJobs(t *testing.T) {
	for name, change := range map[string]func(*plan.Snapshot){
		"no hooks": func(s *plan.Snapshot) { s.Spec.Hooks = nil }, "not recorded": func(s *plan.Snapshot) { s.Record.Hooks = nil },
		"it has failed": func(s *plan.Snapshot) { s.Record.Hooks[0].State = api.HookFailed },
	} {
		s, _ := waiting(t)
		change(&s)
		if seen := (&Observer{}).hookJobs(t.Context(), s); len(seen.List) > 0 {
			t.Errorf("%s: %+v", name, seen)
		}
	}
}
