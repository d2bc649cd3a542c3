package tree

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zeebo/blake3"
	"pgregory.net/rapid"
)

// TestTally: two trees that differ in one part of a group find it from their tallies. If more differ than that, this is
// said, and no part is named that is equal.
func TestTally(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var one, other Tally
		differ := map[uint64]bool{}
		inGroup := map[uint64]int{}
		changed := rapid.SliceOfN(rapid.IntRange(0, 199), 0, 6).Draw(t, "changed")
		for i := range 200 {
			path, digest := fmt.Sprintf("f%d", i/10), blake3.Sum256([]byte{byte(i)})
			one.Add(path, int64(i%10), digest[:])
			if slices.Contains(changed, i) {
				n := number(path, int64(i%10))
				differ[n] = true
				inGroup[n%groups]++
				digest = blake3.Sum256([]byte{byte(i), 1})
			}
			other.Add(path, int64(i%10), digest[:])
		}
		numbers, more := one.Differing(other)
		several := false
		for n := range differ {
			if inGroup[n%groups] > 1 {
				delete(differ, n)
				several = true
			}
		}
		if diff := cmp.Diff(differ, numbers); diff != "" || more != several {
			t.Errorf("more: %v, want %v; -want +got\n%s", more, several, diff)
		}
		back, _ := other.Differing(one)
		if !maps.Equal(back, numbers) {
			t.Error("the other way around, other parts differ")
		}
		if parsed, err := ParseTally(one.String()); err != nil || parsed != one || len(one.String()) != 128 {
			t.Errorf("%s: %v", one, err)
		}
	})
}

// TestParseTally: a text that is no tally is refused.
func TestParseTally(t *testing.T) {
	var good Tally
	for _, text := range []string{"", good.String()[1:], good.String() + "A", "____" + good.String()[4:], "*" + good.String()[1:]} {
		if _, err := ParseTally(text); err == nil {
			t.Errorf("%q is a tally", text)
		}
	}
}
