package migration

import (
	"testing"
	"time"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// TestChangeComesFirst: a loop that has several reasons to go on goes on with what a person has changed.
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
