package engine

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// TestPriority: a Migration that waits in line or has no status yet is checked with the priority of those whose
// ordinals are down. Any other reason to wait does not raise its priority.
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
		"an ordinal down": {api.MigrationStatus{Baseline: &api.Baseline{}, Handoff: &api.Handoff{}}, urgencyDown},
	} {
		if got := priority(&api.Migration{Status: tc.status}); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
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
