package planner

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/migration/schedule"
	"github.com/sliceshift/sliceshift/volumes"
)

// window returns a schedule with a window that begins opens after the time of halfway, to the minute, for a
// duration of lasts.
func window(opens, lasts time.Duration) *schedule.Schedule {
	from := began.Add(time.Hour + opens).UTC()
	return schedule.Of(&api.ScheduleSpec{Windows: []api.Window{{From: from.Format("15:04"), Duration: metav1.Duration{Duration: lasts}}}})
}

// ended returns a schedule whose last window is over.
func ended() *schedule.Schedule {
	return schedule.Of(&api.ScheduleSpec{NotAfter: new(metav1.NewTime(began))})
}

func scheduled(by *schedule.Schedule, more ...func(*plan.Snapshot)) func(*plan.Snapshot) {
	return func(s *plan.Snapshot) {
		s.Spec.Schedule = by
		for _, change := range more {
			change(s)
		}
	}
}

func longestSoFar(d time.Duration) func(*plan.Snapshot) {
	return func(s *plan.Snapshot) { s.Record.Pace = &api.Pace{LongestSeconds: int32(d.Seconds())} }
}

// TestScheduleGate: a handoff begins in a window that is long enough for the longest measured one, and otherwise
// waits for the next window. A schedule under which none can begin stalls at once. A rollback never waits (I6,
// I8).
func TestScheduleGate(t *testing.T) {
	invalid := schedule.Of(&api.ScheduleSpec{TimeZone: "Atlantis"})
	said := schedule.Of(&api.ScheduleSpec{ExpectedHandoffSeconds: new(int32(7200)), Windows: []api.Window{{Start: "* * * * *", Duration: metav1.Duration{Duration: time.Minute}}}})
	for name, tc := range map[string]struct {
		change  func(*plan.Snapshot)
		reason  string
		stalled bool
		until   time.Duration
		text    string
	}{
		"at any time":            {nil, "", false, 0, ""},
		"in its window":          {scheduled(window(-time.Hour, 2*time.Hour)), "", false, 0, ""},
		"before it":              {scheduled(window(time.Hour, time.Hour)), api.ReasonOutsideWindow, false, time.Hour, "no handoff of ordinal 1 begins outside of one; the next one opens at "},
		"it closes too soon":     {scheduled(window(-time.Hour, time.Hour+30*time.Second)), api.ReasonOutsideWindow, false, 23 * time.Hour, "would take 1m0s and not be over when this one closes at "},
		"the first fits":         {scheduled(window(-time.Hour, time.Hour+61*time.Second)), "", false, 0, ""},
		"by what was measured":   {scheduled(window(-time.Hour, 2*time.Hour), longestSoFar(61*time.Minute)), api.ReasonOutsideWindow, false, 23 * time.Hour, "would take 1h1m0s"},
		"it was quicker":         {scheduled(window(-time.Hour, time.Hour+61*time.Second), longestSoFar(time.Second)), "", false, 0, ""},
		"it must be Ready":       {scheduled(window(-time.Hour, 2*time.Hour), func(s *plan.Snapshot) { s.Spec.MinReady = time.Hour }), api.ReasonOutsideWindow, false, 23 * time.Hour, "would take 1h1m0s"},
		"the set says so":        {scheduled(window(-time.Hour, 2*time.Hour), func(s *plan.Snapshot) { s.Destination.Set.MinReady = time.Hour }), api.ReasonOutsideWindow, false, 23 * time.Hour, "1h1m0s"},
		"its user says":          {scheduled(said), "", false, 0, ""},
		"it cannot be read":      {scheduled(invalid), api.ReasonScheduleInvalid, true, 0, `timeZone "Atlantis"`},
		"it is over":             {scheduled(ended()), api.ReasonScheduleNeverOpens, true, 0, "no window of spec.schedule opens any more"},
		"none is long enough":    {scheduled(window(time.Hour, time.Hour), longestSoFar(2*time.Hour)), api.ReasonWindowTooShort, true, 0, "lasts 1h0m0s, and a handoff takes 2h0m0s by the longest one so far"},
		"back":                   {scheduled(ended(), rollback), "", false, 0, ""},
		"back, it is down":       {scheduled(ended(), rollback, func(s *plan.Snapshot) { goDown(s, 2) }), "", false, 0, ""},
		"recovered":              {scheduled(ended(), func(s *plan.Snapshot) { s.Spec.Mode = api.ModeRecover }), "", false, 0, ""},
		"paused on the way back": {scheduled(ended(), func(s *plan.Snapshot) { s.Spec.Mode, s.Record.Fence.Direction = api.ModePause, api.Back }), "", false, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := halfway(tc.change)
			hold := schedulePlanner{p.View}.hold(1)
			if got := heldBy(hold); got != tc.reason {
				t.Fatalf("held by %q: %+v", got, hold)
			}
			if hold == nil {
				return
			}
			if hold.Stalled != tc.stalled || !strings.Contains(hold.Message, tc.text) || tc.stalled == (hold.Remedy == "") {
				t.Errorf("got %+v", hold)
			}
			if tc.until != 0 && !hold.Until.Equal(p.Now.Add(tc.until)) || tc.until == 0 && !hold.Until.IsZero() {
				t.Errorf("until %s", hold.Until)
			}
		})
	}
}

// TestSchedulePreflight: a schedule that allows no move prevents the migration before anything is written.
func TestSchedulePreflight(t *testing.T) {
	for name, tc := range map[string]struct {
		schedule *schedule.Schedule
		want     string
	}{
		"none":              {nil, ""},
		"one that will":     {window(time.Hour, time.Hour), ""},
		"one that is over":  {ended(), api.ReasonScheduleNeverOpens},
		"one that is wrong": {schedule.Of(&api.ScheduleSpec{TimeZone: "Atlantis"}), api.ReasonScheduleInvalid},
	} {
		p := halfway(scheduled(tc.schedule, func(s *plan.Snapshot) { s.Record = plan.Record{} }))
		got := ""
		for _, finding := range Preflight(p.Snapshot) {
			if finding.Check == plan.CheckSchedule {
				got = finding.Reason
				if finding.Remedy == "" || finding.Warning || strings.Contains(finding.Remedy, "rollback") {
					t.Errorf("%s: %+v", name, finding)
				}
			}
		}
		if got != tc.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestWindowsBegin: no handoff begins outside a window, and the Migration is requeued for when the window opens. A
// handoff whose ordinal is not stopped before the window closes ends. An ordinal that is down continues.
func TestWindowsBegin(t *testing.T) {
	closed := scheduled(window(time.Hour, time.Hour))
	onItsWay := func(ordinal int32) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) {
			s.Record.Handoff = &api.Handoff{Ordinal: ordinal, Attempts: 1, StartTime: metav1.NewMicroTime(s.Now)}
		}
	}
	begins := halfway(closed).handoff()
	if heldBy(begins.Hold) != api.ReasonOutsideWindow || begins.Wait != time.Hour || begins.Step != api.StepGate {
		t.Errorf("it begins: %+v", begins)
	}
	if ends := halfway(scheduled(window(time.Hour, time.Hour), onItsWay(1))).handoff(); ends.Record == nil || ends.Record.Handoff != nil {
		t.Errorf("it is not stopped yet: %+v", ends)
	}
	down := halfwayOut(closed).handoff()
	if down == nil || heldBy(down.Hold) == api.ReasonOutsideWindow || down.Record != nil && down.Record.Handoff == nil {
		t.Errorf("it is down: %+v", down)
	}
	arrives := halfway(scheduled(window(time.Hour, time.Hour), onItsWay(2))).handoff()
	if arrives.Record == nil || arrives.Record.Handoff != nil {
		t.Errorf("it has arrived, and the next one waits: %+v", arrives)
	}
}

// TestGateTurnsBackInNoWindow: a failed gate causes a rollback at once, inside a window or not, and its Jobs do
// not run outside a window.
func TestGateTurnsBackInNoWindow(t *testing.T) {
	for name, q := range map[string]plan.Question{
		"before the stop": {Gate: "g", Point: api.GateBeforeStop, Side: plan.SourceSide, Ordinal: 1, Pod: "pod-1", Direction: api.Forward},
		"after the start": {Gate: "g", Point: api.GateAfterStart, Side: plan.DestinationSide, Ordinal: 2, Pod: "pod-2", Direction: api.Forward},
	} {
		gate := api.HealthGate{Name: "g", At: []api.GatePoint{q.Point}, OnFailure: api.GateFailureRollback, FailureLimit: new(int32(1))}
		p := halfway(scheduled(window(time.Hour, time.Hour), func(s *plan.Snapshot) {
			s.Gates = []plan.Health{{Gate: gate, Answers: []plan.Answers{{Question: q, Opened: s.Now, Time: s.Now, Bad: 1, Reason: api.ReasonGateFailed}}}}
		}))
		if hold := p.gate(1); hold == nil || !hold.TurnBack {
			t.Errorf("%s: %+v", name, hold)
		}
	}
	job := halfway(scheduled(window(time.Hour, time.Hour), func(s *plan.Snapshot) {
		s.Gates = []plan.Health{{Gate: api.HealthGate{Name: "g", At: []api.GatePoint{api.GateBeforeStop}, Job: &api.JobGate{}}}}
	}))
	if open := Replies(job.Snapshot); len(open) > 0 {
		t.Errorf("its Job is run: %+v", open)
	}
}

// TestPace: the duration of the longest handoff to the destination is recorded.
func TestPace(t *testing.T) {
	arrived := func(took time.Duration) api.Handoff {
		return api.Handoff{Ordinal: 2, StartTime: metav1.NewMicroTime(began.Add(time.Hour - took))}
	}
	for name, tc := range map[string]struct {
		change  func(*plan.Snapshot)
		handoff api.Handoff
		want    *api.Pace
	}{
		"the first":           {nil, arrived(1500 * time.Millisecond), &api.Pace{LongestSeconds: 2}},
		"longer":              {longestSoFar(time.Second), arrived(time.Minute), &api.Pace{LongestSeconds: 60}},
		"shorter":             {longestSoFar(time.Hour), arrived(time.Minute), &api.Pace{LongestSeconds: 3600}},
		"as long":             {longestSoFar(time.Minute), arrived(time.Minute), &api.Pace{LongestSeconds: 60}},
		"a second longer":     {longestSoFar(time.Minute), arrived(61 * time.Second), &api.Pace{LongestSeconds: 61}},
		"longer than counts":  {nil, arrived(80 * 365 * 24 * time.Hour), &api.Pace{LongestSeconds: math.MaxInt32}},
		"at once":             {nil, arrived(0), nil},
		"at once, and before": {longestSoFar(time.Minute), arrived(0), &api.Pace{LongestSeconds: 60}},
		"a second":            {nil, arrived(time.Second), &api.Pace{LongestSeconds: 1}},
		"clocks went back":    {nil, arrived(-time.Minute), nil},
		"nobody knows":        {nil, api.Handoff{Ordinal: 2}, nil},
		"back":                {rollback, arrived(time.Minute), nil},
		"back, and it was so": {func(s *plan.Snapshot) { rollback(s); longestSoFar(time.Hour)(s) }, arrived(2 * time.Hour), &api.Pace{LongestSeconds: 3600}},
	} {
		if diff := cmp.Diff(tc.want, halfway(tc.change).paceWith(tc.handoff)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	noted := halfway(longestSoFar(time.Minute))
	if noted.paceWith(arrived(time.Minute)) != noted.Record.Pace {
		t.Error("what is noted already is noted again")
	}
	p := halfway(func(s *plan.Snapshot) { s.Record.Handoff = new(arrived(time.Minute)) })
	decision := p.handoff()
	if decision.Record == nil || decision.Record.Pace == nil || decision.Record.Pace.LongestSeconds != 60 || decision.Record.Handoff.Ordinal != 1 {
		t.Errorf("got %+v", decision.Record)
	}
	slow := halfway(scheduled(window(-time.Hour, time.Hour+2*time.Minute), func(s *plan.Snapshot) { s.Record.Handoff = new(arrived(3 * time.Minute)) })).handoff()
	if slow.Record == nil || slow.Record.Handoff != nil {
		t.Errorf("the next one begins although this one took too long: %+v", slow.Record)
	}
}

// TestTiming: the status reports the schedule as long as it applies.
func TestTiming(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   bool
	}{
		"no schedule":     {nil, false},
		"before it":       {scheduled(window(time.Hour, time.Hour)), true},
		"paused":          {scheduled(window(time.Hour, time.Hour), func(s *plan.Snapshot) { s.Spec.Mode = api.ModePause }), false},
		"back":            {scheduled(window(time.Hour, time.Hour), rollback), false},
		"it is completed": {scheduled(window(time.Hour, time.Hour), func(s *plan.Snapshot) { s.Record.Completed = api.ReasonMoved }), false},
		"nothing is left": {scheduled(window(time.Hour, time.Hour), func(s *plan.Snapshot) {
			s.Spec.Count = 2
		}), false},
	} {
		timing, asked := TimingOf(halfway(tc.change).Snapshot)
		if asked != tc.want || asked && (timing.Left != 2 || timing.Needs != time.Minute || timing.Verdict != schedule.Closed) {
			t.Errorf("%s: %+v", name, timing)
		}
	}
}

// TestP14GraceCounts: the expected duration of a handoff includes the grace period of its pod.
func TestP14GraceCounts(t *testing.T) {
	timing, _ := TimingOf(halfway(scheduled(window(time.Hour, time.Hour), func(s *plan.Snapshot) { s.Source.Set.Grace = 10 * time.Minute })).Snapshot)
	if timing.Needs != time.Minute+10*time.Minute-30*time.Second {
		t.Errorf("it takes %s", timing.Needs)
	}
}

// TestNothingIsStoppedOutside: whatever the time, the window and the measured duration, a running ordinal is
// stopped only if its handoff would end before the window closes.
func TestNothingIsStoppedOutside(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		opens := time.Duration(rapid.IntRange(-180, 180).Draw(t, "opens")) * time.Minute
		lasts := time.Duration(rapid.IntRange(1, 180).Draw(t, "lasts")) * time.Minute
		pace := time.Duration(rapid.IntRange(1, 7200).Draw(t, "pace")) * time.Second
		begun := rapid.Bool().Draw(t, "begun")
		p := halfway(scheduled(window(opens, lasts), longestSoFar(pace), func(s *plan.Snapshot) {
			if begun {
				s.Record.Handoff = &api.Handoff{Ordinal: 1, Attempts: 1, StartTime: metav1.NewMicroTime(s.Now)}
			}
		}))
		decision := p.handoff()
		stops := decision.Effect != nil || decision.Record != nil && decision.Record.Handoff != nil
		needs := max(pace, time.Minute)
		if fits := opens <= 0 && needs <= opens+lasts; stops != fits {
			t.Fatalf("it stops: %t, it fits: %t: %+v", stops, fits, decision)
		}
	})
}

// TestTurnBackOfACopy: an ordinal that is down is rolled back automatically once its copy exceeds its limit, and
// none of its volumes has been replaced. An ordinal that already moves back is not.
func TestTurnBackOfACopy(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*api.CopyAttempt, *volumes.Copying)
		mode   api.Mode
		down   time.Duration
		want   bool
	}{
		"it takes its time":                 {down: time.Minute},
		"too long":                          {down: time.Minute + 1, want: true},
		"too long, and it is paused":        {down: time.Hour, mode: api.ModePause, want: true},
		"it goes back":                      {down: time.Hour, mode: api.ModeRollback},
		"there is no limit":                 {down: time.Hour, change: func(_ *api.CopyAttempt, c *volumes.Copying) { c.Asked.Limit = 0 }},
		"the copy was begun for a way back": {down: time.Hour, change: func(a *api.CopyAttempt, _ *volumes.Copying) { a.Giver = string(plan.DestinationSide) }},
		"it was taken over": {down: time.Hour, change: func(_ *api.CopyAttempt, c *volumes.Copying) {
			c.Incoming.Volume = volumes.Volume{Found: true, Name: "copy", ClaimRef: volumes.Ref{Namespace: "team", Name: "data-web-2"}}
		}},
	} {
		late := byCopy(func(a *api.CopyAttempt, c *volumes.Copying) {
			begunCopy(a, c)
			c.Asked.Limit = time.Minute
			if tc.change != nil {
				tc.change(a, c)
			}
		})
		since := func(s *plan.Snapshot) {
			s.Record.Handoff.Step, s.Record.Handoff.StepTime = api.StepCarryVolumes, metav1.NewMicroTime(plantest.Epoch.Add(-tc.down))
			if tc.mode != "" {
				s.Spec.Mode = tc.mode
			}
			for i := range s.Volumes {
				s.Volumes[i].Destination.Ref = volumes.Ref{Namespace: "team", Name: s.Volumes[i].Source.Ref.Name}
			}
		}
		p := midway(unbudgeted, stopped(2), late, since)
		got := p.way(2, atNeither)
		if turned := got.Record != nil && got.Record.TurnedBack != nil; turned != tc.want {
			t.Errorf("%s: %+v", name, got)
		}
		if !tc.want {
			continue
		}
		want := api.CopyTurnedBack{Ordinal: 2, ClaimTemplate: "data", Limit: metav1.Duration{Duration: time.Minute}, Time: metav1.NewTime(plantest.Epoch)}
		if diff := cmp.Diff(want, *got.Record.TurnedBack); diff != "" || got.Step != api.StepCarryVolumes {
			t.Errorf("%s: at %s, -want +got\n%s", name, got.Step, diff)
		}
		p.Record = *got.Record
		if direction := viewOf(p.Snapshot).direction(); direction != api.Back {
			t.Errorf("%s: it goes %s", name, direction)
		}
		p.Record.Handoff = nil
		if direction := viewOf(p.Snapshot).direction(); direction != api.Forward {
			t.Errorf("%s: once it is back it goes %s", name, direction)
		}
	}
}

// TestAfterTheTurnBack: nothing begins until the limit has changed, or the claims no longer move by a copy. A
// rollback does begin.
func TestAfterTheTurnBack(t *testing.T) {
	is := func(change func(*plan.OrdinalVolume)) []func(*plan.Snapshot) {
		return []func(*plan.Snapshot){unbudgeted, byCopy(begunCopy), func(s *plan.Snapshot) {
			s.Record.TurnedBack = &api.CopyTurnedBack{Ordinal: 2, ClaimTemplate: "data", Limit: metav1.Duration{Duration: time.Minute}}
			for i := range s.Volumes {
				s.Volumes[i].Copy.Asked.Limit = time.Minute
				change(&s.Volumes[i])
			}
		}}
	}
	limit := func(limit time.Duration) func(*plan.OrdinalVolume) {
		return func(v *plan.OrdinalVolume) { v.Copy.Asked.Limit = limit }
	}
	const stalls, begins = api.ReasonCopyTurnedBack, "recorded: a handoff"
	wantSteps(t, map[string]stepCase{
		"it is as it was":        {is(func(*plan.OrdinalVolume) {}), stalls, ""},
		"it is less":             {is(limit(time.Second)), stalls, ""},
		"it is more":             {is(limit(time.Hour)), begins, api.StepGate},
		"there is none":          {is(limit(0)), begins, api.StepGate},
		"another method":         {is(func(v *plan.OrdinalVolume) { v.Method, v.Copy = "", nil }), begins, api.StepGate},
		"no claim was looked at": {append(is(func(*plan.OrdinalVolume) {}), func(s *plan.Snapshot) { s.Volumes = nil }), stalls, ""},
		"in a pause":             {append(is(func(*plan.OrdinalVolume) {}), inMode(api.ModePause)), api.ReasonPaused, ""},
	}, (*planners).begin)
	back := midway(append(is(func(*plan.OrdinalVolume) {}), inMode(api.ModeRollback))...)
	if got := back.begin(); got.Hold != nil && got.Hold.Reason == stalls {
		t.Errorf("it is not taken back: %+v", got.Hold)
	}
	if got := midway(is(limit(0))...).begin(); got.Record.TurnedBack != nil {
		t.Errorf("it is remembered: %+v", got.Record.TurnedBack)
	}
}
