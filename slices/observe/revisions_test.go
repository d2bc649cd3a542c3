package observe

import (
	"testing"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/decide"
)

// TestY4StillFailed: a failed revision stays failed while the template has it, or an equivalent one, and onFailure is Rollback.
func TestY4StillFailed(t *testing.T) {
	for name, tc := range map[string]struct {
		failed, current, update string
		onFailure               api.OnFailure
		want                    string
	}{
		"none has failed":              {"", "a", "b", api.Rollback, "b"},
		"it has failed":                {"b", "a", "b", api.Rollback, "a"},
		"its equivalent has failed":    {"c", "a", "b", api.Rollback, "a"},
		"another one has failed":       {"x", "a", "b", api.Rollback, "b"},
		"the template is the current":  {"b", "b", "b", api.Rollback, "b"},
		"it is to be tried again":      {"b", "a", "b", api.Halt, "b"},
		"the equivalent of the former": {"d", "a", "a", api.Rollback, "a"},
	} {
		r := revisionsSeen{current: tc.current, update: tc.update, relabel: map[string]string{"d": "a", "c": "b"}}
		r.failed = r.stillFailed(tc.failed, tc.onFailure)
		if got := r.target(); got != tc.want || r.failed != (tc.want != tc.update) {
			t.Errorf("%s: pods get %s, failed %t", name, got, r.failed)
		}
	}
}

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
