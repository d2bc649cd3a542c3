package plan_test

import (
	"strings"
	"testing"

	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// TestOfOrdinal: the decision on an effect that concerns only one ordinal and its volumes is repeated for that
// ordinal.
func TestOfOrdinal(t *testing.T) {
	for want, verbs := range map[bool][]plan.Verb{
		true: {
			plan.ScaleDown, plan.ScaleUp, plan.CarryVolume, plan.DeleteClaim, plan.DeleteVolume, plan.RestorePolicy,
			plan.CreatePodService, plan.CreatePodExport, plan.MarkPodService, plan.MarkPodExport, plan.DeletePodExport, plan.DeletePodService,
		},
		false: {
			plan.WriteFence, plan.ReleaseFence, plan.CreateNamespace, plan.CreateService, plan.CreateSet, plan.CreateBudget, plan.SetBudget, plan.RestoreBudget,
			plan.SetShare, plan.LiftShare, plan.CreateExport, plan.DeleteBudget, plan.DeleteExport, plan.DeleteSet, "",
		},
	} {
		for _, verb := range verbs {
			if got := (plan.Effect{Verb: verb}).OfOrdinal(); got != want {
				t.Errorf("%s: %t", verb, got)
			}
		}
	}
}

// TestOneSet: the text of a write names no side if both are the same StatefulSet.
func TestOneSet(t *testing.T) {
	for _, verb := range []plan.Verb{plan.WriteFence, plan.CarryVolume, plan.RestorePolicy, plan.EvictPod} {
		e := plan.Effect{Verb: verb, Side: plan.DestinationSide, Name: "web", OneSet: true, Volume: volumes.Action{Verb: volumes.CreateMover}}
		if text := e.String(); strings.Contains(text, "destination") {
			t.Errorf("%s: %s", verb, text)
		}
	}
}

// TestOtherSide: each of the two sides is the opposite of the other.
func TestOtherSide(t *testing.T) {
	if plan.SourceSide.Other() != plan.DestinationSide || plan.DestinationSide.Other() != plan.SourceSide {
		t.Errorf("of the source %q, of the destination %q", plan.SourceSide.Other(), plan.DestinationSide.Other())
	}
}

// TestTakesAway: between clusters a volume is taken away by parking it, in one cluster by pointing it elsewhere.
func TestTakesAway(t *testing.T) {
	for _, verb := range []volumes.Verb{volumes.Secure, volumes.Park, volumes.Point, volumes.CreateVolume} {
		carries := plan.Effect{Verb: plan.CarryVolume, Volume: volumes.Action{Verb: verb}}
		if carries.TakesAway(false) != (verb == volumes.Park) || carries.TakesAway(true) != (verb == volumes.Point) {
			t.Errorf("%s takes away %t, in one cluster %t", verb, carries.TakesAway(false), carries.TakesAway(true))
		}
	}
	if (plan.Effect{Verb: plan.ScaleDown, Volume: volumes.Action{Verb: volumes.Park}}).TakesAway(false) {
		t.Error("a stop takes a volume away")
	}
}
