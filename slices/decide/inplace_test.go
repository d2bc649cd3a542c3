package decide

import (
	"slices"
	"testing"
	"time"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// TestWaitsForTheKubelet: a pod that is still Ready is not patched.
func TestWaitsForTheKubelet(t *testing.T) {
	pod := Pod{
		Ordinal: 0, UID: "1", Revision: "a1", Phase: Running, Ready: true, ReadySince: noon.Add(-time.Hour),
		IdentityOK: true, ClaimsOK: true,
		Change: Change{InPlace: true}, InPlace: &InPlace{Revision: "a2", Since: noon},
	}
	in := Input{
		Now: noon, Spec: Spec{Replicas: 1, Strategy: api.RollingUpdate, MaxUnavailable: 1, Policy: api.InPlaceOnly},
		Revisions: Revisions{Current: "a1", Update: "a2"}, Pods: []Pod{pod},
	}
	patches := func(a Action) bool { return a.Verb == PatchInPlace }
	if d := Decide(in); slices.ContainsFunc(d.Actions, patches) || len(d.Held) != 1 {
		t.Errorf("a pod that looks Ready: %+v", d)
	}
	in.Pods[0].Ready = false
	if d := Decide(in); !slices.ContainsFunc(d.Actions, patches) {
		t.Errorf("a pod that is not Ready: %+v", d)
	}
}
