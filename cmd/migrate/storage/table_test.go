package storage

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestRanges: ordinals are shown in short.
func TestRanges(t *testing.T) {
	for want, ordinals := range map[string][]int32{"": nil, "3": {3}, "0-2": {0, 1, 2}, "0-1,5,7-9": {0, 1, 5, 7, 8, 9}} {
		if got := ranges(ordinals); got != want {
			t.Errorf("%v: %q, want %q", ordinals, got, want)
		}
	}
}

// TestRowsKeepEveryClaim: each difference and each unknown field of each claim is in exactly one line.
func TestRowsKeepEveryClaim(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fields := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 20).Draw(t, "values")
		it := item{Name: "web"}
		for i, value := range fields {
			it.Claims = append(it.Claims, judgedClaim{Template: "data", Ordinal: int32(i), Differs: []difference{{Difference: diff(value)}}})
		}
		var got []int32
		for _, row := range (report{Items: []item{it}}).rows() {
			for _, ordinal := range row.ordinals {
				if fields[ordinal] != row.has {
					t.Fatalf("ordinal %d is in the line of %s", ordinal, row.has)
				}
			}
			got = append(got, row.ordinals...)
		}
		slices.Sort(got)
		if len(slices.Compact(slices.Clone(got))) != len(fields) || len(got) != len(fields) {
			t.Fatalf("%v of %d claims", got, len(fields))
		}
	})
}
