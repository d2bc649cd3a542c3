package e2e

import (
	"testing"

	"k8s.io/utils/ptr"

	"github.com/sliceshift/sliceshift/e2e/fixture"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

func lowestFirst(spec *api.MigrationSpec) { spec.Ordinals.Order = api.LowestFirst }

// TestMove moves applications of every kind to the end.
func TestMove(t *testing.T) {
	one, two := []string{"data"}, []string{"data", "log"}
	tests := map[string]struct {
		app      fixture.App
		settings []setting
	}{
		"S-011 across clusters":            {fixture.App{Replicas: 3, Claims: one, MaxUnavailable: intOrString("1")}, []setting{acrossClusters}},
		"across namespaces":                {fixture.App{Replicas: 3, Claims: one, MaxUnavailable: intOrString("1")}, []setting{acrossNamespaces}},
		"within a namespace":               {fixture.App{Replicas: 3, Claims: one, MaxUnavailable: intOrString("1")}, []setting{acrossNames}},
		"no claims":                        {fixture.App{Replicas: 3, MaxUnavailable: intOrString("1")}, []setting{acrossClusters}},
		"two claims across clusters":       {fixture.App{Replicas: 2, Claims: two, MaxUnavailable: intOrString("1")}, []setting{acrossClusters}},
		"two claims across namespaces":     {fixture.App{Replicas: 2, Claims: two, MaxUnavailable: intOrString("1")}, []setting{acrossNamespaces}},
		"parallel":                         {fixture.App{Replicas: 3, Claims: one, Policy: parallel, MaxUnavailable: intOrString("1")}, []setting{acrossClusters}},
		"lowest first":                     {fixture.App{Replicas: 3, Claims: one, MaxUnavailable: intOrString("1")}, []setting{acrossClusters, withSpec(lowestFirst)}},
		"lowest first across namespaces":   {fixture.App{Replicas: 3, Claims: one, MaxUnavailable: intOrString("1")}, []setting{acrossNamespaces, withSpec(lowestFirst)}},
		"start above zero":                 {fixture.App{Replicas: 2, Start: 3, Claims: one, MaxUnavailable: intOrString("1")}, []setting{acrossClusters}},
		"no budget":                        {fixture.App{Replicas: 2, Claims: one}, []setting{acrossClusters}},
		"budget maxUnavailable 2":          {fixture.App{Replicas: 4, Claims: one, Policy: parallel, MaxUnavailable: intOrString("2")}, []setting{acrossClusters, withBudget(2)}},
		"budget maxUnavailable 3":          {fixture.App{Replicas: 5, Policy: parallel, MaxUnavailable: intOrString("3")}, []setting{acrossNamespaces, withBudget(3)}},
		"budget maxUnavailable 40%":        {fixture.App{Replicas: 4, Claims: one, MaxUnavailable: intOrString("40%")}, []setting{acrossClusters, withBudget(2)}},
		"budget minAvailable 2":            {fixture.App{Replicas: 3, Claims: one, MinAvailable: intOrString("2")}, []setting{acrossClusters}},
		"budget minAvailable 60%":          {fixture.App{Replicas: 4, Claims: one, MinAvailable: intOrString("60%")}, []setting{acrossNamespaces}},
		"d below what the budget allows":   {fixture.App{Replicas: 3, MaxUnavailable: intOrString("2")}, []setting{acrossClusters, withBudget(2), withSpec(func(s *api.MigrationSpec) { s.MaxUnavailable = intOrString("1") })}},
		"one replica":                      {fixture.App{Replicas: 1, Claims: one, MaxUnavailable: intOrString("1")}, []setting{acrossClusters}},
		"a moved pod must be ready longer": {fixture.App{Replicas: 2, Claims: one, MaxUnavailable: intOrString("1")}, []setting{acrossClusters, withSpec(func(s *api.MigrationSpec) { s.Handoff.MinReadySeconds = ptr.To[int32](2) })}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newMove(t, tc.app, tc.settings...)
			v.run()
			v.expectMoved()
			verdict := v.audit()
			if verdict.Moved != int(tc.app.Replicas) || verdict.VolumesVerified != int(tc.app.Replicas)*len(tc.app.Claims) {
				t.Errorf("the auditor saw %d ordinals move and %d volumes", verdict.Moved, verdict.VolumesVerified)
			}
			if verdict.FewestAvailable < tc.app.Replicas-v.budget {
				t.Errorf("only %d replicas were available", verdict.FewestAvailable)
			}
		})
	}
}
