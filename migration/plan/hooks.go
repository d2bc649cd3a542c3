package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// HookTurn is one run of a hook that is due, and what its Job is told.
type HookTurn struct {
	Hook api.Hook
	Run  api.HookRun
	// Side is where the Job runs, and About the side that ordinals leave, before, or come to, after.
	Side, About SideName
	Direction   api.Direction
}

// Ordinal for which it is run; NoOrdinal for one of the migration.
func (t HookTurn) Ordinal() int32 {
	if t.Run.Ordinal == nil {
		return NoOrdinal
	}
	return *t.Run.Ordinal
}

// HookJob is the Job of a hook as it was seen.
type HookJob struct {
	Name string
	// Presence is Unreachable where it could not be read; Trouble says why, and LacksRight whether
	// for want of a right.
	Presence   Presence
	Trouble    string
	LacksRight bool
	UID        types.UID
	// Ours is true when this migration has made it.
	Ours bool
	// State is Running, Succeeded, Failed or TimedOut, and Message says how it does, or has ended.
	State   api.HookState
	Message string
	// Refused is what was answered to its pod, where it has none; empty: it has, or may have one.
	Refused string
	Since   time.Time
}

// HookJobs are the Jobs of hooks, as far as they were looked at.
type HookJobs struct {
	List []HookJob
	// All is true where there are no others.
	All bool
}

// Find is the Job of a name. One that was not looked at is Unreachable.
func (j HookJobs) Find(name string) HookJob {
	at := slices.IndexFunc(j.List, func(job HookJob) bool { return job.Name == name })
	switch {
	case at >= 0:
		return j.List[at]
	case j.All:
		return HookJob{Name: name, Presence: Absent}
	default:
		return HookJob{Name: name, Trouble: "it was not looked at"}
	}
}

// hookPlanner runs the user's hooks: one after the other, each once, and none while an ordinal is down.
type hookPlanner struct{ *View }

// DueHook is the hook that is run next, or that runs, and whose Job is to be read; false: there is none.
func DueHook(s Snapshot) (HookTurn, bool) {
	if len(s.Spec.Hooks) == 0 || s.Source.Reach != Seen || s.Destination.Reach != Seen {
		return HookTurn{}, false
	}
	p := hookPlanner{viewOf(s)}
	if !p.active() || p.resting() || p.layout.broken != "" || p.layout.gap != nil {
		return HookTurn{}, false
	}
	k, more := p.next()
	due := p.afterOrdinal()
	switch {
	case due != nil:
	case !more:
		due = p.due(api.HookAfterMigration, NoOrdinal)
	default:
		due = cmp.Or(p.due(api.HookBeforeMigration, NoOrdinal), p.due(api.HookBeforeOrdinal, k))
	}
	if due == nil {
		return HookTurn{}, false
	}
	return *due, true
}

// active says whether hooks are run at all: not on behalf of a migration that has not begun, that lets go
// of what it has, or that goes on without its destination.
func (p hookPlanner) active() bool {
	fence := p.Record.Fence
	begun := p.Record.Baseline != nil && fence != nil && fence.Direction == p.direction() && p.Record.Completed == ""
	return len(p.Spec.Hooks) > 0 && begun && !p.Deleting && !p.Destination.Lost && p.Spec.Mode != api.ModeRecover
}

// skips says whether a hook is not run in this direction.
func (p hookPlanner) skips(hook api.Hook) bool {
	return p.direction() == api.Back && hook.OnRollback == api.HookRollbackSkip
}

// due is the first hook of a point that is not over for an ordinal; nil: all are.
func (p hookPlanner) due(point api.HookPoint, ordinal int32) *HookTurn {
	for _, hook := range p.Spec.Hooks {
		if hook.Point != point || p.skips(hook) {
			continue
		}
		turn := p.turn(hook, ordinal)
		if at := p.recorded(turn); at >= 0 {
			turn.Run = p.Record.Hooks[at]
		}
		if !hook.Over(turn.Run) {
			return &turn
		}
	}
	return nil
}

// afterOrdinal is the first hook that is to be run for an ordinal that has come; nil: there is none.
func (p hookPlanner) afterOrdinal() *HookTurn {
	for _, run := range p.Record.Hooks {
		if run.Point != api.HookAfterOrdinal || run.Ordinal == nil {
			continue
		}
		if turn := p.due(run.Point, *run.Ordinal); turn != nil && p.recorded(*turn) >= 0 {
			return turn
		}
	}
	return nil
}

// turn is the first run of a hook for an ordinal.
func (p hookPlanner) turn(hook api.Hook, ordinal int32) HookTurn {
	about := p.takerName
	if hook.Point.Before() {
		about = p.giverName
	}
	turn := HookTurn{Hook: hook, About: about, Side: HookSide(hook, about), Direction: p.direction()}
	turn.Run = api.HookRun{Name: hook.Name, Point: hook.Point, Attempt: 1, Side: apiSide(turn.Side), State: api.HookPending, LastTransitionTime: metav1.NewTime(p.Now)}
	if hook.Point.OfOrdinal() {
		turn.Run.Ordinal = new(ordinal)
	}
	turn.Run.Job = p.jobName(turn.Run)
	return turn
}

// HookSide is where the Job of a hook runs that is about a side.
func HookSide(hook api.Hook, about SideName) SideName {
	switch hook.Side {
	case api.GateSource:
		return SourceSide
	case api.GateDestination:
		return DestinationSide
	default:
		return about
	}
}

func apiSide(name SideName) api.GateSide {
	if name == DestinationSide {
		return api.GateDestination
	}
	return api.GateSource
}

// jobName follows from what is run for what, for the how many-th time: whoever runs it after a crash, or in
// another process, finds the Job that was made.
func (p hookPlanner) jobName(run api.HookRun) string {
	const longest, digits = 63, 16 // the Job's name is a label of its pods
	ordinal := NoOrdinal
	if run.Ordinal != nil {
		ordinal = *run.Ordinal
	}
	identity, err := json.Marshal([]any{p.UID, p.Record.HookTurns, p.direction(), run.Name, run.Point, ordinal, run.Attempt})
	if err != nil {
		panic(err) // values of the API can be written as JSON
	}
	sum := sha256.Sum256(identity)
	prefix := run.Name[:min(len(run.Name), longest-digits-1)]
	return strings.TrimRight(prefix, "-") + "-" + hex.EncodeToString(sum[:])[:digits]
}

// hookTurn is the number of the next turn: without hooks it is not counted.
func (p *View) hookTurn() int32 {
	if len(p.Spec.Hooks)+len(p.Record.Hooks) == 0 {
		return p.Record.HookTurns
	}
	return p.Record.HookTurns + 1
}

// recorded is where a run of the same hook for the same ordinal is among those that are recorded; -1: there is none.
func (p hookPlanner) recorded(t HookTurn) int {
	return slices.IndexFunc(p.Record.Hooks, func(run api.HookRun) bool {
		of := HookTurn{Run: run}
		return run.Name == t.Run.Name && run.Point == t.Run.Point && of.Ordinal() == t.Ordinal()
	})
}

// arrived are the runs to be recorded once an ordinal has come: those that are due for it.
func (p hookPlanner) arrived(k int32) []api.HookRun {
	runs := p.ofMigration()
	if !p.active() {
		return runs
	}
	for _, hook := range p.Spec.Hooks {
		if hook.Point == api.HookAfterOrdinal && !p.skips(hook) {
			runs = append(runs, p.turn(hook, k).Run)
		}
	}
	return runs
}

// begun are the runs to be recorded once an ordinal's handoff begins: its own.
func (p hookPlanner) begun(k int32) []api.HookRun {
	runs := p.ofMigration()
	for _, run := range p.Record.Hooks {
		if run.Point == api.HookBeforeOrdinal && run.Ordinal != nil && *run.Ordinal == k {
			runs = append(runs, run)
		}
	}
	return runs
}

func (p hookPlanner) ofMigration() []api.HookRun {
	var runs []api.HookRun
	for _, run := range p.Record.Hooks {
		if !run.Point.OfOrdinal() {
			runs = append(runs, run)
		}
	}
	return runs
}

// waits says whether a hook is run between the arrival of an ordinal and the next one's handoff.
func (p hookPlanner) waits(arrived, next int32) bool {
	if !p.active() || (gatePlanner(p)).takesBackDown(next) {
		return false
	}
	after := slices.ContainsFunc(p.arrived(arrived), func(run api.HookRun) bool { return run.Point == api.HookAfterOrdinal })
	return after || p.beforeStop(next)
}

// beforeStop says whether a hook is still to be run before an ordinal is stopped.
func (p hookPlanner) beforeStop(k int32) bool {
	if !p.active() || (gatePlanner(p)).takesBackDown(k) {
		return false
	}
	return p.due(api.HookBeforeMigration, NoOrdinal) != nil || p.due(api.HookBeforeOrdinal, k) != nil
}

// early runs what goes before the gates of the next ordinal: the hooks of the one that has come, when it is
// well, and those of the migration, when nothing but the user's gates keeps the ordinal from its stop. An
// ordinal that is down where it is goes back without them.
func (p hookPlanner) early(k int32) *Decision {
	if !p.active() || (gatePlanner(p)).takesBackDown(k) {
		return nil
	}
	if due := p.afterOrdinal(); due != nil && (healthPlanner(p)).afterStartHold() == nil {
		return p.run(*due)
	}
	if due := p.due(api.HookBeforeMigration, NoOrdinal); due != nil && (healthPlanner(p)).othersLetStop(k) {
		return p.run(*due)
	}
	return nil
}

// late runs what goes right before the stop of an ordinal that may be stopped.
func (p hookPlanner) late(k int32) *Decision {
	if !p.active() || (gatePlanner(p)).takesBackDown(k) {
		return nil
	}
	if due := p.due(api.HookBeforeOrdinal, k); due != nil {
		return p.run(*due)
	}
	return nil
}

// end runs the hooks of the last ordinal and of the migration before it is completed.
func (p hookPlanner) end() *Decision {
	if !p.active() || p.resting() || p.Focused {
		return nil
	}
	if due := cmp.Or(p.afterOrdinal(), p.due(api.HookAfterMigration, NoOrdinal)); due != nil {
		return p.run(*due)
	}
	return nil
}

// run brings one hook a step on: it is recorded, its Job is made, seen and waited for, and what has become of
// it is recorded before the migration goes on.
func (p hookPlanner) run(t HookTurn) *Decision {
	answer := p.Spec.HookAnswer
	switch answered := answer != nil && answer.Job == t.Run.Job; {
	case answered && answer.Do == api.HookSkip:
		return p.became(t, api.HookSkipped, t.Run.Message)
	case answered && t.Run.Broke():
		again := t
		again.Run.Attempt, again.Run.UID = t.Run.Attempt+1, ""
		again.Run.Job = p.jobName(again.Run)
		return p.became(again, api.HookPending, "")
	case t.Run.Broke():
		return p.broke(t)
	case p.recorded(t) < 0:
		return p.became(t, api.HookPending, "")
	}
	job := p.HookJobs.Find(t.Run.Job)
	switch {
	case job.LacksRight:
		return Stalled(api.ReasonPermissionMissing, fmt.Sprintf("whether %s has run is not known for want of a right: %s", p.nameOf(t), job.Trouble), RemedyJobRights)
	case job.Presence == Unreachable:
		return &Decision{Hold: &Hold{Reason: api.ReasonHookRunning, Message: fmt.Sprintf("whether %s has run is not known: %s", p.nameOf(t), job.Trouble)}, Wait: hookSoon}
	case t.Run.UID != "" && (job.Presence == Absent || job.UID != t.Run.UID):
		return p.became(t, api.HookFailed, p.jobOf(t)+" is gone, and its end was not seen: whether it has done its work is not known")
	case job.Presence == Absent && t.Hook.Unfit() != "":
		return Stalled(api.ReasonHookInvalid, fmt.Sprintf("%s cannot be run as it is written: %s", p.nameOf(t), t.Hook.Unfit()), "correct it in spec.hooks; "+p.remedy(false))
	case job.Presence == Absent:
		return &Decision{Effect: &Effect{Verb: RunHook, Side: t.Side, Ordinal: t.Ordinal(), Name: t.Run.Job, Hook: &t}}
	case !job.Ours:
		return p.refused(t, p.jobOf(t)+" was not made by this migration, and has its Job's name", fmt.Sprintf("delete it: kubectl delete job -n %s %s", p.Side(t.Side).Namespace, t.Run.Job))
	case job.State != api.HookRunning:
		t.Run.UID = job.UID
		return p.became(t, job.State, job.Message)
	case t.Run.State != api.HookRunning:
		t.Run.UID = job.UID
		return p.became(t, api.HookRunning, "")
	}
	return p.runs(t, job)
}

// became records what has become of a run.
func (p hookPlanner) became(t HookTurn, state api.HookState, message string) *Decision {
	next := p.Record
	next.Hooks = slices.Clone(p.Record.Hooks)
	t.Run.State, t.Run.Message, t.Run.LastTransitionTime = state, cut(message), metav1.NewTime(p.Now)
	if at := p.recorded(t); at >= 0 {
		next.Hooks[at] = t.Run
	} else {
		next.Hooks = append(next.Hooks, t.Run)
	}
	return &Decision{Record: &next}
}

// longestSaid bounds what is kept of how a hook has ended, in bytes.
const longestSaid = 1024

func cut(text string) string {
	if len(text) <= longestSaid {
		return text
	}
	return strings.ToValidUTF8(text[:longestSaid], "")
}

// How soon is looked at a Job again: the longer it runs the less often.
const (
	hookSoon = time.Second
	hookLate = 10 * time.Second
	// hookGrace is how long a Job may outlive its deadline before that is told.
	hookGrace = time.Minute
)

// runs waits for a Job.
func (p hookPlanner) runs(t HookTurn, job HookJob) *Decision {
	age := p.Now.Sub(job.Since)
	switch left := t.Hook.Deadline() + hookGrace - age; {
	case job.Refused != "":
		return p.refused(t, fmt.Sprintf("%s has no pod: its pod is refused: %s", p.jobOf(t), job.Refused), "let it in there, and the Job goes on by itself")
	case left <= 0:
		hold := &Hold{
			Reason: api.ReasonHookTimedOut, Stalled: true, Remedy: "see that the Job controller runs there; " + p.remedy(false),
			Message: fmt.Sprintf("%s has run for longer than %s, and %s has not been ended by its cluster", p.nameOf(t), t.Hook.Deadline(), p.jobOf(t)),
		}
		return &Decision{Hold: hold, Wait: hookLate}
	}
	hold := &Hold{Reason: api.ReasonHookRunning, Message: fmt.Sprintf("waiting for %s: %s runs, with %s", p.nameOf(t), p.jobOf(t), job.Message)}
	return &Decision{Hold: hold, Wait: min(max(age/10, hookSoon), hookLate)}
}

// refused is for a Job that cannot be run as things are: it may be by itself, once they are mended.
func (p hookPlanner) refused(t HookTurn, message, remedy string) *Decision {
	hold := &Hold{Reason: api.ReasonHookRefused, Stalled: true, Message: fmt.Sprintf("%s cannot be run: %s", p.nameOf(t), message), Remedy: remedy + "; " + p.remedy(false)}
	return &Decision{Hold: hold, Wait: hookLate}
}

// broke holds for a hook that has failed, or has the migration taken back.
func (p hookPlanner) broke(t HookTurn) *Decision {
	remedy := fmt.Sprintf("mend what it says (kubectl logs -n %s job/%s); %s", p.Side(t.Side).Namespace, t.Run.Job, p.remedy(true))
	hold := &Hold{Reason: api.ReasonHookFailed, Stalled: true, Remedy: remedy, Message: fmt.Sprintf("%s has failed: %s", p.nameOf(t), t.Run.Message)}
	if t.Run.State == api.HookTimedOut {
		hold = &Hold{Reason: api.ReasonHookTimedOut, Stalled: true, Remedy: remedy, Message: fmt.Sprintf("%s has not ended within %s: %s", p.nameOf(t), t.Hook.Deadline(), t.Run.Message)}
	}
	if t.Hook.OnFailure == api.HookFailureRollback && p.Spec.Mode == api.ModeRun {
		hold.TurnBack, hold.Remedy = true, "nothing needs to be done: the migration is taken back, as onFailure of the hook says"
	}
	return &Decision{Hold: hold}
}

// remedy is how a person has the migration go on.
func (p hookPlanner) remedy(again bool) string {
	skip := "to go on without it: " + p.command("hooks skip")
	if !again {
		return skip
	}
	return "to run it again: " + p.command("hooks retry") + "; " + skip
}

// jobOf names the Job of a run.
func (p hookPlanner) jobOf(t HookTurn) string {
	side := p.Side(t.Side)
	return fmt.Sprintf("Job %s/%s in cluster %s", side.Namespace, t.Run.Job, side.Cluster)
}

// nameOf says which hook is run for what.
func (p hookPlanner) nameOf(t HookTurn) string {
	about := p.Side(t.About)
	pod := fmt.Sprintf("pod %s/%s in cluster %s", about.Namespace, PodName(about.Set.Name, t.Ordinal()), about.Cluster)
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

// RemedyJobRights mends a right that is missing for the Job of a hook.
const RemedyJobRights = "bind the ClusterRole sliceshift-mover-jobs to the identity that is used there"

// RemedyHookRefused is for a Job of a hook that admission or validation has refused.
func RemedyHookRefused(s Snapshot) string {
	return "let it in there, or correct job.spec of the hook, and it is made by itself; " + hookPlanner{viewOf(s)}.remedy(false)
}
