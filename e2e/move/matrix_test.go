package move

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
)

func lowestFirst(spec *api.MigrationSpec) { spec.Ordinals.Order = api.LowestFirst }

// TestMove moves applications of every kind completely.
func TestMove(t *testing.T) {
	one, two := []string{"data"}, []string{"data", "log"}
	tests := map[string]struct {
		app      fixture.App
		settings []harness.Setting
	}{
		"S-011 across clusters":            {fixture.App{Replicas: 3, Claims: one, MaxUnavailable: harness.IntOrString("1")}, []harness.Setting{harness.AcrossClusters}},
		"across namespaces":                {fixture.App{Replicas: 3, Claims: one, MaxUnavailable: harness.IntOrString("1")}, []harness.Setting{harness.AcrossNamespaces}},
		"within a namespace":               {fixture.App{Replicas: 3, Claims: one, MaxUnavailable: harness.IntOrString("1")}, []harness.Setting{harness.AcrossNames}},
		"no claims":                        {fixture.App{Replicas: 3, MaxUnavailable: harness.IntOrString("1")}, []harness.Setting{harness.AcrossClusters}},
		"two claims across clusters":       {fixture.App{Replicas: 2, Claims: two, MaxUnavailable: harness.IntOrString("1")}, []harness.Setting{harness.AcrossClusters}},
		"two claims across namespaces":     {fixture.App{Replicas: 2, Claims: two, MaxUnavailable: harness.IntOrString("1")}, []harness.Setting{harness.AcrossNamespaces}},
		"parallel":                         {fixture.App{Replicas: 3, Claims: one, Policy: parallel, MaxUnavailable: harness.IntOrString("1")}, []harness.Setting{harness.AcrossClusters}},
		"lowest first":                     {fixture.App{Replicas: 3, Claims: one, MaxUnavailable: harness.IntOrString("1")}, []harness.Setting{harness.AcrossClusters, harness.WithSpec(lowestFirst)}},
		"lowest first across namespaces":   {fixture.App{Replicas: 3, Claims: one, MaxUnavailable: harness.IntOrString("1")}, []harness.Setting{harness.AcrossNamespaces, harness.WithSpec(lowestFirst)}},
		"start above zero":                 {fixture.App{Replicas: 2, Start: 3, Claims: one, MaxUnavailable: harness.IntOrString("1")}, []harness.Setting{harness.AcrossClusters}},
		"no budget":                        {fixture.App{Replicas: 2, Claims: one}, []harness.Setting{harness.AcrossClusters}},
		"budget maxUnavailable 2":          {fixture.App{Replicas: 4, Claims: one, Policy: parallel, MaxUnavailable: harness.IntOrString("2")}, []harness.Setting{harness.AcrossClusters, harness.WithBudget(2)}},
		"budget maxUnavailable 3":          {fixture.App{Replicas: 5, Policy: parallel, MaxUnavailable: harness.IntOrString("3")}, []harness.Setting{harness.AcrossNamespaces, harness.WithBudget(3)}},
		"budget maxUnavailable 40%":        {fixture.App{Replicas: 4, Claims: one, MaxUnavailable: harness.IntOrString("40%")}, []harness.Setting{harness.AcrossClusters, harness.WithBudget(2)}},
		"budget minAvailable 2":            {fixture.App{Replicas: 3, Claims: one, MinAvailable: harness.IntOrString("2")}, []harness.Setting{harness.AcrossClusters}},
		"budget minAvailable 60%":          {fixture.App{Replicas: 4, Claims: one, MinAvailable: harness.IntOrString("60%")}, []harness.Setting{harness.AcrossNamespaces}},
		"d below what the budget allows":   {fixture.App{Replicas: 3, MaxUnavailable: harness.IntOrString("2")}, []harness.Setting{harness.AcrossClusters, harness.WithBudget(2), harness.WithSpec(func(s *api.MigrationSpec) { s.MaxUnavailable = harness.IntOrString("1") })}},
		"one replica":                      {fixture.App{Replicas: 1, Claims: one, MaxUnavailable: harness.IntOrString("1")}, []harness.Setting{harness.AcrossClusters}},
		"a moved pod must be ready longer": {fixture.App{Replicas: 2, Claims: one, MaxUnavailable: harness.IntOrString("1")}, []harness.Setting{harness.AcrossClusters, harness.WithSpec(func(s *api.MigrationSpec) { s.Handoff.MinReadySeconds = ptr.To[int32](2) })}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newMove(t, tc.app, append(tc.settings, attached)...)
			v.Run()
			v.ExpectMoved()
			verdict := v.Audit()
			if verdict.Moved != int(tc.app.Replicas) || verdict.VolumesVerified != int(tc.app.Replicas)*len(tc.app.Claims) {
				t.Errorf("the auditor saw %d ordinals move and %d volumes", verdict.Moved, verdict.VolumesVerified)
			}
			if verdict.FewestAvailable < tc.app.Replicas-v.Budget {
				t.Errorf("only %d replicas were available", verdict.FewestAvailable)
			}
		})
	}
}

var parallel = appsv1.ParallelPodManagement
