package planner

import (
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// hooksAt adds hooks at these points, each named like its point.
func hooksAt(points ...api.HookPoint) but {
	return but{func(s *plan.Snapshot) {
		for _, point := range points {
			s.Spec.Hooks = append(s.Spec.Hooks, api.Hook{Name: string(point), Point: point})
		}
	}}
}

var everyPoint = hooksAt(api.HookBeforeMigration, api.HookBeforeOrdinal, api.HookAfterOrdinal, api.HookAfterMigration)

// ran records a run of a point's hook, for an ordinal or for the migration.
func ran(point api.HookPoint, ordinal int32, state api.HookState) func(*plan.Snapshot) {
	return func(s *plan.Snapshot) {
		run := api.HookRun{Name: string(point), Point: point, State: state, Attempt: 1, Job: "recorded", LastTransitionTime: metav1.NewTime(s.Now)}
		if point.OfOrdinal() {
			run.Ordinal = new(ordinal)
		}
		s.Record.Hooks = append(s.Record.Hooks, run)
	}
}

func (changes but) all(s *plan.Snapshot) {
	for _, change := range changes {
		change(s)
	}
}

// and appends changes.
func (changes but) and(more ...func(*plan.Snapshot)) but {
	return slices.Concat(changes, more)
}

// TestDueHook: the hook whose Job is read is the one that runs next: that of the arrived ordinal, else of the
// migration, else of the next ordinal. There is none while no hook may run.
func TestDueHook(t *testing.T) {
	before, after := ran(api.HookBeforeMigration, plan.NoOrdinal, api.HookSucceeded), ran(api.HookAfterOrdinal, 2, api.HookRunning)
	beforeNext := ran(api.HookBeforeOrdinal, 1, api.HookSucceeded)
	back := func(s *plan.Snapshot) { rollback(s); s.Record.Fence.Direction = api.Back }
	for name, tc := range map[string]struct {
		but  but
		want string
	}{
		"it begins":                       {everyPoint, "BeforeMigration -1 source"},
		"it has begun":                    {everyPoint.and(before), "BeforeOrdinal 1 source"},
		"one has come":                    {everyPoint.and(after), "AfterOrdinal 2 destination"},
		"one has come, and it is over":    {everyPoint.and(before, ran(api.HookAfterOrdinal, 2, api.HookSkipped)), "BeforeOrdinal 1 source"},
		"all is done for the next one":    {everyPoint.and(before, beforeNext), ""},
		"none is left":                    {everyPoint.and(nothingLeft), "AfterMigration -1 destination"},
		"none is left, and the last came": {everyPoint.and(nothingLeft, after), "AfterOrdinal 2 destination"},
		"none is left, and it has ended":  {everyPoint.and(nothingLeft, ran(api.HookAfterMigration, plan.NoOrdinal, api.HookSucceeded)), ""},
		"of another ordinal":              {everyPoint.and(before, ran(api.HookBeforeOrdinal, 3, api.HookSucceeded)), "BeforeOrdinal 1 source"},
		"without a hook after it":         {hooksAt(api.HookBeforeOrdinal).and(after), "BeforeOrdinal 1 source"},
		"back":                            {everyPoint.and(back), "BeforeMigration -1 destination"},
		"back, and it is skipped":         {everyPoint.and(back, func(s *plan.Snapshot) { s.Spec.Hooks[0].OnRollback = api.HookRollbackSkip }), "BeforeOrdinal 2 destination"},
		"no hooks":                        {but{}, ""},
		"the source is away":              {everyPoint.and(func(s *plan.Snapshot) { s.Source.Reach = plan.Unreachable }), ""},
		"the destination is away":         {everyPoint.and(func(s *plan.Snapshot) { s.Destination.Reach = plan.Unreachable }), ""},
		"it has not begun":                {everyPoint.and(func(s *plan.Snapshot) { s.Record.Baseline = nil }), ""},
		"nobody has the fence":            {everyPoint.and(func(s *plan.Snapshot) { s.Record.Fence = nil }), ""},
		"it turns":                        {everyPoint.and(rollback), ""},
		"it is completed":                 {everyPoint.and(func(s *plan.Snapshot) { s.Record.Completed = api.ReasonMoved }), ""},
		"it is deleted":                   {everyPoint.and(func(s *plan.Snapshot) { s.Deleting = true }), ""},
		"it is paused":                    {everyPoint.and(func(s *plan.Snapshot) { s.Spec.Mode = api.ModePause }), ""},
		"it is recovered":                 {everyPoint.and(back, func(s *plan.Snapshot) { s.Spec.Mode = api.ModeRecover }), ""},
		"the destination is lost":         {everyPoint.and(func(s *plan.Snapshot) { s.Destination.Lost = true }), ""},
		"the slices are broken":           {everyPoint.and(func(s *plan.Snapshot) { s.Source.Set.Replicas = 0 }), ""},
		"an ordinal is down":              {everyPoint.and(func(s *plan.Snapshot) { s.Source.Set.Replicas = 1 }), ""},
	} {
		got := ""
		if turn, due := DueHook(halfway(tc.but.all).Snapshot); due {
			got = fmt.Sprintf("%s %d %s", turn.Run.Point, turn.Ordinal(), turn.Side)
		}
		if got != tc.want {
			t.Errorf("%s: %q is due, not %q", name, got, tc.want)
		}
	}
}

// TestHookWaits: the next handoff does not begin together with the end of the last one if a hook runs in between,
// for either ordinal. Otherwise it does. An ordinal that is down at its giver moves back at once (I6, I8).
func TestHookWaits(t *testing.T) {
	before := ran(api.HookBeforeMigration, plan.NoOrdinal, api.HookSucceeded)
	back := func(s *plan.Snapshot) { rollback(s); s.Record.Fence.Direction = api.Back }
	for name, tc := range map[string]struct {
		but           but
		arrived, next int32
		want          bool
	}{
		"no hooks":                        {but{}, 2, 1, false},
		"of the migration, which are run": {hooksAt(api.HookBeforeMigration, api.HookAfterMigration).and(before), 2, 1, false},
		"of the migration":                {hooksAt(api.HookBeforeMigration), 2, 1, true},
		"after its end":                   {hooksAt(api.HookAfterMigration), 2, 1, false},
		"after the one that has come":     {hooksAt(api.HookAfterOrdinal), 2, 1, true},
		"before the next one":             {hooksAt(api.HookBeforeOrdinal), 2, 1, true},
		"which has been run":              {hooksAt(api.HookBeforeOrdinal).and(ran(api.HookBeforeOrdinal, 1, api.HookSucceeded)), 2, 1, false},
		"which was, for the last one":     {hooksAt(api.HookBeforeOrdinal).and(ran(api.HookBeforeOrdinal, 2, api.HookSucceeded)), 2, 1, true},
		"it is deleted":                   {everyPoint.and(func(s *plan.Snapshot) { s.Deleting = true }), 2, 1, false},
		"the destination is lost":         {everyPoint.and(func(s *plan.Snapshot) { s.Destination.Lost = true }), 2, 1, false},
		"back":                            {hooksAt(api.HookAfterOrdinal).and(back), 1, 2, true},
		"back, and all are skipped": {everyPoint.and(back, func(s *plan.Snapshot) {
			for i := range s.Spec.Hooks {
				s.Spec.Hooks[i].OnRollback = api.HookRollbackSkip
			}
		}), 1, 2, false},
		"back, and the next one is down":    {hooksAt(api.HookAfterOrdinal).and(back, func(s *plan.Snapshot) { goDown(s, 2) }), 1, 2, false},
		"back, and another one is down":     {hooksAt(api.HookAfterOrdinal).and(back, func(s *plan.Snapshot) { goDown(s, 3) }), 1, 2, true},
		"forward, and the next one is down": {hooksAt(api.HookBeforeOrdinal).and(func(s *plan.Snapshot) { goDown(s, 1) }), 2, 1, true},
	} {
		if got := (hookPlanner{halfway(tc.but.all).View}).waits(tc.arrived, tc.next); got != tc.want {
			t.Errorf("%s: waits %t", name, got)
		}
	}
}

// TestH12HookBeforeALateStop: the success of a hook before a stop is valid for a while. If the stop happens later,
// the hook runs once more, in another Job. A skipped hook, and hooks of other points, do not.
func TestH12HookBeforeALateStop(t *testing.T) {
	for name, tc := range map[string]struct {
		state  api.HookState
		ago    time.Duration
		change func(*plan.Snapshot)
		again  bool
	}{
		"a moment ago":                 {api.HookSucceeded, time.Minute, nil, false},
		"hours ago":                    {api.HookSucceeded, 6 * time.Hour, nil, true},
		"hours ago, by a person":       {api.HookSkipped, 6 * time.Hour, nil, false},
		"hours ago, and it is stopped": {api.HookSucceeded, 6 * time.Hour, func(s *plan.Snapshot) { s.Source.Set.Replicas = 1 }, false},
	} {
		p := halfway(func(s *plan.Snapshot) {
			s.Spec.Hooks = []api.Hook{{Name: "step-down", Point: api.HookBeforeOrdinal}}
			s.Record.Hooks = []api.HookRun{{
				Name: "step-down", Point: api.HookBeforeOrdinal, Ordinal: new(int32(1)), Attempt: 1, Job: "step-down-1", UID: "u", State: tc.state, LastTransitionTime: metav1.NewTime(s.Now.Add(-tc.ago)),
			}}
			if tc.change != nil {
				tc.change(s)
			}
		})
		due := hookPlanner{p.View}.due(api.HookBeforeOrdinal, 1)
		if (due != nil) != tc.again {
			t.Errorf("%s: %+v", name, due)
		}
		if due != nil && (due.Run.Attempt != 2 || due.Run.Job == "step-down-1" || due.Run.UID != "" || due.Run.State != api.HookPending) {
			t.Errorf("%s: %+v", name, due.Run)
		}
	}
}
