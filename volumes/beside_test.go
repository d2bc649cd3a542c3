package volumes_test

import (
	"strings"
	"testing"

	"github.com/sliceshift/sliceshift/volumes"
)

// TestBesideWaits: a claim waits for the one that comes first to have its volume, and for nobody else.
func TestBesideWaits(t *testing.T) {
	in := volumes.Ref{Namespace: "team", Name: "in-logs"}
	if got := (volumes.Beside{Taken: []string{"pv-1"}, Given: []string{"pv-2"}}).Wait(in); !got.Done() {
		t.Errorf("got %+v", got)
	}
	if got := (volumes.Beside{Unplaced: "in-data"}).Wait(in); !strings.HasPrefix(got.Waits, "claim team/in-data has its volume") || got.Action != nil {
		t.Errorf("got %+v", got)
	}
}
