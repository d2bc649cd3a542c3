package records_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/records"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// beating returns a migration with an ordinal at a step, whose driver wrote its last heartbeat some time before noon.
func beating(step api.Step, ago time.Duration) *api.Migration {
	m := moving()
	m.Spec.Mode, m.Status.Conditions = api.ModeRun, nil
	m.Status.Handoff.Step = step
	m.Status.Heartbeat = &api.Heartbeat{Time: metav1.NewTime(noon.Add(-ago)), Mode: api.ModeRun}
	return m
}

func completed(m *api.Migration) *api.Migration {
	m.Status.Conditions = []metav1.Condition{{Type: api.ConditionCompleted, Status: metav1.ConditionTrue, Reason: api.ReasonMoved}}
	return m
}

func without(m *api.Migration) *api.Migration {
	m.Status.Handoff = nil
	return m
}

// TestV3Undriven: no process drives a migration whose last heartbeat is two periods old, and the result names the ordinal
// that is down. A migration that needs no process, or whose driver has an older version, is not reported.
func TestV3Undriven(t *testing.T) {
	rests := without(beating("", time.Hour))
	rests.Spec.Mode = api.ModePause
	rests.Status.Conditions = []metav1.Condition{{Type: api.ConditionProgressing, Status: metav1.ConditionFalse, Reason: api.ReasonPaused}}
	stopped := func(step api.Step, ready time.Time) *api.Migration {
		m := beating(step, time.Minute)
		m.Status.History = &api.History{Stopped: &api.StoppedOrdinal{Ordinal: 2, StopTime: metav1.NewMicroTime(noon), ReadyTime: metav1.NewMicroTime(ready)}}
		return m
	}
	older := beating(api.StepScaleDown, time.Hour)
	older.Status.Heartbeat = nil
	for name, tc := range map[string]struct {
		m      *api.Migration
		record bool
		want   string
	}{
		"driven":                    {beating(api.StepAwaitRelease, 29*time.Second), true, ""},
		"not driven":                {beating(api.StepAwaitRelease, 30*time.Second), true, "no process has driven this since 11:59:30 UTC; ordinal 2 is down"},
		"a Migration":               {beating(api.StepCarryVolumes, time.Minute), false, "no process has driven this since 11:59:00 UTC; ordinal 2 is down"},
		"Ready since":               {stopped(api.StepAwaitReadiness, noon), true, "no process has driven this since 11:59:00 UTC"},
		"stopped by now":            {stopped(api.StepScaleDown, time.Time{}), true, "no process has driven this since 11:59:00 UTC; ordinal 2 is down"},
		"refused its stop":          {beating(api.StepScaleDown, time.Minute), true, "no process has driven this since 11:59:00 UTC"},
		"before the stop":           {beating(api.StepGate, time.Minute), true, "no process has driven this since 11:59:00 UTC"},
		"between handoffs":          {without(beating("", time.Minute)), true, "no process has driven this since 11:59:00 UTC"},
		"a Migration that waits":    {without(beating("", time.Minute)), false, ""},
		"paused, and nothing to do": {rests, true, ""},
		"completed":                 {completed(beating(api.StepScaleUp, time.Hour)), true, ""},
		"a driver of before":        {older, true, ""},
		"a clock that is ahead":     {beating(api.StepScaleUp, -time.Hour), true, ""},
	} {
		got := ""
		if u := records.UndrivenAt(tc.m, tc.record, noon); u != nil {
			got = u.Text()
		}
		if got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestV3HeartbeatDue: a heartbeat is due 15 s after the last one, at once after a change of the mode, and never when nothing
// is in progress.
func TestV3HeartbeatDue(t *testing.T) {
	paused, fresh := beating("", time.Second), beating("", time.Second)
	paused.Spec.Mode, fresh.Status.Heartbeat = api.ModePause, nil
	unbegun := beating("", time.Hour)
	unbegun.Status.Baseline = nil
	for name, tc := range map[string]struct {
		m      *api.Migration
		record bool
		left   time.Duration
		beats  bool
	}{
		"just written":           {beating("", 0), false, 15 * time.Second, true},
		"soon":                   {beating("", 10*time.Second), false, 5 * time.Second, true},
		"due":                    {beating("", 15*time.Second), false, 0, true},
		"the first":              {fresh, false, 0, true},
		"another mode":           {paused, false, 0, true},
		"a clock that is ahead":  {beating("", -time.Hour), false, 15 * time.Second, true},
		"a Migration that waits": {without(beating("", time.Hour)), false, 0, false},
		"a run that waits":       {without(beating("", time.Hour)), true, 0, true},
		"not begun":              {unbegun, true, 0, false},
		"completed":              {completed(beating("", time.Hour)), true, 0, false},
	} {
		if left, beats := records.HeartbeatDue(tc.m, tc.record, noon); left != tc.left || beats != tc.beats {
			t.Errorf("%s: %s, %t", name, left, beats)
		}
	}
	m := beating("", time.Hour)
	records.Beat(m, false, noon)
	if left, _ := records.HeartbeatDue(m, false, noon); left != 15*time.Second {
		t.Errorf("after a beat the next has %s", left)
	}
	if records.Beat(without(m), false, noon); m.Status.Heartbeat != nil {
		t.Error("a heartbeat stays where nothing is under way")
	}
}

// TestV3Noticed: a heartbeat shows whether a driver has acted on a mode. For a Migration without one, its generation does.
func TestV3Noticed(t *testing.T) {
	other, waits := beating("", 0), without(beating("", 0))
	other.Spec.Mode = api.ModeRollback
	waits.Generation = 2
	for name, tc := range map[string]struct {
		m              *api.Migration
		record         bool
		noticed, known bool
	}{
		"the same mode":                {beating("", 0), true, true, true},
		"another mode":                 {other, true, false, true},
		"another mode of a Migration":  {other, false, false, true},
		"an older generation":          {waits, false, false, true},
		"a record without a heartbeat": {func() *api.Migration { m := beating("", 0); m.Status.Heartbeat = nil; return m }(), true, false, false},
		"a record that is completed":   {completed(other.DeepCopy()), true, false, false},
	} {
		if noticed, known := records.Noticed(tc.m, tc.record); noticed != tc.noticed || known != tc.known {
			t.Errorf("%s: %t, %t", name, noticed, known)
		}
	}
}
