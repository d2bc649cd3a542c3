package plan

import (
	"testing"

	"github.com/sliceshift/sliceshift/volumes"
)

// TestOfOrdinal: what concerns one ordinal and its volumes alone is decided again on that one.
func TestOfOrdinal(t *testing.T) {
	for want, verbs := range map[bool][]Verb{
		true: {
			ScaleDown, ScaleUp, CarryVolume, DeleteClaim, DeleteVolume, RestorePolicy,
			CreatePodService, CreatePodExport, MarkPodService, MarkPodExport, DeletePodExport, DeletePodService,
		},
		false: {
			WriteFence, ReleaseFence, CreateNamespace, CreateService, CreateSet, CreateBudget, SetBudget, RestoreBudget,
			SetShare, LiftShare, CreateExport, DeleteBudget, DeleteExport, DeleteSet, "",
		},
	} {
		for _, verb := range verbs {
			if got := (Effect{Verb: verb}).OfOrdinal(); got != want {
				t.Errorf("%s: %t", verb, got)
			}
		}
	}
}

// TestOtherSide: there are two sides, and each is the other one's other.
func TestOtherSide(t *testing.T) {
	if SourceSide.Other() != DestinationSide || DestinationSide.Other() != SourceSide {
		t.Errorf("of the source %q, of the destination %q", SourceSide.Other(), DestinationSide.Other())
	}
}

// TestTakesAway: between clusters a volume is taken by parking it, in one by pointing it elsewhere.
func TestTakesAway(t *testing.T) {
	for _, verb := range []volumes.Verb{volumes.Secure, volumes.Park, volumes.Point, volumes.CreateVolume} {
		carries := Effect{Verb: CarryVolume, Volume: volumes.Action{Verb: verb}}
		if carries.TakesAway(false) != (verb == volumes.Park) || carries.TakesAway(true) != (verb == volumes.Point) {
			t.Errorf("%s takes away %t, in one cluster %t", verb, carries.TakesAway(false), carries.TakesAway(true))
		}
	}
	if (Effect{Verb: ScaleDown, Volume: volumes.Action{Verb: volumes.Park}}).TakesAway(false) {
		t.Error("a stop takes a volume away")
	}
}
