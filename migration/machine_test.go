package migration

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/pdb"
	"github.com/sliceshift/sliceshift/volumes"
)

// TestMachine drives Plan against two clusters in which everything fails that can,
// and checks every state on the way. When the faults stop, the migration ends.
func TestMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := &run{machine: newMachine(drawScenario(t).build()), t: t}
		r.processes = []*process{r.newProcess(), r.newProcess()}
		r.forward(rapid.IntRange(0, 24*int(r.begin.Source.Set.Replicas)).Draw(t, "head start"))
		t.Repeat(map[string]func(*rapid.T){
			"":         func(t *rapid.T) { r.t = t; r.verify() },
			"passes":   r.somePasses,
			"slow":     r.slowPass,
			"faulty":   r.faultyPass,
			"stall":    r.stalledWriter,
			"stale":    r.stalePass,
			"steps":    r.someSteps,
			"evict":    r.someEvictions,
			"disturb":  r.disturbPod,
			"cut":      r.cutOff,
			"mode":     r.turnMode,
			"deletion": r.deleteMigration,
		})
		r.drain(rapid.SampledFrom([]api.Mode{api.ModeRun, api.ModeRollback}).Draw(t, "last mode"))
	})
}

// run is a machine with the randomness that drives it.
type run struct {
	*machine
	t         *rapid.T
	processes []*process
	// busy is the process that is in the middle of a slow pass.
	busy *process
}

func drawScenario(t *rapid.T) scenario {
	c := scenario{
		replicas: rapid.Int32Range(1, 5).Draw(t, "replicas"),
		start:    rapid.Int32Range(0, 2).Draw(t, "start"),
		ordered:  rapid.Bool().Draw(t, "ordered"),
		retained: rapid.Bool().Draw(t, "retained"),
		prepared: rapid.Bool().Draw(t, "prepared"),
		service:  rapid.Bool().Draw(t, "service"),
	}
	c.templates = []string{"data", "wal"}[:rapid.IntRange(0, 2).Draw(t, "templates")]
	c.spec.Order = rapid.SampledFrom([]api.Order{api.HighestFirst, api.LowestFirst}).Draw(t, "order")
	if rapid.Bool().Draw(t, "partial") {
		c.spec.Count = rapid.Int32Range(1, c.replicas).Draw(t, "count")
	}
	switch rapid.SampledFrom([]string{"clusters", "namespaces", "names"}).Draw(t, "apart") {
	case "namespaces":
		c.spec.SameCluster = true
	case "names":
		c.spec.SameNamespace = true
	}
	c.spec.DeleteSource = rapid.Bool().Draw(t, "delete source")
	c.spec.Export = rapid.Bool().Draw(t, "export")
	if rapid.Bool().Draw(t, "min ready") {
		c.spec.MinReady = 5 * time.Second
	}
	c.budget = rapid.OneOf(
		rapid.Just[*pdb.Form](nil),
		rapid.Map(rapid.Int32Range(1, 3), maxUnavailable),
		rapid.Map(rapid.SampledFrom([]int{10, 34, 50, 67, 100}), maxUnavailablePercent),
		rapid.Map(rapid.Int32Range(max(0, c.replicas-3), c.replicas-1), minAvailable),
		rapid.Map(rapid.SampledFrom([]int{0, 20, 34, 50}), minAvailablePercent),
	).Filter(func(form *pdb.Form) bool {
		if form == nil {
			return true
		}
		d, err := pdb.Budget(*form, c.replicas)
		return err == nil && d > 0
	}).Draw(t, "budget")
	if rapid.Bool().Draw(t, "own budget") {
		most := int32(3)
		if c.budget != nil {
			most, _ = pdb.Budget(*c.budget, c.replicas)
		}
		value := intstr.FromInt32(rapid.Int32Range(1, min(most, c.replicas)).Draw(t, "d"))
		c.spec.MaxUnavailable = &value
	}
	return c
}

func (r *run) verify() {
	if wrong := r.check(); wrong != "" {
		r.t.Fatalf("%s\n\n%s\n\n%s", wrong, strings.Join(r.log, "\n"), r.machine.String())
	}
}

func (r *run) index(n int, label string) int { return rapid.IntRange(0, n-1).Draw(r.t, label) }

// fair are the conditions of a pass in which nothing goes wrong.
func (r *run) fair() conditions {
	return conditions{cached: r.snapshot, between: func() {}}
}

// forward drives the migration so many passes without faults.
func (r *run) forward(passes int) {
	for range passes {
		r.pass(r.processes[0], r.fair())
		r.settleAll(r.verify)
	}
}

// somePasses drives the migration on, with controllers that keep up or lag.
func (r *run) somePasses(t *rapid.T) {
	r.t = t
	r.passes(r.anyone(), rapid.IntRange(1, 12).Draw(t, "passes"), rapid.Bool().Draw(t, "settle"))
}

func (r *run) passes(p *process, n int, settle bool) {
	for range n {
		r.pass(p, r.fair())
		r.verify()
		if settle {
			r.settleAll(r.verify)
		} else {
			r.randomSteps(3)
		}
	}
}

func (r *run) anyone() *process { return r.processes[r.index(len(r.processes), "process")] }

// randomSteps lets some of the controllers act.
func (r *run) randomSteps(most int) {
	for range r.index(most+1, "steps") {
		steps := r.steps()
		at := r.index(len(steps), "step")
		for i := range steps {
			if r.act(steps[(at+i)%len(steps)]) {
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

// meanwhile is what others may do between two reads of a pass.
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

// slowly does a pass between whose reads others act.
func (r *run) slowly(c conditions) {
	r.busy = r.anyone()
	c.between = r.meanwhile
	r.pass(r.busy, c)
}

func (r *run) slowPass(t *rapid.T) {
	r.t = t
	r.slowly(r.fair())
}

// faultyPass is a pass whose write does not simply arrive.
func (r *run) faultyPass(t *rapid.T) {
	r.t = t
	c := r.fair()
	c.fate = fate(rapid.IntRange(int(unanswered), int(stalls)).Draw(t, "fate"))
	r.pass(r.anyone(), c)
}

// stalledWriter takes a decision whose write arrives, if at all, when another
// process has taken over, perhaps in the other direction.
func (r *run) stalledWriter(t *rapid.T) {
	r.t = t
	c := r.fair()
	c.fate = rapid.SampledFrom([]fate{stalls, delayed}).Draw(t, "fate")
	r.pass(r.anyone(), c)
	if rapid.Bool().Draw(t, "turn") {
		r.turnMode(t)
	}
	r.passes(r.anyone(), rapid.IntRange(0, 16).Draw(t, "passes"), rapid.Bool().Draw(t, "settle"))
	r.lateArrives()
}

// stalePass is a pass on caches that lag, each kind on its own, of a process that
// may not know the Migration as it is.
func (r *run) stalePass(t *rapid.T) {
	r.t = t
	c := r.fair()
	c.stale = rapid.Bool().Draw(t, "stale record")
	c.cached = func() Snapshot {
		s := r.snapshot()
		sets, budgets, pods, disks := r.older("sets"), r.older("budgets"), r.older("pods"), r.older("volumes")
		for _, name := range sideNames {
			to := side(&s, name)
			*to = *side(&sets, name)
			to.Budgets, to.Pods = side(&budgets, name).Budgets, side(&pods, name).Pods
		}
		s.Volumes = disks.Volumes
		return s
	}
	r.slowly(c)
}

func (r *run) older(label string) Snapshot {
	return r.past[len(r.past)-1-r.index(len(r.past), label)].clone()
}

// lateArrives lets a write arrive that was on its way.
func (r *run) lateArrives() {
	if len(r.late) == 0 {
		return
	}
	at := r.index(len(r.late), "late")
	w := r.late[at]
	r.late = slices.Delete(r.late, at, at+1)
	err := r.land(w.effect, true)
	r.note("late: %s: %v", w.effect, err)
	r.tardy = r.tardy || err == nil && r.state.Record.Completed != "" && unfenced(w.effect)
	r.verify()
}

// unfenced are the writes that may arrive even after the end: those that create, for
// which there is no resourceVersion, and those to an object that nobody has had to
// write to since. They leave something behind that is empty, or stricter than it was.
func unfenced(e Effect) bool {
	switch e.Verb {
	case CreateNamespace, CreateService, CreateSet, CreateBudget, CreateExport, SetBudget:
		return true
	case CarryVolume:
		return e.Volume.Verb == volumes.CreateVolume || e.Volume.Verb == volumes.CreateClaim || e.Volume.Verb == volumes.Secure
	default:
		return false
	}
}

// someone tries a disturbance on every pod in turn until one can be disturbed.
func (r *run) someone(do func(SideName, int32) bool) {
	set := r.begin.Source.Set
	at := r.index(2*int(set.Replicas), "pod")
	for i := range 2 * set.Replicas {
		n := (int32(at) + i) % (2 * set.Replicas)
		if do(sideNames[n/set.Replicas], set.Start+n%set.Replicas) {
			r.interleaved++
			r.remember()
			return
		}
	}
}

func (r *run) someEviction() { r.someone(r.evict) }

// someEvictions evicts as long as it is allowed.
func (r *run) someEvictions(t *rapid.T) {
	r.t = t
	for range rapid.IntRange(1, 3).Draw(t, "evictions") {
		r.someEviction()
		r.verify()
		r.randomSteps(2)
	}
}

func (r *run) disturbPod(t *rapid.T) {
	r.someone(rapid.SampledFrom([]func(SideName, int32) bool{r.fail, r.remove}).Draw(t, "how"))
}

// cutOff lets a side not answer for a while.
func (r *run) cutOff(t *rapid.T) {
	r.t = t
	name := rapid.SampledFrom(sideNames).Draw(t, "side")
	r.cut[name] = true
	r.note("the %s does not answer", name)
	for range rapid.IntRange(1, 4).Draw(t, "passes") {
		r.stalePass(t)
		r.randomSteps(3)
	}
	delete(r.cut, name)
	r.note("the %s answers again", name)
}

func (r *run) turnMode(t *rapid.T) {
	r.setMode(rapid.SampledFrom([]api.Mode{api.ModeRun, api.ModeRun, api.ModeRollback, api.ModeRollback, api.ModePause}).Draw(t, "mode"))
}

func (m *machine) setMode(mode api.Mode) {
	if m.state.Spec.Mode == mode {
		return
	}
	m.state.Spec.Mode = mode
	m.version++
	m.note("mode %s", mode)
}

func (r *run) deleteMigration(t *rapid.T) {
	if r.state.Deleting || rapid.IntRange(0, 19).Draw(t, "really") > 0 {
		t.SkipNow()
	}
	r.state.Deleting = true
	r.version++
	r.note("the Migration is deleted")
}

// drain ends the faults and lets the migration end (liveness).
func (r *run) drain(mode api.Mode) {
	r.cut = map[SideName]bool{}
	for len(r.late) > 0 {
		r.lateArrives()
	}
	r.setMode(mode)
	r.note("the faults stop")
	p := r.newProcess()
	last := r.finish(p, r.verify)
	if wrong := r.ended(last); wrong != "" {
		r.t.Fatalf("%s\n\n%s\n\n%s", wrong, strings.Join(r.log, "\n"), r.machine.String())
	}
}
