package migration

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// TestNeedsLiveRead: whatever is written or concluded is judged on live reads; to wait is not (I9).
func TestNeedsLiveRead(t *testing.T) {
	for name, tc := range map[string]struct {
		decision Decision
		want     bool
	}{
		"it waits":           {Decision{Hold: &Hold{}}, false},
		"a record is noted":  {Decision{Record: &Record{}}, true},
		"something is done":  {Decision{Effect: &Effect{}}, true},
		"the migration ends": {Decision{Done: api.ReasonMoved}, true},
	} {
		if got := tc.decision.NeedsLiveRead(); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestDirection: a pause, and the end of a Migration, keep the way that ordinals took, so that one that
// is on its way ends where it was going (I6).
func TestDirection(t *testing.T) {
	back, forth := &api.Claim{Direction: api.Back}, &api.Claim{Direction: api.Forward}
	for name, tc := range map[string]struct {
		mode     api.Mode
		deleting bool
		claim    *api.Claim
		want     api.Direction
	}{
		"it runs":                         {api.ModeRun, false, nil, api.Forward},
		"it runs again":                   {api.ModeRun, false, back, api.Forward},
		"it is rolled back":               {api.ModeRollback, false, forth, api.Back},
		"it recovers":                     {api.ModeRecover, false, forth, api.Back},
		"it pauses on the way back":       {api.ModePause, false, back, api.Back},
		"it pauses on the way there":      {api.ModePause, false, forth, api.Forward},
		"it pauses before it began":       {api.ModePause, false, nil, api.Forward},
		"it is deleted on the way back":   {api.ModeRun, true, back, api.Back},
		"it is deleted before it began":   {api.ModeRun, true, nil, api.Forward},
		"it is deleted while it pauses":   {api.ModePause, true, back, api.Back},
		"it is deleted while rolled back": {api.ModeRollback, true, forth, api.Back},
	} {
		p := &planner{Snapshot: Snapshot{Spec: Spec{Mode: tc.mode}, Deleting: tc.deleting, Record: Record{Claim: tc.claim}}}
		if got := p.direction(); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

// TestOutcome: what is said of a migration at its end is what it was asked for.
func TestOutcome(t *testing.T) {
	for name, tc := range map[string]struct {
		mode     api.Mode
		deleting bool
		want     string
	}{
		"it ran":           {api.ModeRun, false, api.ReasonMoved},
		"it rolled back":   {api.ModeRollback, false, api.ReasonRolledBack},
		"it recovered":     {api.ModeRecover, false, api.ReasonRecovered},
		"it was deleted":   {api.ModeRun, true, api.ReasonReleased},
		"deleted as well":  {api.ModeRollback, true, api.ReasonReleased},
		"deleted meantime": {api.ModeRecover, true, api.ReasonReleased},
	} {
		p := &planner{Snapshot: Snapshot{Spec: Spec{Mode: tc.mode}, Deleting: tc.deleting}}
		if got := p.outcome(); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

// TestFinished: a migration that has been completed lets go of both sets, and says how it ended. One that
// has not begun has nothing to restore, and deletes nothing, whatever its status says (I3, I9).
func TestFinished(t *testing.T) {
	begun := &api.Baseline{SourceCluster: "e", DestinationCluster: "w"}
	unreachable := func(s *Snapshot) { s.Source.Reach = Unreachable }
	const release = "ReleaseFence source web s7"
	for name, tc := range map[string]struct {
		change func(*Snapshot)
		want   string
	}{
		"it runs":                                 {func(s *Snapshot) { s.Record.Baseline = begun }, ""},
		"it has not begun":                        {func(*Snapshot) {}, ""},
		"it is deleted before it began":           {func(s *Snapshot) { s.Deleting = true }, release},
		"it is rolled back before it began":       {func(s *Snapshot) { s.Spec.Mode = api.ModeRollback }, release},
		"nothing was written, and nothing can be": {func(s *Snapshot) { s.Deleting = true; unreachable(s) }, api.ReasonReleased},
		"deleted once it has begun":               {func(s *Snapshot) { s.Deleting, s.Record.Baseline = true, begun }, ""},
		"it lets go":                              {func(s *Snapshot) { s.Record.Completed, s.Record.Baseline = api.ReasonMoved, begun }, release},
		"it cannot let go": {func(s *Snapshot) {
			s.Record.Completed, s.Record.Baseline = api.ReasonMoved, begun
			unreachable(s)
		}, api.ReasonClusterUnreachable},
		"it deletes the source": {func(s *Snapshot) {
			s.Record.Completed, s.Record.Baseline, s.Spec.DeleteSource = api.ReasonMoved, begun, true
		}, "DeleteSet source web s7"},
		"it deletes none without a record of the way": {func(s *Snapshot) { s.Record.Completed, s.Spec.DeleteSource = api.ReasonMoved, true }, release},
	} {
		s := Snapshot{
			UID: "m", Spec: Spec{Mode: api.ModeRun},
			Source:      Side{Reach: Seen, ClusterID: "e", Set: Set{Presence: Seen, Name: "web", UID: "s", ResourceVersion: "7", Fence: "m.1"}},
			Destination: Side{Reach: Seen, ClusterID: "w"},
		}
		tc.change(&s)
		decision := newPlanner(s).finished()
		got := does(decision)
		if decision != nil && decision.Done != "" {
			got = decision.Done
		}
		if got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestFinishedForGood: what has been moved and let go cannot be rolled back any more, which is said; what
// was rolled back may run again, and begins anew with the claim that it had (I8).
func TestFinishedForGood(t *testing.T) {
	begun, claim := &api.Baseline{}, &api.Claim{Epoch: 3}
	for name, tc := range map[string]struct {
		was      string
		mode     api.Mode
		deleting bool
		held     string
		anew     bool
	}{
		"it has moved":              {api.ReasonMoved, api.ModeRun, false, "", false},
		"it is too late to go back": {api.ReasonMoved, api.ModeRollback, false, api.ReasonAlreadyCompleted, false},
		"it is back":                {api.ReasonRolledBack, api.ModeRollback, false, "", false},
		"it is back, and runs":      {api.ReasonRolledBack, api.ModeRun, false, "", true},
		"it is back, and goes":      {api.ReasonRolledBack, api.ModeRun, true, "", false},
	} {
		s := Snapshot{
			UID: "m", Spec: Spec{Mode: tc.mode}, Deleting: tc.deleting, Source: Side{Reach: Seen}, Destination: Side{Reach: Seen},
			Record: Record{Baseline: begun, Claim: claim, Completed: tc.was},
		}
		decision := newPlanner(s).finished()
		switch {
		case decision == nil:
			t.Errorf("%s: nothing is decided", name)
		case tc.anew && (decision.Done != "" || decision.Record == nil || *decision.Record != Record{Claim: claim}):
			t.Errorf("%s: %+v", name, decision)
		case !tc.anew && (decision.Record != nil || decision.Done != tc.was):
			t.Errorf("%s: %+v", name, decision)
		case (tc.held == "") != (decision.Hold == nil):
			t.Errorf("%s: held by %+v", name, decision.Hold)
		case tc.held != "" && (decision.Hold.Reason != tc.held || decision.Hold.Message == "" || decision.Hold.Remedy == ""):
			t.Errorf("%s: held by %+v", name, decision.Hold)
		}
	}
}

// TestReachable: everything waits while a side cannot be read, or is read in another cluster than the one
// where the migration began: what it lacks may run there (I1).
func TestReachable(t *testing.T) {
	for name, tc := range map[string]struct {
		source, destination     Presence
		sourceID, destinationID types.UID
		recorded                bool
		want                    string
	}{
		"both":                           {Seen, Seen, "e", "w", true, ""},
		"no source":                      {Unreachable, Seen, "e", "w", true, api.ReasonClusterUnreachable},
		"no destination":                 {Seen, Unreachable, "e", "w", true, api.ReasonClusterUnreachable},
		"another source":                 {Seen, Seen, "x", "w", true, api.ReasonClusterReplaced},
		"another destination":            {Seen, Seen, "e", "x", true, api.ReasonClusterReplaced},
		"both are others":                {Seen, Seen, "x", "x", true, api.ReasonClusterReplaced},
		"others before anything began":   {Seen, Seen, "x", "x", false, ""},
		"no source before it has begun":  {Unreachable, Seen, "e", "w", false, api.ReasonClusterUnreachable},
		"another one that does not tell": {Seen, Unreachable, "x", "x", true, api.ReasonClusterUnreachable},
	} {
		s := Snapshot{Source: Side{Reach: tc.source, ClusterID: tc.sourceID}, Destination: Side{Reach: tc.destination, ClusterID: tc.destinationID}}
		if tc.recorded {
			s.Record.Baseline = &api.Baseline{SourceCluster: "e", DestinationCluster: "w"}
		}
		decision := newPlanner(s).reachable()
		if got := does(decision); got != tc.want || decision != nil && (!decision.Hold.Stalled || decision.Hold.Remedy == "") {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestPlanOfOneOrdinal: when nothing is left to do for one ordinal, what is next is decided on all of them:
// from one alone it is not concluded that the migration has ended (I3).
func TestPlanOfOneOrdinal(t *testing.T) {
	w := midway(t, scenario{replicas: 1}, ScaleUp, 1)
	decision := Plan(w.state)
	for range enough {
		if decision.Record != nil && decision.Record.Completed != "" {
			break
		}
		if decision.Record != nil {
			w.state.Record = *decision.Record
		}
		decision = Plan(w.state)
	}
	if decision.Record == nil || decision.Record.Completed != api.ReasonMoved {
		t.Fatalf("of all: %+v", decision)
	}
	w.state.Focused = true
	if one := Plan(w.state); one.NeedsLiveRead() || one.Hold == nil || one.Hold.Reason != api.ReasonMoving {
		t.Errorf("of one: %+v", one)
	}
}
