package evacuation

import (
	"testing"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// TestRefusedChange: a change that the API server refuses holds only the Migrations that come after it, and no pause and no
// rollback of the others.
func TestRefusedChange(t *testing.T) {
	for name, tc := range map[string]struct {
		mode    api.EvacuationMode
		refused api.Mode
		found   map[string]Migration
		want    string
		message string
	}{
		"its begin":     {"", api.ModeRun, map[string]Migration{"db": held(), "web": held(), "cache": held()}, "cache Run false [db Stalled, web Held, cache Waiting]", "mode Run was refused: a policy"},
		"its pause":     {api.EvacuationPause, api.ModePause, map[string]Migration{"db": moving, "web": moving, "cache": held()}, "web Pause true [db Moving, web Moving, cache Paused]", "mode Pause was refused: a policy"},
		"its rollback":  {api.EvacuationRollback, api.ModeRollback, map[string]Migration{"db": moving, "web": moving, "cache": held()}, "web Rollback true [db Moving, web Moving, cache Paused]", "mode Rollback was refused: a policy"},
		"a former mode": {"", api.ModePause, map[string]Migration{"db": held(), "web": held(), "cache": held()}, "db Run false [db Waiting, web Waiting, cache Waiting]", ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(Snapshot{
				Name: "all", Spec: api.EvacuationSpec{Mode: tc.mode, Migrations: entries("db", "web:db", "cache")}, Migrations: tc.found,
				Refused: map[string]Refusal{"db": {tc.refused, "a policy"}},
			})
			if got := said(d); got != tc.want || d.States[0].Message != tc.message {
				t.Errorf("got %s: %q, want %s: %q", got, d.States[0].Message, tc.want, tc.message)
			}
		})
	}
}

// TestUnreachable: a Migration that stalls because a cluster does not answer keeps its place, so that no other one begins
// for it. One that stalled so before it was paused takes none.
func TestUnreachable(t *testing.T) {
	silent := of(func(m *Migration) {
		m.Held, m.Mode, m.Stalled, m.Unreachable = false, api.ModeRun, "ClusterUnreachable: west", true
	})
	before := of(func(m *Migration) { m.Stalled, m.Unreachable = "ClusterUnreachable: west", true })
	for name, tc := range map[string]struct {
		first Migration
		most  int32
		want  string
		state string
	}{
		"one place":                  {silent, 1, "none [a Stalled, b Waiting]", api.EvacuationStalled},
		"two places":                 {silent, 2, "b Run false [a Stalled, b Waiting]", api.EvacuationRunning},
		"of the time before a pause": {before, 1, "a Run false [a Waiting, b Waiting]", api.EvacuationRunning},
	} {
		t.Run(name, func(t *testing.T) {
			e := &api.Evacuation{Spec: api.EvacuationSpec{MaxActive: &tc.most, Migrations: entries("a", "b")}}
			d := Decide(Snapshot{Name: "all", Spec: e.Spec, Migrations: map[string]Migration{"a": tc.first, "b": held()}})
			if got, state := said(d), StatusOf(e, d).State; got != tc.want || state != tc.state {
				t.Errorf("got %s: %s, want %s: %s", state, got, tc.state, tc.want)
			}
		})
	}
}
