package transfer

import (
	"testing"
	"time"

	"github.com/sliceshift/sliceshift/internal/treetest"
	"github.com/sliceshift/sliceshift/mover/tree"
)

// TestSample: a sample gives the read rate, or none if too little was read. An expired time limit is no error.
func TestSample(t *testing.T) {
	folder := t.TempDir()
	made := treetest.In(t, folder)
	made.File("little", treetest.Bytes(1, 1000))
	source, err := tree.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = source.Close() }()
	if rate, err := Sample(t.Context(), source, time.Minute); rate != 0 || err != nil {
		t.Errorf("of little: %d, %v", rate, err)
	}
	made.File("much", treetest.Bytes(2, 2*telling))
	if rate, err := Sample(t.Context(), source, time.Minute); rate < 1<<20 || err != nil {
		t.Errorf("of much: %d, %v", rate, err)
	}
	if rate, err := Sample(t.Context(), source, time.Nanosecond); rate != 0 || err != nil {
		t.Errorf("in no time: %d, %v", rate, err)
	}
}

// TestRateOf: few bytes give a rate if they took long, as many small files do.
func TestRateOf(t *testing.T) {
	for name, tc := range map[string]struct {
		read int64
		took time.Duration
		want int64
	}{
		"nothing":             {0, time.Minute, 0},
		"little, at once":     {telling - 1, time.Millisecond, 0},
		"enough":              {telling, time.Second / 2, 2 * telling},
		"little, in a second": {1000, 2 * time.Second, 500},
		"hardly anything":     {1, time.Minute, 1},
		"in no time":          {telling, 0, 1000 * telling},
	} {
		if got := rateOf(tc.read, tc.took); got != tc.want {
			t.Errorf("%s: got %d, want %d", name, got, tc.want)
		}
	}
}
