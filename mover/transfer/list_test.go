package transfer

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/sliceshift/sliceshift/mover/differ"
	"github.com/sliceshift/sliceshift/mover/entry"
	"github.com/sliceshift/sliceshift/mover/tree"
)

// listed is a source that records when it is listed.
type listed struct {
	tree.Source
	did *[]string
}

func (l listed) List(context.Context, tree.ListOptions, func(*entry.Entry) error) (tree.Listed, error) {
	*l.did = append(*l.did, "list")
	return tree.Listed{}, nil
}

// TestClocksAreReadAtOnce: the two clocks by which a set clock is detected are read before the sync. The sync
// may take long, which must not look like a clock that was set.
func TestClocksAreReadAtOnce(t *testing.T) {
	var did []string
	step := func(name string) { did = append(did, name) }
	l := listing{
		source:  listed{did: &did},
		now:     func() time.Time { step("now"); return time.Unix(1, 0) },
		reading: func(time.Time) differ.Reading { step("since boot"); return differ.Reading{} },
		sync:    func() error { step("sync"); return nil },
	}
	if _, err := list(t.Context(), l, tree.ListOptions{Digest: true}, nil); err != nil {
		t.Fatal(err)
	}
	if want := []string{"now", "since boot", "sync", "list"}; !slices.Equal(did, want) {
		t.Errorf("got %v, want %v", did, want)
	}
}
