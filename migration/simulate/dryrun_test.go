package simulate

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/pdb/pdbtest"
)

func TestSimulateHeld(t *testing.T) {
	zero := pdbtest.MaxUnavailable(0)
	failing := plantest.Scenario{Replicas: 3}.Build()
	failing.Source.Pods[1].Ready = false
	unreachable := plantest.Scenario{Replicas: 3}.Build()
	unreachable.Destination = plan.Side{Cluster: "west"}
	for name, tc := range map[string]struct {
		s      plan.Snapshot
		reason string
	}{
		"a budget of nothing":     {plantest.Scenario{Replicas: 3, Budget: zero}.Build(), api.ReasonBudgetZero},
		"nothing to move":         {plantest.Scenario{}.Build(), api.ReasonNothingToMove},
		"paused":                  {plantest.Scenario{Replicas: 1, Spec: plan.Spec{Mode: api.ModePause}}.Build(), api.ReasonPaused},
		"an unreachable side":     {unreachable, api.ReasonClusterUnreachable},
		"more than there are":     {plantest.Scenario{Replicas: 2, Spec: plan.Spec{Count: 3}}.Build(), api.ReasonCountTooLarge},
		"d above what it allows":  {plantest.Scenario{Replicas: 3, Budget: pdbtest.MaxUnavailable(1), Spec: plan.Spec{MaxUnavailable: pdbtest.MaxUnavailable(2).MaxUnavailable}}.Build(), api.ReasonBudgetExceeded},
		"a malformed budget of d": {plantest.Scenario{Replicas: 3, Spec: plan.Spec{MaxUnavailable: pdbtest.Unparsable()}}.Build(), api.ReasonBudgetInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			result := Run(tc.s)
			if len(result.Steps) != 0 || result.Outcome != "" || result.Held == nil || result.Held.Reason != tc.reason {
				t.Errorf("got %d steps, %q, held by %+v; want none, held by %s", len(result.Steps), result.Outcome, result.Held, tc.reason)
			}
		})
	}
	// A dry run invents no node either: the plan reports the pod that lacks one.
	homeless := plantest.Scenario{Replicas: 2, Templates: []string{"data"}, Method: api.MethodCopy}.Build()
	homeless.Source.Pods[1].Node, homeless.Source.Pods[1].Ready, homeless.Source.Pods[1].Trouble = "", false, "0/3 nodes are available"
	if held := Run(homeless).Held; held == nil || held.Reason != api.ReasonCopying || !held.Stalled || !strings.Contains(held.Message, "web-1") || !strings.Contains(held.Message, "on no node") || !strings.Contains(held.Message, "0/3 nodes") {
		t.Errorf("held by %+v", held)
	}
	// An unavailable replica recovers in a world in which nothing fails.
	if result := Run(failing); result.Outcome != api.ReasonMoved {
		t.Errorf("it ends with %q, held by %+v", result.Outcome, result.Held)
	}
}

// TestSimulateBlocks: a dry run of several at once shows as many down as there may be, and writes no more than one at a
// time.
func TestSimulateBlocks(t *testing.T) {
	for _, c := range []plantest.Scenario{
		{Spec: plan.Spec{Order: api.HighestFirst}},
		{Spec: plan.Spec{Order: api.LowestFirst}},
		{Method: api.MethodSnapshot},
		{Method: api.MethodCopy},
	} {
		writes, order := map[int32]int{}, string(c.Spec.Order)+string(c.Method)
		for _, most := range []int32{1, 2, 3} {
			c.Replicas, c.Templates, c.Budget = 7, []string{"data"}, pdbtest.MaxUnavailable(3)
			c.Spec.MaxInFlight = new(intstr.FromInt32(most))
			result := Run(c.Build())
			if result.Outcome != api.ReasonMoved || result.Fewest != 7-most {
				t.Errorf("%s, %d at once: it ends with %q, and has %d available; held by %+v", order, most, result.Outcome, result.Fewest, result.Held)
			}
			writes[most] = len(result.Steps)
		}
		if writes[2] > writes[1] || writes[3] > writes[1] {
			t.Errorf("%s: %v writes", order, writes)
		}
	}
}
