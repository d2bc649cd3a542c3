package model

import (
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/migration/planner"
)

// remedies are the possible answers of a user to a failed hook.
var remedies = []api.HookRemedy{api.HookRetry, api.HookSkip}

// job makes the Job controller complete a Job, or remove one whose end is recorded.
func (m *machine) job(k kind) bool {
	for _, job := range slices.Clone(m.State.HookJobs.List) {
		switch {
		case k == jobEnds && m.EndHook(job.Name, api.HookSucceeded):
			return true
		case k == jobGoes && job.State != api.HookRunning && m.recordedAs(job, api.HookSucceeded, api.HookFailed, api.HookSkipped) && m.RemoveHook(job.Name):
			return true
		}
	}
	return false
}

// tryHook answers a hook, or breaks one.
func (w *model) tryHook(m move) bool {
	if m.deed == answers {
		return w.answerHook(remedies[m.a])
	}
	return w.breakHook(m.a == 1)
}

// tryAct runs a step of a controller unless a disturbance prevents it.
func (w *model) tryAct(s step) bool { return !w.blocks(s) && w.act(s) }

// recordedAs reports whether the run of a Job is recorded in one of these states.
func (m *machine) recordedAs(job plan.HookJob, states ...api.HookState) bool {
	return slices.ContainsFunc(m.State.Record.Hooks, func(run api.HookRun) bool { return run.Job == job.Name && slices.Contains(states, run.State) })
}

// breakHook makes a Job fail, or removes it before its end, or even its existence, was observed.
func (w *model) breakHook(goes bool) bool {
	for _, job := range slices.Clone(w.State.HookJobs.List) {
		switch {
		case goes && w.recordedAs(job, api.HookPending, api.HookRunning) && w.RemoveHook(job.Name), !goes && w.EndHook(job.Name, api.HookFailed):
			w.note("Job %s breaks", job.Name)
			return true
		}
	}
	return false
}

// answerHook follows the remedy, as a user does.
func (w *model) answerHook(do api.HookRemedy) bool {
	turn, due := planner.DueHook(w.State)
	if said := w.State.Spec.HookAnswer; !due || !turn.Run.Broke() || said != nil && said.Job == turn.Run.Job {
		return false
	}
	w.State.Spec.HookAnswer = &api.HookAnswer{Job: turn.Run.Job, Do: do}
	w.version++
	w.note("hook %s: %s", turn.Hook.Name, do)
	return true
}

// hooked checks an action on a hook's Job: the hook was requested, only the recorded Job starts, and no ordinal
// is down, unless the write is late.
func (m *machine) hooked(e plan.Effect, before plan.Snapshot, late bool) {
	if !e.RunsHook() {
		return
	}
	asked := slices.ContainsFunc(before.Spec.Hooks, func(hook api.Hook) bool { return hook.Name == e.Hook.Hook.Name })
	recorded := slices.ContainsFunc(before.Record.Hooks, func(run api.HookRun) bool { return run.Job == e.Name && run.UID == e.UID })
	switch {
	case !asked:
		m.breaks("I9: %s, which nobody has asked for", e)
	case e.Verb == plan.StartHook && !recorded && !late:
		m.breaks("I7: %s, and another one may have run", e)
	case !late && isDown(before):
		m.breaks("%s while an ordinal is down", e)
	}
}

// waitsForNobodyDown checks that no hook runs or is waited for while an ordinal is in neither slice. It also
// checks that no action precedes a hook for which it must wait.
func (m *machine) waitsForNobodyDown(s plan.Snapshot, d plan.Decision) {
	waits := d.Hold != nil && strings.HasPrefix(d.Hold.Reason, "Hook") || d.Effect != nil && d.Effect.RunsHook()
	if waits && isDown(s) {
		m.breaks("a hook is waited for while an ordinal is down: %+v", d)
	}
	if e := d.Effect; e != nil && e.Verb == plan.ScaleDown {
		if pod, found := s.Side(e.Side).Pod(e.Ordinal); found && pod.Ready && !pod.Terminating {
			m.over(s, e.String(), api.HookBeforeMigration, api.HookBeforeOrdinal)
		}
	}
	m.oneJob(s.Record.Hooks, d.Record)
	if r := d.Record; r != nil && s.Record.Completed == "" && (r.Completed == api.ReasonMoved || r.Completed == api.ReasonRolledBack) && s.Record.Baseline != nil {
		m.over(s, "completed", api.HookAfterMigration)
		for _, run := range s.Record.Hooks {
			if run.State == api.HookPending || run.State == api.HookRunning {
				m.breaks("I6: completed while hook %s is %s", run.Name, run.State)
			}
		}
	}
}

// oneJob checks that a run that is recorded with its Job is not recorded with another Job.
func (m *machine) oneJob(runs []api.HookRun, next *plan.Record) {
	for _, run := range runs {
		if run.UID != "" && next != nil && slices.ContainsFunc(next.Hooks, func(after api.HookRun) bool { return after.Job == run.Job && after.UID != run.UID }) {
			m.breaks("I7: hook %s is run by a second Job", run.Name)
		}
	}
}

// over checks that the hooks of these points have run before an action.
func (m *machine) over(s plan.Snapshot, what string, points ...api.HookPoint) {
	for _, hook := range s.Spec.Hooks {
		ran := slices.ContainsFunc(s.Record.Hooks, func(run api.HookRun) bool { return run.Name == hook.Name && hook.Over(run) })
		if slices.Contains(points, hook.Point) && !ran {
			m.breaks("I6: %s, and hook %s has not been run", what, hook.Name)
		}
	}
}

func isDown(s plan.Snapshot) bool {
	base := s.Record.Baseline
	return base != nil && s.Source.Set.Replicas+s.Destination.Set.Replicas < base.Replicas
}

func hook(name string, point api.HookPoint) api.Hook {
	spec := corev1.PodSpec{Containers: []corev1.Container{{Name: "tool", Image: "tool"}}}
	return api.Hook{Name: name, Point: point, Job: api.HookJob{Spec: api.JobSpec{JobSpec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: spec}}}}}
}

// TestModelOfHooks explores every state of a migration with a hook before or after its ordinal, for any result
// of a write. The Job runs, fails, is late or is removed. No hook runs twice for one ordinal, direction and
// attempt. No ordinal is down while a hook is waited for, and each run ends (I6, I7, I8).
func TestModelOfHooks(t *testing.T) {
	begin, leave, join, finish := hook("begin", api.HookBeforeMigration), hook("leave", api.HookBeforeOrdinal), hook("join", api.HookAfterOrdinal), hook("finish", api.HookAfterMigration)
	for name, b := range map[string]bound{
		"before":            {"", plantest.Scenario{Replicas: 1, Spec: plan.Spec{Hooks: []api.Hook{leave}}}, 1, ofHooks, nil},
		"before, processes": {"", plantest.Scenario{Replicas: 1, Spec: plan.Spec{Hooks: []api.Hook{leave}}}, 2, kindsOfFault{slow, takeover}, nil},
		"after":             {"", plantest.Scenario{Replicas: 1, Spec: plan.Spec{Hooks: []api.Hook{join}}}, 1, ofHooks, nil},
		"of the migration":  {"", plantest.Scenario{Replicas: 1, Spec: plan.Spec{Hooks: []api.Hook{begin, finish}}}, 1, kindsOfFault{breaksHook, turns, deletion}, nil},
		"of 2 ordinals":     {"", plantest.Scenario{Replicas: 2, Spec: plan.Spec{Hooks: []api.Hook{leave, join}}}, 0, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			x := newExplorer(b)
			if wrong := x.explore(); wrong != nil {
				t.Error(x.story(wrong))
			}
			t.Logf("%d states", len(x.came))
		})
	}
}
