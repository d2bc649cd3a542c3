package planner_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/planner"
)

// TestPatient: the longer a Migration is refused, the later it is looked at again, up to a bound; never so while an ordinal is
// in flight. One that is paused before it begins is looked at seldom.
func TestPatient(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	refused := func(since time.Duration, status metav1.ConditionStatus) *api.Migration {
		m := &api.Migration{}
		m.Status.Conditions = []metav1.Condition{{Type: api.ConditionStalled, Status: status, LastTransitionTime: metav1.NewTime(now.Add(-since))}}
		return m
	}
	back := func(mode api.Mode) *api.Migration {
		m := refused(time.Hour, metav1.ConditionTrue)
		m.Spec.Mode = mode
		return m
	}
	inFlight := refused(time.Hour, metav1.ConditionTrue)
	inFlight.Status.Handoff = &api.Handoff{}
	idle, begun := back(api.ModePause), back(api.ModePause)
	idle.Status.Conditions, begun.Status.Baseline = nil, &api.Baseline{}
	for name, tc := range map[string]struct {
		m           *api.Migration
		after, want time.Duration
	}{
		"a new refusal":             {refused(0, metav1.ConditionTrue), planner.RequeueRefused, planner.RequeueRefused},
		"after ten seconds":         {refused(10*time.Second, metav1.ConditionTrue), planner.RequeueRefused, 10 * time.Second},
		"after an hour":             {refused(time.Hour, metav1.ConditionTrue), planner.RequeueRefused, planner.RequeueAtLatest},
		"a clock that went back":    {refused(-time.Hour, metav1.ConditionTrue), planner.RequeueRefused, planner.RequeueRefused},
		"an ordinal in flight":      {inFlight, planner.RequeueRefused, planner.RequeueRefused},
		"a rollback":                {back(api.ModeRollback), planner.RequeueRefused, planner.RequeueRefused},
		"a recovery":                {back(api.ModeRecover), planner.RequeueRefused, planner.RequeueRefused},
		"a pause":                   {back(api.ModePause), planner.RequeueRefused, planner.RequeueAtLatest},
		"a pause before the begin":  {idle, planner.RequeueAtLatest, planner.RequeueIdle},
		"and its write is awaited":  {idle, planner.RequeueUnobserved, planner.RequeueUnobserved},
		"a pause in the middle":     {begun, planner.RequeueAtLatest, planner.RequeueAtLatest},
		"not stalled":               {refused(time.Hour, metav1.ConditionFalse), planner.RequeueRefused, planner.RequeueRefused},
		"without conditions":        {&api.Migration{}, planner.RequeueRefused, planner.RequeueRefused},
		"a cluster that is silent":  {refused(time.Hour, metav1.ConditionTrue), planner.RequeueUnreachable, planner.RequeueUnreachable},
		"a write that is not shown": {refused(time.Hour, metav1.ConditionTrue), planner.RequeueUnobserved, planner.RequeueUnobserved},
	} {
		if got := planner.Patient(tc.m, tc.after, now); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}
