package planner

import (
	"slices"
	"strings"
	"testing"

	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/pdb/pdbtest"
)

// TestRemediesOfOurKind: the command of a remedy names the kind of the StatefulSet, because an object of the other
// kind may have the same name.
func TestRemediesOfOurKind(t *testing.T) {
	spoil := map[string]func(*plan.Snapshot){
		"claims are deleted":   func(s *plan.Snapshot) { s.Source.Set.DeletesClaims = true },
		"nothing to move":      func(s *plan.Snapshot) { s.Source.Set.Replicas, s.Source.Pods = 0, nil },
		"a roll-out":           func(s *plan.Snapshot) { s.Source.Set.RolledOut = false },
		"no source":            func(s *plan.Snapshot) { s.Source.Set.Presence = plan.Absent },
		"a destination in use": func(s *plan.Snapshot) { s.Destination.Set.Replicas = 1 },
	}
	for name, change := range spoil {
		t.Run(name, func(t *testing.T) {
			for resource, other := range map[string]string{plan.SliceResource: plan.NativeResource, plan.NativeResource: plan.SliceResource} {
				s := plantest.Healthy(0, 3, pdbtest.MaxUnavailable(1))
				s.Source.Set.Resource, s.Destination.Set.Resource = resource, resource
				change(&s)
				said := 0
				for _, finding := range Preflight(s) {
					said += len(finding.Remedy)
					words := strings.FieldsFunc(finding.Remedy, func(r rune) bool { return r == ' ' || r == '/' })
					if slices.Contains(words, other) {
						t.Errorf("%s: the remedy names %s: %s", resource, other, finding.Remedy)
					}
				}
				if said == 0 {
					t.Errorf("%s: nothing is said", resource)
				}
			}
		})
	}
	s := plantest.Healthy(0, 3, nil)
	s.Destination.Set.Resource = plan.SliceResource
	s.Template = plan.TemplateChange{Fields: "spec.template.metadata", Hash: "1"}
	if hold := newPlanner(s).outdated(); hold == nil || !strings.Contains(hold.Remedy, "kubectl annotate slice ") {
		t.Errorf("a destination that is behind: %+v", hold)
	}
}
