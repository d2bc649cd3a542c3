package planner

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// TestBudgetLowered: no ordinal is stopped while the spec allows less than the budget with which the migration was
// accepted (I4, I5). A larger value changes nothing, and a rollback is not held (I8).
func TestBudgetLowered(t *testing.T) {
	number, share := intstr.FromInt32, intstr.FromString
	for name, tc := range map[string]struct {
		asked intstr.IntOrString
		back  bool
		holds bool
	}{
		"the same":                {asked: number(2)},
		"the same, as a share":    {asked: share("50%")},
		"a share that rounds up":  {asked: share("26%")},
		"more":                    {asked: number(3)},
		"less":                    {asked: number(1), holds: true},
		"less, as a share":        {asked: share("25%"), holds: true},
		"nothing":                 {asked: number(0), holds: true},
		"what is no number":       {asked: share("two"), holds: true},
		"less, and it is to back": {asked: number(1), back: true},
	} {
		p := halfway(func(s *plan.Snapshot) {
			if tc.back {
				rollback(s)
			}
			s.Spec.MaxUnavailable = &tc.asked
		})
		hold := gatePlanner{p.View}.lowered()
		switch {
		case !tc.holds:
			if hold != nil {
				t.Errorf("%s: %+v", name, hold)
			}
		case hold == nil || hold.Reason != api.ReasonBudgetLowered || !hold.Stalled || !strings.Contains(hold.Message, "changed to "+tc.asked.String()) ||
			!strings.Contains(hold.Remedy, "spec.maxUnavailable: 2 again") || !strings.Contains(hold.Remedy, "kubectl migrate rollback"):
			t.Errorf("%s: %+v", name, hold)
		case heldBy(p.gate(1)) != api.ReasonBudgetLowered:
			t.Errorf("%s: the gate says %q", name, heldBy(p.gate(1)))
		}
	}
	if hold := (gatePlanner{halfway(nil).View}).lowered(); hold != nil {
		t.Errorf("the spec says nothing: %+v", hold)
	}
}
