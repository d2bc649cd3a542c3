package preflight

import (
	"context"
	"slices"
	"testing"

	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// TestRegister: a check that cannot be done, or takes another one's name, is not registered; one
// that can brings its rights along.
func TestRegister(t *testing.T) {
	before := checks
	t.Cleanup(func() { checks = before })
	none := func(context.Context, *Inspector, Subject) ([]plan.Finding, error) { return nil, nil }
	for name, check := range map[string]Check{"no name": {Run: none}, "nothing to do": {Name: "idle"}, "a taken name": {Name: "owner", Run: none}} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil || len(checks) != len(before) {
					t.Error("it is registered")
				}
			}()
			Register(check)
		})
	}
	t.Run("its rights", func(t *testing.T) {
		rule := Rule{Resource: "configmaps", Verbs: "list"}
		Register(Check{Name: "calendar", Rules: []Rule{rule}, Run: none})
		if !slices.Contains(rights(&api.Migration{}, endpoint.Endpoint{}), rule) {
			t.Error("its right is not asked for")
		}
	})
}
