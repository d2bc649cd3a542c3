package observe

import (
	"testing"

	"github.com/sliceshift/sliceshift/slices/decide"
)

// TestMergedRevisions: a pod whose revision has a kept equivalent gets it in SameAs.
func TestMergedRevisions(t *testing.T) {
	for name, tc := range map[string]struct{ revision, sameAs, change string }{
		"X-17 a duplicate of the current one":  {"d", "a", "in place"},
		"X-17 a duplicate of the template's":   {"c", "b", "same"},
		"X-17 one that stays":                  {"a", "", "in place"},
		"X-17 a revision that nobody knows of": {"z", "", "in place"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := decide.Pod{Revision: tc.revision, Change: decide.Change{InPlace: true}}
			revisionsSeen{current: "a", update: "b", relabel: map[string]string{"d": "a", "c": "b"}}.merge(&pod)
			want := map[string]decide.Change{"in place": {InPlace: true}, "same": {Same: true}}[tc.change]
			if pod.SameAs != tc.sameAs || pod.Change != want {
				t.Errorf("%+v, the same as %q", pod.Change, pod.SameAs)
			}
		})
	}
}
