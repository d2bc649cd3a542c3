package plan

import (
	"math"
	"testing"
)

// TestRangeIsBounded: a range of ordinals is valid if it has no negative number, is not longer than an application
// may be, and its end does not overflow.
func TestRangeIsBounded(t *testing.T) {
	for name, tc := range map[string]struct {
		start, replicas int32
		want            bool
	}{
		"an application":          {3, 5, true},
		"an empty one":            {0, 0, true},
		"from a negative ordinal": {-1, 5, false},
		"of a negative number":    {3, -1, false},
		"the longest":             {0, MaxOrdinals, true},
		"one longer":              {0, MaxOrdinals + 1, false},
		"up to the last ordinal":  {math.MaxInt32 - 5, 5, true},
		"one beyond it":           {math.MaxInt32 - 4, 5, false},
		"both are too much":       {math.MaxInt32, math.MaxInt32, false},
		"both are negative":       {math.MinInt32, math.MinInt32, false},
	} {
		if got := bounded(tc.start, tc.replicas); got != tc.want {
			t.Errorf("%s: bounded %t", name, got)
		}
	}
}
