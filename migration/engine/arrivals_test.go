package engine

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
)

// TestArrivals: every ordinal that arrives is reported once. It is reported at once when none was for a while,
// otherwise together with later arrivals, or before the Migration ends or reverses.
func TestArrivals(t *testing.T) {
	type step struct {
		after     time.Duration
		arrives   int32 // 0: none
		took      time.Duration
		direction api.Direction
		last      bool
	}
	for name, tc := range map[string]struct {
		steps []step
		want  []string
	}{
		"slowly": {
			[]step{{arrives: 3, took: time.Second}, {after: arrivalsPause, arrives: 2, took: 2 * time.Second}},
			[]string{"ordinal 3 is available at the destination, after 1s", "ordinal 2 is available at the destination, after 2s"},
		},
		"fast": {
			[]step{{arrives: 9, took: 1}, {after: time.Second, arrives: 8, took: 1500 * time.Microsecond}, {after: time.Second, arrives: 7, took: 1}, {after: arrivalsPause - 2001*time.Millisecond}, {after: time.Millisecond}, {after: time.Minute}},
			[]string{"ordinal 9 is available at the destination, after 0s", "ordinals 8, 7 are available at the destination, the slowest after 2ms"},
		},
		"the last": {
			[]step{{arrives: 1, took: 1}, {after: time.Second, arrives: 5, took: time.Second, last: true}},
			[]string{"ordinal 1 is available at the destination, after 0s", "ordinal 5 is available at the destination, after 1s"},
		},
		"back": {
			[]step{{arrives: 9, took: 1}, {after: time.Second, arrives: 8, took: time.Second}, {after: time.Second, arrives: 8, took: 3 * time.Second, direction: api.Back}, {after: arrivalsPause - 2*time.Second}},
			[]string{"ordinal 9 is available at the destination, after 0s", "ordinal 8 is available at the destination, after 1s", "ordinal 8 is available at the source, after 3s"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var a arrivals
			var got []string
			tell := func(note string) {
				if note != "" {
					got = append(got, note)
				}
			}
			now := plantest.Epoch
			for _, s := range tc.steps {
				now = now.Add(s.after)
				if s.direction == "" {
					s.direction = api.Forward
				}
				if s.arrives > 0 {
					tell(a.add(s.arrives, s.took, s.direction))
				}
				tell(a.due(now, s.last))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
