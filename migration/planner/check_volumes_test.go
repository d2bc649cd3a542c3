package planner

import (
	"slices"
	"testing"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/volumes"
)

// TestVolumeFindings: only the volumes of the moving ordinals are checked.
func TestVolumeFindings(t *testing.T) {
	lacks := func(at int, count int32, order api.Order) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) {
			s.Volumes[at].Source.Claim = volumes.Claim{}
			s.Spec.Count, s.Spec.Order = count, order
		}
	}
	wantFindings(t, map[string]preflightCase{
		"nothing is wrong":       {func(*plan.Snapshot) {}, nil},
		"of one among all":       {lacks(0, 0, api.HighestFirst), []string{volumes.ReasonClaimMissing}},
		"of the only one":        {lacks(2, 1, api.HighestFirst), []string{volumes.ReasonClaimMissing}},
		"of one that stays":      {lacks(0, 1, api.HighestFirst), nil},
		"of the first":           {lacks(0, 1, api.LowestFirst), []string{volumes.ReasonClaimMissing}},
		"of one that stays last": {lacks(2, 1, api.LowestFirst), nil},
	}, Volumes)
}

// warnings returns those of the methods.
func warnings(s plan.Snapshot) []plan.Finding {
	return slices.DeleteFunc(Volumes(s), func(f plan.Finding) bool { return !f.Warning })
}

// TestCopyColdIsSaid: the plan warns of the consequence for a claim that no second pod can mount.
func TestCopyColdIsSaid(t *testing.T) {
	s := plantest.Unmoved()
	for i := range s.Volumes {
		s.Volumes[i].Method, s.Volumes[i].Copy = api.MethodCopy, &volumes.Copying{}
	}
	if got := warnings(s); len(got) != 0 {
		t.Errorf("got %+v", got)
	}
	for i := range s.Volumes {
		s.Volumes[i].Source.Claim.OncePod = true
	}
	if got := warnings(s); len(got) != 1 || got[0].Reason != volumes.ReasonCopyCold || !got[0].Warning {
		t.Errorf("got %+v", got)
	}
}
