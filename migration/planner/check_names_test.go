package planner

import (
	"testing"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
)

// TestNameFindings: Services of other owners that have the names of ordinals are found on both sides.
func TestNameFindings(t *testing.T) {
	s := plantest.Unmoved()
	named := func(k int32) plan.Name {
		return plan.Name{Ordinal: k, Service: plan.PodService{Found: true, Selects: true}}
	}
	s.Source.Names, s.Destination.Names = []plan.Name{named(0), named(1)}, []plan.Name{named(2)}
	if got := Names(s); len(got) > 0 {
		t.Errorf("nothing is wrong: %+v", got)
	}
	s.Source.Names[1].Service.Selects, s.Destination.Names[0].Service.Selects = false, false
	s.Source.Names[0].Service = plan.PodService{}
	got := Names(s)
	if len(got) != 2 || got[0].Reason != api.ReasonServiceTaken || got[0].Object != s.Source.ServiceOf(1) || got[1].Object != s.Destination.ServiceOf(2) || got[0].Message == "" || got[0].Remedy == "" {
		t.Errorf("got %+v", got)
	}
}
