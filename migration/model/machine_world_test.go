package model

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/simulate"
	"github.com/sliceshift/sliceshift/pdb"
	"github.com/sliceshift/sliceshift/volumes"
)

// machine is a world with additional parts that a dry run does not need: evictions, lagging caches, clusters
// that do not answer, and the processes that drive the migration.
type machine struct {
	*simulate.World
	begin *plan.Snapshot
	// disks are the initial handles of the volumes. lived is the number of migrations that have begun in the
	// state that a former one has left.
	disks []string
	lived int
	// forfeit are the disks whose last record was deleted by others.
	forfeit map[int]bool
	// remade is true after another client has recreated a deleted object, which then belongs to that client.
	remade bool
	// author is the last form of the PodDisruptionBudget's author; nil without one. spoken is true after the
	// author has written during the move, and grace until the migration has followed.
	author        *pdb.Form
	spoken, grace bool
	steps         []step
	// version is the resourceVersion of the Migration, for its mode and its record.
	version int
	// past holds the states that a cache may still show, the newest last. It is empty if forgets is true.
	past    []plan.Snapshot
	forgets bool
	// cut are the sides that do not answer.
	cut map[plan.SideName]bool
	// astray are the sides whose address leads to another, empty cluster.
	astray map[plan.SideName]bool
	// allowed is status.disruptionsAllowed of each side's PodDisruptionBudget.
	allowed map[plan.SideName]int32
	// evicted are the ordinals whose eviction was granted, or that were taken down for a rollout, and that are
	// not Ready again. held are those that the migration has stopped.
	evicted, held map[int32]bool
	// idle are the ordinals in held that were already down when they were stopped on their way back: that stop
	// took nothing from the application.
	idle map[int32]bool
	// evicting are the pods whose eviction was granted.
	evicting map[types.UID]bool
	// outdated are the pods that a rollout must still replace.
	outdated map[types.UID]bool
	// alien are the pods that another client has started by editing a slice.
	alien map[spot]bool
	// late are writes that were decided and have not arrived yet.
	late []lateWrite
	// tardy is true after a write that nothing could refuse has arrived after the end.
	tardy bool
	// strewn is true after a part of an ordinal's name was created late: it may remain.
	strewn bool
	// landed counts the writes that have landed, to check atomicity.
	landed int
	// interleaved counts the steps of others. A pass during which it does not change was atomic.
	interleaved int
	// broken are the invariants that a write has broken.
	broken []string
	// yards holds the objects of copies, for each claim; nil if none is copied.
	yards []yard
	// shelves holds the volumes of the destination in addition to the ones that it shows, for each claim; nil
	// if there are none.
	shelves [][]volumes.Volume
	// zones is the number of zones in addition to the first one.
	zones int
	// ran are the disks of method Empty on which an ordinal has run.
	ran []string
	// barred is the kind of write that an API server refuses; nil if none. refusals counts the refused writes.
	barred   *bar
	refusals int
	// shut is the side that accepts no pods; empty if none.
	shut plan.SideName
	// handoffs counts the ended handoffs: each takes some time.
	handoffs int
	log      []string
	// mute disables the log.
	mute  bool
	names int
}

// spot is an ordinal on a side.
type spot struct {
	side    plan.SideName
	ordinal int32
}

// lateWrite is a write in flight, decided by a process that has ended.
type lateWrite struct {
	effect plan.Effect
	judged plan.Snapshot
}

var errNoAnswer = errors.New("no answer")

// remembered is the number of states that a cache may lag behind.
const remembered = 12

func newMachine(s plan.Snapshot) *machine {
	begin := s.Clone()
	m := &machine{
		World: simulate.NewWorld(s), begin: &begin, cut: map[plan.SideName]bool{}, astray: map[plan.SideName]bool{}, allowed: map[plan.SideName]int32{},
		evicted: map[int32]bool{}, held: map[int32]bool{}, idle: map[int32]bool{}, forfeit: map[int]bool{}, evicting: map[types.UID]bool{}, outdated: map[types.UID]bool{},
		alien: map[spot]bool{},
	}
	if len(begin.Source.Budgets) > 0 {
		m.author = new(begin.Source.Budgets[0].AuthorForm())
	}
	m.steps, m.yards, m.shelves = stepsOf(s), yardsOf(s), shelvesOf(s)
	m.Attaches = true
	for i := range m.State.Volumes {
		v := &m.State.Volumes[i]
		v.Source.Kubectl, v.Destination.Kubectl = m.State.Source.Kubectl(), m.State.Destination.Kubectl()
		volume := v.Source.Volume
		volume.Attachments = []volumes.Attachment{simulate.AttachedTo(plan.SourceSide)}
		m.PutVolume(v, plan.SourceSide, volume)
	}
	m.begin.Volumes = slices.Clone(m.State.Volumes)
	for _, v := range m.begin.Volumes {
		m.disks = append(m.disks, v.Source.Volume.Handle)
	}
	for _, name := range plan.SideNames {
		m.syncBudget(name)
	}
	m.remember()
	return m
}

// fork returns a machine that continues from the same state.
func (m *machine) fork() *machine { return new(machine).become(m) }

// become makes a machine a copy of another one. It reuses its own memory.
func (m *machine) become(o *machine) *machine {
	old, w := *m, m.World
	if w == nil {
		w = &simulate.World{}
	}
	was := *w
	*m, *w = *o, *o.World
	m.World = w
	w.Controllers = copied(was.Controllers, o.Controllers)
	for _, name := range plan.SideNames {
		to, from := w.State.Side(name), o.State.Side(name)
		to.Pods = relisted(was.State.Side(name).Pods, from.Pods)
		to.Budgets = relisted(was.State.Side(name).Budgets, from.Budgets)
		to.Names = relisted(was.State.Side(name).Names, from.Names)
	}
	w.State.Volumes = relisted(was.State.Volumes, o.State.Volumes)
	w.State.HookJobs.List = relisted(was.State.HookJobs.List, o.State.HookJobs.List)
	w.State.Dependencies.List = relisted(was.State.Dependencies.List, o.State.Dependencies.List)
	m.cut, m.astray, m.allowed = copied(old.cut, o.cut), copied(old.astray, o.astray), copied(old.allowed, o.allowed)
	m.evicted, m.held, m.evicting = copied(old.evicted, o.evicted), copied(old.held, o.held), copied(old.evicting, o.evicting)
	m.idle, m.forfeit = copied(old.idle, o.idle), copied(old.forfeit, o.forfeit)
	m.alien, m.outdated = copied(old.alien, o.alien), copied(old.outdated, o.outdated)
	m.past, m.late = relisted(old.past, o.past), relisted(old.late, o.late)
	m.log, m.broken = relisted(old.log, o.log), relisted(old.broken, o.broken)
	m.yards, m.ran, m.shelves = cloned(o.yards), relisted(old.ran, o.ran), reshelved(o.shelves)
	return m
}

// relisted copies a list into the memory of another one.
func relisted[T any](to, from []T) []T { return append(to[:0], from...) }

// copied copies a map into the memory of another one.
func copied[K comparable, V any](to, from map[K]V) map[K]V {
	if to == nil {
		to = make(map[K]V, len(from))
	}
	if len(to) > 0 {
		clear(to)
	}
	maps.Copy(to, from)
	return to
}

func (m *machine) remember() {
	m.State.Now = m.State.Now.Add(time.Second)
	m.appWrites()
	m.call()
	if m.forgets {
		return
	}
	m.past = append(m.past, m.State.Clone())
	if len(m.past) > remembered {
		m.past = m.past[1:]
	}
}

func (m *machine) note(format string, args ...any) {
	if m.mute {
		return
	}
	line := fmt.Sprintf(format, args...)
	if len(m.log) == 0 || m.log[len(m.log)-1] != line {
		m.log = append(m.log, line)
	}
}

func (m *machine) breaks(format string, args ...any) {
	m.broken = append(m.broken, fmt.Sprintf(format, args...))
}

// budgetOf returns the side whose list holds the PodDisruptionBudget of a side, and the sides whose pods it
// selects.
func (m *machine) budgetOf(name plan.SideName) (plan.SideName, []plan.SideName) {
	if m.State.Spec.SameNamespace {
		return plan.SourceSide, plan.SideNames
	}
	return name, []plan.SideName{name}
}

// syncBudget computes the status of a side's PodDisruptionBudget, as the disruption controller does in
// getExpectedPodCount, countHealthyPods and updatePdbStatus (kubernetes pkg/controller/disruption).
func (m *machine) syncBudget(name plan.SideName) bool {
	name, selected := m.budgetOf(name)
	side := m.State.Side(name)
	if len(side.Budgets) != 1 {
		changed := m.allowed[name] != 0
		m.allowed[name] = 0
		return changed
	}
	budget := side.Budgets[0]
	var healthy, pods, scale int32
	disrupted := []string{}
	for _, at := range selected {
		set := m.State.Side(at).Set
		if len(m.State.Side(at).Pods) > 0 {
			scale += set.Replicas
		}
		for _, pod := range m.State.Side(at).Pods {
			pods++
			pending := m.pending(at, pod.Ordinal)
			if pending {
				disrupted = append(disrupted, podName(set, pod.Ordinal))
			}
			if pod.Ready && !pod.Terminating && !pending {
				healthy++
			}
		}
	}
	allowed := max(0, healthy-desiredHealthy(budget.Form, scale))
	if budget.Form.MinAvailable != nil && budget.Form.MinAvailable.StrVal == "" {
		scale = pods
	}
	if scale <= 0 {
		allowed = 0
	}
	if allowed == m.allowed[name] && budget.Observed && len(disrupted) == len(budget.Disrupted) {
		return false
	}
	m.allowed[name] = allowed
	m.disrupt(name, allowed, disrupted)
	m.ControlBudgets(name)
	return true
}

// disrupt stores status.disruptionsAllowed and status.disruptedPods. In the model, such a status write does not
// cause a late write to be refused, although it would in reality: the model is stricter.
func (m *machine) disrupt(name plan.SideName, allowed int32, pods []string) {
	for _, at := range plan.SideNames {
		if at == name || m.State.Spec.SameNamespace {
			m.State.Side(at).Budgets[0].Disrupted, m.State.Side(at).Budgets[0].Evictions = pods, allowed
		}
	}
}

// desiredHealthy returns how many of scale pods must remain.
func desiredHealthy(form pdb.Form, scale int32) int32 {
	if form.MinAvailable != nil && form.MinAvailable.StrVal == "" {
		return form.MinAvailable.IntVal
	}
	budget, err := pdb.Budget(form, scale)
	if err != nil {
		panic(err)
	}
	return scale - budget
}

func podName(set plan.Set, ordinal int32) string { return fmt.Sprintf("%s-%d", set.Name, ordinal) }

// evict requests the eviction of a pod. The API server grants it if the status that it knows allows one. The
// pod itself is deleted later.
func (m *machine) evict(name plan.SideName, ordinal int32) bool {
	at, _ := m.budgetOf(name)
	pod, found := m.State.Side(name).Pod(ordinal)
	if !found || !pod.Ready || pod.Terminating || len(m.State.Side(at).Budgets) != 1 {
		return false
	}
	budget := m.State.Side(at).Budgets[0]
	pending := podName(m.State.Side(name).Set, ordinal)
	if !budget.Observed || m.allowed[at] == 0 || slices.Contains(budget.Disrupted, pending) {
		return false
	}
	m.allowed[at]--
	m.disrupt(at, m.allowed[at], append(slices.Clone(budget.Disrupted), pending))
	m.evicted[ordinal], m.evicting[pod.UID] = true, true
	m.note("eviction of ordinal %d on the %s granted", ordinal, name)
	return true
}

// remove deletes a pod, after an eviction that was granted, or as another client.
func (m *machine) remove(name plan.SideName, ordinal int32) bool {
	side := m.State.Side(name)
	pod, found := side.Pod(ordinal)
	if !found || pod.Terminating {
		return false
	}
	pod.Terminating = true
	side.SetPod(pod)
	m.note("pod of ordinal %d on the %s deleted", ordinal, name)
	return true
}

// fail makes a pod unready.
func (m *machine) fail(name plan.SideName, ordinal int32) bool {
	side := m.State.Side(name)
	pod, found := side.Pod(ordinal)
	if !found || !pod.Ready {
		return false
	}
	pod.Ready = false
	side.SetPod(pod)
	m.note("pod of ordinal %d on the %s fails", ordinal, name)
	return true
}

// kind is the actor of a step.
type kind string

// The kinds of steps.
const (
	learns   kind = "StatefulSet controller learns"
	controls kind = "StatefulSet controller acts"
	deletes  kind = "StatefulSet controller deletes before it creates"
	budgets  kind = "disruption controller acts"
	binds    kind = "volume controller acts"
	readies  kind = "pod is Ready"
	ends     kind = "pod is gone"
	evicts   kind = "eviction deletes the pod"
	detaches kind = "volumes are detached"
	updates  kind = "StatefulSet controller updates a pod"
	confirms kind = "StatefulSet controller confirms its share"
	provides kind = "provisioner makes an empty volume"
	jobEnds  kind = "Job controller ends a Job"
	jobGoes  kind = "Job is removed"
)

var kinds = []kind{learns, controls, deletes, budgets, binds, confirms, provides, readies, ends, evicts, detaches, updates}

// step is one act of a controller or a kubelet. Steps of a pod have its ordinal.
type step struct {
	kind    kind
	side    plan.SideName
	ordinal int32
}

// ofPods are the kinds of steps that have an ordinal.
var ofPods = kinds[7:]

// stepsOf returns all possible steps of controllers and kubelets in a world.
func stepsOf(begin plan.Snapshot) []step {
	var steps []step
	for _, name := range plan.SideNames {
		for _, k := range kinds[:7] {
			steps = append(steps, step{k, name, -1})
		}
		for ordinal := begin.Source.Set.Start; ordinal < begin.Source.Set.End(); ordinal++ {
			for _, k := range ofPods {
				steps = append(steps, step{k, name, ordinal})
			}
		}
	}
	if len(begin.Spec.Hooks) > 0 {
		steps = append(steps, step{jobEnds, plan.SourceSide, -1}, step{jobGoes, plan.SourceSide, -1})
	}
	if slices.ContainsFunc(begin.Volumes, fillsSecond) {
		steps = append(steps, moverSteps()...)
	}
	return steps
}

func (m *machine) do(s step) bool {
	switch s.kind {
	case learns:
		return m.relearn(s.side) || m.endRollOut(s.side)
	case controls:
		return (m.shut != s.side || !m.Lacks(s.side)) && m.ControlSet(s.side)
	case deletes:
		return m.DeleteFirst(s.side)
	case budgets:
		return m.syncBudget(s.side)
	case binds:
		return m.bindClaims(s.side)
	case readies:
		return m.recover(s.side, s.ordinal)
	case ends:
		return m.Gone(s.side, s.ordinal)
	case evicts:
		return m.pending(s.side, s.ordinal) && m.remove(s.side, s.ordinal)
	case confirms:
		return m.Confirm(s.side)
	case provides:
		return m.provide(s.side)
	case jobEnds, jobGoes:
		return m.job(s.kind)
	case copyBinds, moverStarts, moverGoes, moverLetsGo, bytesArrive, receiverEnds, senderEnds, snapsAct, proverEnds:
		return m.actOnCopies(s)
	case updates:
		return m.update(s.side, s.ordinal)
	default:
		return !m.readBeside(s.side, s.ordinal) && m.Detach(s.side, s.ordinal)
	}
}

// relearn lets a StatefulSet controller observe the current spec. An ordinal that was stopped and started again
// before its controller has observed that was never down.
func (m *machine) relearn(name plan.SideName) bool {
	if !m.Learn(name) {
		return false
	}
	for i := range m.State.Side(name).Pods {
		m.State.Side(name).Pods[i].Owned = true // orphans are adopted
	}
	if set := m.State.Side(name).Set; set.Reserves { // it skips one, and owns one more
		known := m.Controllers[name]
		known.Replicas++
		m.Controllers[name] = known
	}
	for _, pod := range m.State.Side(name).Pods {
		if !pod.Ready || pod.Terminating || !m.State.Side(name).Set.Has(pod.Ordinal) {
			continue
		}
		delete(m.held, pod.Ordinal)
		delete(m.idle, pod.Ordinal)
		if !m.pending(name, pod.Ordinal) {
			delete(m.evicted, pod.Ordinal)
		}
	}
	return true
}

// recover makes a pod Ready: nothing holds its ordinal down any more.
func (m *machine) recover(name plan.SideName, ordinal int32) bool {
	if !m.Ready(name, ordinal) && !m.readyOnFresh(name, ordinal) {
		return false
	}
	if m.State.Side(name).Set.Has(ordinal) && !m.pending(name, ordinal) {
		delete(m.held, ordinal)
		delete(m.idle, ordinal)
		delete(m.evicted, ordinal)
	}
	return true
}

// pending reports whether the eviction of a pod was granted and the pod still runs.
func (m *machine) pending(name plan.SideName, ordinal int32) bool {
	pod, found := m.State.Side(name).Pod(ordinal)
	return found && !pod.Terminating && m.evicting[pod.UID]
}

// rollOut changes the pod template of a side.
func (m *machine) rollOut(name plan.SideName) bool {
	side := m.State.Side(name)
	if len(side.Pods) == 0 || side.Set.Presence != plan.Seen || !side.Set.RolledOut {
		return false
	}
	for _, pod := range side.Pods {
		m.outdated[pod.UID] = true
	}
	side.Set.RolledOut, side.Set.Observed, side.Set.ResourceVersion = false, false, m.NewVersion()
	m.note("the template of the %s is changed", name)
	return true
}

// askToGo marks one pod for replacement, which its controller observes without the StatefulSet.
func (m *machine) askToGo(name plan.SideName, ordinal int32) bool {
	side, known := m.State.Side(name), m.Controllers[name]
	pod, found := side.Pod(ordinal)
	if !side.Set.Rolls.Own || !found || m.outdated[pod.UID] {
		return false
	}
	m.outdated[pod.UID], side.Set.Rolls.Asked, known.RollsOut = true, true, true
	m.Controllers[name] = known
	m.note("pod of ordinal %d on the %s is asked to go", ordinal, name)
	return true
}

// update lets a StatefulSet controller replace a pod of a former revision. An available pod is replaced only
// while fewer are unavailable than the controller knows to be allowed. This project's kind evicts the pod if
// there is a PodDisruptionBudget. The native controller deletes one after the other without an eviction.
func (m *machine) update(name plan.SideName, ordinal int32) bool {
	side, known := m.State.Side(name), m.Controllers[name]
	pod, found := side.Pod(ordinal)
	if !found || pod.Terminating || !m.outdated[pod.UID] || !known.RollsOut {
		return false
	}
	allowed := int32(1)
	if base := m.State.Record.Baseline; base != nil {
		allowed = base.Budget
	}
	if known.Cap.Set {
		allowed = known.Cap.Most
	}
	if !side.Set.Rolls.Own {
		allowed = 1
	}
	for at := known.Start; at < known.Start+known.Replicas; at++ {
		if p, has := side.Pod(at); !has || !p.Ready || p.Terminating {
			allowed--
		}
	}
	if pod.Ready && allowed <= 0 {
		return false
	}
	if pod.Ready && len(side.Budgets) > 0 && side.Set.Rolls.Own {
		return m.evict(name, ordinal)
	}
	if pod.Ready && side.Set.Rolls.Own {
		m.evicted[ordinal] = true
	}
	return m.remove(name, ordinal)
}

// endRollOut records that no pod of a former revision remains.
func (m *machine) endRollOut(name plan.SideName) bool {
	side := m.State.Side(name)
	if !m.Controllers[name].RollsOut {
		return false
	}
	for _, pod := range side.Pods {
		if m.outdated[pod.UID] {
			return false
		}
	}
	side.Set.RolledOut, side.Set.Rolls.Asked = side.Set.Presence == plan.Seen, false
	known := m.Controllers[name]
	known.RollsOut = false
	m.Controllers[name] = known
	return true
}

// act runs one step of a controller.
func (m *machine) act(s step) bool {
	if !m.do(s) {
		return false
	}
	m.note("%s: %s (%d)", s.side, s.kind, s.ordinal)
	m.interleaved++
	m.remember()
	return true
}

// everyone includes all steps: none lags.
func everyone(step) bool { return true }

// settleAll runs the steps that do not lag until nothing changes, and checks every state.
func (m *machine) settleAll(acts func(step) bool, check func()) {
	for changed := true; changed; {
		changed = false
		for _, s := range m.steps {
			if acts(s) && m.act(s) {
				changed = true
				check()
			}
		}
	}
}
