package planner

import (
	"testing"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// TestH10Replace: a copy that cannot be changed is deleted after that is recorded, and while no ordinal is down.
// The new one is created in every mode.
func TestH10Replace(t *testing.T) {
	rigid := having(func(d *plan.Dependency) { d.Rigid = true })
	owing := func(s *plan.Snapshot, _ *plan.Dependency) {
		s.Record.Owed = []api.OwedCopy{{Kind: "ConfigMap", Name: "a", UID: "u"}}
	}
	mode := func(mode api.Mode) func(*plan.Snapshot, *plan.Dependency) {
		return func(s *plan.Snapshot, _ *plan.Dependency) { s.Spec.Mode = mode }
	}
	handoff := func(ordinal int32) func(*plan.Snapshot, *plan.Dependency) {
		return func(s *plan.Snapshot, _ *plan.Dependency) { s.Record.Handoff = &api.Handoff{Ordinal: ordinal} }
	}
	beside := func(ordinal int32) func(*plan.Snapshot, *plan.Dependency) {
		return func(s *plan.Snapshot, _ *plan.Dependency) {
			s.Record.Further = []api.Handoff{{Ordinal: ordinal}}
		}
	}
	old, anew := there("1", copiedOnce("", 0)), there("2", func(c *plan.Copy) { c.Marked, c.Copied, c.UID = true, "2", "v" })
	gone := having(func(d *plan.Dependency) { d.Origin = "" })
	unread := func(s *plan.Snapshot, _ *plan.Dependency) { s.Spec.Dependencies.Copy = false }
	const records, deletes, creates, pays, waits, nothing = "it is recorded", "DeleteCopy", "CreateCopy", "it is paid", "it waits", "nothing"
	for name, tc := range map[string]struct {
		changes []func(*plan.Snapshot, *plan.Dependency)
		want    string
	}{
		"it is owed first":                 {[]func(*plan.Snapshot, *plan.Dependency){old, rigid}, records},
		"it is":                            {[]func(*plan.Snapshot, *plan.Dependency){old, rigid, owing}, deletes},
		"an ordinal is on its way":         {[]func(*plan.Snapshot, *plan.Dependency){old, rigid, owing, handoff(3)}, nothing},
		"one is, beside one that is down":  {[]func(*plan.Snapshot, *plan.Dependency){old, rigid, owing, handoff(1), beside(3)}, waits},
		"one begins beside one":            {[]func(*plan.Snapshot, *plan.Dependency){old, rigid, owing, beside(3)}, waits},
		"one is about to go":               {[]func(*plan.Snapshot, *plan.Dependency){old, rigid, owing, handoff(1)}, deletes},
		"it is gone":                       {[]func(*plan.Snapshot, *plan.Dependency){owing}, creates},
		"and in a pause":                   {[]func(*plan.Snapshot, *plan.Dependency){owing, mode(api.ModePause)}, creates},
		"and on the way back":              {[]func(*plan.Snapshot, *plan.Dependency){owing, mode(api.ModeRollback)}, creates},
		"and while an ordinal is down":     {[]func(*plan.Snapshot, *plan.Dependency){owing, mode(api.ModeRollback), handoff(3)}, creates},
		"though nothing is copied now":     {[]func(*plan.Snapshot, *plan.Dependency){owing, unread, mode(api.ModePause)}, creates},
		"its origin is gone, too":          {[]func(*plan.Snapshot, *plan.Dependency){owing, gone, mode(api.ModeRollback)}, nothing},
		"back, and the old one is there":   {[]func(*plan.Snapshot, *plan.Dependency){old, rigid, owing, mode(api.ModeRollback)}, nothing},
		"the new one is there":             {[]func(*plan.Snapshot, *plan.Dependency){anew, owing}, pays},
		"the new one is there, on a pause": {[]func(*plan.Snapshot, *plan.Dependency){anew, owing, mode(api.ModePause)}, pays},
	} {
		t.Run(name, func(t *testing.T) {
			p := needing(tc.changes...)
			decision := destinationPlanner{p.View}.prepare()
			got := nothing
			switch {
			case decision == nil:
			case decision.Hold != nil && decision.Hold.Reason == api.ReasonNeighborFirst:
				got = waits
			case decision.Hold != nil:
			case decision.Effect != nil:
				got = string(decision.Effect.Verb)
			case len(decision.Record.Owed) == 0:
				got = pays
			default:
				got = records
			}
			if got != tc.want && (tc.want != nothing || got == deletes || got == creates || got == records || got == pays) {
				t.Errorf("got %s: %+v", got, decision)
			}
		})
	}
}
