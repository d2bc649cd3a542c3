package simulate

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
)

// TestWorldApplyCopy: a copy gets the content of its origin. An existing one is not created again, and a changed
// one is not written.
func TestWorldApplyCopy(t *testing.T) {
	is := func(verb plan.Verb, change func(*plan.Effect)) plan.Effect {
		e := plan.Effect{Verb: verb, Side: plan.DestinationSide, Kind: "ConfigMap", Name: "config-1", UID: "u", ResourceVersion: "7", Copied: plan.Copied{Origin: "1", PutBack: 2}}
		if change != nil {
			change(&e)
		}
		return e
	}
	there := func(s *plan.Snapshot) {
		s.Dependencies.List[1].Copy, s.Dependencies.List[1].Difference = plan.Copy{Found: true, UID: "u", ResourceVersion: "7", Hash: "0"}, "data"
	}
	becomes := func(c plan.Copy) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) { s.Dependencies.List[1].Copy, s.Dependencies.List[1].Difference = c, "" }
	}
	for name, tc := range map[string]worldWrite{
		"it is made": {effect: is(plan.CreateCopy, nil), change: becomes(plan.Copy{
			Found: true, UID: "u1", ResourceVersion: "v2", Hash: "1", Marked: true, Copied: "1", PutBack: 2, Ours: true,
		})},
		"it is there":       {effect: is(plan.CreateCopy, nil), before: there},
		"it is overwritten": {effect: is(plan.UpdateCopy, nil), before: there, change: becomes(plan.Copy{Found: true, UID: "u", ResourceVersion: "v1", Hash: "1", Marked: true, Copied: "1", PutBack: 2})},
		"it has changed":    {effect: is(plan.UpdateCopy, func(e *plan.Effect) { e.ResourceVersion = "6" }), before: there},
		"it is another one": {effect: is(plan.DeleteCopy, func(e *plan.Effect) { e.UID = "v" }), before: there},
		"it is gone":        {effect: is(plan.UpdateCopy, nil)},
		"it is deleted":     {effect: is(plan.DeleteCopy, nil), before: there, change: func(s *plan.Snapshot) { s.Dependencies.List[1].Copy = plan.Copy{} }},
		"nobody needs it":   {effect: is(plan.CreateCopy, func(e *plan.Effect) { e.Kind = "Secret" })},
	} {
		t.Run(name, func(t *testing.T) { tc.check(t, plantest.Scenario{Replicas: 1, Copies: 2}.Build()) })
	}
}

// TestDryRunCopies: a plan lists the copies before the first ordinal is stopped, and each once.
func TestDryRunCopies(t *testing.T) {
	if many := Run(plantest.Scenario{Replicas: 1, Copies: 400}.Build()); many.Outcome != api.ReasonMoved {
		t.Errorf("with many copies it ends with %q, %+v", many.Outcome, many.Held)
	}
	result := Run(plantest.Scenario{Replicas: 2, Copies: 2}.Build())
	var got []string
	stops := -1
	for i, step := range result.Steps {
		if step.Effect.Kind != "" {
			got = append(got, step.Description)
		}
		if step.Effect.Verb == plan.ScaleDown && stops < 0 {
			stops = i
		}
	}
	if diff := cmp.Diff([]string{"copy ConfigMap config-0 to the destination", "copy ConfigMap config-1 to the destination"}, got); diff != "" {
		t.Error(diff)
	}
	last := slices.IndexFunc(result.Steps, func(step Step) bool { return step.Effect.Name == "config-1" })
	if result.Outcome != api.ReasonMoved || last < 0 || last > stops {
		t.Errorf("outcome %q, held %+v; the last copy is step %d, the first stop %d", result.Outcome, result.Held, last, stops)
	}
}
