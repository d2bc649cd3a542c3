package model

import (
	"slices"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/migration/simulate"
	"github.com/sliceshift/sliceshift/volumes"
)

// deed is a kind of event in a model.
type deed uint8

// The free deeds are the events of a calm world, in any order. Of the others, each run may have a limited
// number.
const (
	acts     deed = iota // a controller or a kubelet acts
	goesOn               // a process runs a pass, or continues the current one
	hears                // a process reads the Migration again
	arrives              // a write arrives whose process has continued or ended
	heals                // a disturbance ends: a side answers, a cache moves, a pod ends
	undone               // another client's edit is reversed
	resumed              // mode is Run again
	aged                 // a pod has been Ready for minReadySeconds
	attached             // the attach controller attaches
	lives                // another migration begins after one has ended
	answers              // a user retries or skips a failed hook
	eases                // a user gives copies more time

	faulty     // a pass whose write does not arrive or is not answered
	slow       // a write is in flight for a while
	slowRead   // a pass reads slowly
	standsOn   // a cache stops
	cutSide    // a side does not answer
	strays     // the address of a side leads to another cluster
	takeover   // a second process takes over
	turns      // mode is changed
	deletion   // the Migration is deleted
	evicting   // an eviction is granted
	fails      // a pod fails
	deleted    // a pod is deleted by another client
	asks       // a user requests the replacement of a pod, within the budget
	nodeLost   // the node of a pod is lost: the pod stops, but is not removed
	rolls      // a pod template is changed
	foreign    // another client edits an object that the migration owns
	harm       // another client deletes an object that the migration needs, or uses it
	sickens    // the pods of an ordinal do not become Ready on a side
	pins       // the volumes of an ordinal remain attached to a node
	lateMade   // a StatefulSet controller's creation of a pod arrives late
	breaksHook // the Job of a hook fails, or is removed before its end was seen
	breaksCopy // a mover dies or finds a mismatch, or the claim of a copy is deleted
	mounts     // another user mounts an ordinal's claim, and writes
	overruns   // the copy of an ordinal that is down exceeds its limit
	spares     // a user stops copies ahead of their turns
	closes     // a precondition that held at the beginning ends
	authors    // the author of the PodDisruptionBudget writes another one
	bars       // an API server refuses one kind of write
	firstFault = faulty
)

// move is one deed with its parameters.
type move struct {
	deed deed
	a, b int8
}

// kindsOfFault are the deeds that a run may have; empty means all of them except for bars, which has separate
// worlds.
type kindsOfFault []deed

func (k kindsOfFault) has(d deed) bool { return len(k) == 0 && d != bars || slices.Contains(k, d) }

func (m move) costs() bool { return m.deed >= firstFault }

var modes = []api.Mode{api.ModeRun, api.ModePause, api.ModeRollback}

// moves returns all candidate moves. Impossible ones are detected when they are tried.
func (x *explorer) moves(w *model) []move { //nolint:gocyclo // one condition after the other, each a line
	list := x.list[:0]
	defer func() { x.list = list }()
	add := func(d deed, a, b int) { list = append(list, move{d, int8(a), int8(b)}) }
	for i := range w.steps {
		add(acts, i, 0)
	}
	for i := range w.leaders {
		x.leaderMoves(w, i, add)
	}
	for i := range w.late {
		add(arrives, i, 0)
	}
	if len(w.cut)+len(w.astray) > 0 || w.stands != nil || w.disturbed() {
		add(heals, 0, 0)
	}
	for i := range w.lives {
		add(lives, i, 0)
	}
	for i := range 2 * min(1, len(w.State.Spec.Hooks)) {
		add(answers, i, 0)
		add(breaksHook, i, 0)
	}
	for i := range min(1, len(w.yards)) * int(copyBreaks) {
		add(breaksCopy, i, 0)
	}
	for i := range min(1, len(w.yards)) * len(plan.SideNames) {
		add(mounts, i, 0)
	}
	if w.limited() {
		add(eases, 0, 0)
		add(overruns, 0, 0)
	}
	if w.State.Spec.Prefetch > 0 {
		add(spares, 0, 0)
	}
	if w.edit != nil && !w.concluded() {
		add(undone, 0, 0)
	}
	if w.State.Spec.Mode != api.ModeRun {
		add(resumed, 0, 0)
	}
	x.podMoves(w, add)
	if w.concluded() {
		x.lateHarms(w, add)
		return list
	}
	x.sideMoves(w, add)
	add(takeover, 0, 0)
	add(turns, 1, 0)
	add(turns, 2, 0)
	add(deletion, 0, 0)
	for i := range edits {
		add(foreign, i, 0)
	}
	for i := range harms {
		add(harm, i, 0)
	}
	for i := range closings {
		add(closes, i, 0)
	}
	for i := range authored {
		add(authors, i, 0)
	}
	for i := range barrings {
		add(bars, i, 0)
	}
	return list
}

// lateHarms adds the harms that could cost the last record of a disk. Otherwise the end is not disturbed any
// more.
func (x *explorer) lateHarms(w *model, add func(deed, int, int)) {
	for i := range harms {
		if w.State.Spec.DeleteSource && harms[i].late {
			add(harm, i, 0)
		}
	}
}

func (x *explorer) sideMoves(w *model, add func(deed, int, int)) {
	for side := range plan.SideNames {
		for of := setsRead; of <= volumesRead; of++ {
			if of < claimsRead || len(w.State.Volumes) > 0 {
				add(standsOn, int(of), side)
			}
		}
		add(cutSide, side, 0)
		add(strays, side, 0)
		add(rolls, side, 0)
	}
}

func (x *explorer) leaderMoves(w *model, i int, add func(deed, int, int)) {
	l := &w.leaders[i]
	if !l.active {
		return
	}
	add(goesOn, i, 0)
	if l.version != w.version && l.sent == nil && l.early == nil {
		add(hears, i, 0)
	}
	if w.concluded() {
		return
	}
	if l.sent == nil && l.early == nil {
		for f := unanswered; f <= delayed; f++ {
			add(faulty, i, int(f))
		}
		add(slow, i, 0)
		for until := range volumesRead {
			add(slowRead, i, int(until))
		}
	}
}

func (x *explorer) podMoves(w *model, add func(deed, int, int)) {
	for at, name := range plan.SideNames {
		for _, pod := range w.State.Side(name).Pods {
			if w.State.Spec.MinReady > 0 {
				add(aged, at, int(pod.Ordinal))
			}
			if len(w.State.Volumes) > 0 {
				add(attached, at, int(pod.Ordinal))
			}
			if w.concluded() {
				continue
			}
			for d := evicting; d <= nodeLost; d++ {
				add(d, at, int(pod.Ordinal))
			}
			add(sickens, at, int(pod.Ordinal))
			if len(w.State.Volumes) > 0 {
				add(pins, at, int(pod.Ordinal))
			}
		}
		if start, replicas := w.begin.Extent(); !w.concluded() {
			for ordinal := start; ordinal < start+replicas; ordinal++ {
				add(lateMade, at, int(ordinal))
			}
		}
	}
}

// try executes a move and reports whether it was possible.
func (w *model) try(m move) bool { //nolint:gocyclo // one condition after the other, each a line
	switch m.deed {
	case acts:
		return w.tryAct(w.steps[m.a])
	case goesOn, hears, faulty, slow, slowRead:
		return w.tryLeader(m)
	case arrives:
		return w.lateLands(int(m.a))
	case heals:
		w.heal()
	case undone:
		return w.undo()
	case resumed, turns:
		return w.turn(modes[m.a])
	case lives:
		return w.nextLife(w.lives[m.a])
	case answers, breaksHook:
		return w.tryHook(m)
	case mounts:
		return w.mountByHand(plan.SideNames[m.a])
	case breaksCopy, overruns, eases, spares:
		return w.tryCopy(m)
	case harm:
		return w.doEdit(&harms[m.a])
	case closes:
		return w.doEdit(&closings[m.a])
	case authors:
		return w.doEdit(&authored[m.a])
	case bars:
		return w.doEdit(&barrings[m.a])
	case sickens, pins, lateMade:
		return w.tryUnkind(m.deed, spot{plan.SideNames[m.a], int32(m.b)})
	case aged, attached, evicting, fails, deleted, asks, nodeLost:
		return w.tryPod(m.deed, plan.SideNames[m.a], int32(m.b))
	case standsOn:
		return w.standStill(reading(m.a), plan.SideNames[m.b])
	case cutSide:
		return w.cutOff(plan.SideNames[m.a])
	case strays, rolls:
		return w.trySide(m.deed, plan.SideNames[m.a])
	case takeover:
		return w.takeOver()
	case deletion:
		return w.deleteMigration()
	case foreign:
		return w.doEdit(&edits[m.a])
	}
	return true
}

func (w *model) tryCopy(m move) bool {
	if m.deed == breaksCopy {
		return w.breakCopy(m.a)
	}
	return w.tryCopyAsked(m.deed)
}

var readings = map[int8]string{int8(setsRead): "StatefulSets", int8(budgetsRead): "PodDisruptionBudgets", int8(podsRead): "pods", int8(claimsRead): "claims", int8(volumesRead): "volumes"}

func (w *model) standStill(of reading, name plan.SideName) bool {
	if w.stands != nil {
		return false
	}
	w.stands = &standing{of: of, side: name, was: w.Snapshot()}
	w.note("the cache of the %s stands still: %s", name, readings[int8(of)])
	return true
}

func (w *model) deleteMigration() bool {
	if w.State.Deleting {
		return false
	}
	w.State.Deleting = true
	w.version++
	w.note("the Migration is deleted")
	return true
}

func (w *model) cutOff(name plan.SideName) bool {
	if len(w.cut)+len(w.astray) > 0 {
		return false
	}
	w.cut[name] = true
	w.note("the %s does not answer", name)
	return true
}

func (w *model) turn(mode api.Mode) bool {
	if w.State.Spec.Mode == mode {
		return false
	}
	w.setMode(mode)
	return true
}

func (w *model) heal() {
	clear(w.cut)
	clear(w.astray)
	w.stands, w.stuck, w.sick, w.pinned = nil, nil, nil, nil
	w.note("the disturbance is over")
}

func (w *model) trySide(d deed, name plan.SideName) bool {
	if d == rolls {
		return w.rollOut(name)
	}
	return w.stray(name)
}

// stray makes the address of a side lead to another cluster. The first pass records whichever cluster it finds.
func (w *model) stray(name plan.SideName) bool {
	if len(w.cut)+len(w.astray) > 0 || w.State.Record.Baseline == nil {
		return false
	}
	w.astray[name] = true
	w.note("the address of the %s leads to another cluster", name)
	return true
}

// lateLands delivers a write whose process does not wait for an answer.
func (w *model) lateLands(i int) bool {
	l := w.late[i]
	w.late = slices.Delete(w.late, i, i+1)
	err := w.land(l.effect, true)
	w.note("late: %s: %v", l.effect, err)
	if err == nil {
		w.afterTheEnd(l.effect)
	}
	return true
}

// afterTheEnd records a write that nothing could refuse and that arrived after the end or before a new
// beginning: it leaves an empty object.
func (w *model) afterTheEnd(e plan.Effect) {
	over := w.State.Record.Completed != "" || w.State.Record.Baseline == nil
	w.tardy = w.tardy || over && unfenced(e)
}

func (w *model) tryPod(d deed, name plan.SideName, ordinal int32) bool {
	switch d {
	case aged:
		pod, found := w.State.Side(name).Pod(ordinal)
		if !found || !pod.Ready || pod.ReadySince.Before(plantest.Epoch) || w.State.Spec.MinReady == 0 {
			return false
		}
		pod.ReadySince = plantest.Epoch.Add(-time.Hour)
		w.State.Side(name).SetPod(pod)
		w.note("pod of ordinal %d on the %s has been Ready for long enough", ordinal, name)
		return true
	case attached:
		return w.attachPod(name, ordinal)
	case evicting:
		return w.evict(name, ordinal)
	case fails:
		return w.fail(name, ordinal)
	case deleted:
		return w.remove(name, ordinal)
	case asks:
		return w.askToGo(name, ordinal)
	default:
		if w.stuck != nil || !w.remove(name, ordinal) {
			return false
		}
		w.fail(name, ordinal)
		w.stuck = &spot{name, ordinal}
		w.note("its node is lost")
		return true
	}
}

// attachPod attaches the volumes of a pod whose claims were bound after its creation.
func (w *model) attachPod(name plan.SideName, ordinal int32) bool {
	pod, found := w.State.Side(name).Pod(ordinal)
	changed := false
	for i := range w.State.Volumes {
		v := &w.State.Volumes[i]
		h := v.Holding(name)
		if v.Ordinal == ordinal && found && !pod.Terminating && h.Bound() && len(h.Volume.Attachments) == 0 {
			w.Attach(v, name, []volumes.Attachment{simulate.AttachedTo(name)})
			w.note("volume %s is attached on the %s", h.Volume.Name, name)
			changed = true
		}
	}
	return changed
}
