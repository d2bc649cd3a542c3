package planner

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// run performs the next step of one hook. The run is recorded, its suspended Job is created, the Job's UID is
// recorded, and then the Job is resumed and awaited. Its result is recorded before the migration continues. So no
// Job runs whose disappearance would remain unnoticed.
func (p hookPlanner) run(t plan.HookTurn) *plan.Decision {
	answer := p.Spec.HookAnswer
	switch answered := answer != nil && answer.Job == t.Run.Job; {
	case answered && answer.Do == api.HookSkip:
		return p.became(t, api.HookSkipped, t.Run.Message)
	case answered && t.Run.Broke():
		return p.became(p.again(t), api.HookPending, "")
	case t.Run.Broke():
		return p.broke(t)
	case p.recorded(t) < 0:
		return p.became(t, api.HookPending, "")
	}
	job := p.HookJobs.Find(t.Run.Job)
	switch {
	case job.LacksRight:
		return plan.Stalled(api.ReasonPermissionMissing, fmt.Sprintf("whether %s has run is unknown, because a permission is missing: %s", p.nameOf(t), job.Trouble), plan.RemedyJobRights)
	case job.Presence == plan.Unreachable:
		return &plan.Decision{Hold: &plan.Hold{Reason: api.ReasonHookRunning, Message: fmt.Sprintf("whether %s has run is unknown: %s", p.nameOf(t), job.Trouble)}, Wait: hookSoon}
	case t.Run.UID != "" && (job.Presence == plan.Absent || job.UID != t.Run.UID):
		return p.became(t, api.HookFailed, p.jobOf(t)+" was deleted before its end was observed: whether it has done its work is unknown")
	case job.Presence == plan.Absent && t.Hook.Unfit() != "":
		return plan.Stalled(api.ReasonHookInvalid, fmt.Sprintf("%s cannot be run: %s", p.nameOf(t), t.Hook.Unfit()), "correct it in spec.hooks; "+p.remedy(false))
	case job.Presence == plan.Absent:
		return &plan.Decision{Effect: &plan.Effect{Verb: plan.RunHook, Side: t.Side, Ordinal: t.Ordinal(), Name: t.Run.Job, Hook: &t}}
	case !job.Ours:
		return p.refused(t, p.jobOf(t)+" was not created by this migration, but has the name of its Job", "see what created it, and delete it when nothing needs it: "+p.Side(t.Side).Kubectl().Do("describe", "job", "-n", p.Side(t.Side).Namespace, t.Run.Job))
	case job.State != api.HookRunning:
		t.Run.UID = job.UID
		return p.became(t, job.State, job.Message)
	case t.Run.State != api.HookRunning:
		t.Run.UID = job.UID
		return p.became(t, api.HookRunning, "")
	case job.Held: // from here on, a Job that is deleted before its end was seen is noticed
		return &plan.Decision{Effect: &plan.Effect{Verb: plan.StartHook, Side: t.Side, Ordinal: t.Ordinal(), Name: t.Run.Job, UID: job.UID, ResourceVersion: job.ResourceVersion, Hook: &t}}
	}
	return p.runs(t, job)
}

// again returns the run after one that has ended.
func (p hookPlanner) again(t plan.HookTurn) plan.HookTurn {
	t.Run.Attempt, t.Run.UID = t.Run.Attempt+1, ""
	t.Run.Job = p.jobName(t.Run)
	return t
}

// became records the new state of a run.
func (p hookPlanner) became(t plan.HookTurn, state api.HookState, message string) *plan.Decision {
	next := p.Record
	next.Hooks = slices.Clone(p.Record.Hooks)
	t.Run.State, t.Run.Message, t.Run.LastTransitionTime = state, cut(message, longestSaid), metav1.NewTime(p.Now)
	if at := p.recorded(t); at >= 0 {
		next.Hooks[at] = t.Run
	} else {
		next.Hooks = append(next.Hooks, t.Run)
	}
	return &plan.Decision{Record: &next}
}

// longestSaid bounds the recorded message about a hook's end, in bytes.
const longestSaid = 1024

// cut truncates a text to a number of bytes.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}

// Intervals at which a Job is checked: the longer it runs, the less often.
const (
	hookSoon = time.Second
	hookLate = 10 * time.Second
	// hookGrace is how long a Job may exceed its deadline before that is reported.
	hookGrace = time.Minute
)

// runs waits for a Job.
func (p hookPlanner) runs(t plan.HookTurn, job plan.HookJob) *plan.Decision {
	since := job.Since
	if begun := t.Run.LastTransitionTime.Time; begun.After(since) { // the Job was created before, suspended
		since = begun
	}
	age := p.Now.Sub(since)
	switch left := t.Hook.Deadline() + hookGrace - age; {
	case job.Refused != "":
		return p.refused(t, fmt.Sprintf("%s has no pod, because its pod is rejected: %s", p.jobOf(t), job.Refused), "allow the pod there; the Job then continues")
	case left <= 0:
		hold := &plan.Hold{
			Reason: api.ReasonHookTimedOut, Stalled: true, Remedy: "make sure that the Job controller runs there; " + p.remedy(false),
			Message: fmt.Sprintf("%s has run for longer than %s, but its cluster has not stopped %s", p.nameOf(t), t.Hook.Deadline(), p.jobOf(t)),
		}
		return &plan.Decision{Hold: hold, Wait: hookLate}
	}
	hold := &plan.Hold{Reason: api.ReasonHookRunning, Message: fmt.Sprintf("waiting for %s: %s runs, with %s", p.nameOf(t), p.jobOf(t), job.Message)}
	return &plan.Decision{Hold: hold, Wait: min(max(age/10, hookSoon), hookLate)}
}

// refused stalls for a Job that cannot run now; it may run without further action once the cause is fixed.
func (p hookPlanner) refused(t plan.HookTurn, message, remedy string) *plan.Decision {
	hold := &plan.Hold{Reason: api.ReasonHookRefused, Stalled: true, Message: fmt.Sprintf("%s cannot be run: %s", p.nameOf(t), message), Remedy: remedy + "; " + p.remedy(false)}
	return &plan.Decision{Hold: hold, Wait: hookLate}
}

// broke stalls for a hook that has failed, or requests a rollback.
func (p hookPlanner) broke(t plan.HookTurn) *plan.Decision {
	hold := &plan.Hold{
		Reason: api.ReasonHookFailed, Stalled: true, Message: fmt.Sprintf("%s has failed: %s", p.nameOf(t), t.Run.Message),
		Remedy: fmt.Sprintf("fix the cause in its logs (%s); %s", p.Side(t.Side).Kubectl().Do("logs", "-n", p.Side(t.Side).Namespace, "job/"+t.Run.Job), p.remedy(true)),
	}
	if t.Run.State == api.HookTimedOut {
		hold = p.timedOut(t)
	}
	if t.Hook.OnFailure == api.HookFailureRollback && p.Spec.Mode == api.ModeRun {
		hold.TurnBack, hold.By, hold.Remedy = true, "hook "+t.Hook.Name, "no action is needed: the migration is rolled back, because of onFailure of the hook"
	}
	return &plan.Decision{Hold: hold}
}

// timedOut returns the hold for a hook whose Job exceeded its deadline: the cluster has deleted its pod and the
// pod's logs.
func (p hookPlanner) timedOut(t plan.HookTurn) *plan.Hold {
	side := p.Side(t.Side)
	return &plan.Hold{
		Reason: api.ReasonHookTimedOut, Stalled: true, Message: fmt.Sprintf("%s has not ended within %s: %s", p.nameOf(t), t.Hook.Deadline(), t.Run.Message),
		Remedy: fmt.Sprintf("find out why it did not end: its cluster has deleted the pod and its logs; see the events, which are kept for a while (%s; %s), and follow the next run (%s); raise timeoutSeconds of the hook if it needs longer; %s", side.Kubectl().Do("describe", "job", "-n", side.Namespace, t.Run.Job), side.Kubectl().Do("get", "events", "-n", side.Namespace), side.Kubectl().Do("logs", "-f", "-n", side.Namespace, "job/"+p.again(t).Run.Job), p.remedy(true)),
	}
}

// remedy returns how the user can continue the migration.
func (p hookPlanner) remedy(again bool) string {
	skip := "to continue without it: " + p.command("hooks", "skip")
	if !again {
		return skip
	}
	return "to run it again: " + p.command("hooks", "retry") + "; " + skip
}

// jobOf names the Job of a run.
func (p hookPlanner) jobOf(t plan.HookTurn) string {
	side := p.Side(t.Side)
	return fmt.Sprintf("Job %s/%s in cluster %s", side.Namespace, t.Run.Job, side.Cluster)
}

// nameOf names a hook and its subject.
func (p hookPlanner) nameOf(t plan.HookTurn) string {
	about := p.Side(t.About)
	pod := fmt.Sprintf("pod %s/%s in cluster %s", about.Namespace, plan.PodName(about.Set.Name, t.Ordinal()), about.Cluster)
	switch t.Hook.Point {
	case api.HookBeforeOrdinal:
		return fmt.Sprintf("hook %s before the stop of %s", t.Hook.Name, pod)
	case api.HookAfterOrdinal:
		return fmt.Sprintf("hook %s after the start of %s", t.Hook.Name, pod)
	case api.HookBeforeMigration:
		return fmt.Sprintf("hook %s before the migration of %s/%s in cluster %s", t.Hook.Name, about.Namespace, about.Set.Name, about.Cluster)
	default:
		return fmt.Sprintf("hook %s after the migration to %s/%s in cluster %s", t.Hook.Name, about.Namespace, about.Set.Name, about.Cluster)
	}
}

// RemedyHookRefused returns the remedy for a hook's Job that admission or validation has rejected.
func RemedyHookRefused(s plan.Snapshot) string {
	return "allow the Job there, or correct job.spec of the hook; the creation is then retried; " + hookPlanner{viewOf(s)}.remedy(false)
}
