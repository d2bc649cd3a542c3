package engine

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/migration/schedule"
	"github.com/sliceshift/sliceshift/migration/world"
	"github.com/sliceshift/sliceshift/pdb"
)

// said returns a condition in short form; empty if there is none.
func said(m *api.Migration, kind string) string {
	c := meta.FindStatusCondition(m.Status.Conditions, kind)
	if c == nil {
		return ""
	}
	return strings.Join([]string{string(c.Status), c.Reason, c.Message}, "|")
}

// TestRecordIsWritten: the record is written to the status, and a record that begins again removes the
// conditions of the former one.
func TestRecordIsWritten(t *testing.T) {
	record := plan.Record{Baseline: &api.Baseline{Replicas: 3}, Fence: &api.Fence{Epoch: 2}, Handoff: &api.Handoff{Ordinal: 1}, Pace: &api.Pace{LongestSeconds: 9}, Writers: []api.PausedWriter{{Done: true}}, Hooks: []api.HookRun{{Name: "tell"}}, HookTurns: 3, LastAttempt: 7, Accepted: true, Completed: api.ReasonMoved}
	m := &api.Migration{}
	applyRecord(m, record)
	if diff := cmp.Diff(record, world.RecordOf(m)); diff != "" {
		t.Errorf("it is read again otherwise: -want +got\n%s", diff)
	}
	record.Completed, record.Accepted = "", false
	applyRecord(m, record)
	if said(m, api.ConditionCompleted) != "" || !strings.HasPrefix(said(m, api.ConditionAccepted), "True|Ready|") {
		t.Errorf("completed no more, and accepted before: %+v", m.Status.Conditions)
	}
	m.Status.Source, m.Status.Destination = &api.SliceStatus{}, &api.SliceStatus{}
	applyRecord(m, plan.Record{})
	if len(m.Status.Conditions) > 0 || m.Status.Source != nil || m.Status.Destination != nil || m.Status.Baseline != nil || m.Status.Fence != nil || m.Status.Handoff != nil || m.Status.Pace != nil || m.Status.PausedWriters != nil {
		t.Errorf("begun anew: %+v", m.Status)
	}
}

// TestScheduleIsShown: the status has the time at which the next handoff may begin and the number of remaining
// ordinals, and nothing if no schedule decides.
func TestScheduleIsShown(t *testing.T) {
	const minute = time.Minute
	s := plantest.Scenario{Replicas: 3}.Build()
	nightly := &api.ScheduleSpec{Windows: []api.Window{{From: "22:00", Duration: metav1.Duration{Duration: time.Hour}}}}
	time := func(day, hour int) *metav1.Time {
		return new(metav1.NewTime(time.Date(2026, 1, day, hour, 0, 0, 0, time.UTC)))
	}
	for name, tc := range map[string]struct {
		by   *api.ScheduleSpec
		mode api.Mode
		want *api.ScheduleStatus
	}{
		"none":      {nil, api.ModeRun, nil},
		"closed":    {nightly, api.ModeRun, &api.ScheduleStatus{OpensTime: time(1, 22), ClosesTime: time(1, 23), HandoffSeconds: 60, Left: 3}},
		"open":      {&api.ScheduleSpec{NotAfter: time(1, 12)}, api.ModeRun, &api.ScheduleStatus{Open: true, ClosesTime: time(1, 12), HandoffSeconds: 60, Left: 3}},
		"always":    {&api.ScheduleSpec{ExpectedHandoffSeconds: new(int32(5))}, api.ModeRun, &api.ScheduleStatus{Open: true, HandoffSeconds: 5, Left: 3}},
		"never":     {&api.ScheduleSpec{NotAfter: time(1, 0)}, api.ModeRun, &api.ScheduleStatus{HandoffSeconds: 60, Left: 3}},
		"paused":    {nightly, api.ModePause, nil},
		"back":      {nightly, api.ModeRollback, nil},
		"too late":  {&api.ScheduleSpec{Windows: []api.Window{{From: "23:00", Duration: metav1.Duration{Duration: 90 * minute}}}, ExpectedHandoffSeconds: new(int32(3600))}, api.ModeRun, &api.ScheduleStatus{OpensTime: time(1, 23), ClosesTime: new(metav1.NewTime(time(2, 0).Add(30 * minute))), HandoffSeconds: 3600, Left: 3}},
		"too short": {&api.ScheduleSpec{Windows: nightly.Windows, ExpectedHandoffSeconds: new(int32(7200))}, api.ModeRun, &api.ScheduleStatus{HandoffSeconds: 7200, Left: 3}},
	} {
		m := &api.Migration{}
		m.Status.Schedule = &api.ScheduleStatus{Left: 99}
		s.Spec.Mode, s.Spec.Schedule = tc.mode, schedule.Of(tc.by)
		render(m, s, plan.Decision{})
		if diff := cmp.Diff(tc.want, m.Status.Schedule, cmp.Comparer(func(a, b metav1.Time) bool { return a.Time.Equal(b.Time) })); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	m := &api.Migration{}
	m.Status.Schedule = &api.ScheduleStatus{Left: 99}
	render(m, plan.Snapshot{}, plan.Decision{Hold: &plan.Hold{Reason: api.ReasonClusterUnreachable, Stalled: true}})
	if m.Status.Schedule == nil || m.Status.Schedule.Left != 99 {
		t.Errorf("nothing was looked at: %+v", m.Status.Schedule)
	}
}

// TestStepIsTimed: the status has the step of the current handoff, and its start.
func TestStepIsTimed(t *testing.T) {
	began := time.Unix(1000, 0)
	first, now := metav1.NewMicroTime(began), began.Add(time.Minute)
	at := func(step api.Step) *api.Handoff {
		moment := metav1.NewMicroTime(now)
		return &api.Handoff{Step: step, StepTime: moment, Steps: []api.StepStart{{Step: step, Time: moment}}}
	}
	for name, tc := range map[string]struct {
		have *api.Handoff
		step api.Step
		want *api.Handoff
	}{
		"no handoff":         {nil, api.StepGate, nil},
		"no step":            {&api.Handoff{Step: api.StepGate, StepTime: first}, "", &api.Handoff{Step: api.StepGate, StepTime: first}},
		"the same step":      {&api.Handoff{Step: api.StepGate, StepTime: first}, api.StepGate, &api.Handoff{Step: api.StepGate, StepTime: first}},
		"the next step":      {&api.Handoff{Step: api.StepGate, StepTime: first}, api.StepScaleDown, at(api.StepScaleDown)},
		"without its moment": {&api.Handoff{Step: api.StepGate}, api.StepGate, at(api.StepGate)},
	} {
		t.Run(name, func(t *testing.T) {
			m := &api.Migration{ObjectMeta: metav1.ObjectMeta{Generation: 7}}
			m.Status.Handoff = tc.have
			before := tc.have.DeepCopy()
			render(m, plan.Snapshot{Now: now}, plan.Decision{Step: tc.step})
			if diff := cmp.Diff(tc.want, m.Status.Handoff); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if diff := cmp.Diff(before, tc.have); diff != "" {
				t.Errorf("the record has changed\n%s", diff)
			}
			if m.Status.ObservedGeneration != 7 || m.Status.Conditions[0].ObservedGeneration != 7 {
				t.Errorf("of generation %d, %+v", m.Status.ObservedGeneration, m.Status.Conditions)
			}
		})
	}
}

// TestConditions: a decision is written as the expected conditions.
func TestConditions(t *testing.T) {
	waits := &plan.Hold{Reason: api.ReasonPodNotReady, Message: "waiting", Remedy: "look"}
	stalls := &plan.Hold{Reason: api.ReasonForeignScale, Message: "somebody writes", Remedy: "stop it", Stalled: true}
	bare := &plan.Hold{Reason: api.ReasonForeignScale, Message: "somebody writes", Stalled: true}
	const moved = "every ordinal that was asked for runs at the destination"
	for name, tc := range map[string]struct {
		mode                                      api.Mode
		begun                                     bool
		decision                                  plan.Decision
		progressing, stalled, accepted, completed string
	}{
		"it moves":       {"", true, plan.Decision{}, "True|Moving|", "False|Ready|", "", ""},
		"it rolls back":  {api.ModeRollback, true, plan.Decision{}, "True|RollingBack|", "False|Ready|", "", ""},
		"it recovers":    {api.ModeRecover, true, plan.Decision{}, "True|RollingBack|", "False|Ready|", "", ""},
		"it waits":       {"", true, plan.Decision{Hold: waits}, "True|PodNotReady|waiting", "False|Ready|", "", ""},
		"it is paused":   {"", true, plan.Decision{Hold: &plan.Hold{Reason: api.ReasonPaused, Message: "p"}}, "False|Paused|p", "False|Ready|", "", ""},
		"it is not time": {"", true, plan.Decision{Hold: &plan.Hold{Reason: api.ReasonOutsideWindow, Message: "o"}}, "False|OutsideWindow|o", "False|Ready|", "", ""},
		"it is queued":   {"", false, plan.Decision{Hold: &plan.Hold{Reason: api.ReasonQueued, Message: "q", Remedy: "r"}}, "True|Queued|q", "False|Ready|", "", ""},
		"it stalls":      {"", true, plan.Decision{Hold: stalls}, "False|ForeignScale|somebody writes", "True|ForeignScale|somebody writes. What to do: stop it", "", ""},
		"without remedy": {"", true, plan.Decision{Hold: bare}, "False|ForeignScale|somebody writes", "True|ForeignScale|somebody writes", "", ""},
		"it is refused":  {"", false, plan.Decision{Hold: bare}, "False|ForeignScale|somebody writes", "True|ForeignScale|somebody writes", "False|ForeignScale|somebody writes", ""},
		"it has moved":   {"", true, plan.Decision{Done: api.ReasonMoved}, "False|Moved|" + moved, "False|Ready|", "", "True|Moved|" + moved},
		"it is back":     {"", true, plan.Decision{Done: api.ReasonRolledBack}, "False|RolledBack|every ordinal runs at the source", "False|Ready|", "", "True|RolledBack|every ordinal runs at the source"},
		"it has recovered": {
			"", true,
			plan.Decision{Done: api.ReasonRecovered},
			"False|Recovered|every ordinal runs at the source again, on the disk that it left there", "False|Ready|", "",
			"True|Recovered|every ordinal runs at the source again, on the disk that it left there",
		},
		"it was let go": {"", true, plan.Decision{Done: "Released"}, "False|Released|the migration's marks are removed from both StatefulSets; each ordinal runs where it was left", "False|Ready|", "", "True|Released|the migration's marks are removed from both StatefulSets; each ordinal runs where it was left"},
	} {
		t.Run(name, func(t *testing.T) {
			m := &api.Migration{}
			if tc.begun {
				m.Status.Baseline = &api.Baseline{}
			}
			render(m, plan.Snapshot{Spec: plan.Spec{Mode: tc.mode}}, tc.decision)
			for kind, want := range map[string]string{
				api.ConditionProgressing: tc.progressing, api.ConditionStalled: tc.stalled, api.ConditionAccepted: tc.accepted, api.ConditionCompleted: tc.completed,
			} {
				if got := said(m, kind); got != want {
					t.Errorf("%s: got %q, want %q", kind, got, want)
				}
			}
		})
	}
	refused := &api.Migration{}
	render(refused, plan.Snapshot{}, plan.Decision{Hold: bare})
	render(refused, plan.Snapshot{}, plan.Decision{Hold: waits})
	if got := said(refused, api.ConditionAccepted); got != "" {
		t.Errorf("mended, and not begun: %q", got)
	}
	m := &api.Migration{}
	condition(m, api.ConditionCompleted, metav1.ConditionFalse, api.ReasonMoved, "letting go")
	render(m, plan.Snapshot{}, plan.Decision{})
	if got := said(m, api.ConditionProgressing); got != "True|Moving|" {
		t.Errorf("while both are let go: %q", got)
	}
}

// TestV6StaleSince: while a side cannot be read, the status keeps the last slices of both, and says since when
// they are stale.
func TestV6StaleSince(t *testing.T) {
	now := time.Unix(1000, 0)
	side := plan.Side{Reach: plan.Seen, Set: plan.Set{Presence: plan.Seen, Replicas: 3}}
	s, m := plan.Snapshot{Now: now, Source: side, Destination: side}, &api.Migration{}
	renderSlices(m, s)
	for name, spoil := range map[string]func(*plan.Snapshot){
		"the source":      func(s *plan.Snapshot) { s.Source.Reach = plan.Unreachable },
		"the destination": func(s *plan.Snapshot) { s.Destination.Reach = plan.Unreachable },
	} {
		unread := s
		spoil(&unread)
		unread.Source.Set.Replicas = 1
		renderSlices(m, unread)
		unread.Now = now.Add(time.Minute)
		if renderSlices(m, unread); m.Status.Source.Replicas != 3 || m.Status.StaleSince == nil || !m.Status.StaleSince.Time.Equal(now) {
			t.Errorf("%s cannot be read: %+v, stale since %s", name, m.Status.Source, m.Status.StaleSince)
		}
		if renderSlices(m, s); m.Status.StaleSince != nil {
			t.Errorf("%s can be read again: stale since %s", name, m.Status.StaleSince)
		}
	}
}

// TestSlicesAreTold: the status has the slices of both sides and the number of moved ordinals while both sides
// can be read.
func TestSlicesAreTold(t *testing.T) {
	now := time.Unix(1000, 0)
	side := func(cluster string, start, replicas int32) plan.Side {
		s := plan.Side{Cluster: cluster, Namespace: "shop", Reach: plan.Seen, Set: plan.Set{Presence: plan.Seen, Name: "web", Start: start, Replicas: replicas}}
		for k := start; k < start+replicas; k++ {
			s.Pods = append(s.Pods, plan.Pod{Ordinal: k, Owned: true, Ready: k != start, ReadySince: now})
		}
		s.Budgets = []plan.Budget{{Fence: "m.1", Form: pdb.Unavailable(1)}}
		return s
	}
	s := plan.Snapshot{Now: now, Source: side("east", 0, 3), Destination: side("west", 3, 4), Spec: plan.Spec{Count: 5}}
	m := &api.Migration{}
	m.Status.Baseline = &api.Baseline{Replicas: 9, DestinationReplicas: 2}
	want := api.MigrationStatus{
		Source:      &api.SliceStatus{Slice: "east/shop/web [0,3)", Start: 0, Replicas: 3, Available: 2, MaxUnavailable: new(int32(1))},
		Destination: &api.SliceStatus{Slice: "west/shop/web [3,7)", Start: 3, Replicas: 4, Available: 3, MaxUnavailable: new(int32(1))},
		Moved:       2, Total: 5, Baseline: m.Status.Baseline,
	}
	renderSlices(m, s)
	if diff := cmp.Diff(want, m.Status); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	few := m.DeepCopy()
	few.Status.Baseline.Replicas = 6
	if moved, total := progressOf(few, s); moved != 2 || total != 4 {
		t.Errorf("fewer are left than were asked for: %d of %d", moved, total)
	}
	lost := s
	lost.Destination.Lost, lost.Record.Baseline = true, &api.Baseline{Replicas: 9, DestinationReplicas: 2}
	if moved, total := progressOf(m, lost); moved != 6 || total != 9 {
		t.Errorf("of a destination that is lost: %d of %d", moved, total)
	}
	recovering := m.DeepCopy()
	render(recovering, lost, plan.Decision{})
	if got := recovering.Status.Destination; got == nil || got.Slice != "west/shop/web [3,9)" || got.Start != 3 || got.Replicas != 6 {
		t.Errorf("what a destination had that is lost: %+v", got)
	}
	lost.Record.Given, lost.Source.Set.Replicas = new(int32(6)), 8
	if render(recovering, lost, plan.Decision{}); recovering.Status.Destination.Replicas != 6 || recovering.Status.Source.Replicas != 3 {
		t.Errorf("what somebody has started by hand was the destination's: %+v", recovering.Status)
	}
	fresh := &api.Migration{}
	renderSlices(fresh, s)
	if fresh.Status.Total != 0 || fresh.Status.Destination == nil || fresh.Status.Destination.Replicas != 4 {
		t.Errorf("before it has begun: %+v", fresh.Status)
	}
}

// TestBeginsToStall: a stall is reported once, and again when its reason changes.
func TestBeginsToStall(t *testing.T) {
	with := func(status metav1.ConditionStatus, reason string) *api.Migration {
		m := &api.Migration{}
		if status != "" {
			condition(m, api.ConditionStalled, status, reason, "")
		}
		return m
	}
	for name, tc := range map[string]struct {
		before, after *api.Migration
		want          bool
	}{
		"never":              {with("", ""), with("", ""), false},
		"not now":            {with("True", "A"), with("False", "A"), false},
		"nor for another":    {with("True", "A"), with("False", "B"), false},
		"nothing is said":    {with("True", "A"), with("", ""), false},
		"for the first time": {with("", ""), with("True", "A"), true},
		"again":              {with("False", "A"), with("True", "A"), true},
		"still":              {with("True", "A"), with("True", "A"), false},
		"for another reason": {with("True", "A"), with("True", "B"), true},
	} {
		if got := beginsToStall(tc.before, tc.after); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestV5MovedHaveArrived: status.moved counts an ordinal once it is available at the destination, and on the
// way back until it is available at the source. All displays then show the same count.
func TestV5MovedHaveArrived(t *testing.T) {
	has := func(start, replicas int32) plan.Side {
		return plan.Side{Reach: plan.Seen, Set: plan.Set{Presence: plan.Seen, Start: start, Replicas: replicas}}
	}
	s := plan.Snapshot{Source: has(0, 2), Destination: has(2, 2)}
	away := plan.Snapshot{Source: has(0, 2), Destination: has(3, 1)}
	for name, tc := range map[string]struct {
		s       plan.Snapshot
		ordinal int32
		way     api.Direction
		want    int32
	}{
		"none in flight":           {s, plan.NoOrdinal, api.Forward, 2},
		"still at the source":      {s, 1, api.Forward, 2},
		"not yet available":        {s, 2, api.Forward, 1},
		"not yet taken back":       {s, 2, api.Back, 2},
		"stopped, on the way":      {away, 2, api.Forward, 1},
		"stopped, on the way back": {away, 2, api.Back, 2},
	} {
		m := &api.Migration{}
		m.Status.Baseline, m.Status.Fence = &api.Baseline{Replicas: 4}, &api.Fence{Direction: tc.way}
		if tc.ordinal != plan.NoOrdinal {
			m.Status.Handoff = &api.Handoff{Ordinal: tc.ordinal}
		}
		if got := AsSeen(m, tc.s).Status; got.Moved != tc.want || got.Total != 4 {
			t.Errorf("%s: %d of %d, want %d", name, got.Moved, got.Total, tc.want)
		}
		if m.Status.Source != nil {
			t.Errorf("%s: the migration itself was changed", name)
		}
	}
}

// TestChanged: statuses differ if their contents do, regardless of the order of conditions.
func TestChanged(t *testing.T) {
	m := func(kinds ...string) *api.Migration {
		m := &api.Migration{}
		for _, kind := range kinds {
			m.Status.Conditions = append(m.Status.Conditions, metav1.Condition{Type: kind})
		}
		return m
	}
	one, other := m(api.ConditionStalled, api.ConditionProgressing, api.ConditionAccepted), m(api.ConditionAccepted, api.ConditionStalled, api.ConditionProgressing)
	if changed(one, other) || one.Status.Conditions[0].Type != api.ConditionStalled {
		t.Errorf("another order is a change, or the order was changed: %+v", one.Status.Conditions)
	}
	if other.Status.Moved = 1; !changed(one, other) {
		t.Error("one more that has moved is no change")
	}
	if !changed(one, m(api.ConditionStalled)) {
		t.Error("conditions that are gone are no change")
	}
}

// TestRenderGates: the status has the state of each queried gate, and is not written again for an answer that
// changes nothing.
func TestRenderGates(t *testing.T) {
	s := unmoved(db(api.GateBeforeStop), api.HealthGate{Name: "lag", At: []api.GatePoint{api.GateBeforeStop}, DryRun: true})
	question := planner.Replies(s)[0].Question
	answers := plan.Answers{Question: question}.Heard(api.ReasonGateFailed, "7 is not less than 5", s.Now)
	s.Gates[0].Answers = []plan.Answers{answers}
	m := &api.Migration{}
	render(m, s, plan.Decision{})
	at := metav1.NewTime(s.Now)
	want := []api.GateStatus{
		{Name: "db", At: api.GateBeforeStop, Ordinal: new(int32(2)), State: api.GatePending, Reason: api.ReasonGateFailed, Message: "7 is not less than 5", Holds: true, LastTransitionTime: at},
		{Name: "lag", At: api.GateBeforeStop, Ordinal: new(int32(2)), State: api.GatePending, LastTransitionTime: at},
	}
	if diff := cmp.Diff(want, m.Status.Gates); diff != "" {
		t.Error(diff)
	}
	s.Now = s.Now.Add(time.Minute)
	s.Gates[0].Answers[0].Message = "8 is not less than 5"
	render(m, s, plan.Decision{})
	if diff := cmp.Diff(want, m.Status.Gates); diff != "" {
		t.Error(diff)
	}
	for range 3 {
		s.Gates[0].Answers[0] = s.Gates[0].Answers[0].Heard(api.ReasonGateFailed, "9 is not less than 5", s.Now)
	}
	render(m, s, plan.Decision{})
	if got := m.Status.Gates[0]; got.State != api.GateFailed || !got.LastTransitionTime.Time.Equal(s.Now) {
		t.Errorf("%+v", got)
	}
	for _, name := range plan.SideNames {
		unread := s.Clone()
		unread.Side(name).Reach = plan.Unreachable
		render(m, unread, plan.Decision{})
		if len(m.Status.Gates) != 2 {
			t.Errorf("what was not seen is forgotten, for want of the %s", name)
		}
	}
	s.Record.Completed = api.ReasonMoved
	render(m, s, plan.Decision{})
	if m.Status.Gates != nil {
		t.Errorf("%+v", m.Status.Gates)
	}
}

// TestGatesOfEachOrdinal: a gate's answer for one ordinal does not count for the next, and not for the whole
// application.
func TestGatesOfEachOrdinal(t *testing.T) {
	s := unmoved(db(api.GateBeforeStop, api.GateAtEnd))
	m := &api.Migration{}
	other := api.GateStatus{Name: "db", At: api.GateBeforeStop, Ordinal: new(int32(1)), State: api.GatePending, Message: "of another ordinal", LastTransitionTime: metav1.NewTime(s.Now.Add(-time.Hour))}
	m.Status.Gates = []api.GateStatus{other}
	render(m, s, plan.Decision{})
	if got := m.Status.Gates; len(got) != 1 || *got[0].Ordinal != 2 || !got[0].LastTransitionTime.Time.Equal(s.Now) || got[0].Message == other.Message {
		t.Errorf("of ordinal 2: %+v", got)
	}
	s.Source.Set.Replicas, s.Source.Pods = 0, nil
	s.Destination.Set.Replicas = 3
	render(m, s, plan.Decision{})
	if got := m.Status.Gates; len(got) != 1 || got[0].At != api.GateAtEnd || got[0].Ordinal != nil {
		t.Errorf("at the end: %+v", got)
	}
}

// TestWarnings: warnings are in the status, within the limits of the API. A cluster that does not answer
// removes none of them.
func TestWarnings(t *testing.T) {
	warning := plan.Finding{Check: "GitOps", Reason: api.ReasonTrackedByGitOps, Object: "StatefulSet shop/web", Message: "tracked", Remedy: "pause it", Warning: true}
	refusal := plan.Finding{Check: "source", Reason: api.ReasonSourceNotHealthy}
	told := api.Warning{Check: "GitOps", Reason: api.ReasonTrackedByGitOps, Object: "StatefulSet shop/web", Message: "tracked", Remedy: "pause it"}
	old := []api.Warning{{Check: "owner"}}
	for name, tc := range map[string]struct {
		decision plan.Decision
		want     []api.Warning
	}{
		"it begins":             {plan.Decision{Findings: []plan.Finding{warning}}, []api.Warning{told}},
		"it is refused":         {plan.Decision{Findings: []plan.Finding{refusal, warning}, Hold: &plan.Hold{Stalled: true}}, []api.Warning{told}},
		"nothing is found":      {plan.Decision{}, nil},
		"nothing, and it waits": {plan.Decision{Hold: &plan.Hold{Reason: api.ReasonQueued}}, nil},
		"nobody answers":        {plan.Decision{Hold: &plan.Hold{Reason: api.ReasonClusterUnreachable, Stalled: true}}, old},
	} {
		t.Run(name, func(t *testing.T) {
			m := &api.Migration{Status: api.MigrationStatus{Warnings: old}}
			renderWarnings(m, tc.decision)
			if diff := cmp.Diff(tc.want, m.Status.Warnings); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
	m := &api.Migration{}
	warning.Message = strings.Repeat("x", 5000)
	renderWarnings(m, plan.Decision{Findings: slices.Repeat([]plan.Finding{warning}, 100)})
	if n := len(m.Status.Warnings); n != 3 || len(m.Status.Warnings[0].Message) != longestOfWarning {
		t.Errorf("%d warnings, the first with %d bytes", n, len(m.Status.Warnings[0].Message))
	}
	warning.Message = "short"
	if renderWarnings(m, plan.Decision{Findings: slices.Repeat([]plan.Finding{warning}, 100)}); len(m.Status.Warnings) != mostWarnings {
		t.Errorf("%d short warnings", len(m.Status.Warnings))
	}
}

// TestWarningsFit: the names of a warning are truncated to their limit, and the warnings together use theirs to
// the byte.
func TestWarningsFit(t *testing.T) {
	of := func(n int) string { return strings.Repeat("x", n) }
	fill := func(left int) []plan.Finding { // 3 x 1000 bytes, and the remaining room
		each := plan.Finding{Check: of(100), Reason: of(150), Object: of(250), Message: of(200), Remedy: of(300), Warning: true}
		last := each
		last.Check, last.Reason, last.Object, last.Message, last.Remedy = of(100), of(150), of(250), of(200), of(left-700)
		return []plan.Finding{each, each, each, last}
	}
	for bytes, want := range map[int]int{mostOfWarnings - 3000: 4, mostOfWarnings - 3000 + 1: 3} {
		m := &api.Migration{}
		if renderWarnings(m, plan.Decision{Findings: fill(bytes)}); len(m.Status.Warnings) != want {
			t.Errorf("of %d bytes together %d are told, want %d", 3000+bytes, len(m.Status.Warnings), want)
		}
	}
	m := &api.Migration{}
	long := of(longestName + 1)
	renderWarnings(m, plan.Decision{Findings: []plan.Finding{
		{Check: long[1:], Reason: long[1:], Object: long[1:], Warning: true}, {Check: long, Reason: long, Object: long, Warning: true},
	}})
	whole, cutOff := m.Status.Warnings[0], m.Status.Warnings[1]
	for _, text := range []string{whole.Check, whole.Reason, whole.Object} {
		if text != long[1:] {
			t.Errorf("a name that fits is cut to %d bytes", len(text))
		}
	}
	for _, text := range []string{cutOff.Check, cutOff.Reason, cutOff.Object} {
		if len(text) != longestName || !strings.HasSuffix(text, "…") {
			t.Errorf("a name that does not fit has %d bytes", len(text))
		}
	}
}

// TestForgottenAfterTheEnd: a completed record does not reopen a migration.
func TestForgottenAfterTheEnd(t *testing.T) {
	m := &api.Migration{}
	m.Status.AutomaticRollback = &api.AutomaticRollback{By: "gate db"}
	record := plan.Record{Baseline: &api.Baseline{Replicas: 1}, Completed: api.ReasonRolledBack}
	applyRecord(m, record)
	if said := meta.FindStatusCondition(m.Status.Conditions, api.ConditionCompleted); said == nil || said.Status != metav1.ConditionFalse || m.Status.AutomaticRollback != nil {
		t.Fatalf("before it is let go: %+v, %+v", said, m.Status.AutomaticRollback)
	}
	render(m, plan.Snapshot{}, plan.Decision{Done: api.ReasonRolledBack})
	applyRecord(m, record)
	if !meta.IsStatusConditionTrue(m.Status.Conditions, api.ConditionCompleted) {
		t.Error("it is open again")
	}
}
