package status

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/commandtest"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/movetest"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/internal/golden"
	"github.com/sliceshift/sliceshift/migration/schedule"
	"github.com/sliceshift/sliceshift/migration/view"
)

func TestStatusText(t *testing.T) {
	unbegun := &api.Migration{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	unbegun.Spec.Source.Name, unbegun.Spec.Destination.Namespace = "web", "store"
	gated := movetest.Moving(1, 4)
	gated.Status.Gates = []api.GateStatus{
		{Name: "quorum", At: api.GateBeforeStop, Ordinal: new(int32(2)), State: api.GatePassed, Holds: true},
		{Name: "lag", At: api.GateAfterStart, Ordinal: new(int32(3)), State: api.GateFailed, Message: "7 is not less than 5", Holds: true},
		{Name: "errors", At: api.GateAtEnd, State: api.GatePending},
	}
	unbegun.Status.Warnings = []api.Warning{
		{Check: "GitOps", Reason: api.ReasonTrackedByGitOps, Message: "StatefulSet shop/web in cluster east is tracked by Argo CD"},
		{Check: "release", Reason: "ReleaseNotSeen", Message: "nothing shows when the machine has let go of the disk"},
	}
	waits := movetest.Moving(1, 4)
	waits.Spec.Schedule = &api.ScheduleSpec{TimeZone: "Europe/Berlin"}
	waits.Status.Schedule = &api.ScheduleStatus{
		OpensTime: new(metav1.NewTime(commandtest.Noon.Add(10 * time.Hour))), ClosesTime: new(metav1.NewTime(commandtest.Noon.Add(14 * time.Hour))), HandoffSeconds: 90, Left: 3,
	}
	held := movetest.Moving(1, 4)
	held.Status.Conditions = append(held.Status.Conditions, metav1.Condition{
		Type: api.ConditionAheadHeld, Status: metav1.ConditionTrue, Reason: api.ReasonWriteRefused, LastTransitionTime: metav1.NewTime(commandtest.Noon.Add(-time.Minute)),
		Message: "ordinal 1, to be copied before its turn: cluster west refused to create claim a: exceeded quota: few. What to do: kubectl describe quota -n shop",
	})
	for name, tc := range map[string]struct {
		m       *api.Migration
		record  string
		paint   terminal.Painter
		unicode bool
	}{
		"status.txt":           {m: movetest.InFlight(), record: "ConfigMap shop/sliceshift-web", unicode: true},
		"status_stalled.txt":   {m: movetest.Stalled(), paint: terminal.Painter{On: true}, unicode: true},
		"status_completed.txt": {m: movetest.Completed()},
		"status_unbegun.txt":   {m: unbegun},
		"status_gates.txt":     {m: gated},
		"status_windows.txt":   {m: waits},
		"status_ahead.txt":     {m: held},
	} {
		t.Run(name, func(t *testing.T) {
			g := Page{Now: commandtest.Noon, Paint: tc.paint, Unicode: tc.unicode}
			golden.Compare(t, name, g.Show(tc.m, "east", tc.record))
		})
	}
}

// TestScheduleText: whether a handoff may begin now, when the next one may, or that none may.
func TestScheduleText(t *testing.T) {
	by := schedule.Of(&api.ScheduleSpec{})
	closes := new(metav1.NewTime(commandtest.Noon))
	for name, tc := range map[string]struct {
		s    api.ScheduleStatus
		by   *schedule.Schedule
		want string
	}{
		"open":       {api.ScheduleStatus{Open: true, ClosesTime: closes, HandoffSeconds: 60, Left: 1}, by, "a handoff may begin now, the window closes at " + by.Text(commandtest.Noon) + "; 1 ordinal left, 1m0s each"},
		"always":     {api.ScheduleStatus{Open: true, HandoffSeconds: 60, Left: 2}, by, "a handoff may begin now; 2 ordinals left, 1m0s each"},
		"never":      {api.ScheduleStatus{HandoffSeconds: 60, Left: 2}, by, "no window opens any more that a handoff fits into; 2 ordinals left, 1m0s each"},
		"taken back": {api.ScheduleStatus{}, nil, "changed since this was written"},
	} {
		if got := scheduleText(tc.s, tc.by); got != tc.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestChangeText(t *testing.T) {
	paused := movetest.Moving(1, 4)
	paused.Spec.Mode = api.ModePause
	for name, tc := range map[string]struct {
		m    *api.Migration
		want string
	}{
		"on its way": {movetest.InFlight(), "1/4 moved  ordinal 2: wait until it is available  waiting until pod shop/web-2 in cluster west is Ready"},
		"stalled":    {movetest.Stalled(), "1/4 moved  ordinal 2: wait until it is available  STALLED PodNotReady: ordinal 2 has been at AwaitReadiness for longer than 10s"},
		"paused":     {paused, "1/4 moved  mode Pause"},
		"completed":  {movetest.Completed(), "4/4 moved  moved: every ordinal that was asked for runs at the destination"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := view.NewRow(tc.m, false).Line(commandtest.Noon); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}
