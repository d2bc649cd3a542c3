package model

import (
	"fmt"
	"slices"
	"strings"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/volumes"
)

// ending checks that a run without faults from a state ends correctly, in both directions. A run with a
// remaining disturbance must report a true reason. It remembers the results by state, because most runs soon
// reach a known state.
type ending struct {
	printer *printer
	good    map[runKey]bool
	runs    int
	// spare is a model whose memory may be reused, and keys is a list.
	spare *model
	keys  []runKey
}

type runKey struct {
	print fingerprint
	goal  goal
}

// goal is the expected end of a run.
type goal struct {
	mode  api.Mode
	heals bool
	// deletesFirst lets StatefulSet controllers delete before they create. That matters for the end only while a side
	// accepts no pods: otherwise both orders reach the same state.
	deletesFirst bool
}

func newEnding(p *printer) *ending {
	return &ending{printer: p, good: map[runKey]bool{}, spare: new(model)}
}

// reached returns the fault in the ends of a state, and the steps that led to it.
func (e *ending) reached(w *model) (wrong string, after []string) {
	goals := []goal{{mode: api.ModeRun, heals: true}, {mode: api.ModeRollback, heals: true}}
	if w.edit != nil || w.disturbed() || len(w.cut)+len(w.astray) > 0 || w.State.Spec.Mode == api.ModePause {
		goals = append(goals, goal{mode: w.State.Spec.Mode})
	}
	if w.disturbed() && w.State.Spec.Mode != api.ModeRollback {
		goals = append(goals, goal{mode: api.ModeRollback})
	}
	for _, g := range goals {
		if w.shut != "" && !g.heals {
			g.deletesFirst = true
			goals = append(goals, g)
		}
	}
	for _, g := range goals {
		if wrong := e.run(w, g); wrong != "" {
			loud := w.fork()
			loud.mute, loud.log = false, nil
			e.calm(loud, g, true)
			e.drive(loud, g, func() bool { return false })
			return wrong, loud.log
		}
	}
	return "", nil
}

// run drives a copy of the state to its end. It reverses the edit of another client if that helps. An edit that
// the migration has taken for its own step is not reversed.
func (e *ending) run(w *model, g goal) string {
	wrong := e.runOnce(w, g, true)
	if wrong == "" || w.edit == nil || !g.heals || strings.HasPrefix(wrong, "I") {
		return wrong
	}
	if e.runOnce(w, g, false) == "" {
		return ""
	}
	return wrong
}

// helps reports whether it makes sense to reverse the edit. It does not while an ordinal's start is in flight:
// nothing could prevent two sides from changing at once.
func (e *ending) helps(w *model) bool {
	for i := range w.leaders {
		if w.leaders[i].sent != nil {
			return false
		}
	}
	if len(w.late) > 0 {
		return false
	}
	g := goal{mode: api.ModeRun, heals: true}
	return e.runOnce(w, g, true) == "" || e.runOnce(w, g, false) != ""
}

func (e *ending) runOnce(w *model, g goal, back bool) string {
	w = e.spare.become(w)
	e.calm(w, g, back)
	e.runs++
	keys := e.keys[:0]
	defer func() { e.keys = keys }()
	wrong := e.drive(w, g, func() bool {
		key := runKey{e.printer.of(w), g}
		keys = append(keys, key)
		return e.good[key]
	})
	if wrong == "" {
		for _, key := range keys {
			e.good[key] = true
		}
	}
	return wrong
}

// calm ends the faults, except for those that must remain.
func (e *ending) calm(w *model, g goal, back bool) {
	w.stands, w.late = nil, nil
	if g.heals {
		clear(w.cut)
		clear(w.astray)
		w.stuck, w.sick, w.pinned = nil, nil, nil
		w.meddled = w.edit != nil && w.concluded()
		if w.edit != nil && back {
			w.undo()
		}
		w.edit = nil
	}
	if g.heals {
		w.ease()
	}
	w.turn(g.mode)
	w.note("the faults stop")
	w.leaders = [2]leader{{process: *w.newProcess(), active: true}, {}}
}

// drive lets all parties act in turn until the migration is done or rests. known reports whether the rest of
// the run is already known.
func (e *ending) drive(w *model, g goal, known func() bool) string {
	l := &w.leaders[0]
	rests := 0
	for range enough {
		if wrong := e.settle(w, g); wrong != "" {
			return wrong
		}
		w.tidy()
		if known() {
			return ""
		}
		before := w.landed + w.version
		decision := w.pass(&l.process, conditions{cached: w.Snapshot, between: func() {}})
		if wrong := w.wrong(); wrong != "" {
			return wrong
		}
		switch {
		case decision.Done != "":
			if !g.heals {
				return "" // the migration is not the cause of what is down by now
			}
			if w.meddled {
				return w.placed() // a change by another client at the end is not the migration's
			}
			return w.ended(decision)
		case w.landed+w.version != before:
			rests = 0
		default:
			rests++
		}
		if rests > 2 {
			return w.goodRest(decision, g)
		}
	}
	return "liveness: the writes do not end"
}

// settle lets all other parties act until nothing changes.
func (e *ending) settle(w *model, g goal) string {
	wrong := ""
	for changed := true; changed && wrong == ""; {
		changed = false
		for i := range w.steps {
			if w.steps[i].kind == deletes && !g.deletesFirst {
				continue
			}
			if wrong == "" && w.try(move{acts, int8(i), 0}) {
				changed = true
				wrong = w.wrong()
			}
		}
		changed = g.heals && w.answerHook(api.HookRetry) || changed
		for at, name := range plan.SideNames {
			for _, pod := range slices.Clone(w.State.Side(name).Pods) {
				for _, d := range []deed{aged, attached} {
					changed = w.try(move{d, int8(at), int8(pod.Ordinal)}) || changed
				}
			}
			changed = g.heals && w.clearUp(name) || changed
		}
	}
	return wrong
}

// clearUp follows the remedy as a user does: it removes an empty claim that another client's scale-up has left.
func (w *model) clearUp(name plan.SideName) bool {
	for at := range w.alien {
		if _, found := w.State.Side(name).Pod(at.ordinal); at.side != name || found || w.State.Side(name).Set.Has(at.ordinal) {
			continue
		}
		for i := range w.State.Volumes {
			v := &w.State.Volumes[i]
			if h := v.Holding(name); v.Ordinal == at.ordinal && h.Claim.Found && (h.Claim.Volume == "" || h.Claim.Volume == fresh) {
				h.Claim = volumes.Claim{}
				return true
			}
		}
	}
	return false
}

// goodRest returns the fault in a run that rests before its end.
func (w *model) goodRest(last plan.Decision, g goal) string {
	if last.Hold == nil {
		return fmt.Sprintf("liveness: it rests without a reason: %+v", last)
	}
	if g.mode == api.ModePause && last.Hold.Reason == api.ReasonPaused {
		if len(w.held) > 0 {
			return fmt.Sprintf("liveness: a pause keeps ordinals %v down", keys(w.held))
		}
		return w.uncopied()
	}
	if w.State.Numbers != nil && last.Hold.Reason == api.ReasonKindUnsupported && w.State.Destination.Set.Replicas == 0 {
		return "" // it can never move, and reports that
	}
	if g.heals && w.tardy && w.State.Record.Baseline == nil {
		return w.placed() // a write that came too late blocks a new beginning
	}
	if begin := w.begin; last.Hold.Reason == api.ReasonForeignBudget && len(begin.Source.Budgets) == 0 && len(begin.Destination.Budgets) > 0 {
		return "" // a budget was deleted in the earlier life, and nothing shows which of the two sides is right
	}
	if slices.Contains(w.scars, last.Hold.Reason) {
		return "" // not everything that was deleted is restored, and the stall reports that
	}
	if g.heals {
		return "liveness: the migration does not end: " + last.Hold.Reason + ": " + last.Hold.Message
	}
	if wrong := w.doubled(); wrong != "" {
		return wrong
	}
	if !slices.Contains(w.causes(), last.Hold.Reason) {
		return fmt.Sprintf("I6: it stalls for another reason than %v: %s: %s", w.causes(), last.Hold.Reason, last.Hold.Message)
	}
	return w.broughtBack(*last.Hold)
}

// broughtBack returns the ordinal that a rollback keeps down at the destination or in flight for a reason that
// is not its own (I8).
func (w *model) broughtBack(hold plan.Hold) string {
	if w.State.Spec.Mode != api.ModeRollback || w.edit != nil || len(w.cut)+len(w.astray) > 0 || w.State.Record.Baseline == nil {
		return ""
	}
	k, more := planner.NextOrdinal(w.State)
	if handoff := w.State.Record.Handoff; handoff != nil {
		k, more = handoff.Ordinal, true
	}
	for _, handoff := range w.State.Record.Further {
		lower := w.State.Spec.Order != api.LowestFirst
		if !w.State.Source.Set.Has(handoff.Ordinal) && (w.State.Source.Set.Has(k) || (handoff.Ordinal < k) == lower) {
			k = handoff.Ordinal // the one next to the source goes back first
		}
	}
	if !more || w.State.Source.Set.Has(k) {
		return "" // it is back: its controller and its node do the rest
	}
	if pod, found := w.State.Destination.Pod(k); w.State.Destination.Set.Has(k) && found && pod.Ready && !pod.Terminating {
		return ""
	}
	if w.ownCause(k) {
		return ""
	}
	return fmt.Sprintf("I8: a rollback keeps ordinal %d down, which nothing holds: %s: %s", k, hold.Reason, hold.Message)
}

// ownCause reports whether a remaining disturbance keeps this very ordinal in place: its pod or its volumes are
// held on the side that must release them.
func (w *model) ownCause(k int32) bool {
	for _, at := range []*spot{w.stuck, w.pinned, w.sick} {
		if at != nil && at.ordinal != k && at.side == plan.DestinationSide && w.State.Destination.Set.Ordered {
			return true // its controller stops no pod while a lower one is down
		}
		if at == nil || at.ordinal != k {
			continue
		}
		if at != w.sick && (at.side == plan.DestinationSide || !w.keptAtSource(k)) {
			return true
		}
	}
	return false
}

// keptAtSource reports whether the volumes of an ordinal have never left the source.
func (w *model) keptAtSource(k int32) bool {
	for _, v := range w.State.Volumes {
		if v.Ordinal == k && !v.Source.Bound() {
			return false
		}
	}
	return true
}

// causes returns the reasons that the disturbances of the state may cause.
func (w *model) causes() []string {
	var reasons []string
	if len(w.cut) > 0 {
		return []string{api.ReasonClusterUnreachable}
	}
	if len(w.astray) > 0 {
		return []string{api.ReasonClusterReplaced}
	}
	if w.edit != nil {
		reasons = append(reasons, w.edit.reasons...)
	}
	if w.twoWords() {
		reasons = append(reasons, api.ReasonForeignBudget)
	}
	if w.limited() {
		reasons = append(reasons, api.ReasonCopyTurnedBack)
	}
	if w.stuck != nil {
		reasons = append(reasons, api.ReasonPodTerminating, api.ReasonPodRunning, api.ReasonPodMissing, api.ReasonSourceNotHealthy, api.ReasonReplicaUnavailable, api.ReasonPodNotReady, api.ReasonVolumeAttached, api.ReasonAwaitingDeletion, api.ReasonRolloutInProgress)
	}
	if w.sick != nil {
		reasons = append(reasons, api.ReasonPodNotReady, api.ReasonPodMissing, api.ReasonPodRunning, api.ReasonSourceNotHealthy, api.ReasonReplicaUnavailable, api.ReasonRolloutInProgress)
	}
	if w.pinned != nil {
		reasons = append(reasons, api.ReasonVolumeAttached, api.ReasonAwaitingDeletion, api.ReasonSourceNotHealthy)
	}
	return reasons
}
