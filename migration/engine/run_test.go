package engine

import (
	"testing"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// TestChangeComesFirst: if several events are pending, a loop handles a user's change first.
func TestChangeComesFirst(t *testing.T) {
	changes := make(chan *api.Migration, 1)
	l := Loop{Bell: NewBell(), Changes: changes}
	for range 100 {
		l.Bell.Ring()
		changes <- &api.Migration{}
		if l.wait(t.Context(), 0) == nil {
			t.Fatal("it goes on with the migration as it was before")
		}
	}
	if l.Bell.Ring(); l.wait(t.Context(), time.Hour) != nil {
		t.Error("nobody has changed anything")
	}
}
