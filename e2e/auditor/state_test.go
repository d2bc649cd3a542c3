package auditor

import (
	"testing"

	"github.com/sliceshift/sliceshift/e2e/auditor/judge"
)

// TestEachCopyIsCompared: an ordinal that moves, returns and moves again runs on three copies. The comparison of the
// first copy proves nothing about the third.
func TestEachCopyIsCompared(t *testing.T) {
	s := newState(judge.NewServed([2]judge.SliceState{}, []int32{0}))
	key := judge.VolumeKey{Template: "data", Ordinal: 0}
	s.rememberCopied(key, judge.Origin{Handle: "first", Side: judge.Source})
	for i, handle := range []string{"there", "back", "there again"} {
		side := judge.SideIndex((i + 1) % 2)
		if s.comparedOn(key, side) {
			t.Errorf("it counts as compared before %q is", handle)
		}
		s.noteCompared(key, judge.Origin{Handle: handle, Side: side})
		if !s.comparedOn(key, side) {
			t.Errorf("%q counts as not compared", handle)
		}
	}
	if n := s.comparisons(); n != 3 {
		t.Errorf("counts %d comparisons, want 3", n)
	}
}
