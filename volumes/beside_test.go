package volumes_test

import (
	"strings"
	"testing"

	"github.com/sliceshift/sliceshift/volumes"
)

// TestBesideWaits: a claim waits until the claim that comes first has its volume, and for nothing else.
func TestBesideWaits(t *testing.T) {
	in := volumes.Ref{Namespace: "team", Name: "in-logs"}
	if got := (volumes.Beside{Taken: []string{"pv-1"}, Given: []string{"pv-2"}}).Wait(in); !got.Done() {
		t.Errorf("got %+v", got)
	}
	if got := (volumes.Beside{Unplaced: "in-data"}).Wait(in); !strings.HasPrefix(got.Waits, "claim team/in-data has its volume") || got.Action != nil {
		t.Errorf("got %+v", got)
	}
}
