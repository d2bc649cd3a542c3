package preview

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/movetest"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/internal/golden"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/schedule"
	"github.com/sliceshift/sliceshift/migration/view"
	"github.com/sliceshift/sliceshift/pdb"
	"github.com/sliceshift/sliceshift/volumes"
)

// fresh returns a migration without a record.
func fresh() *api.Migration { return &api.Migration{} }

func printPlan(t *testing.T, d Plan, paint terminal.Painter, wide bool) string {
	t.Helper()
	var out bytes.Buffer
	if err := (Printer{&out, paint, wide}).Print(d); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestPlanAfterRehearsal: the plan expects the start that a rehearsal has measured, until handoffs of the move have measured
// another one.
func TestPlanAfterRehearsal(t *testing.T) {
	rehearsed := volumes.Outage{Start: 37 * time.Second, Rehearsed: 2}
	d := NewPlan(fresh(), Beginning, movetest.Application{Replicas: 2, Templates: []string{"data"}}.Snapshot())
	d.Rehearsed(rehearsed)
	if got := d.Summary.Outage; got.Seconds != 43 || got.Rehearsed != 2 || !strings.Contains(d.Answer, "each for about 43s (rehearsed)") {
		t.Errorf("%+v, %s", got, d.Answer)
	}
	d.Summary.Outage = view.OutageOf(volumes.Outage{Start: time.Second, Measured: 1}, false)
	if d.Rehearsed(rehearsed); d.Summary.Outage.Seconds != 1 {
		t.Errorf("the measurement is lost: %+v", d.Summary.Outage)
	}
	none := Plan{}
	if none.Rehearsed(rehearsed); none.Summary.Outage != nil {
		t.Errorf("nothing moves: %+v", none.Summary.Outage)
	}
}

func TestPlanTable(t *testing.T) {
	whole := movetest.Application{Replicas: 2, Templates: []string{"data"}}.Snapshot()
	warned := movetest.Application{Replicas: 1}.Snapshot()
	warned.Preflight = []plan.Finding{{Reason: "VolumeIsLocal", Object: "volume pv", Message: "volume pv is a path on a machine", Warning: true}}
	sick := movetest.Application{Replicas: 2}.Snapshot()
	sick.Source.Pods[1].Ready = false
	sick.Preflight = warned.Preflight
	scheduled := movetest.Application{Replicas: 3}.Snapshot()
	scheduled.Spec.Schedule = schedule.Of(&api.ScheduleSpec{
		TimeZone: "Europe/Berlin", NotBefore: new(metav1.NewTime(scheduled.Now.Add(time.Hour))), ExpectedHandoffSeconds: new(int32(1800)),
		Windows: []api.Window{{From: "22:00", Duration: metav1.Duration{Duration: time.Hour}}},
	})
	over := movetest.Application{Replicas: 1}.Snapshot()
	over.Spec.Schedule = schedule.Of(&api.ScheduleSpec{NotAfter: new(metav1.NewTime(over.Now))})
	blocks := movetest.Application{Replicas: 7, Templates: []string{"data"}}.Snapshot()
	blocks.Spec.MaxInFlight = new(intstr.FromInt32(3))
	blocks.Source.Budgets[0].Form = pdb.Unavailable(3)
	for name, tc := range map[string]struct {
		snapshot plan.Snapshot
		wide     bool
		paint    terminal.Painter
	}{
		"plan_blocks.txt":  {snapshot: blocks},
		"plan.txt":         {snapshot: whole},
		"plan_wide.txt":    {snapshot: whole, wide: true},
		"plan_five.txt":    {snapshot: movetest.Application{Replicas: 5, Templates: []string{"data"}}.Snapshot()},
		"plan_large.txt":   {snapshot: movetest.Application{Replicas: 300, Templates: []string{"data", "wal"}}.Snapshot()},
		"plan_color.txt":   {snapshot: warned, paint: terminal.Painter{On: true}},
		"plan_refused.txt": {snapshot: sick},
		"plan_windows.txt": {snapshot: scheduled},
		"plan_never.txt":   {snapshot: over},
	} {
		t.Run(name, func(t *testing.T) {
			golden.Compare(t, name, printPlan(t, NewPlan(fresh(), Beginning, tc.snapshot), tc.paint, tc.wide))
		})
	}
}

// TestPlanDocument: the plan in JSON and in YAML.
func TestPlanDocument(t *testing.T) {
	d := NewPlan(fresh(), Beginning, movetest.Application{Replicas: 3, Templates: []string{"data", "wal"}}.Snapshot())
	want := Summary{
		Ordinals: 3, Writes: len(d.Steps), FewestAvailable: 2, Replicas: 3, Budget: 1, Volumes: 6,
		VolumesByMethod: map[api.VolumeMethod]int{api.MethodRebind: 6}, HandoffSeconds: 60, HandoffSource: HandoffAssumed, Outage: view.OutageOf(volumes.Outage{}, false),
	}
	if diff := cmp.Diff(want, d.Summary); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
	if d.Refused || d.Stalled != nil || d.Outcome != api.ReasonMoved {
		t.Errorf("refused %v, stalled %v, outcome %q", d.Refused, d.Stalled, d.Outcome)
	}
	for format, decode := range map[string]func([]byte, any) error{
		"json": json.Unmarshal,
		"yaml": func(data []byte, into any) error { return yaml.Unmarshal(data, into) },
	} {
		var out bytes.Buffer
		if err := terminal.Encode(&out, format, d); err != nil {
			t.Fatal(err)
		}
		var back Plan
		if err := decode(out.Bytes(), &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(d, back); diff != "" {
			t.Errorf("%s does not say all (-want +got):\n%s", format, diff)
		}
	}
}

// TestPlanPhases: each step belongs to the ordinal whose handoff it is part of.
func TestPlanPhases(t *testing.T) {
	d := NewPlan(fresh(), Beginning, movetest.Application{Replicas: 2, Templates: []string{"data"}}.Snapshot())
	var groups []string
	for i, step := range d.Steps {
		if i == 0 || !sameGroup(d.Steps[i-1], step) {
			groups = append(groups, string(step.Phase)+" "+map[bool]string{true: ordinalCell(step.Ordinal)}[step.Phase == phaseHandoff])
		}
		if step.Step != i+1 {
			t.Errorf("step %d has number %d", i+1, step.Step)
		}
	}
	want := []string{"prepare ", "handoff 1", "handoff 0", "restore "}
	if diff := cmp.Diff(want, groups); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
}

func TestPlanOfARunUnderWay(t *testing.T) {
	for name, tc := range map[string]struct {
		mode         api.Mode
		wantOrdinals int32
		wantText     string
		wantOutcome  string
	}{
		"running":     {api.ModeRun, 2, "these are the steps that are left", api.ReasonMoved},
		"paused":      {api.ModePause, 2, "these are the steps once it is resumed", api.ReasonMoved},
		"rolled back": {api.ModeRollback, 1, "these are the steps to the source", api.ReasonRolledBack},
	} {
		t.Run(name, func(t *testing.T) {
			m, s := underWay(t)
			s.Spec.Mode = tc.mode
			d := NewPlan(m, Underway, s)
			if d.Summary.Ordinals != tc.wantOrdinals || d.Outcome != tc.wantOutcome || len(d.Findings) != 0 {
				t.Errorf("%d ordinals, outcome %q, findings %v", d.Summary.Ordinals, d.Outcome, d.Findings)
			}
			if text := printPlan(t, d, terminal.Painter{}, false); !strings.Contains(text, tc.wantText) {
				t.Errorf("the plan lacks %q:\n%s", tc.wantText, text)
			}
		})
	}
}

func TestPlanThatStalls(t *testing.T) {
	m, s := underWay(t)
	s.Source.Set.Replicas = 3
	s.Source.Set.ScalesBy = "kubectl"
	d := NewPlan(m, Underway, s)
	if d.Stalled == nil || d.Stalled.Reason != api.ReasonForeignScale {
		t.Fatalf("stalled: %+v", d.Stalled)
	}
	text := printPlan(t, d, terminal.Painter{}, false)
	for _, want := range []string{"It would stall there: ForeignScale", "what to do: "} {
		if !strings.Contains(text, want) {
			t.Errorf("the plan lacks %q:\n%s", want, text)
		}
	}
}

func TestPlanOfACompletedMove(t *testing.T) {
	m, s := underWay(t)
	s.Record.Completed = api.ReasonMoved
	d := NewPlan(m, Over, s)
	if text := printPlan(t, d, terminal.Painter{}, false); len(d.Steps) != 0 || !strings.Contains(text, "There is nothing to do: the move is completed.") {
		t.Errorf("the plan of a completed move:\n%s", text)
	}
}

// BenchmarkPlan measures the simulation and the table of a large application.
func BenchmarkPlan(b *testing.B) {
	snapshot := movetest.Application{Replicas: 1000, Templates: []string{"data"}}.Snapshot()
	for b.Loop() {
		d := NewPlan(fresh(), Beginning, snapshot)
		if err := (Printer{Out: io.Discard}).Print(d); err != nil || d.Summary.Ordinals != 1000 {
			b.Fatal(err, d.Summary)
		}
	}
}

// TestPlanOfASplit (G11): the plan shows the shares of a split application before and after the move, and what a drain
// may do then.
func TestPlanOfASplit(t *testing.T) {
	part := movetest.Application{Replicas: 4, Spec: plan.Spec{Count: 3}}.Snapshot()
	first := NewPlan(fresh(), Beginning, part)
	if first.Split != nil || first.SplitAfter == nil {
		t.Fatalf("split %+v, after it %+v", first.Split, first.SplitAfter)
	}
	want := Split{
		Start: 0, Replicas: 4, Budget: 1, Source: Share{Cluster: "east", Replicas: 1, MaxUnavailable: ptr.To[int32](0)},
		Destination: Share{Cluster: "west", Start: 1, Replicas: 3, MaxUnavailable: ptr.To[int32](1)},
		Remedy:      "before maintenance of the source: kubectl migrate budget web -n shop --to source --context east; or begin with --split-budget source",
	}
	if diff := cmp.Diff(want, *first.SplitAfter); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if text := printPlan(t, first, terminal.Painter{}, false); !strings.Contains(text, "kubectl migrate budget web -n shop --to source --context east; ") || !strings.Contains(text, "source (cluster east): 0 may be unavailable; kubectl drain of a node with one of its replicas waits") {
		t.Errorf("it says:\n%s", text)
	}
	second := NewPlan(fresh(), Beginning, theRest(part))
	if second.Refused || second.Split == nil || second.SplitAfter != nil || second.Summary.Replicas != 4 || second.Summary.Ordinals != 1 {
		t.Fatalf("refused %v %+v, split %+v, after it %+v, %+v", second.Refused, second.Findings, second.Split, second.SplitAfter, second.Summary)
	}
	if text := printPlan(t, second, terminal.Painter{}, false); !strings.Contains(text, "The application is split: ordinals [0,4); the source owns [0,1), the destination [1,4); 1 of the whole") {
		t.Errorf("it says:\n%s", text)
	}
}

// theRest returns a snapshot in which another migration has moved all ordinals but the first.
func theRest(s plan.Snapshot) plan.Snapshot {
	s.Spec.Count = 0
	s.Destination.Set = s.Source.Set
	s.Destination.Set.UID, s.Destination.Set.Start, s.Destination.Set.Replicas = "destination", 1, s.Source.Set.Replicas-1
	s.Source.Set.Replicas = 1
	s.Destination.Pods, s.Source.Pods = s.Source.Pods[1:], s.Source.Pods[:1]
	author := s.Source.Budgets[0].Form
	budget := s.Source.Budgets[0]
	budget.UID, budget.Author, budget.Fence = "there", &author, "another.1"
	s.Destination.Budgets = []plan.Budget{budget}
	budget.UID, budget.Form = "here", pdb.Unavailable(0)
	s.Source.Budgets = []plan.Budget{budget}
	return s
}

// underWay returns a snapshot and a record after the first of three ordinals has moved.
func underWay(t *testing.T) (*api.Migration, plan.Snapshot) {
	t.Helper()
	s := movetest.Application{Replicas: 3}.Snapshot()
	m := movetest.Moving(1, 3)
	m.Status.Baseline.SourceUID = "source"
	s.Record = plan.Record{Baseline: m.Status.Baseline, Fence: m.Status.Fence, Accepted: true}
	s.Source.Budgets = nil
	s.Source.Set.Replicas = 2
	moved := s.Source.Pods[2]
	s.Source.Pods = s.Source.Pods[:2]
	s.Destination.Set = plan.Set{Presence: plan.Seen, Name: "web", UID: "destination", ResourceVersion: "1", Start: 2, Replicas: 1, Observed: true, RolledOut: true}
	s.Destination.Pods = []plan.Pod{moved}
	return m, s
}

// TestV13Answer: the first line states whether the application can move, and the effect on its users.
func TestV13Answer(t *testing.T) {
	sides := Plan{Source: Side{"east", "shop", "web"}, Destination: Side{"west", "shop", "web"}, Mode: api.ModeRun, Standing: Beginning, Steps: []Step{{}}}
	sides.Summary = Summary{Ordinals: 3, Replicas: 3, FewestAvailable: 2, HandoffSeconds: 60, HandoffSource: HandoffAssumed, Outage: view.OutageOf(volumes.Outage{}, false)}
	for want, change := range map[string]func(*Plan){
		"can move. 3 ordinals in about 3m00s, 1 of 3 down at once, each for about 10s (assumed); nothing is copied.": func(*Plan) {},
		"can move. 3 ordinals in about 3m00s, 1 of 3 down at once, each for about 10s (assumed); 3 volumes copied, of 60.0 GiB.": func(d *Plan) {
			d.Summary.VolumesByMethod, d.Summary.CopiedBytes = map[api.VolumeMethod]int{api.MethodCopy: 3}, 60<<30
		},
		"can continue. 3 ordinals in about 3m00s, 1 of 3 down at once, each for about 4s; nothing is copied.": func(d *Plan) {
			d.Standing, d.Summary.HandoffSource = Underway, HandoffMeasured
			d.Summary.Outage = view.OutageOf(volumes.Outage{Stop: time.Second, Start: 3 * time.Second, Measured: 1}, false)
		},
		"cannot move yet: 2 refusals. Correct BudgetZero first.": func(d *Plan) {
			d.Refused, d.Findings = true, []plan.Finding{{Reason: "BudgetZero"}, {Reason: "NoNodeFits"}, {Reason: "GitOps", Warning: true}}
		},
		"would begin, and stall before an ordinal has moved: VolumeAttached.": func(d *Plan) {
			d.Stalled, d.Summary.Ordinals = &view.Stall{Reason: "VolumeAttached"}, 0
		},
		"would stall once 1 ordinal has moved: VolumeAttached.":           func(d *Plan) { d.Stalled, d.Summary.Ordinals = &view.Stall{Reason: "VolumeAttached"}, 1 },
		"StatefulSet web from shop (cluster east) to shop (cluster west)": func(d *Plan) { d.Mode = api.ModeRollback },
	} {
		d := sides
		change(&d)
		if answer := d.answer(); !strings.HasSuffix(answer, want) {
			t.Errorf("want ... %s\n got %s", want, answer)
		}
	}
}
