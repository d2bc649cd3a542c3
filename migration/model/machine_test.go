package model

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/pdb"
	"github.com/sliceshift/sliceshift/pdb/pdbtest"
)

// TestMachine drives Plan against two clusters with all kinds of faults, and checks every state. When the
// faults stop, the migration ends.
func TestMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { walk(t, drawScenario(t)) })
}

// TestMachineOfMethods is TestMachine for claims that are copied, restored, or left behind. Movers and disks
// fail as well, and other users mount volumes that ordinals have left.
func TestMachineOfMethods(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawScenario(t)
		c.Replicas, c.Spec.Count, c.Spec.MaxUnavailable, c.Budget = min(c.Replicas, 3), 0, nil, nil
		c.Method = rapid.SampledFrom([]api.VolumeMethod{api.MethodCopy, api.MethodCopy, api.MethodSnapshot, api.MethodEmpty}).Draw(t, "method")
		if c.Method == api.MethodCopy {
			c.Prefetch = rapid.Int32Range(0, 2).Draw(t, "prefetch")
			c.Limit = rapid.SampledFrom([]time.Duration{0, time.Minute, time.Hour, time.Hour}).Draw(t, "limit")
			c.ProvesLater = rapid.Bool().Draw(t, "proven later")
			c.WaitsForPod = rapid.Bool().Draw(t, "waits for a pod")
			some := rapid.SampledFrom([][]string{nil, {"data"}, {"wal"}, {"data", "wal"}})
			c.Cold, c.Late = some.Draw(t, "cold"), some.Draw(t, "late")
		}
		walk(t, c)
	})
}

// walk is one long run in such a world, and its end.
func walk(t *rapid.T, c plantest.Scenario) {
	r := &run{machine: newMachine(c.Build()), t: t}
	r.leaveVolume(t)
	r.processes = []*process{r.newProcess(), r.newProcess()}
	r.skewClocks(t)
	for range 3 {
		r.passes(r.processes[0], rapid.IntRange(0, 8*int(r.begin.Source.Set.Replicas)).Draw(t, "head start"), r.laggards())
	}
	actions := map[string]func(*rapid.T){
		"":         func(t *rapid.T) { r.t = t; r.verify() },
		"passes":   r.somePasses,
		"slow":     r.slowPass,
		"faulty":   r.faultyPass,
		"stall":    r.stalledWriter,
		"stale":    r.stalePass,
		"steps":    r.someSteps,
		"evict":    r.someEvictions,
		"trouble":  r.trouble,
		"disturb":  r.disturbPod,
		"cut":      r.cutOff,
		"astray":   r.leadAstray,
		"mode":     r.turnMode,
		"deletion": r.deleteMigration,
	}
	if len(r.yards) > 0 {
		actions["copies"], actions["asked"] = r.troubleCopies, r.askOfCopies
	}
	r.strange(actions)
	t.Repeat(actions)
	r.drain(rapid.SampledFrom([]api.Mode{api.ModeRun, api.ModeRollback}).Draw(t, "last mode"))
}

// run is a machine with the randomness that drives it.
type run struct {
	*machine
	t         *rapid.T
	processes []*process
	// busy is the process that is in the middle of a slow pass.
	busy *process
	// said is the last hold of the migration.
	said *plan.Hold
	// tool is true after a tool has restored its own version of a budget.
	tool bool
}

func (r *run) verify() {
	r.leave()
	r.refuses()
	r.grace = r.grace && (len(r.alien) > 0 || !r.followed())
	if wrong := r.check(); wrong != "" {
		r.t.Fatalf("%s\n\n%s\n\n%s", wrong, strings.Join(r.log, "\n"), r.String())
	}
}

// drain ends the faults and lets the migration end (liveness).
func (r *run) drain(mode api.Mode) {
	r.cut = map[plan.SideName]bool{}
	for len(r.late) > 0 {
		r.lateArrives()
	}
	r.allow()
	r.sayGoOn(r.processes[0])
	r.setMode(mode)
	r.ease()
	r.allLeave()
	r.note("the faults stop")
	p := r.newProcess()
	last := r.finish(p, r.verify)
	if wrong := r.ended(last); wrong != "" {
		r.t.Fatalf("%s\n\n%s\n\n%s", wrong, strings.Join(r.log, "\n"), r.String())
	}
}

func drawScenario(t *rapid.T) plantest.Scenario {
	c := plantest.Scenario{
		Replicas: rapid.SampledFrom([]int32{1, 2, 3, 4, 4, 5, 5}).Draw(t, "replicas"),
		Start:    rapid.Int32Range(0, 2).Draw(t, "start"),
		Ordered:  rapid.Bool().Draw(t, "ordered"),
		Retained: rapid.Bool().Draw(t, "retained"),
		Prepared: rapid.Bool().Draw(t, "prepared"),
		Service:  rapid.Bool().Draw(t, "service"),
	}
	c.Templates = []string{"data", "wal"}[:rapid.IntRange(0, 2).Draw(t, "templates")]
	c.Spec.Order = rapid.SampledFrom([]api.Order{api.HighestFirst, api.LowestFirst}).Draw(t, "order")
	if rapid.Bool().Draw(t, "partial") {
		c.Spec.Count = rapid.Int32Range(1, c.Replicas).Draw(t, "count")
	}
	switch rapid.SampledFrom([]string{"clusters", "namespaces", "names"}).Draw(t, "apart") {
	case "namespaces":
		c.Spec.SameCluster = true
	case "names":
		c.Spec.SameNamespace = true
	}
	if !c.Spec.SameNamespace {
		c.Copies = rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "copies")
	}
	c.Spec.DeleteSource = rapid.Bool().Draw(t, "delete source")
	c.Spec.Export = rapid.Bool().Draw(t, "export")
	c.Spec.NameOrdinals, c.Spec.DropNames = rapid.Bool().Draw(t, "names of ordinals"), rapid.Bool().Draw(t, "drop names")
	c.OwnNames = rapid.Bool().Draw(t, "own names")
	if rapid.Bool().Draw(t, "min ready") {
		c.Spec.MinReady = 5 * time.Second
	}
	c.Budget = rapid.OneOf(
		rapid.Just[*pdb.Form](nil),
		rapid.Map(rapid.SampledFrom([]int32{1, 2, 2, 3}), pdbtest.MaxUnavailable),
		rapid.Map(rapid.SampledFrom([]int{10, 34, 50, 67, 100}), pdbtest.MaxUnavailablePercent),
		rapid.Map(rapid.Int32Range(max(0, c.Replicas-3), c.Replicas-1), pdbtest.MinAvailable),
		rapid.Map(rapid.SampledFrom([]int{0, 20, 34, 50}), pdbtest.MinAvailablePercent),
	).Filter(func(form *pdb.Form) bool {
		if form == nil {
			return true
		}
		d, err := pdb.Budget(*form, c.Replicas)
		return err == nil && d > 0
	}).Draw(t, "budget")
	if rapid.IntRange(0, 3).Draw(t, "own budget") == 0 {
		most := int32(3)
		if c.Budget != nil {
			most, _ = pdb.Budget(*c.Budget, c.Replicas)
		}
		value := intstr.FromInt32(rapid.Int32Range(1, min(most, c.Replicas)).Draw(t, "d"))
		c.Spec.MaxUnavailable = &value
	}
	return c
}
