package planner

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// hookPlanner runs the user's hooks: one after the other, each once, and none while an ordinal is down.
type hookPlanner struct{ *View }

// DueHook returns the hook that runs, or that runs next, whose Job must be read; false: there is none.
func DueHook(s plan.Snapshot) (plan.HookTurn, bool) {
	if len(s.Spec.Hooks) == 0 || s.Source.Reach != plan.Seen || s.Destination.Reach != plan.Seen {
		return plan.HookTurn{}, false
	}
	p := hookPlanner{viewOf(s)}
	if !p.active() || p.resting() || p.layout.broken != "" || p.layout.gap != nil {
		return plan.HookTurn{}, false
	}
	k, more := p.next()
	due := p.afterOrdinal()
	switch {
	case due != nil:
	case !more:
		due = p.dueOnce(api.HookAfterMigration)
	default:
		due = cmp.Or(p.dueOnce(api.HookBeforeMigration), p.due(api.HookBeforeOrdinal, k))
	}
	if due == nil {
		return plan.HookTurn{}, false
	}
	return *due, true
}

// active reports whether hooks run at all. They do not run for a migration that has not begun, that is being
// deleted, that is completed, or that continues without its destination.
func (p hookPlanner) active() bool {
	fence := p.Record.Fence
	begun := p.Record.Baseline != nil && fence != nil && fence.Direction == p.direction() && p.Record.Completed == ""
	return begun && !p.Deleting && !p.Destination.Lost && p.Spec.Mode != api.ModeRecover
}

// skips reports whether a hook is skipped in this direction.
func (p hookPlanner) skips(hook api.Hook) bool {
	return p.direction() == api.Back && hook.OnRollback == api.HookRollbackSkip
}

// due returns the first hook of a point that is not over for an ordinal; nil: all are over.
func (p hookPlanner) due(point api.HookPoint, ordinal int32) *plan.HookTurn {
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
		if p.stale(turn) {
			turn = p.again(turn)
			turn.Run.State, turn.Run.Message = api.HookPending, ""
			return &turn
		}
	}
	return nil
}

// hookCounts is how long the success of a hook before a stop remains valid: its preparation may have expired if
// the stop happens later.
const hookCounts = 15 * time.Minute

// stale reports whether a hook has succeeded too long before a stop that has not happened since: it then runs once
// more.
func (p hookPlanner) stale(t plan.HookTurn) bool {
	stands := p.giver.Set.Presence == plan.Seen && p.giver.Set.Has(t.Ordinal())
	ended := t.Run.LastTransitionTime
	return t.Hook.Point == api.HookBeforeOrdinal && t.Run.State == api.HookSucceeded && stands && !ended.IsZero() && p.Now.Sub(ended.Time) > hookCounts
}

// dueOnce returns the first hook of a point of the migration as a whole that is not over; nil: all are over.
func (p hookPlanner) dueOnce(point api.HookPoint) *plan.HookTurn { return p.due(point, plan.NoOrdinal) }

// afterOrdinal returns the first due hook of an ordinal that has arrived; nil: there is none.
func (p hookPlanner) afterOrdinal() *plan.HookTurn {
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

// turn returns the first run of a hook for an ordinal.
func (p hookPlanner) turn(hook api.Hook, ordinal int32) plan.HookTurn {
	about := p.takerName
	if hook.Point.Before() {
		about = p.giverName
	}
	turn := plan.HookTurn{Hook: hook, About: about, Side: plan.HookSide(hook, about), Direction: p.direction()}
	turn.Run = api.HookRun{Name: hook.Name, Point: hook.Point, Attempt: 1, Side: apiSide(turn.Side), State: api.HookPending, LastTransitionTime: metav1.NewTime(p.Now)}
	if hook.Point.OfOrdinal() {
		turn.Run.Ordinal = new(ordinal)
	}
	turn.Run.Job = p.jobName(turn.Run)
	return turn
}

func apiSide(name plan.SideName) api.GateSide {
	if name == plan.DestinationSide {
		return api.GateDestination
	}
	return api.GateSource
}

// jobName derives the Job's name from the hook, its subject and the number of the attempt. A process that
// continues after a crash or a takeover finds the existing Job by that name.
func (p hookPlanner) jobName(run api.HookRun) string {
	const longest, digits = 63, 16 // the Job's name is a label of its pods
	ordinal := plan.NoOrdinal
	if run.Ordinal != nil {
		ordinal = *run.Ordinal
	}
	identity, err := json.Marshal([]any{p.UID, p.Record.HookTurns, p.direction(), run.Name, run.Point, ordinal, run.Attempt})
	if err != nil {
		panic(err) // values of the API can be encoded as JSON
	}
	sum := sha256.Sum256(identity)
	prefix := run.Name[:min(len(run.Name), longest-digits-1)]
	return strings.TrimRight(prefix, "-") + "-" + hex.EncodeToString(sum[:])[:digits]
}

// hookTurn returns the number of the next turn: without hooks, turns are not counted.
func (p *View) hookTurn() int32 {
	if len(p.Spec.Hooks)+len(p.Record.Hooks) == 0 {
		return p.Record.HookTurns
	}
	return p.Record.HookTurns + 1
}

// recorded returns the index of the recorded run of the same hook for the same ordinal; -1: there is none.
func (p hookPlanner) recorded(t plan.HookTurn) int {
	return slices.IndexFunc(p.Record.Hooks, func(run api.HookRun) bool {
		of := plan.HookTurn{Run: run}
		return run.Name == t.Run.Name && run.Point == t.Run.Point && of.Ordinal() == t.Ordinal()
	})
}

// arrived returns the runs to record once an ordinal has arrived: those of the migration as a whole, and those
// that are due for the ordinal.
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

// begun returns the runs to record once an ordinal's handoff begins: those of the migration as a whole, and the
// ordinal's own.
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

// waits reports whether a hook runs between the arrival of an ordinal and the handoff of the next.
func (p hookPlanner) waits(arrived, next int32) bool {
	if gatePlanner(p).takesBackDown(next) {
		return false
	}
	after := slices.ContainsFunc(p.arrived(arrived), func(run api.HookRun) bool { return run.Point == api.HookAfterOrdinal })
	return after || p.beforeStop(next)
}

// beforeStop reports whether a hook must still run before an ordinal is stopped.
func (p hookPlanner) beforeStop(k int32) bool {
	if !p.active() || gatePlanner(p).takesBackDown(k) {
		return false
	}
	return p.dueOnce(api.HookBeforeMigration) != nil || p.due(api.HookBeforeOrdinal, k) != nil
}

// early runs the hooks that precede the gates of the next ordinal. The hooks of the arrived ordinal run once its
// gates pass. The hooks of the migration run once the ordinal waits only for the user's gates. An ordinal that is
// down at its giver moves back without them.
func (p hookPlanner) early(k int32) *plan.Decision {
	if !p.active() || gatePlanner(p).takesBackDown(k) {
		return nil
	}
	if due := p.afterOrdinal(); due != nil && healthPlanner(p).afterStartHold() == nil {
		return p.run(*due)
	}
	if due := p.dueOnce(api.HookBeforeMigration); due != nil && healthPlanner(p).othersLetStop(k) {
		return p.run(*due)
	}
	return nil
}

// late runs the hooks right before the stop of an ordinal that may be stopped.
func (p hookPlanner) late(k int32) *plan.Decision {
	if !p.active() || gatePlanner(p).takesBackDown(k) {
		return nil
	}
	if due := p.due(api.HookBeforeOrdinal, k); due != nil {
		return p.run(*due)
	}
	return nil
}

// end runs the hooks of the last ordinal and of the migration before the migration completes.
func (p hookPlanner) end() *plan.Decision {
	if !p.active() || p.resting() || p.Focused {
		return nil
	}
	if due := cmp.Or(p.afterOrdinal(), p.dueOnce(api.HookAfterMigration)); due != nil {
		return p.run(*due)
	}
	return nil
}
