package planner

import (
	"testing"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// TestH6Arrival: an ordinal that the other side would reject is not stopped, in either direction. An ordinal that
// is already down moves back nevertheless. Results for another ordinal, or from the other side, do not count (I6,
// I8).
func TestH6Arrival(t *testing.T) {
	no := &plan.Finding{Reason: api.ReasonWriteRefused, Message: "the quota is full"}
	said := func(ordinal int32, side plan.SideName, finding *plan.Finding) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) { s.Arrival = &plan.Arrival{Ordinal: ordinal, Side: side, Finding: finding} }
	}
	back := func(change func(*plan.Snapshot)) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) { rollback(s); change(s) }
	}
	for name, tc := range map[string]struct {
		ordinal int32
		change  func(*plan.Snapshot)
		want    string
	}{
		"it is let in":              {1, said(1, plan.DestinationSide, nil), ""},
		"it is refused":             {1, said(1, plan.DestinationSide, no), api.ReasonWriteRefused},
		"another one is":            {1, said(0, plan.DestinationSide, no), ""},
		"by the side that gives":    {1, said(1, plan.SourceSide, no), ""},
		"back, it is refused":       {2, back(said(2, plan.SourceSide, no)), api.ReasonWriteRefused},
		"back, and it is down":      {2, back(func(s *plan.Snapshot) { goDown(s, 2); said(2, plan.SourceSide, no)(s) }), ""},
		"back, by the other side":   {2, back(said(2, plan.DestinationSide, no)), ""},
		"nobody was asked anything": {1, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if hold := halfway(tc.change).gate(tc.ordinal); hold != nil {
				got = hold.Reason
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestH6AboutToStop: the other side dry-runs the pod before a handoff is recorded, before the hooks of an ordinal
// run, and before its stop.
func TestH6AboutToStop(t *testing.T) {
	hook := func(point api.HookPoint) *plan.Effect {
		return &plan.Effect{Verb: plan.RunHook, Ordinal: 1, Hook: &plan.HookTurn{Hook: api.Hook{Point: point}}}
	}
	copies := func(s *plan.Snapshot) {
		s.Volumes = []plan.OrdinalVolume{{Ordinal: 1, Template: "data", Method: api.MethodCopy}, {Ordinal: 2, Template: "data", Method: api.MethodCopy}}
	}
	back := func(s *plan.Snapshot) { rollback(s); copies(s) }
	record := func(ordinal int32) *plan.Record { return &plan.Record{Handoff: &api.Handoff{Ordinal: ordinal}} }
	for name, tc := range map[string]struct {
		change   func(*plan.Snapshot)
		decision plan.Decision
		want     bool
	}{
		"a stop":                        {nil, plan.Decision{Effect: &plan.Effect{Verb: plan.ScaleDown, Ordinal: 1}}, true},
		"a start":                       {nil, plan.Decision{Effect: &plan.Effect{Verb: plan.ScaleUp, Ordinal: 1}}, false},
		"a hook before the stop":        {nil, plan.Decision{Effect: hook(api.HookBeforeOrdinal)}, true},
		"a hook of the migration":       {nil, plan.Decision{Effect: hook(api.HookBeforeMigration)}, false},
		"a handoff begins":              {nil, plan.Decision{Record: record(1)}, false},
		"one that copies while it runs": {copies, plan.Decision{Record: record(1)}, true},
		"it goes on":                    {func(s *plan.Snapshot) { copies(s); s.Record.Handoff = &api.Handoff{Ordinal: 1} }, plan.Decision{Record: record(1)}, false},
		"it ends":                       {nil, plan.Decision{Record: &plan.Record{}}, false},
		"nothing is done":               {nil, plan.Decision{Hold: &plan.Hold{}}, false},
		"it is down where it is":        {func(s *plan.Snapshot) { back(s); goDown(s, 2) }, plan.Decision{Record: record(2)}, false},
		"it has left already":           {copies, plan.Decision{Record: record(2)}, false},
		"the giver is lost":             {func(s *plan.Snapshot) { back(s); s.Destination.Lost = true }, plan.Decision{Record: record(2)}, false},
		"a copy before its turn":        {func(s *plan.Snapshot) { copies(s); s.Early = new(int32(1)) }, plan.Decision{Record: record(1)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if _, got := AboutToStop(halfway(tc.change).Snapshot, tc.decision); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
