package move

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// TestWordInMidMove: a word can be added to a move that is under way; a method cannot be changed.
func TestWordInMidMove(t *testing.T) {
	have := []api.VolumeSpec{{ClaimTemplate: "data", Method: api.MethodEmpty}, {ClaimTemplate: "wal", Method: api.MethodRebind}}
	word := api.EmptySpec{FillsFromPeers: true, ReturnsToKept: true}
	say(have, []api.VolumeSpec{{ClaimTemplate: "data", Method: api.MethodEmpty, Empty: word}, {ClaimTemplate: "wal", Method: api.MethodEmpty, Empty: word}})
	want := []api.VolumeSpec{{ClaimTemplate: "data", Method: api.MethodEmpty, Empty: word}, {ClaimTemplate: "wal", Method: api.MethodRebind}}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	have[0].Empty = api.EmptySpec{}
	want[0].Empty = api.EmptySpec{ReturnsToKept: true}
	if diff := cmp.Diff(want, returning(have)); diff != "" {
		t.Errorf("on the way back (-want +got):\n%s", diff)
	}
	if got := methodsOf(want); got != "data=empty" || methodsOf(nil) != "rebind" {
		t.Errorf("they are compared as %q and %q", got, methodsOf(nil))
	}
}
