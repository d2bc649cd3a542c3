package planner

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/volumes"
)

// atFor sets how long ordinal 2 has been at a step; the deadline of a step is one minute.
func atFor(step api.Step, spent time.Duration) func(*plan.Snapshot) {
	return func(s *plan.Snapshot) {
		s.Spec.Deadline = time.Minute
		s.Record.Handoff = &api.Handoff{Ordinal: 2, Step: step, StepTime: metav1.NewMicroTime(s.Now.Add(-spent))}
	}
}

// during makes the ordinal's pod terminate, with the given rest of its grace period.
func during(change func(*plan.Snapshot), left time.Duration) func(*plan.Snapshot) {
	return func(s *plan.Snapshot) {
		change(s)
		s.Source.SetPod(plan.Pod{Ordinal: 2, Terminating: true, GoneBy: s.Now.Add(left)})
	}
}

// TestHeld: a wait in a step has a deadline, and stalls after it (I6). Without a handoff there is no deadline.
func TestHeld(t *testing.T) {
	timeless := func(s *plan.Snapshot) {
		atFor(api.StepAwaitRelease, 0)(s)
		s.Record.Handoff.StepTime = metav1.MicroTime{}
	}
	for name, tc := range map[string]struct {
		change  func(*plan.Snapshot)
		wait    time.Duration
		stalled bool
	}{
		"no handoff":              {func(*plan.Snapshot) {}, 0, false},
		"it has just come":        {atFor(api.StepAwaitRelease, 0), time.Minute, false},
		"it has been there":       {atFor(api.StepAwaitRelease, 20*time.Second), 40 * time.Second, false},
		"it was at another step":  {atFor(api.StepCarryVolumes, time.Hour), time.Minute, false},
		"nobody knows since when": {timeless, time.Minute, false},
		"its time is over":        {atFor(api.StepAwaitRelease, time.Minute), 0, true},
		"its time has been over":  {atFor(api.StepAwaitRelease, time.Hour), 0, true},

		"P14 the pod has its grace":     {during(atFor(api.StepAwaitRelease, time.Hour), 10*time.Minute), 10 * time.Minute, false},
		"P14 its grace ends before":     {during(atFor(api.StepAwaitRelease, 20*time.Second), 10*time.Second), 10 * time.Second, false},
		"P14 the pod has had its grace": {during(atFor(api.StepAwaitRelease, time.Hour), -time.Second), 0, true},
	} {
		view := midway(tc.change)
		hold := plan.Hold{Reason: "Waits"}
		if pod, _ := view.Source.Pod(2); pod.Terminating {
			hold.Until = pod.GoneBy
		}
		got := view.held(api.StepAwaitRelease, hold)
		if got.Step != api.StepAwaitRelease || got.Wait != tc.wait || got.Hold.Stalled != tc.stalled || got.Hold.Reason != "Waits" {
			t.Errorf("%s: %+v, %+v", name, got, got.Hold)
		}
	}
}

// TestAtAStep: a decision is reported with its step. A wait ends at the deadline at the latest, and not later than
// it requests.
func TestAtAStep(t *testing.T) {
	waits := func(wait time.Duration) plan.Decision {
		return plan.Decision{Hold: &plan.Hold{Reason: "Waits"}, Wait: wait}
	}
	begun := atFor(api.StepCarryVolumes, 20*time.Second)
	for name, tc := range map[string]struct {
		change   func(*plan.Snapshot)
		decision plan.Decision
		wait     time.Duration
	}{
		"a write":                    {begun, plan.Decision{Effect: &plan.Effect{}}, 0},
		"a stall":                    {begun, plan.Decision{Hold: &plan.Hold{Reason: "Waits", Stalled: true}}, 0},
		"a wait":                     {begun, waits(0), 40 * time.Second},
		"a short wait":               {begun, waits(time.Second), time.Second},
		"a long wait":                {begun, waits(time.Hour), 40 * time.Second},
		"a wait without a handoff":   {func(*plan.Snapshot) {}, waits(0), 0},
		"a short one, without":       {func(*plan.Snapshot) {}, waits(time.Second), time.Second},
		"a wait beyond the deadline": {atFor(api.StepCarryVolumes, time.Hour), waits(time.Second), time.Second},
	} {
		got := midway(tc.change).at(api.StepCarryVolumes, &tc.decision)
		if got.Step != api.StepCarryVolumes || got.Wait != tc.wait || (got.Effect != nil) != (tc.decision.Effect != nil) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestComingUp: an ordinal is available when its pod is owned by the slice, is not terminating, and has been Ready
// for the longer of the two minReadySeconds (I5). Waiting for that age does not stall.
func TestComingUp(t *testing.T) {
	ready := plan.Pod{Ordinal: 2, Ready: true, Owned: true, ReadySince: plantest.Epoch.Add(-30 * time.Second)}
	with := func(change func(*plan.Pod)) []plan.Pod {
		pod := ready
		change(&pod)
		return []plan.Pod{pod}
	}
	for name, tc := range map[string]struct {
		pods              []plan.Pod
		behind            bool
		asked, set, spent time.Duration
		want              string
		wait              time.Duration
	}{
		"it is up":                 {pods: []plan.Pod{ready}},
		"it is not there":          {want: api.ReasonPodMissing, wait: time.Minute},
		"another one is":           {pods: with(func(p *plan.Pod) { p.Ordinal = 1 }), want: api.ReasonPodMissing, wait: time.Minute},
		"it is not Ready":          {pods: with(func(p *plan.Pod) { p.Ready = false }), want: api.ReasonPodNotReady, wait: time.Minute},
		"it is going":              {pods: with(func(p *plan.Pod) { p.Terminating = true }), want: api.ReasonPodNotReady, wait: time.Minute},
		"it is somebody else's":    {pods: with(func(p *plan.Pod) { p.Owned = false }), want: api.ReasonPodNotReady, wait: time.Minute},
		"its controller is behind": {pods: []plan.Pod{ready}, behind: true, want: api.ReasonControllerBehind, wait: time.Minute},
		"it is old enough":         {pods: []plan.Pod{ready}, asked: 30 * time.Second, set: 20 * time.Second},
		"it is young":              {pods: []plan.Pod{ready}, asked: 40 * time.Second, want: api.ReasonMinReady, wait: 10 * time.Second},
		"young for its set":        {pods: []plan.Pod{ready}, asked: 40 * time.Second, set: time.Minute, want: api.ReasonMinReady, wait: 30 * time.Second},
		"young, after an hour":     {pods: []plan.Pod{ready}, asked: 40 * time.Second, spent: time.Hour, want: api.ReasonMinReady, wait: 10 * time.Second},
	} {
		p := midway(atFor(api.StepAwaitReadiness, tc.spent), func(s *plan.Snapshot) { s.Spec.MinReady = tc.asked })
		side := plan.Side{Namespace: "shop", Set: plan.Set{Presence: plan.Seen, Name: "web", Replicas: 3, Observed: !tc.behind, MinReady: tc.set}, Pods: tc.pods}
		got := p.comingUp(&side, 2)
		if inShort(got) != tc.want {
			t.Errorf("%s: %q, want %q", name, inShort(got), tc.want)
			continue
		}
		if got != nil && (got.Wait != tc.wait || got.Hold.Stalled || got.Step != api.StepAwaitReadiness) {
			t.Errorf("%s: %+v, %+v", name, got, got.Hold)
		}
	}
}

// TestBinderIsCalled: the binder is triggered again when a claim stays unbound, at doubled intervals, and not
// after its own resync is due.
func TestBinderIsCalled(t *testing.T) {
	const calls = "CarryVolume destination pv"
	for name, tc := range map[string]struct {
		calls int
		spent time.Duration
		want  string
		wait  time.Duration
	}{
		"nobody can be called":       {0, time.Hour, api.ReasonVolumeUnbound, 0},
		"it has just been marked":    {1, 0, api.ReasonVolumeUnbound, time.Second},
		"before the first call":      {1, 900 * time.Millisecond, api.ReasonVolumeUnbound, 100 * time.Millisecond},
		"at the first call":          {1, time.Second, calls, 0},
		"before the second":          {2, time.Second, api.ReasonVolumeUnbound, time.Second},
		"before the last":            {4, 5 * time.Second, api.ReasonVolumeUnbound, 3 * time.Second},
		"at the last":                {4, 8 * time.Second, calls, 0},
		"it was called often enough": {5, time.Hour, api.ReasonVolumeUnbound, 0},
	} {
		verdict := volumes.Verdict{Waits: "it is bound"}
		if tc.calls > 0 {
			verdict.Call = &volumes.Action{Verb: volumes.MarkClaim, Volume: "pv", Calls: tc.calls}
		}
		got := midway(atFor(api.StepCarryVolumes, tc.spent)).unbound(plan.OrdinalVolume{Ordinal: 2}, verdict)
		if inShort(got) != tc.want || got.Wait != tc.wait {
			t.Errorf("%s: %q after %s, want %q after %s", name, inShort(got), got.Wait, tc.want, tc.wait)
		}
	}
	for side, back := range map[plan.SideName]bool{plan.DestinationSide: false, plan.SourceSide: true} {
		verdict := volumes.Verdict{Waits: "it is bound", Call: &volumes.Action{Verb: volumes.MarkClaim, Calls: 1, AtGiver: back}}
		p := midway(atFor(api.StepCarryVolumes, 0))
		if got := p.unbound(plan.OrdinalVolume{Ordinal: 2, Method: api.MethodCopy}, verdict).Hold.Remedy; !strings.HasPrefix(got, p.Side(side).Kubectl().Do("describe", "pvc")) {
			t.Errorf("a claim of the %s is shown by %s", side, got)
		}
	}
}

// TestOutdatedTemplate: a move does not return an ordinal to an older template, except in a rollback (I8). A slice
// whose pods would be replaced at once waits for a user (I5, I6).
func TestOutdatedTemplate(t *testing.T) {
	changed := func(s *plan.Snapshot) { s.Template = plan.TemplateChange{Fields: "spec.template.spec", Hash: "h"} }
	for name, tc := range map[string]struct {
		changes []func(*plan.Snapshot)
		held    bool
	}{
		"nothing has changed":       {nil, false},
		"it has":                    {[]func(*plan.Snapshot){changed}, true},
		"it has, on the way back":   {[]func(*plan.Snapshot){changed, inMode(api.ModeRollback)}, false},
		"nothing, and it goes back": {[]func(*plan.Snapshot){inMode(api.ModeRollback)}, false},
	} {
		hold := midway(tc.changes...).outdated()
		if (hold != nil) != tc.held || hold != nil && (hold.Reason != api.ReasonDestinationDiffers || !hold.Stalled) {
			t.Errorf("%s: %+v", name, hold)
		}
	}
	side := midway().Source
	hold := replacedTogether(side)
	hold.Message, hold.Remedy = "", ""
	if diff := cmp.Diff(&plan.Hold{Reason: api.ReasonRolloutInProgress, Stalled: true}, hold); diff != "" {
		t.Errorf("replaced at once: -want +got\n%s", diff)
	}
}

// TestWhatGoesBackIsNotToldTo: the remedy for a pod that is not Ready suggests a rollback if there is one.
func TestWhatGoesBackIsNotToldTo(t *testing.T) {
	for mode, want := range map[api.Mode]bool{api.ModeRun: true, api.ModeRollback: false} {
		got := midway(unbudgeted, inMode(mode)).comingUp(&plan.Side{Namespace: "shop", Set: plan.Set{Name: "web"}}, 2)
		if got == nil || got.Hold == nil || strings.Contains(got.Hold.Remedy, "to roll back: ") != want {
			t.Errorf("%s: %+v", mode, got)
		}
	}
}
