package planner

import (
	"testing"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// TestH11OnlyWaits: a handoff whose ordinal runs, and that waits for a user, a window or a time, takes no capacity
// from others. A handoff that copies, or is down, does.
func TestH11OnlyWaits(t *testing.T) {
	held := func(reason string, stalled bool) plan.Decision {
		return plan.Decision{Hold: &plan.Hold{Reason: reason, Stalled: stalled}}
	}
	copied := func(change func(*volumes.Copying)) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) {
			c := volumes.Copying{}
			if change != nil {
				change(&c)
			}
			s.Volumes = []plan.OrdinalVolume{{Ordinal: 1, Template: "data", Method: api.MethodCopy, Copy: &c}}
		}
	}
	for name, tc := range map[string]struct {
		change   func(*plan.Snapshot)
		decision plan.Decision
		want     bool
	}{
		"for a word":   {copied(nil), held(volumes.ReasonCopyAwaitsWord, true), true},
		"for a window": {copied(nil), held(api.ReasonOutsideWindow, false), true},
		"in a pause":   {copied(nil), held(api.ReasonPaused, false), true},
		"for its time": {copied(func(c *volumes.Copying) {
			c.Asked.Cutover, c.Asked.CutoverAt = api.CutoverAt, time.Now().AddDate(100, 0, 0)
		}), held(api.ReasonCopying, false), true},
		"for a place":           {copied(nil), held(api.ReasonTooManyHandoffs, false), true},
		"for a controller":      {copied(nil), held(api.ReasonBudgetUnconfirmed, false), false},
		"longer than it may":    {copied(nil), held(api.ReasonBudgetUnconfirmed, true), true},
		"for a gate's answer":   {copied(nil), held(api.ReasonGatePending, false), false},
		"its time has come":     {copied(func(c *volumes.Copying) { c.Asked.Cutover = api.CutoverAt }), held(api.ReasonCopying, false), false},
		"between two passes":    {copied(nil), held(api.ReasonCopying, false), false},
		"it is copied":          {copied(func(c *volumes.Copying) { c.Receiver.Found = true }), held(volumes.ReasonCopyAwaitsWord, true), false},
		"it is read":            {copied(func(c *volumes.Copying) { c.Warm.Found = true }), held(api.ReasonPaused, false), false},
		"it is down":            {func(s *plan.Snapshot) { s.Record.Handoff.Ordinal = 3 }, held(api.ReasonPaused, false), false},
		"it does something":     {copied(nil), plan.Decision{Effect: &plan.Effect{}}, false},
		"nothing is on its way": {func(s *plan.Snapshot) { s.Record.Handoff = nil }, held(api.ReasonPaused, false), false},
		"nobody knows":          {func(s *plan.Snapshot) { s.Source.Reach = plan.Unreachable }, held(api.ReasonClusterUnreachable, true), false},
	} {
		t.Run(name, func(t *testing.T) {
			p := midway(func(s *plan.Snapshot) { s.Record.Handoff = &api.Handoff{Ordinal: 1} }, tc.change)
			if got := OnlyWaits(p.Snapshot, tc.decision); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

// TestH11TakesPlace: the stop of an ordinal, or the start of its copy, takes its capacity again; a rollback needs
// none.
func TestH11TakesPlace(t *testing.T) {
	stop, start := plan.Effect{Verb: plan.ScaleDown}, plan.Effect{Verb: plan.ScaleUp}
	mover := plan.Effect{Verb: plan.CarryVolume, Volume: volumes.Action{Verb: volumes.CreateMover}}
	on := func(s *plan.Snapshot) { s.Record.Handoff = &api.Handoff{Ordinal: 1} }
	for name, tc := range map[string]struct {
		effect plan.Effect
		change func(*plan.Snapshot)
		want   bool
	}{
		"a stop": {stop, on, true}, "a mover": {mover, on, true}, "a start": {start, on, false},
		"a stop on the way back":  {stop, func(s *plan.Snapshot) { on(s); s.Spec.Mode = api.ModeRollback }, false},
		"a mover before its turn": {mover, func(s *plan.Snapshot) { on(s); s.Early = new(int32(0)) }, false},
	} {
		if got := TakesPlace(midway(tc.change).Snapshot, tc.effect); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
