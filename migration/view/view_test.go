package view

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/view/viewtest"
)

func with(m *api.Migration, conditions ...metav1.Condition) *api.Migration {
	m.Status.Conditions = viewtest.Conditions(time.Minute, conditions...)
	return m
}

func inMode(m *api.Migration, mode api.Mode) *api.Migration {
	m.Spec.Mode = mode
	return m
}

// TestState: the state of a migration in one word.
func TestState(t *testing.T) {
	unbegun := func(conditions ...metav1.Condition) *api.Migration {
		m := with(viewtest.Moving(0, 4), conditions...)
		m.Status.Baseline = nil
		return m
	}
	for name, tc := range map[string]struct {
		m    *api.Migration
		want State
	}{
		"not looked at":       {unbegun(), StateWaiting},
		"refused":             {unbegun(metav1.Condition{Type: api.ConditionAccepted, Status: metav1.ConditionFalse, Reason: "NoRight"}), StateRefused},
		"on its way":          {viewtest.InFlight(), StateMoving},
		"between two":         {viewtest.Moving(2, 4), StateMoving},
		"stalled":             {viewtest.Stalled(), StateStalled},
		"stalled in a pause":  {inMode(viewtest.Stalled(), api.ModePause), StateStalled},
		"to be paused":        {viewtest.InMode(api.ModePause), StatePausing},
		"paused":              {inMode(viewtest.Moving(2, 4), api.ModePause), StatePaused},
		"going back":          {viewtest.InMode(api.ModeRollback), StateRollingBack},
		"recovering":          {viewtest.InMode(api.ModeRecover), StateRecovering},
		"outside of a window": {with(viewtest.Moving(2, 4), metav1.Condition{Type: api.ConditionProgressing, Status: metav1.ConditionFalse, Reason: api.ReasonPaused}), StateWaiting},
		"moved":               {viewtest.Completed(), StateMoved},
		"rolled back":         {viewtest.RolledBack(), StateRolledBack},
		"recovered":           {with(viewtest.Moving(0, 4), metav1.Condition{Type: api.ConditionCompleted, Status: metav1.ConditionTrue, Reason: api.ReasonRecovered}), StateRecovered},
	} {
		t.Run(name, func(t *testing.T) {
			if got := NewRow(tc.m, false).State; got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// TestHold: the reason to wait is shown with its remedy, and nothing is shown after completion.
func TestHold(t *testing.T) {
	for name, tc := range map[string]struct {
		m    *api.Migration
		want *Hold
	}{
		"nothing":  {viewtest.Moving(1, 4), nil},
		"a pod":    {viewtest.InFlight(), &Hold{Reason: api.ReasonPodNotReady, Message: "waiting until pod shop/web-2 in cluster west is Ready", Since: viewtest.Noon.Add(-12 * time.Second)}},
		"a person": {viewtest.Stalled(), &Hold{Reason: api.ReasonPodNotReady, Message: "ordinal 2 has been at AwaitReadiness for longer than 10s", Remedy: "kubectl describe pod -n shop web-2", Stalled: true, Since: viewtest.Noon}},
		"the end":  {viewtest.Completed(), nil},
		"a right": {
			with(&api.Migration{}, metav1.Condition{Type: api.ConditionAccepted, Status: metav1.ConditionFalse, Reason: "NoRight", Message: "it may not. What to do: bind the role"}),
			&Hold{Reason: "NoRight", Message: "it may not", Remedy: "bind the role", Since: viewtest.Noon.Add(-time.Minute)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, NewRow(tc.m, false).Hold); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestOrdinals: the place of each ordinal is shown, and its availability if known.
func TestOrdinals(t *testing.T) {
	at := func(m *api.Migration, source, destination api.SliceStatus) *api.Migration {
		m.Status.Source, m.Status.Destination = &source, &destination
		return m
	}
	for name, tc := range map[string]struct {
		m    *api.Migration
		want []Ordinal
	}{
		"not looked at": {&api.Migration{}, []Ordinal{}},
		"one comes": {
			at(viewtest.InFlight(), api.SliceStatus{Replicas: 2, Available: 2}, api.SliceStatus{Start: 2, Replicas: 2, Available: 1}),
			[]Ordinal{{0, AtSource, Ready, false}, {1, AtSource, Ready, false}, {2, AtDestination, NotReady, true}, {3, AtDestination, Ready, false}},
		},
		"one is away": {
			at(viewtest.InFlight(), api.SliceStatus{Replicas: 2, Available: 2}, api.SliceStatus{Start: 3, Replicas: 1, Available: 1}),
			[]Ordinal{{0, AtSource, Ready, false}, {1, AtSource, Ready, false}, {2, Away, NotReady, true}, {3, AtDestination, Ready, false}},
		},
		"one of two is down": {
			at(viewtest.Moving(2, 4), api.SliceStatus{Replicas: 2, Available: 1}, api.SliceStatus{Start: 2, Replicas: 2}),
			[]Ordinal{{0, AtSource, Unknown, false}, {1, AtSource, Unknown, false}, {2, AtDestination, NotReady, false}, {3, AtDestination, NotReady, false}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, NewRow(tc.m, false).Ordinals()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestOrdinalsCount: for any status, each ordinal is shown once. The numbers of available and unavailable
// ordinals match the status, except for those shown as unknown.
func TestOrdinalsCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.Int32Range(1, 12).Draw(t, "total")
		moved := rapid.Int32Range(0, total).Draw(t, "moved")
		m := viewtest.Moving(moved, total)
		m.Status.Source.Available = rapid.Int32Range(0, total-moved).Draw(t, "available at the source")
		m.Status.Destination.Available = rapid.Int32Range(0, moved).Draw(t, "available at the destination")
		if rapid.Bool().Draw(t, "on its way") {
			m.Status.Handoff = &api.Handoff{Ordinal: rapid.Int32Range(0, total-1).Draw(t, "ordinal")}
		}
		ready, unknown := map[Place]int32{}, map[Place]int32{}
		for i, o := range NewRow(m, true).Ordinals() {
			if o.Ordinal != int32(i) {
				t.Fatalf("ordinal %d is at %d", o.Ordinal, i)
			}
			switch o.Ready {
			case Ready:
				ready[o.At]++
			case Unknown:
				unknown[o.At]++
			default:
			}
		}
		for place, side := range map[Place]*api.SliceStatus{AtSource: m.Status.Source, AtDestination: m.Status.Destination} {
			if ready[place] > side.Available || ready[place]+unknown[place] < side.Available {
				t.Fatalf("at the %s %d are shown to be available, and of %d it is not known; %d are", place, ready[place], unknown[place], side.Available)
			}
		}
	})
}

// TestPace: the remaining time is estimated from the handoffs in the current direction.
func TestPace(t *testing.T) {
	past := func(direction api.Direction, seconds ...int) (out []api.PastHandoff) {
		for _, each := range seconds {
			out = append(out, api.PastHandoff{Direction: direction, StartTime: metav1.NewMicroTime(viewtest.Noon), EndTime: metav1.NewMicroTime(viewtest.Noon.Add(time.Duration(each) * time.Second))})
		}
		return out
	}
	back := viewtest.Moving(2, 4)
	back.Status.Fence.Direction = api.Back
	for name, tc := range map[string]struct {
		m    *api.Migration
		past []api.PastHandoff
		want *Pace
		left time.Duration
	}{
		"none yet":         {viewtest.Moving(0, 4), nil, nil, 0},
		"two of four":      {viewtest.Moving(2, 4), past(api.Forward, 30, 50), &Pace{Handoffs: 2, MedianSeconds: 40, ShortestSeconds: 30, LongestSeconds: 50}, 80 * time.Second},
		"all":              {viewtest.Moving(4, 4), past(api.Forward, 30, 50, 40), &Pace{Handoffs: 3, MedianSeconds: 40, ShortestSeconds: 30, LongestSeconds: 50}, 0},
		"back, none yet":   {back, past(api.Forward, 30), nil, 0},
		"back, one by now": {back, append(past(api.Forward, 30), past(api.Back, 10)...), &Pace{Handoffs: 1, MedianSeconds: 10, ShortestSeconds: 10, LongestSeconds: 10}, 20 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			tc.m.Status.History = &api.History{Handoffs: tc.past}
			if diff := cmp.Diff(tc.want, PaceOf(tc.m), cmpopts.IgnoreUnexported(Pace{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got := NewRow(tc.m, true).Left(viewtest.Noon); got != tc.left {
				t.Errorf("%s left, want %s", got, tc.left)
			}
		})
	}
}

// TestV5LeftCountsDown: the ordinal in flight uses up its mean duration, but no more than that.
func TestV5LeftCountsDown(t *testing.T) {
	m := viewtest.InFlight()
	m.Status.History = &api.History{Handoffs: []api.PastHandoff{{Direction: api.Forward, StartTime: metav1.NewMicroTime(viewtest.Noon.Add(-time.Hour)), EndTime: metav1.NewMicroTime(viewtest.Noon.Add(-58 * time.Minute))}}}
	row := NewRow(m, true)
	for at, want := range map[time.Duration]time.Duration{0: 6*time.Minute - 95*time.Second, time.Hour: 4 * time.Minute, -time.Hour: 6 * time.Minute} {
		if got := row.Left(viewtest.Noon.Add(at)); got != want {
			t.Errorf("%s later: %s, want %s", at, got, want)
		}
	}
	if at := row.At(m, viewtest.Noon); *at.LeftSeconds != 265 {
		t.Errorf("the row says %d s", *at.LeftSeconds)
	}
}

// TestV6SidesAsOf: when a side stops answering, the last observation of the sides is shown with its time, until
// the end.
func TestV6SidesAsOf(t *testing.T) {
	m := viewtest.Moving(2, 5)
	if row := NewRow(m, false); row.Sides[0].AsOf != nil || strings.Contains(row.BudgetText()+row.Sides[0].Text(), "as of") {
		t.Errorf("both answer: %+v", row.Sides)
	}
	m.Status.StaleSince = new(metav1.NewTime(time.Date(2026, 1, 2, 15, 56, 35, 0, time.UTC)))
	row := NewRow(m, false)
	for _, text := range []string{row.Sides[0].Text(), row.Sides[1].Text(), row.BudgetText()} {
		if !strings.HasSuffix(text, ", as of 15:56:35 UTC") {
			t.Errorf("%q", text)
		}
	}
}

// TestV4Down: the outage ends and the soak begins when the pod is Ready. Both are known for the ordinal in
// flight only.
func TestV4Down(t *testing.T) {
	ago := func(d time.Duration) metav1.MicroTime { return metav1.NewMicroTime(viewtest.Noon.Add(-d)) }
	stopped := func(ordinal int32, ready metav1.MicroTime) *api.Migration {
		m := viewtest.InFlight()
		m.Status.History = &api.History{Stopped: &api.StoppedOrdinal{Ordinal: ordinal, StopTime: ago(20 * time.Second), ReadyTime: ready}}
		return m
	}
	awaits := viewtest.InFlight()
	awaits.Status.Handoff.Step = api.StepAwaitRelease
	serves := viewtest.InFlight()
	serves.Status.Handoff.Step, serves.Status.History = api.StepAwaitRelease, &api.History{Stopped: &api.StoppedOrdinal{Ordinal: 2}}
	for name, tc := range map[string]struct {
		m    *api.Migration
		want string
	}{
		"its pod still serves": {serves, ""},
		"not known":            {viewtest.InFlight(), ""},
		"another one":          {stopped(1, metav1.MicroTime{}), ""},
		"down":                 {stopped(2, metav1.MicroTime{}), "down for 20s"},
		"Ready":                {stopped(2, ago(3500*time.Millisecond)), "was down for 16s, Ready for 3.5s"},
		"right after its stop": {awaits, "down for 12s"},
	} {
		got := ""
		row := NewRow(tc.m, true).At(tc.m, viewtest.Noon)
		if row.Handoff.Down != nil {
			got = row.Handoff.Down.Text(viewtest.Noon)
		}
		if got != tc.want || (row.Handoff.OutageSeconds != nil) != (tc.want != "") {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestActions: the allowed actions of a migration, and that a rollback is confirmed by typing its name.
func TestActions(t *testing.T) {
	for name, tc := range map[string]struct {
		m      *api.Migration
		record bool
		want   []Verb
	}{
		"running":     {viewtest.InFlight(), false, []Verb{Pause, Rollback}},
		"paused":      {viewtest.InMode(api.ModePause), false, []Verb{Resume, Rollback}},
		"going back":  {viewtest.InMode(api.ModeRollback), false, []Verb{Pause, Resume}},
		"recovering":  {viewtest.InMode(api.ModeRecover), false, nil},
		"moved":       {viewtest.Completed(), false, nil},
		"rolled back": {viewtest.RolledBack(), false, []Verb{Resume}},

		"going back by itself":                    {byItself(viewtest.InMode(api.ModeRollback)), false, []Verb{Pause}},
		"going back by itself, a run":             {byItself(viewtest.InMode(api.ModeRollback)), true, []Verb{Pause, Resume}},
		"turned back by itself, Run again":        {byItself(viewtest.InMode(api.ModeRun)), false, []Verb{Pause, Rollback}},
		"turned back by itself, Run again, a run": {byItself(viewtest.InMode("")), true, []Verb{Pause, Rollback}},
		"turned back by itself, pause not seen":   {byItself(viewtest.InMode(api.ModePause)), false, []Verb{Rollback}},
		"recovering after that":                   {byItself(viewtest.InMode(api.ModeRecover)), false, nil},
		"back by itself":                          {byItself(viewtest.RolledBack()), false, []Verb{Pause}},
		"back by itself, a run":                   {byItself(viewtest.RolledBack()), true, []Verb{Pause, Resume}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []Verb
			for _, a := range Actions(tc.m, tc.record) {
				if a.Refused == "" {
					got = append(got, a.Verb)
				}
				if a.Text == "" || a.Verb == Rollback && !a.Typed {
					t.Errorf("%s is offered as %+v", a.Verb, a)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if again, _ := Find(Actions(viewtest.RolledBack(), false), Resume); !again.Typed {
		t.Error("to begin anew is not confirmed by the name")
	}
}

// byItself makes a migration automatically rolled back.
func byItself(m *api.Migration) *api.Migration {
	m.Status.AutomaticRollback = &api.AutomaticRollback{Reason: api.ReasonGateFailed, By: "gate db", Message: "gate db has failed"}
	return m
}

// TestResumeAfterAnAutomaticRollback: a refused resume names the required first action.
func TestResumeAfterAnAutomaticRollback(t *testing.T) {
	for mode, want := range map[api.Mode]string{
		api.ModeRollback: "gate db failed: to continue to the destination, pause it first",
		api.ModeRun:      "gate db failed: to continue to the destination, pause it first",
		api.ModePause:    "has not observed the pause yet",
	} {
		if resume, _ := Find(Actions(byItself(viewtest.InMode(mode)), false), Resume); !strings.Contains(resume.Refused, want) {
			t.Errorf("%s: %q, want %q", mode, resume.Refused, want)
		}
	}
}

// TestSteps: each step of a handoff has a text, in the order of the API.
func TestSteps(t *testing.T) {
	want := []api.Step{api.StepGate, api.StepCopyAhead, api.StepReserveBudget, api.StepSecureVolumes, api.StepScaleDown, api.StepAwaitRelease, api.StepCarryVolumes, api.StepScaleUp, api.StepAwaitReadiness}
	var got []api.Step
	for _, s := range Steps() {
		if s.Text == "" {
			t.Errorf("%s has no words", s.Name)
		}
		got = append(got, s.Name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestDestinationOf: the destination's cluster has the name that its first user gave it, or that of its slice;
// otherwise it is unknown.
func TestDestinationOf(t *testing.T) {
	named, other, unseen := viewtest.Moving(1, 4), viewtest.Moving(1, 4), viewtest.Moving(1, 4)
	named.Annotations = map[string]string{records.DestinationNameAnnotationKey: "abroad"}
	other.Spec.Destination.Namespace, unseen.Status.Destination = "store", nil
	here := viewtest.Moving(1, 4)
	here.Spec.Destination.Namespace = ""
	for want, m := range map[string]*api.Migration{"abroad": named, "west": here, "": other} {
		if got := DestinationOf(m); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := DestinationOf(unseen); got != "" {
		t.Errorf("of a destination that was not seen it says %q", got)
	}
}

// TestSeveralInFlight: a row has every ordinal in flight, with its step and its downtime.
func TestSeveralInFlight(t *testing.T) {
	m := viewtest.InFlight()
	m.Status.FurtherHandoffs = []api.Handoff{{Ordinal: 1, Step: api.StepAwaitRelease, StepTime: metav1.NewMicroTime(viewtest.Noon.Add(-3 * time.Second)), StartTime: metav1.NewMicroTime(viewtest.Noon.Add(-9 * time.Second)), Attempts: 1}}
	m.Status.Source = &api.SliceStatus{Slice: "east/shop/web [0,1)", Replicas: 1, Available: 1}
	row := NewRow(m, false).At(m, viewtest.Noon)
	if len(row.Further) != 1 || row.Further[0].Ordinal != 1 || row.Further[0].OutageSeconds == nil || *row.Further[0].OutageSeconds != 3 {
		t.Errorf("further: %+v", row.Further)
	}
	line := row.Line(viewtest.Noon)
	for _, want := range []string{"ordinal 2: ", "ordinal 1: wait until its volumes are released; down for 3s"} {
		if !strings.Contains(line, want) {
			t.Errorf("%q lacks %q", line, want)
		}
	}
	moving := 0
	for _, o := range row.Ordinals() {
		if o.Moving {
			moving++
		}
	}
	if moving != 2 {
		t.Errorf("%d ordinals are moving", moving)
	}
	if one := NewRow(viewtest.InFlight(), false); row.Fraction() <= one.Fraction() {
		t.Errorf("a second ordinal in flight adds nothing: %f of %f", row.Fraction(), one.Fraction())
	}
	m.Status.Conditions = nil
	if now := NewRow(m, false).Now; !strings.Contains(now, "also in flight: 1") {
		t.Errorf("now: %q", now)
	}
}
