package plan

import "testing"

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
