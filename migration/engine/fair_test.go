package engine

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// TestPriority: a Migration that waits in line, was resumed or has no status yet is checked with the priority of those
// whose ordinals are down. Any other reason to wait does not raise its priority. One whose ordinals have all arrived has
// it, too: of the ones that an Evacuation lets run at once, ended ones took the places of the next ones.
func TestPriority(t *testing.T) {
	says := func(reason string) []metav1.Condition {
		return []metav1.Condition{{Type: api.ConditionProgressing, Reason: reason}}
	}
	for name, tc := range map[string]struct {
		status api.MigrationStatus
		want   int
	}{
		"new":             {api.MigrationStatus{}, urgencyDown},
		"in line":         {api.MigrationStatus{Conditions: says(api.ReasonQueued)}, urgencyDown},
		"refused":         {api.MigrationStatus{Conditions: says(api.ReasonSourceNotHealthy)}, urgencyNone},
		"begun":           {api.MigrationStatus{Baseline: &api.Baseline{}, Conditions: says(api.ReasonMoving)}, urgencyBegun},
		"resumed":         {api.MigrationStatus{Conditions: says(api.ReasonPaused)}, urgencyDown},
		"under way":       {api.MigrationStatus{Baseline: &api.Baseline{}, Moved: 1, Total: 3}, urgencyBegun},
		"all arrived":     {api.MigrationStatus{Baseline: &api.Baseline{}, Moved: 3, Total: 3}, urgencyDown},
		"an ordinal down": {api.MigrationStatus{Baseline: &api.Baseline{}, Handoff: &api.Handoff{}}, urgencyDown},
	} {
		if got := priority(&api.Migration{Status: tc.status}); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
	back := &api.Migration{Spec: api.MigrationSpec{Mode: api.ModeRollback}, Status: api.MigrationStatus{Baseline: &api.Baseline{}, Total: 3}}
	if got := priority(back); got != urgencyDown {
		t.Errorf("all back: %d, want %d", got, urgencyDown)
	}
	if back.Status.Moved = 3; priority(back) != urgencyBegun {
		t.Error("none is back yet, and it goes first")
	}
	held := &api.Migration{Spec: api.MigrationSpec{Mode: api.ModePause}}
	held.Annotations = map[string]string{api.EvacuationHeldAnnotationKey: "all"}
	if got := priority(held); got != urgencyNone {
		t.Errorf("held by an Evacuation: %d, want %d", got, urgencyNone)
	}
	if held.Spec.Mode = api.ModeRun; priority(held) != urgencyDown {
		t.Error("one that an Evacuation begins waits behind those that have begun")
	}
}
