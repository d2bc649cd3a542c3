package planner

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/pdb/pdbtest"
)

// began is when the migrations of these tests began.
var began = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// planners holds the planners of all stages, on one view.
type planners struct {
	*View
	wholePlanner
	lossPlanner
	foreignPlanner
	fencePlanner
	destinationPlanner
	handoffPlanner
	settlePlanner
	budgetPlanner
	gatePlanner
	carryPlanner
	namePlanner
}

func newPlanner(s plan.Snapshot) *planners {
	v := viewOf(s)
	return &planners{
		v, wholePlanner{v}, lossPlanner{v}, foreignPlanner{v}, fencePlanner{v}, destinationPlanner{v}, handoffOf(v), settleOf(v), budgetPlanner{v}, gatePlanner{v}, carryPlanner{v}, namePlanner{v},
	}
}

// midway returns the planners of a migration of four ordinals, the highest first: the source has 0 to 2, the
// destination 3. No ordinal is in flight, and this process drives it. Its only budget allows one.
func midway(changes ...func(*plan.Snapshot)) *planners {
	s := plantest.Healthy(0, 4, pdbtest.MaxUnavailable(1), "data")
	s.Engaged = true
	s.Record = plan.Record{
		Accepted: true, Fence: &api.Fence{Epoch: 1, Holder: s.Holder, Direction: api.Forward},
		Baseline: &api.Baseline{
			Replicas: 4, Budget: 1, SourceUID: "source-set", DestinationUID: "prepared-set", SourceCluster: "cluster-east", DestinationCluster: "cluster-west",
			DisruptionBudget: &api.DisruptionBudget{Name: "web", MaxUnavailable: pdbtest.MaxUnavailable(1).MaxUnavailable},
			Volumes:          []api.VolumeSpec{{ClaimTemplate: "data", Method: api.MethodRebind}},
		},
	}
	for _, side := range []*plan.Side{&s.Source, &s.Destination} {
		side.Set.Fence = "migration.1"
		side.Budgets[0].Fence, side.Budgets[0].Author = "migration.1", pdbtest.MaxUnavailable(1)
	}
	s.Record.Baseline.SourceBudget = &api.BudgetVersion{UID: s.Source.Budgets[0].UID, Taken: true}
	s.Record.Baseline.DestinationBudget = &api.BudgetVersion{UID: s.Destination.Budgets[0].UID, Taken: true}
	s.Destination.Budgets[0].Form = *pdbtest.MaxUnavailable(0)
	plantest.HandOn(&s, 3)
	for _, change := range changes {
		change(&s)
	}
	return newPlanner(s)
}

// parted returns the planners of plantest.Parted.
func parted(change func(*plan.Snapshot)) *planners { return newPlanner(plantest.Parted(change)) }

// unbudgeted removes the budgets, so that a test sees only the other steps of a handoff.
func unbudgeted(s *plan.Snapshot) {
	s.Source.Budgets, s.Destination.Budgets, s.Record.Baseline.DisruptionBudget = nil, nil, nil
}

// inShort describes a decision: its write, the reason of its hold, or its end.
func inShort(d *plan.Decision) string {
	switch {
	case d == nil:
		return ""
	case d.Effect != nil:
		return string(d.Effect.Verb) + " " + string(d.Effect.Side) + " " + d.Effect.Name
	case d.Record != nil && d.Record.Completed != "":
		return "recorded: " + d.Record.Completed
	case d.Record != nil && d.Record.Baseline == nil:
		return "recorded: it begins anew"
	case d.Record != nil && d.Record.Handoff == nil:
		return "recorded: no handoff"
	case d.Record != nil:
		return "recorded: a handoff"
	case d.Done != "" && d.Hold != nil:
		return "done: " + d.Done + ", " + d.Hold.Reason
	case d.Done != "":
		return "done: " + d.Done
	}
	return d.Hold.Reason
}

// TestNeedsLiveRead: nothing is written, recorded or concluded from a cache alone (I7, I9).
func TestNeedsLiveRead(t *testing.T) {
	for name, tc := range map[string]struct {
		decision plan.Decision
		want     bool
	}{
		"it waits":   {plan.Decision{Hold: &plan.Hold{Reason: api.ReasonPaused}}, false},
		"it records": {plan.Decision{Record: &plan.Record{}}, true},
		"it writes":  {plan.Decision{Effect: &plan.Effect{}}, true},
		"it is done": {plan.Decision{Done: api.ReasonMoved}, true},
	} {
		if got := tc.decision.NeedsLiveRead(); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestDirection: a pause, and a deletion, keep the direction of the migration, so that a handoff in flight
// completes in it. The outcome follows from the direction.
func TestDirection(t *testing.T) {
	forward, back := &api.Fence{Direction: api.Forward}, &api.Fence{Direction: api.Back}
	for name, tc := range map[string]struct {
		mode     api.Mode
		deleting bool
		fence    *api.Fence
		want     api.Direction
		outcome  string
		resting  bool
	}{
		"it runs":                      {api.ModeRun, false, forward, api.Forward, api.ReasonMoved, false},
		"it runs again":                {api.ModeRun, false, back, api.Forward, api.ReasonMoved, false},
		"it is rolled back":            {api.ModeRollback, false, forward, api.Back, api.ReasonRolledBack, false},
		"it recovers":                  {api.ModeRecover, false, forward, api.Back, api.ReasonRecovered, false},
		"it pauses before it begins":   {api.ModePause, false, nil, api.Forward, api.ReasonMoved, true},
		"it pauses on the way":         {api.ModePause, false, forward, api.Forward, api.ReasonMoved, true},
		"it pauses on the way back":    {api.ModePause, false, back, api.Back, api.ReasonRolledBack, true},
		"deleted before it begins":     {api.ModeRun, true, nil, api.Forward, api.ReasonReleased, true},
		"deleted on the way back":      {api.ModeRun, true, back, api.Back, api.ReasonReleased, true},
		"deleted in its recovery":      {api.ModeRecover, true, forward, api.Back, api.ReasonReleased, true},
		"deleted in a pause, and back": {api.ModePause, true, back, api.Back, api.ReasonReleased, true},
	} {
		p := newPlanner(plan.Snapshot{Spec: plan.Spec{Mode: tc.mode}, Deleting: tc.deleting, Record: plan.Record{Fence: tc.fence}})
		if got := p.direction(); got != tc.want || p.outcome() != tc.outcome || p.resting() != tc.resting {
			t.Errorf("%s: %s, %s, resting %t", name, got, p.outcome(), p.resting())
		}
		giver, taker := &p.Source, &p.Destination
		if tc.want == api.Back {
			giver, taker = taker, giver
		}
		if p.giver != giver || p.taker != taker || p.Side(p.giverName) != giver || p.Side(p.takerName) != taker {
			t.Errorf("%s: the %s gives and the %s takes", name, p.giverName, p.takerName)
		}
	}
}

// TestFinished: a migration that has completed, or ends before it has begun, releases its objects and does nothing
// else. A migration that was rolled back may run again.
func TestFinished(t *testing.T) {
	ended := func(reason string, mode api.Mode) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) {
			s.Record.Completed, s.Spec.Mode = reason, mode
			s.Source.Set.Fence, s.Destination.Set.Fence = "", ""
		}
	}
	unbegun := func(mode api.Mode, deleting bool) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) {
			s.Record, s.Spec.Mode, s.Deleting = plan.Record{}, mode, deleting
			s.Source.Set.Fence = ""
		}
	}
	deleted := func(s *plan.Snapshot) { s.Deleting = true }
	unwritten := func(s *plan.Snapshot) { s.Destination.Set.Fence = "" }
	cut := func(s *plan.Snapshot) { s.Source.Reach = plan.Unreachable }
	for name, tc := range map[string]struct {
		changes []func(*plan.Snapshot)
		want    string
	}{
		"it goes on":                    {nil, ""},
		"it is rolled back":             {[]func(*plan.Snapshot){func(s *plan.Snapshot) { s.Spec.Mode = api.ModeRollback }}, ""},
		"it is being deleted":           {[]func(*plan.Snapshot){deleted}, ""},
		"it is to begin":                {[]func(*plan.Snapshot){unbegun(api.ModeRun, false)}, ""},
		"it is to begin after a pause":  {[]func(*plan.Snapshot){unbegun(api.ModePause, false)}, ""},
		"rolled back before it began":   {[]func(*plan.Snapshot){unbegun(api.ModeRollback, false)}, "ReleaseFence destination web"},
		"deleted before it began":       {[]func(*plan.Snapshot){unbegun(api.ModeRun, true)}, "ReleaseFence destination web"},
		"and a side cannot be read":     {[]func(*plan.Snapshot){unbegun(api.ModeRun, true), cut}, "done: " + api.ReasonReleased},
		"and nothing was written":       {[]func(*plan.Snapshot){unbegun(api.ModeRollback, false), unwritten}, "done: " + api.ReasonRolledBack},
		"it has moved":                  {[]func(*plan.Snapshot){ended(api.ReasonMoved, api.ModeRun)}, "done: " + api.ReasonMoved},
		"it has moved, and has a fence": {[]func(*plan.Snapshot){func(s *plan.Snapshot) { s.Record.Completed = api.ReasonMoved }}, "ReleaseFence destination web"},
		"and a side cannot be seen":     {[]func(*plan.Snapshot){func(s *plan.Snapshot) { s.Record.Completed = api.ReasonMoved }, cut}, api.ReasonClusterUnreachable},
		"moved, and is to go back":      {[]func(*plan.Snapshot){ended(api.ReasonMoved, api.ModeRollback)}, "done: Moved, " + api.ReasonAlreadyCompleted},
		"it was rolled back":            {[]func(*plan.Snapshot){ended(api.ReasonRolledBack, api.ModeRollback)}, "done: " + api.ReasonRolledBack},
		"rolled back, and it pauses":    {[]func(*plan.Snapshot){ended(api.ReasonRolledBack, api.ModePause)}, "done: " + api.ReasonRolledBack},
		"rolled back, and is run again": {[]func(*plan.Snapshot){ended(api.ReasonRolledBack, api.ModeRun)}, "recorded: it begins anew"},
		"run again, and deleted":        {[]func(*plan.Snapshot){ended(api.ReasonRolledBack, api.ModeRun), deleted}, "done: " + api.ReasonRolledBack},
		"it was let go":                 {[]func(*plan.Snapshot){ended(api.ReasonReleased, api.ModeRun), deleted}, "done: " + api.ReasonReleased},
	} {
		p := midway(tc.changes...)
		got := p.finished()
		if inShort(got) != tc.want {
			t.Errorf("%s: %q, want %q", name, inShort(got), tc.want)
		}
		if got != nil && got.Record != nil {
			if diff := cmp.Diff(&plan.Record{Fence: p.Record.Fence}, got.Record); diff != "" {
				t.Errorf("%s: -want +got\n%s", name, diff)
			}
		}
	}
}

// TestCompletedWithoutARecord: a migration whose record was removed deletes nothing of the source, whatever the
// spec requests (I3): the moved ordinals are no longer known.
func TestCompletedWithoutARecord(t *testing.T) {
	p := midway(func(s *plan.Snapshot) {
		s.Record = plan.Record{Completed: api.ReasonMoved}
		s.Spec.DeleteSource = true
		s.Source.Set.Replicas, s.Source.Pods, s.Source.Budgets, s.Volumes = 0, nil, nil, nil
		s.Destination.Set.Fence = ""
	})
	if got := inShort(p.finished()); got != "ReleaseFence source web" {
		t.Errorf("it does %q", got)
	}
}

// TestReachable: a side that cannot be read, or is another cluster than in the beginning, holds everything:
// objects that it lacks may exist elsewhere (I1, I2).
func TestReachable(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   string
	}{
		"both can be read":           {func(*plan.Snapshot) {}, ""},
		"the source cannot":          {func(s *plan.Snapshot) { s.Source.Reach = plan.Unreachable }, api.ReasonClusterUnreachable},
		"the destination cannot":     {func(s *plan.Snapshot) { s.Destination.Reach = plan.Unreachable }, api.ReasonClusterUnreachable},
		"the source is another":      {func(s *plan.Snapshot) { s.Source.ClusterID = "other" }, api.ReasonClusterReplaced},
		"the destination is another": {func(s *plan.Snapshot) { s.Destination.ClusterID = "other" }, api.ReasonClusterReplaced},
		"nobody knows which it was":  {func(s *plan.Snapshot) { s.Record.Baseline, s.Source.ClusterID = nil, "other" }, ""},
		"another one, and cut off":   {func(s *plan.Snapshot) { s.Source.ClusterID, s.Destination.Reach = "other", plan.Unreachable }, api.ReasonClusterUnreachable},
		"they have changed places": {func(s *plan.Snapshot) {
			s.Source.ClusterID, s.Destination.ClusterID = s.Destination.ClusterID, s.Source.ClusterID
		}, api.ReasonClusterReplaced},
	} {
		got := midway(tc.change).reachable()
		if inShort(got) != tc.want || got != nil && !got.Hold.Stalled {
			t.Errorf("%s: %q, want %q", name, inShort(got), tc.want)
		}
	}
}

// arrived is a migration of two ordinals of which none is left to move, and nothing to restore.
func arrived() plan.Snapshot {
	s := plantest.Healthy(0, 2, nil)
	s.Engaged = true
	s.Record = plan.Record{
		Accepted: true, Fence: &api.Fence{Epoch: 1, Holder: s.Holder, Direction: api.Forward},
		Baseline: &api.Baseline{
			Replicas: 2, Budget: 1, SourceUID: "source-set", DestinationUID: "prepared-set", SourceCluster: "cluster-east", DestinationCluster: "cluster-west",
		},
	}
	s.Source.Set.Fence, s.Destination.Set.Fence = "migration.1", "migration.1"
	plantest.HandOn(&s, 1)
	plantest.HandOn(&s, 0)
	return s
}

// TestPlanEnds: when nothing is left to do the end is recorded, and not before all ordinals were read. The fence
// precedes all other writes.
func TestPlanEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   string
	}{
		"all has moved":          {func(*plan.Snapshot) {}, "recorded: " + api.ReasonMoved},
		"one ordinal was read":   {func(s *plan.Snapshot) { s.Focused = true }, api.ReasonMoving},
		"it is completed":        {func(s *plan.Snapshot) { s.Record.Completed = api.ReasonMoved }, "ReleaseFence destination web"},
		"nothing is recorded":    {func(s *plan.Snapshot) { s.Record = plan.Record{} }, api.ReasonNothingToMove},
		"nobody holds the fence": {func(s *plan.Snapshot) { s.Record.Fence, s.Source.Set.Replicas = nil, 1 }, "recorded: no handoff"},
		"a fence is of old":      {func(s *plan.Snapshot) { s.Source.Set.Fence, s.Source.Set.Replicas = "migration.0", 1 }, "WriteFence source web"},
		"another source": {func(s *plan.Snapshot) {
			s.Source.Set.UID, s.Source.Set.YoungClaim, s.Engaged = "other", "data-web-0", false
		}, api.ReasonSourceReplaced},
		"a slice was scaled":        {func(s *plan.Snapshot) { s.Source.Set.Replicas, s.Destination.NamespaceFound = 1, false }, api.ReasonForeignScale},
		"the namespace is gone":     {func(s *plan.Snapshot) { s.Destination.NamespaceFound = false }, api.ReasonNamespaceMissing},
		"numbers beyond all reason": {func(s *plan.Snapshot) { s.Source.Set.Replicas = -1 }, api.ReasonOrdinalsUnbounded},
	} {
		s := arrived()
		tc.change(&s)
		got := Plan(s)
		if inShort(&got) != tc.want {
			t.Errorf("%s: %q, want %q", name, inShort(&got), tc.want)
		}
	}
}

// TestListed: only the first few of many are named.
func TestListed(t *testing.T) {
	for _, tc := range []struct {
		all  []int32
		want string
	}{
		{nil, ""}, {[]int32{4}, "4"}, {[]int32{4, 3, 2, 1, 0}, "4, 3, 2, 1, 0"}, {[]int32{5, 4, 3, 2, 1, 0}, "5, 4, 3, 2, 1 and 1 more"},
	} {
		if got := plan.Listed(tc.all); got != tc.want {
			t.Errorf("%v: %q, want %q", tc.all, got, tc.want)
		}
	}
}
