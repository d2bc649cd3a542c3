package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// ending checks that from a state a run without faults comes to a good end, in both
// directions; and that one in which a disturbance stays comes to a true reason. It
// remembers from where that is so: most runs soon meet an older one.
type ending struct {
	printer *printer
	good    map[runKey]bool
	runs    int
	// spare is a model whose memory may be used, and keys a list.
	spare *model
	keys  []runKey
}

type runKey struct {
	print fingerprint
	goal  goal
}

// goal is how a run is to end.
type goal struct {
	mode  api.Mode
	heals bool
}

func newEnding(p *printer) *ending {
	return &ending{printer: p, good: map[runKey]bool{}, spare: new(model)}
}

// reached says what is wrong with the ends of a state, and what came before it.
func (e *ending) reached(w *model) (wrong string, after []string) {
	goals := []goal{{api.ModeRun, true}, {api.ModeRollback, true}}
	if w.edit != nil || w.disturbed() || len(w.cut)+len(w.astray) > 0 || w.State.Spec.Mode == api.ModePause {
		goals = append(goals, goal{w.State.Spec.Mode, false})
	}
	if w.disturbed() && w.State.Spec.Mode != api.ModeRollback {
		goals = append(goals, goal{api.ModeRollback, false})
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

// run drives a copy of the state to its end. Somebody's edit is changed back where that
// is what helps: one that the migration has taken for its own step is not.
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

// helps says whether it makes sense to change the edit back. It does not while an
// ordinal's start is on its way: nothing could keep two sides from changing at once.
func (e *ending) helps(w *model) bool {
	for i := range w.leaders {
		if w.leaders[i].sent != nil {
			return false
		}
	}
	if len(w.late) > 0 {
		return false
	}
	g := goal{api.ModeRun, true}
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

// calm ends the faults; those that are to stay, stay.
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

// drive lets everybody act in turn until the migration is done, or rests. known says
// whether it is known how it goes on.
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
				return "" // what is down by now is not down because of the migration
			}
			if w.meddled {
				return w.placed() // what somebody else has changed at the end is theirs
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

// settle lets all others act until nothing changes.
func (e *ending) settle(w *model, g goal) string {
	wrong := ""
	for changed := true; changed && wrong == ""; {
		changed = false
		for i := range w.steps {
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

// clearUp is a person who does as the remedy says: removes an empty claim that
// somebody else's scale-up has left.
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

// goodRest says what is wrong with a run that rests before its end.
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
		return "" // it can never move, and says so
	}
	if g.heals && w.tardy && w.State.Record.Baseline == nil {
		return w.placed() // what has come too late is in the way of a new beginning
	}
	if begin := w.begin; last.Hold.Reason == api.ReasonForeignBudget && len(begin.Source.Budgets) == 0 && len(begin.Destination.Budgets) > 0 {
		return "" // a budget was deleted in the life before, and nothing says which of both sides is right
	}
	if slices.Contains(w.scars, last.Hold.Reason) {
		return "" // not all that was deleted comes back, and it says so
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

// broughtBack says which ordinal a rollback keeps down at the destination, or on its way, for a
// cause that is not its own (I8).
func (w *model) broughtBack(hold plan.Hold) string {
	if w.State.Spec.Mode != api.ModeRollback || w.edit != nil || len(w.cut)+len(w.astray) > 0 || w.State.Record.Baseline == nil {
		return ""
	}
	k, more := planner.NextOrdinal(w.State)
	if handoff := w.State.Record.Handoff; handoff != nil {
		k, more = handoff.Ordinal, true
	}
	if !more || w.State.Source.Set.Has(k) {
		return "" // it is back: the rest is up to its controller and its node
	}
	if pod, found := w.State.Destination.Pod(k); w.State.Destination.Set.Has(k) && found && pod.Ready && !pod.Terminating {
		return ""
	}
	if w.ownCause(k) {
		return ""
	}
	return fmt.Sprintf("I8: a rollback keeps ordinal %d down, which nothing holds: %s: %s", k, hold.Reason, hold.Message)
}

// ownCause says whether what stays as it is keeps just this ordinal where it is: its pod or
// its volumes are held on the side that has to let go of them.
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

// keptAtSource says whether the volumes of an ordinal have never left the source.
func (w *model) keptAtSource(k int32) bool {
	for _, v := range w.State.Volumes {
		if v.Ordinal == k && !v.Source.Bound() {
			return false
		}
	}
	return true
}

// causes are the reasons that what disturbs the state is a cause of.
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
