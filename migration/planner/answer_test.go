package planner_test

import (
	"strings"
	"testing"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/migration/planner"
)

// kinds lists all unsuccessful answers.
var kinds = []planner.Kind{planner.NoAnswer, planner.Changed, planner.NamespaceGone, planner.MissingRight, planner.Refused, planner.Unsent}

func writes(verb plan.Verb) planner.Step {
	return planner.Step{Do: planner.Write, Decision: plan.Decision{Effect: &plan.Effect{Verb: verb, Side: plan.SourceSide, Name: "web"}}}
}

func fence(epoch int64, holder string) *api.Fence { return &api.Fence{Epoch: epoch, Holder: holder} }

func saves(before, after *api.Fence) planner.Step {
	return planner.Step{Do: planner.SaveRecord, Snapshot: plan.Snapshot{Record: plan.Record{Fence: before}}, Decision: plan.Decision{Record: &plan.Record{Fence: after}}}
}

// TestUnansweredIsNotEngaged: a process that does not know the result of a write no longer holds the fence, and a
// process with an answer keeps it (I1, I7).
func TestUnansweredIsNotEngaged(t *testing.T) {
	steps := map[string]planner.Step{
		"a write": writes(plan.ScaleDown), "a fence": writes(plan.WriteFence), "a record": saves(fence(1, "a"), fence(1, "a")),
		"a new fence": saves(nil, fence(1, "a")), "a status": {Do: planner.Report},
	}
	for name, step := range steps {
		for _, kind := range kinds {
			for _, before := range []bool{true, false} {
				s := planner.State{Holder: "a", Engaged: before}
				s.Answered(step, planner.Answer{Kind: kind}, plantest.Epoch)
				if want := before && kind != planner.NoAnswer; s.Engaged != want {
					t.Errorf("%s, answer %d: engaged %t, before %t", name, kind, s.Engaged, before)
				}
			}
		}
	}
	s := planner.State{Holder: "a", Engaged: true}
	s.Answered(planner.Step{Do: planner.Confirm}, planner.Answer{}, plantest.Epoch)
	if !s.Engaged {
		t.Error("a record that is written as it was does no harm when it arrives late")
	}
}

// TestEngagedByAFence: only a record with a new fence of its own engages a process. A process that lost an answer,
// or has just started, never continues in an unknown epoch (I7).
func TestEngagedByAFence(t *testing.T) {
	turned := fence(1, "a")
	turned.Direction = api.Back
	for name, tc := range map[string]struct {
		before, after *api.Fence
		engaged, want bool
	}{
		"the first":                       {nil, fence(1, "a"), false, true},
		"the next":                        {fence(1, "b"), fence(2, "a"), false, true},
		"its own again, of another epoch": {fence(1, "a"), fence(2, "a"), false, true},
		"turned":                          {fence(1, "a"), turned, false, true},
		"as it was":                       {fence(1, "a"), fence(1, "a"), true, true},
		"as it was, not engaged":          {fence(1, "a"), fence(1, "a"), false, false},
		"somebody else's":                 {fence(1, "a"), fence(2, "b"), true, false},
		"somebody else's as it was":       {fence(1, "b"), fence(1, "b"), true, false},
		"let go":                          {fence(1, "a"), nil, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := planner.State{Holder: "a", Engaged: tc.engaged, UnreportedSince: plantest.Epoch}
			step := s.Answered(saves(tc.before, tc.after), planner.Answer{Kind: planner.Landed, Version: "7"}, plantest.Epoch)
			if s.Engaged != tc.want || step.Do != planner.Rest || step.RequeueAfter != planner.RequeueUnobserved || !s.UnreportedSince.IsZero() {
				t.Errorf("engaged %t, then %+v", s.Engaged, step)
			}
			if !s.Outdated("6") || s.Outdated("7") || s.Outdated("8") || s.Outdated("") {
				t.Error("which Migration is newer is not known")
			}
		})
	}
	if s := (planner.State{}); s.Outdated("1") {
		t.Error("nothing was written")
	}
}

// TestFenceIsConfirmed: no fence is written before the Migration's API server confirms that its record is the
// newest (I7).
func TestFenceIsConfirmed(t *testing.T) {
	confirms := writes(plan.WriteFence)
	confirms.Do = planner.Confirm
	for _, kind := range kinds {
		s := planner.State{Holder: "a"}
		if step := s.Answered(confirms, planner.Answer{Kind: kind, Version: "7"}, plantest.Epoch); step.Do != planner.Rest || s.SavedVersion != "" {
			t.Errorf("answer %d: %+v", kind, step)
		}
	}
	s := planner.State{Holder: "a"}
	if step := s.Answered(confirms, planner.Answer{Kind: planner.Landed, Version: "7"}, plantest.Epoch); step.Do != planner.Write || s.SavedVersion != "7" || len(s.Awaited) > 0 {
		t.Errorf("got %+v", step)
	}
}

// TestMissingRightIsNamed: copies need their own role.
func TestMissingRightIsNamed(t *testing.T) {
	for verb, want := range map[plan.Verb]string{plan.ScaleDown: plan.RemedyRights, plan.UpdateCopy: plan.RemedyDependencyRights} {
		s := planner.State{}
		step := s.Answered(writes(verb), planner.Answer{Kind: planner.MissingRight}, plantest.Epoch)
		if hold := step.Decision.Hold; hold == nil || hold.Reason != api.ReasonPermissionMissing || hold.Remedy != want {
			t.Errorf("%s: %+v", verb, hold)
		}
	}
}

// TestUnsentIsNoOutage: a write that was not sent is reported as a defect of this program, not as a cluster that does not
// answer, and the process keeps the fence.
func TestUnsentIsNoOutage(t *testing.T) {
	s := planner.State{Engaged: true}
	step := s.Answered(writes(plan.ScaleDown), planner.Answer{Kind: planner.Unsent, Cluster: "east", Message: "it changes nothing"}, plantest.Epoch)
	hold := step.Decision.Hold
	if hold == nil || !hold.Stalled || hold.Reason != api.ReasonWriteRefused || !strings.Contains(hold.Message, "cluster east was not asked to") || !strings.Contains(hold.Message, "it changes nothing") || hold.Remedy == "" || !s.Engaged {
		t.Errorf("engaged %t: %+v", s.Engaged, hold)
	}
}

// TestNobodyTellsOfCopies: a write for a second volume is awaited as well, but no watch event is expected for it.
func TestNobodyTellsOfCopies(t *testing.T) {
	for method, want := range map[api.VolumeMethod]time.Duration{
		api.MethodCopy: planner.RequeueUnobserved, api.MethodSnapshot: planner.RequeueUnobserved, api.MethodRebind: planner.RequeueAtLatest, api.MethodEmpty: planner.RequeueAtLatest,
	} {
		write := writes(plan.CarryVolume)
		write.Decision.Effect.Carriage.Method = method
		s := planner.State{Holder: "a"}
		step := s.Answered(write, planner.Answer{Kind: planner.Landed, Version: "7", Object: "sliceshift-in-x"}, plantest.Epoch)
		if step.Do != planner.Rest || step.RequeueAfter != want || len(s.Awaited) != 1 {
			t.Errorf("%s: got %+v, %+v", method, step, s)
		}
	}
}

// TestLastWriteIsAwaited: nothing is read before the cache shows the last write, or the maximal wait is over.
func TestLastWriteIsAwaited(t *testing.T) {
	for name, tc := range map[string]struct {
		version, observed string
		after             time.Duration
		want              planner.Do
		awaited           bool
	}{
		"nothing watched was written": {"", "", 0, planner.Read, false},
		"it is shown":                 {"7", "7", 0, planner.Read, false},
		"a newer one is":              {"7", "10", 0, planner.Read, false},
		"an older one is":             {"7", "6", 0, planner.Rest, true},
		"none is":                     {"7", "", 0, planner.Rest, true},
		"none is, up to the end":      {"7", "", 2 * time.Second, planner.Rest, true},
		"none is, for too long":       {"7", "", 2*time.Second + 1, planner.Read, true},
		"they cannot be compared":     {"7", "x", 0, planner.Read, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := planner.State{Holder: "a", Refusals: 3, UnreportedSince: plantest.Epoch}
			landed := s.Answered(writes(plan.ScaleDown), planner.Answer{Kind: planner.Landed, Version: tc.version, Object: "web"}, plantest.Epoch)
			want := planner.RequeueAtLatest
			if tc.version == "" {
				want = planner.RequeueUnobserved
			}
			if landed.Do != planner.Rest || landed.RequeueAfter != want || landed.Decision.Effect == nil || s.Refusals != 0 || !s.UnreportedSince.IsZero() {
				t.Errorf("landed: %+v, %+v", landed, s)
			}
			step := s.Begin(plantest.Epoch.Add(tc.after), plan.Record{}, func(string) string { return tc.observed })
			if step.Do != tc.want || (step.Do == planner.Rest) != (step.RequeueAfter == planner.RequeueUnobserved) || (len(s.Awaited) > 0) != tc.awaited {
				t.Errorf("got %+v, %+v", step, s)
			}
		})
	}
}

// TestRefusedAgainAndAgain: a changed object is judged again soon, at growing intervals and without a report.
// Repeated refusals are reported with a reason (G9).
func TestRefusedAgainAndAgain(t *testing.T) {
	for kind, reason := range map[planner.Kind]string{planner.Changed: api.ReasonWriteRefused, planner.NamespaceGone: api.ReasonNamespaceMissing} {
		s := planner.State{Engaged: true}
		answer := planner.Answer{Kind: kind, Cluster: "east", Message: "modified"}
		for wait := planner.RequeueUnobserved; wait < 2*time.Second; wait *= 2 {
			if step := s.Answered(writes(plan.ScaleDown), answer, plantest.Epoch); step.Do != planner.Rest || step.RequeueAfter != wait || step.Decision.Hold != nil {
				t.Fatalf("an ordinary conflict: %+v", step)
			}
		}
		for range 2 {
			step := s.Answered(writes(plan.ScaleDown), answer, plantest.Epoch)
			hold := step.Decision.Hold
			if step.Do != planner.Report || step.RequeueAfter != planner.RequeueRefused || hold.Reason != reason || hold.Remedy == "" || !strings.HasPrefix(hold.Message, "cluster east repeatedly refuses to stop") {
				t.Fatalf("got %+v", hold)
			}
		}
	}
}

// TestFailedWritesAreReported: the reason of a failed write is reported, and nothing is written instead.
func TestFailedWritesAreReported(t *testing.T) {
	for kind, want := range map[planner.Kind]struct {
		reason string
		after  time.Duration
	}{
		planner.MissingRight: {api.ReasonPermissionMissing, planner.RequeueRefused},
		planner.Refused:      {api.ReasonWriteRefused, planner.RequeueRefused},
		planner.NoAnswer:     {api.ReasonClusterUnreachable, planner.RequeueUnreachable},
	} {
		s := planner.State{}
		step := s.Answered(writes(plan.ScaleDown), planner.Answer{Kind: kind, Cluster: "east", Message: "no"}, plantest.Epoch)
		hold := step.Decision.Hold
		if step.Do != planner.Report || step.Decision.Effect != nil || hold == nil || hold.Reason != want.reason || !hold.Stalled || hold.Remedy == "" ||
			!strings.Contains(hold.Message, "cluster east") || !strings.HasSuffix(hold.Message, ": no") || step.RequeueAfter != want.after {
			t.Errorf("answer %d: %+v", kind, step)
		}
	}
	if step := planner.Stall(plan.Hold{Stalled: true}); step.Do != planner.Report || step.RequeueAfter != planner.RequeueRefused {
		t.Errorf("got %+v", step)
	}
}

// TestPostpones: a wait is written to the status only when it lasts, everything else at once.
func TestPostpones(t *testing.T) {
	waits := planner.Step{Do: planner.Report, RequeueAfter: time.Minute, Decision: plan.Decision{Hold: &plan.Hold{Reason: api.ReasonMoving}}}
	s := planner.State{}
	for after, want := range map[time.Duration]bool{0: true, 999 * time.Millisecond: true, time.Second: false} {
		s.UnreportedSince = plantest.Epoch
		if left := s.Postpones(waits, false, plantest.Epoch.Add(after)); left != time.Second-after || left > 0 != want {
			t.Errorf("after %s: %s", after, left)
		}
	}
	s = planner.State{}
	if s.Postpones(waits, false, plantest.Epoch); !s.UnreportedSince.Equal(plantest.Epoch) {
		t.Error("it is not known since when")
	}
	if s.Answered(waits, planner.Answer{Kind: planner.Landed}, plantest.Epoch).RequeueAfter != time.Minute || !s.UnreportedSince.IsZero() {
		t.Error("it was told")
	}
	for name, step := range map[string]planner.Step{
		"a stall": {Decision: plan.Decision{Hold: &plan.Hold{Stalled: true}}}, "a pause": {Decision: plan.Decision{Hold: &plan.Hold{Reason: api.ReasonPaused}}},
		"the end": {Decision: plan.Decision{Hold: &plan.Hold{}, Done: api.ReasonMoved}}, "no wait": {},
	} {
		if left := s.Postpones(step, false, plantest.Epoch); left != 0 {
			t.Errorf("%s: %s", name, left)
		}
	}
	if left := s.Postpones(waits, true, plantest.Epoch); left != 0 {
		t.Errorf("the end of a stall: %s", left)
	}
}

// TestRequeueAfter: the planner's own time comes first, and a lost event never costs more than half a minute.
func TestRequeueAfter(t *testing.T) {
	for _, tc := range []struct {
		hold plan.Hold
		want time.Duration
	}{
		{plan.Hold{}, planner.RequeueAtLatest},
		{plan.Hold{Reason: api.ReasonClusterUnreachable}, planner.RequeueAtLatest},
		{plan.Hold{Reason: api.ReasonClusterUnreachable, Stalled: true}, planner.RequeueUnreachable},
		{plan.Hold{Reason: api.ReasonWriteRefused, Stalled: true}, planner.RequeueRefused},
	} {
		if got := planner.Stall(tc.hold).RequeueAfter; got != tc.want {
			t.Errorf("%+v: %s, want %s", tc.hold, got, tc.want)
		}
	}
}
