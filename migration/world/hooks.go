package world

import (
	"context"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/jobs"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
)

// podsWithin is how soon a Job normally has a pod. After that the reason for a missing pod is looked up.
const podsWithin = 5 * time.Second

// hookJobs reads the Job of the hook that is due, live, because Jobs are not watched. Before the run is recorded
// there is no Job, and after a failure nothing more is needed.
func (e *Observer) hookJobs(ctx context.Context, s plan.Snapshot) plan.HookJobs {
	due, found := planner.DueHook(s)
	recorded := slices.ContainsFunc(s.Record.Hooks, func(run api.HookRun) bool { return run.Job == due.Run.Job })
	if !found || !recorded || due.Run.Broke() {
		return plan.HookJobs{}
	}
	at := e.At(due.Side)
	seen := plan.HookJob{Name: due.Run.Job, Presence: plan.Absent}
	job, err := endpoint.Get[batchv1.Job](ctx, at.Live, at.Key(due.Run.Job))
	if err != nil {
		seen.Presence, seen.Trouble, seen.LacksRight = plan.Unreachable, endpoint.OneLine(err), endpoint.LacksRight(err)
	}
	if job != nil {
		seen = hookJobOf(s, at, job)
		e.lookCloser(ctx, at, s.Now, job, &seen)
	}
	return plan.HookJobs{List: []plan.HookJob{seen}}
}

func hookJobOf(s plan.Snapshot, at endpoint.Endpoint, job *batchv1.Job) plan.HookJob {
	seen := plan.HookJob{
		Name: job.Name, Presence: plan.Seen, UID: job.UID, ResourceVersion: job.ResourceVersion, Ours: jobs.Made(job, s.UID), Held: jobs.Held(job), State: api.HookRunning, Message: jobs.Running(job),
		Since: at.Ours(job.CreationTimestamp.Time),
	}
	switch end := jobs.End(job); {
	case end == nil && job.DeletionTimestamp != nil:
		seen.State, seen.Message = api.HookFailed, "the Job was deleted before its end"
	case end == nil:
	case end.Type == batchv1.JobComplete:
		seen.State, seen.Message = api.HookSucceeded, ""
	case end.Reason == batchv1.JobReasonDeadlineExceeded:
		seen.State, seen.Message = api.HookTimedOut, end.Message
	default:
		seen.State, seen.Message = api.HookFailed, fmt.Sprintf("%s (%s)", end.Message, end.Reason)
	}
	return seen
}

// lookCloser adds what a Job itself does not show: the last output of a failed Job, and why it has no pod.
func (e *Observer) lookCloser(ctx context.Context, at endpoint.Endpoint, now time.Time, job *batchv1.Job, seen *plan.HookJob) {
	switch {
	case seen.State == api.HookFailed || seen.State == api.HookTimedOut:
		said, err := jobs.LastWords(ctx, at.Live, job)
		if err != nil {
			said = "what its pods say cannot be read: " + endpoint.OneLine(err)
		}
		if said != "" {
			seen.Message = said + ": " + seen.Message
		}
	case seen.State == api.HookRunning && !seen.Held && job.Status.Active+job.Status.Failed == 0 && now.Sub(seen.Since) > podsWithin:
		if err := jobs.PodRefused(ctx, at.Live, job); (apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || endpoint.WebhookRefused(err)) && !endpoint.LacksRight(err) {
			seen.Refused = endpoint.OneLine(err)
		}
	}
}
