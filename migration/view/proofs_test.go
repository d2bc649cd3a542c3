package view

import (
	"testing"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// TestProofsText: the status says which ordinals run on copies that are not proven, and which of these differ.
func TestProofsText(t *testing.T) {
	of := func(ordinal int32, root string) api.CopyAhead {
		seal := api.CopySeal{Root: "r", Verify: api.CopyVerifyLater, From: "a", To: "b", Proof: api.CopyProof{Root: root, From: "a"}}
		return api.CopyAhead{Ordinal: ordinal, Volumes: []api.HandoffVolume{{Copy: api.CopyAttempt{Seal: seal}}}}
	}
	m := &api.Migration{}
	if got := ProofsText(m); got != "" {
		t.Errorf("got %q", got)
	}
	m.Status.Proofs = []api.CopyAhead{of(4, ""), of(3, "s"), of(2, "")}
	if got := ProofsText(m); got != "2 ordinals on copies that are not proven yet: 4, 2; 1 ordinal on copies that differ: 3" {
		t.Errorf("got %q", got)
	}
}
