package model

import (
	"slices"

	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/volumes"
)

func (r *run) index(n int, label string) int { return rapid.IntRange(0, n-1).Draw(r.t, label) }

func (r *run) anyone() *process { return r.processes[r.index(len(r.processes), "process")] }

// fair returns the conditions of a pass without faults.
func (r *run) fair() conditions {
	return conditions{cached: r.Snapshot, between: func() {}}
}

// laggards draws the steps that lag for a while: none, or one or two kinds of step, on one side or on both.
func (r *run) laggards() func(step) bool {
	if r.index(3, "in time") == 0 {
		return everyone
	}
	some := kinds
	if len(r.yards) > 0 && r.index(2, "of movers") == 0 {
		some = moverKinds
	}
	lag := []kind{rapid.SampledFrom(some).Draw(r.t, "lags"), rapid.SampledFrom(some).Draw(r.t, "lags too")}
	side := rapid.SampledFrom(append(slices.Clone(plan.SideNames), "")).Draw(r.t, "on")
	return func(s step) bool { return !slices.Contains(lag, s.kind) || side != "" && s.side != side }
}

// passes runs n passes.
func (r *run) passes(p *process, n int, acts func(step) bool) {
	for range n {
		decision := r.pass(p, r.fair())
		r.times(p, decision)
		r.said = decision.Hold
		r.verify()
		r.settleAll(acts, r.verify)
	}
}

// somePasses runs passes while some steps lag, possibly after a disturbance. Possibly nodes are drained as
// well: then every pod is evicted as soon as that is allowed.
func (r *run) somePasses(t *rapid.T) {
	r.t = t
	p, acts, trouble := r.anyone(), r.laggards(), rapid.IntRange(0, 4).Draw(t, "trouble")
	for i := range rapid.IntRange(1, 12).Draw(t, "passes") {
		switch {
		case trouble == 1, trouble == 2 && i == 0:
			r.someEviction()
		case trouble == 3 && i == 0:
			r.disturbPod(t)
		}
		r.passes(p, 1, acts)
	}
}

// randomSteps lets some of the controllers act.
func (r *run) randomSteps(most int) {
	for range r.index(most+1, "steps") {
		at := r.index(len(r.steps), "step")
		for i := range r.steps {
			if r.act(r.steps[(at+i)%len(r.steps)]) {
				break
			}
		}
		r.verify()
	}
}

func (r *run) someSteps(t *rapid.T) {
	r.t = t
	r.randomSteps(8)
}

// meanwhile runs the possible acts of others between two reads of a pass.
func (r *run) meanwhile() {
	if r.index(2, "meanwhile") > 0 {
		return
	}
	switch r.index(7, "who") {
	case 0:
		r.lateArrives()
	case 1:
		r.someEviction()
	case 2:
		r.disturbPod(r.t)
	case 3:
		r.turnMode(r.t)
	case 4:
		for _, p := range r.processes {
			if p != r.busy {
				r.pass(p, r.fair())
			}
		}
	default:
		r.randomSteps(4)
	}
	r.verify()
}

// slowly runs a pass in which others act between its reads.
func (r *run) slowly(c conditions) {
	r.busy = r.anyone()
	c.between = r.meanwhile
	r.pass(r.busy, c)
}

func (r *run) slowPass(t *rapid.T) {
	r.t = t
	r.slowly(r.fair())
}

// faultyPass runs a pass whose write does not simply arrive.
func (r *run) faultyPass(t *rapid.T) {
	r.t = t
	c := r.fair()
	c.fate = fate(rapid.IntRange(int(unanswered), int(stalls)).Draw(t, "fate"))
	r.pass(r.anyone(), c)
}

// stalledWriter makes a decision whose write arrives, if at all, after others have continued, possibly in the
// other direction and possibly after a disturbance.
func (r *run) stalledWriter(t *rapid.T) {
	r.t = t
	p := r.anyone()
	r.approach(p)
	c := r.fair()
	c.fate = rapid.SampledFrom([]fate{stalls, delayed}).Draw(t, "fate")
	r.pass(p, c)
	for range rapid.IntRange(1, 2).Draw(t, "turns") {
		if rapid.Bool().Draw(t, "turn") {
			r.turnMode(t)
		}
		if rapid.IntRange(0, 3).Draw(t, "disturbed") == 0 {
			r.disturbPod(t)
		}
		r.passes(r.anyone(), rapid.IntRange(0, 14).Draw(t, "passes"), r.laggards())
	}
	r.lateArrives()
}

// trouble disturbs a pod right before a drawn write, and continues the migration while the pod does not
// recover.
func (r *run) trouble(t *rapid.T) {
	r.t = t
	p := r.anyone()
	r.approach(p)
	for range rapid.IntRange(1, 2).Draw(t, "pods") {
		if rapid.Bool().Draw(t, "evicted") {
			r.someEviction()
		} else {
			r.disturbPod(t)
		}
	}
	r.passes(p, rapid.IntRange(1, 6).Draw(t, "passes"), rapid.SampledFrom([]func(step) bool{
		func(s step) bool { return s.kind != readies },
		func(s step) bool { return s.kind != evicts },
		func(s step) bool { return s.kind != readies && s.kind != budgets },
		func(s step) bool { return s.kind != learns },
		func(step) bool { return false },
	}).Draw(t, "lag"))
}

// approach runs passes until the next write is of a drawn kind, if such a write comes.
func (r *run) approach(p *process) {
	verb := rapid.SampledFrom([]string{
		"", string(plan.WriteFence), string(plan.SetShare), string(plan.LiftShare), string(plan.SetBudget), string(plan.RestoreBudget), string(plan.ScaleDown), string(plan.ScaleUp),
		string(volumes.Secure), string(volumes.Park), string(volumes.Point), string(volumes.CreateVolume), string(volumes.CreateClaim),
		string(plan.RestorePolicy), string(plan.DeleteClaim), string(plan.DeleteBudget),
	}).Draw(r.t, "verb")
	if verb != "" {
		r.approachTo(p, verb)
	}
}

// approachTo runs passes until the next write is of this kind.
func (r *run) approachTo(p *process, verb string) {
	for range 30 {
		r.reread(p)
		next := planner.Plan(p.through(r.Snapshot())).Effect
		if next != nil && (string(next.Verb) == verb || string(next.Volume.Verb) == verb) {
			return
		}
		r.passes(p, 1, everyone)
	}
}

// stalePass runs a pass on caches that lag, each kind on its own, of a process that may not know the current
// Migration.
func (r *run) stalePass(t *rapid.T) {
	r.t = t
	c := r.fair()
	c.stale = rapid.Bool().Draw(t, "stale record")
	c.cached = func() plan.Snapshot {
		s := r.Snapshot()
		sets, budgets, pods, disks := r.older("sets"), r.older("budgets"), r.older("pods"), r.older("volumes")
		for _, name := range plan.SideNames {
			to := s.Side(name)
			*to = *sets.Side(name)
			to.Budgets, to.Pods = budgets.Side(name).Budgets, pods.Side(name).Pods
		}
		s.Volumes = disks.Volumes
		return s
	}
	r.slowly(c)
}

func (r *run) older(label string) plan.Snapshot {
	return r.past[len(r.past)-1-r.index(len(r.past), label)].Clone()
}

// lateArrives delivers a write that was in flight.
func (r *run) lateArrives() {
	if len(r.late) == 0 {
		return
	}
	at := r.index(len(r.late), "late")
	w := r.late[at]
	r.late = slices.Delete(r.late, at, at+1)
	err := r.land(w.effect, true)
	r.note("late: %s: %v", w.effect, err)
	r.tardy = r.tardy || err == nil && r.State.Record.Completed != "" && unfenced(w.effect)
	r.verify()
}

// unfenced reports whether a write may arrive even after the end. These are the creations, which have no
// resourceVersion, and the writes to an object that was not written since. They leave an object that is empty,
// or stricter than before.
func unfenced(e plan.Effect) bool {
	switch e.Verb {
	case plan.CreateNamespace, plan.CreateService, plan.CreateSet, plan.CreateBudget, plan.CreateExport, plan.SetBudget, plan.CreatePodService, plan.CreatePodExport, plan.CreateCopy:
		return true
	case plan.CarryVolume:
		return slices.Contains([]volumes.Verb{
			volumes.CreateVolume, volumes.CreateClaim, volumes.Secure, volumes.CreateIncoming, volumes.CreateOutgoing, volumes.CreateEntrance, volumes.ExportEntrance, volumes.CreateMover,
		}, e.Volume.Verb)
	default:
		return false
	}
}

// someone tries a disturbance on every pod in turn until one can be disturbed.
func (r *run) someone(do func(plan.SideName, int32) bool) {
	set := r.begin.Source.Set
	at := r.index(2*int(set.Replicas), "pod")
	for i := range 2 * set.Replicas {
		n := (int32(at) + i) % (2 * set.Replicas)
		if do(plan.SideNames[n/set.Replicas], set.Start+n%set.Replicas) {
			r.interleaved++
			r.remember()
			return
		}
	}
}

func (r *run) someEviction() {
	r.someone(r.evict)
	r.verify()
}

// someEvictions evicts pods while that is allowed.
func (r *run) someEvictions(t *rapid.T) {
	r.t = t
	for range rapid.IntRange(1, 3).Draw(t, "evictions") {
		r.someEviction()
		r.randomSteps(2)
	}
}

func (r *run) disturbPod(t *rapid.T) {
	r.someone(rapid.SampledFrom([]func(plan.SideName, int32) bool{r.fail, r.remove}).Draw(t, "how"))
}

// cutOff makes a side unreachable for a while.
func (r *run) cutOff(t *rapid.T) {
	r.t = t
	name := rapid.SampledFrom(plan.SideNames).Draw(t, "side")
	r.cut[name] = true
	r.note("the %s does not answer", name)
	for range rapid.IntRange(1, 4).Draw(t, "passes") {
		r.stalePass(t)
		r.randomSteps(3)
	}
	delete(r.cut, name)
	r.note("the %s answers again", name)
}

// leadAstray makes the address of a side lead to another cluster for a while.
func (r *run) leadAstray(t *rapid.T) {
	r.t = t
	if r.State.Record.Baseline == nil {
		t.SkipNow()
	}
	name := rapid.SampledFrom(plan.SideNames).Draw(t, "side")
	r.astray[name] = true
	r.note("the address of the %s leads to another cluster", name)
	if rapid.Bool().Draw(t, "restarted") {
		r.restart(r.anyone())
	}
	r.passes(r.anyone(), rapid.IntRange(1, 4).Draw(t, "passes"), r.laggards())
	if rapid.Bool().Draw(t, "turned") {
		r.turnMode(t)
	}
	r.passes(r.anyone(), rapid.IntRange(1, 4).Draw(t, "more passes"), everyone)
	delete(r.astray, name)
	r.note("the address of the %s leads home again", name)
}

func (r *run) turnMode(t *rapid.T) {
	r.setMode(rapid.SampledFrom([]api.Mode{api.ModeRun, api.ModeRun, api.ModeRollback, api.ModeRollback, api.ModePause}).Draw(t, "mode"))
}

func (m *machine) setMode(mode api.Mode) {
	if m.State.Spec.Mode == mode {
		return
	}
	m.State.Spec.Mode = mode
	m.version++
	m.note("mode %s", mode)
}

func (r *run) deleteMigration(t *rapid.T) {
	if r.State.Deleting || rapid.IntRange(0, 19).Draw(t, "really") > 0 {
		t.SkipNow()
	}
	r.State.Deleting = true
	r.version++
	r.note("the Migration is deleted")
}

// askOfCopies makes a copy exceed its limit, or changes what the user requests of copies.
func (r *run) askOfCopies(t *rapid.T) {
	r.t = t
	r.tryCopyAsked(rapid.SampledFrom([]deed{overruns, overruns, eases, spares}).Draw(t, "what"))
	r.verify()
	r.somePasses(t)
}

// troubleCopies applies a fault to a copy, or mounts a claim as another user.
func (r *run) troubleCopies(t *rapid.T) {
	r.t = t
	if what := int8(rapid.IntRange(0, int(copyBreaks)+1).Draw(t, "what")); what < copyBreaks {
		r.breakCopy(what)
	} else {
		r.mountByHand(plan.SideNames[what-copyBreaks])
	}
	r.verify()
	r.somePasses(t)
}
