package simulate

import (
	"slices"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// applyHook creates the Job of a hook, suspended, or resumes it. In a dry run the Job succeeds at once.
func (a apiServer) applyHook(e plan.Effect) error {
	if e.Change() == volumes.Updates {
		return a.startHook(e)
	}
	at := a.hookJob(e.Name)
	if at >= 0 && a.State.HookJobs.List[at].Presence == plan.Seen {
		return ErrConflict
	}
	state := api.HookRunning
	if a.tally != nil {
		state = api.HookSucceeded
	}
	made := plan.HookJob{Name: e.Name, Presence: plan.Seen, UID: a.NewUID(), ResourceVersion: a.NewVersion(), Ours: true, Held: a.tally == nil, State: state, Since: a.State.Now}
	if at >= 0 {
		a.State.HookJobs.List[at] = made
	} else {
		a.State.HookJobs.List = append(a.State.HookJobs.List, made)
	}
	return nil
}

// startHook resumes the Job of a hook.
func (a apiServer) startHook(e plan.Effect) error {
	at := a.hookJob(e.Name)
	if at < 0 || a.State.HookJobs.List[at].UID != e.UID || a.State.HookJobs.List[at].ResourceVersion != e.ResourceVersion {
		return ErrConflict
	}
	job := &a.State.HookJobs.List[at]
	job.Held, job.ResourceVersion = false, a.NewVersion()
	return nil
}

// EndHook ends the running Job of a hook in a state, and reports whether it did.
func (w *World) EndHook(name string, state api.HookState) bool {
	at := w.hookJob(name)
	if at < 0 || w.State.HookJobs.List[at].State != api.HookRunning || w.State.HookJobs.List[at].Held {
		return false
	}
	w.State.HookJobs.List[at].State = state
	return true
}

// RemoveHook deletes the Job of a hook, like the TTL controller, and reports whether it existed. The list keeps the
// Job as Absent.
func (w *World) RemoveHook(name string) bool {
	at := w.hookJob(name)
	if at < 0 || w.State.HookJobs.List[at].Presence != plan.Seen {
		return false
	}
	w.State.HookJobs.List[at] = plan.HookJob{Name: name, Presence: plan.Absent}
	return true
}

func (w *World) hookJob(name string) int {
	return slices.IndexFunc(w.State.HookJobs.List, func(job plan.HookJob) bool { return job.Name == name })
}

// allHooks marks the world's list of hook Jobs as complete. In a dry run, running Jobs succeed.
func (w *World) allHooks() {
	jobs := &w.State.HookJobs
	jobs.All = len(w.State.Spec.Hooks) > 0
	jobs.List = slices.DeleteFunc(jobs.List, func(job plan.HookJob) bool { return job.Presence != plan.Seen })
	for i := range jobs.List {
		if w.tally != nil && jobs.List[i].State == api.HookRunning {
			jobs.List[i].State, jobs.List[i].Refused = api.HookSucceeded, ""
		}
	}
}
