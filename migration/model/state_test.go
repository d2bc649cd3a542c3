package model

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/migration/simulate"
	"github.com/sliceshift/sliceshift/volumes"
)

// model is a machine whose every state is explored. In addition to the world, it holds the unfinished passes of
// the processes and the disturbances.
type model struct {
	*machine
	// leaders are the two processes that may drive the migration.
	leaders [2]leader
	// stands is a stopped cache; nil if there is none.
	stands *standing
	// edit is a change by another client that was not reversed yet; nil if there is none.
	edit *edit
	// excused are the invariants that another client has broken, until everything is in order.
	excused excuse
	// meddled is true in a run that begins after the migration has ended with an edit.
	meddled bool
	// scars are the reasons of a stall that edits of other clients leave permanently.
	scars []string
	// stuck is the Terminating pod that is not removed. sick is the ordinal whose pods do not become Ready on a
	// side, and pinned the one whose volumes remain attached there. They are nil if there is none.
	stuck, sick, pinned *spot
	// lives are the migrations that may begin after one has ended.
	lives []life
}

// leader is a process, and its unfinished pass.
type leader struct {
	process
	active bool
	// sent is a write in flight whose answer is awaited.
	sent *planner.Step
	// early holds the objects that a slow pass has read, of the kinds up to until.
	early *plan.Snapshot
	until reading
}

// standing is a cache that shows a former state of one kind of object on one side.
type standing struct {
	of   reading
	side plan.SideName
	was  plan.Snapshot
}

func newModel(b bound) *model {
	w := &model{machine: newMachine(b.Build())}
	w.forgets, w.past, w.alien = true, nil, map[spot]bool{}
	w.lives, w.Attaches = b.lives, !b.Unattached
	if b.Unattached {
		for i := range w.State.Volumes {
			w.Attach(&w.State.Volumes[i], plan.SourceSide, nil)
		}
	}
	around := *w.begin
	around.Source.Set.Replicas++ // another client may scale further
	w.steps = stepsOf(around)
	w.leaders[0] = leader{process: *w.newProcess(), active: true}
	w.leaders[1] = leader{process: *w.newProcess()}
	w.tidy()
	return w
}

// fork returns a model that continues from the same state.
func (w *model) fork() *model {
	return new(model).become(w)
}

// become makes a model a copy of another one. It reuses its own memory.
func (w *model) become(o *model) *model {
	m := w.machine
	if m == nil {
		m = &machine{}
	}
	*w = *o
	w.machine = m.become(o.machine)
	return w
}

// tidy removes from a state everything that can make no difference any more, so that equivalent states are
// recognized.
func (w *model) tidy() { //nolint:gocyclo // one condition after the other, each a line
	w.State.Now = plantest.Epoch.Add(time.Duration(w.handoffs) * longerThanAttempts)
	for _, name := range plan.SideNames {
		s := w.State.Side(name)
		for i := range s.Pods {
			if w.State.Spec.MinReady == 0 {
				s.Pods[i].ReadySince = plantest.Epoch
			}
		}
	}
	w.call()
	w.late = slices.DeleteFunc(w.late, func(l lateWrite) bool { return w.hopeless(l.effect) })
	w.forgetCopies()
	for uid := range w.evicting {
		if !w.runs(uid) {
			delete(w.evicting, uid)
		}
	}
	for uid := range w.outdated {
		if !w.has(func(pod plan.Pod) bool { return pod.UID == uid }) {
			delete(w.outdated, uid)
		}
	}
	for at := range w.alien {
		if _, found := w.State.Side(at.side).Pod(at.ordinal); !found && w.State.Side(at.side).Set.Observed && !w.State.Side(at.side).Set.Has(at.ordinal) && !w.State.Side(at.side).Set.Reserves && !w.emptyClaim(at) {
			delete(w.alien, at)
		}
	}
	w.catchUp()
	w.grace = w.grace && !w.followed()
	if w.excused != 0 && w.inOrder() {
		w.excused = 0
	}
	if at := w.stuck; at != nil {
		if _, found := w.State.Side(at.side).Pod(at.ordinal); !found {
			w.stuck = nil
		}
	}
	if at := w.pinned; at != nil && !w.attachedAt(*at) {
		w.pinned = nil
	}
}

// attachedAt reports whether a volume of an ordinal is attached on a side.
func (w *model) attachedAt(at spot) bool {
	for i := range w.State.Volumes {
		v := &w.State.Volumes[i]
		if v.Ordinal == at.ordinal && slices.Contains(v.Holding(at.side).Volume.Attachments, simulate.AttachedTo(at.side)) {
			return true
		}
	}
	return false
}

func (w *model) runs(uid types.UID) bool {
	return w.has(func(pod plan.Pod) bool { return pod.UID == uid && !pod.Terminating })
}

// has reports whether there is a pod that meets a condition.
func (w *model) has(is func(plan.Pod) bool) bool {
	return slices.ContainsFunc(w.State.Source.Pods, is) || slices.ContainsFunc(w.State.Destination.Pods, is)
}

// hopeless reports whether a write in flight will be refused whenever it arrives: the object has changed since
// it was judged, and no resourceVersion occurs twice.
func (w *model) hopeless(e plan.Effect) bool {
	side := w.State.Side(e.Side)
	switch e.Verb {
	case plan.WriteFence, plan.ReleaseFence, plan.SetShare, plan.LiftShare, plan.ScaleDown, plan.ScaleUp, plan.DeleteSet:
		return side.Set.Presence != plan.Seen || side.Set.ResourceVersion != e.ResourceVersion
	case plan.SetBudget, plan.RestoreBudget, plan.DeleteBudget:
		return len(side.Budgets) != 1 || side.Budgets[0].ResourceVersion != e.ResourceVersion
	case plan.CarryVolume, plan.RestorePolicy, plan.DeleteVolume, plan.DeleteClaim:
		return w.hopelessVolume(e)
	case plan.RunHook:
		return w.State.HookJobs.Find(e.Name).Presence == plan.Seen
	case plan.StartHook:
		return w.State.HookJobs.Find(e.Name).ResourceVersion != e.ResourceVersion
	default:
		return false
	}
}

func (w *model) hopelessVolume(e plan.Effect) bool {
	version := e.ResourceVersion
	if e.Verb == plan.CarryVolume {
		version = e.Volume.ResourceVersion
		if e.Volume.Verb == volumes.CreateVolume || e.Volume.Verb == volumes.CreateClaim {
			return false
		}
	}
	for i := range w.State.Volumes {
		h := w.State.Volumes[i].Holding(e.Side)
		if h.Claim.ResourceVersion == version || h.Volume.ResourceVersion == version {
			return false
		}
	}
	return w.hopelessCopy(e, version)
}

// hopelessCopy is hopeless for a write of a copy.
func (w *model) hopelessCopy(e plan.Effect, version string) bool {
	if e.Verb != plan.CarryVolume || len(w.yards) == 0 {
		return true
	}
	if slices.Contains([]volumes.Verb{volumes.CreateIncoming, volumes.CreateOutgoing, volumes.CreateEntrance, volumes.ExportEntrance, volumes.CreateMover, volumes.CreateSnapshot, volumes.CreateContent, volumes.CreateImport}, e.Volume.Verb) {
		return false
	}
	for i := range w.yards {
		y := &w.yards[i]
		if slices.ContainsFunc(y.claims, func(c moverClaim) bool { return c.ResourceVersion == version }) ||
			slices.ContainsFunc(y.movers, func(pod mover) bool { return pod.ResourceVersion == version }) ||
			slices.ContainsFunc(y.spare, func(s spareVolume) bool { return s.ResourceVersion == version }) ||
			slices.ContainsFunc(y.snaps, func(s snap) bool { return s.ResourceVersion == version }) ||
			slices.ContainsFunc(y.contents, func(c snapContent) bool { return c.ResourceVersion == version }) {
			return false
		}
	}
	return true
}

// cached returns the state that the caches show.
func (w *model) cached() plan.Snapshot {
	s := w.Snapshot()
	if w.stands != nil {
		overlay(&s, w.stands.was, w.stands.of, w.stands.side)
	}
	return s
}

// overlay replaces one kind of object of one side in a snapshot.
func overlay(to *plan.Snapshot, from plan.Snapshot, of reading, name plan.SideName) {
	from = from.Clone()
	at, was := to.Side(name), from.Side(name)
	switch of {
	case setsRead:
		at.Set = was.Set
	case budgetsRead:
		at.Budgets = was.Budgets
	case podsRead:
		at.Pods = was.Pods
	case claimsRead:
		for i := range to.Volumes {
			to.Volumes[i].Holding(name).Claim = from.Volumes[i].Holding(name).Claim
		}
	case volumesRead:
		for i := range to.Volumes {
			to.Volumes[i].Holding(name).Volume = from.Volumes[i].Holding(name).Volume
			if name == plan.DestinationSide { // the names on both sides follow from the shown volumes
				to.Volumes[i].Source.Name, to.Volumes[i].Destination.Name = from.Volumes[i].Source.Name, from.Volumes[i].Destination.Name
			}
		}
	}
}

// concluded reports whether the migration has been completed permanently.
func (w *model) concluded() bool {
	return w.State.Record.Completed != "" && w.State.Record.Completed != api.ReasonRolledBack
}

// emptyClaim reports whether a claim of an ordinal was created empty.
func (w *model) emptyClaim(at spot) bool {
	for i := range w.State.Volumes {
		v := &w.State.Volumes[i]
		if h := v.Holding(at.side); v.Ordinal == at.ordinal && h.Claim.Found && (h.Claim.Volume == "" || h.Claim.Volume == fresh) {
			return true
		}
	}
	return false
}

// inOrder reports whether no effect of another client's edit remains.
func (w *model) inOrder() bool {
	if w.edit != nil || len(w.alien) > 0 || len(w.evicted) > 0 {
		return false
	}
	for _, name := range plan.SideNames {
		budgets := w.State.Side(name).Budgets
		other := w.State.Side(name.Other()).Budgets
		taken := len(w.held) > 0 || len(other) == 1 && (other[0].Fence != "" || other[0].Author != nil)
		if len(budgets) == 1 && taken && budgets[0].Fence == "" {
			return false // a recreated object is taken over again when no ordinal is down any more
		}
	}
	now := w.machine.fork()
	return !now.syncBudget(plan.SourceSide) && !now.syncBudget(plan.DestinationSide)
}

// wrong returns the faults of the current state, except for those of other clients.
func (w *model) wrong() string {
	var wrong []string
	for _, each := range w.broken {
		if !w.excused.covers(each) {
			wrong = append(wrong, each)
		}
	}
	for _, invariant := range []func() string{w.atMostOne, w.exclusiveVolumes, w.currentVolumes, w.dataKept, w.othersKept, w.budgetKept} {
		if each := invariant(); each != "" && !w.excused.covers(each) {
			wrong = append(wrong, each)
		}
	}
	return strings.Join(wrong, "\n")
}
