package judge

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestTimeline(t *testing.T) {
	zero := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return zero.Add(time.Duration(seconds) * time.Second) }
	type step struct {
		side          SideIndex
		ready, exists bool
		at            int
	}
	cases := map[string]struct {
		steps []step
		want  []OrdinalTime
	}{
		"moved": {
			steps: []step{
				{Source, true, true, 0},
				{Source, false, true, 10},
				{Source, false, false, 11},
				{Destination, false, true, 12},
				{Destination, true, true, 15},
			},
			want: []OrdinalTime{{
				Ordinal: 4, From: "source", To: "destination",
				Stopped: at(10), Gone: at(11), Ready: at(15), Down: metav1.Duration{Duration: 5 * time.Second},
			}},
		},
		"moved and taken back": {
			steps: []step{
				{Source, true, true, 0},
				{Source, false, false, 10},
				{Destination, true, true, 15},
				{Destination, false, true, 20},
				{Destination, false, false, 21},
				{Source, true, true, 24},
			},
			want: []OrdinalTime{
				{
					Ordinal: 4, From: "source", To: "destination",
					Stopped: at(10), Gone: at(10), Ready: at(15), Down: metav1.Duration{Duration: 5 * time.Second},
				},
				{
					Ordinal: 4, From: "destination", To: "source",
					Stopped: at(20), Gone: at(21), Ready: at(24), Down: metav1.Duration{Duration: 4 * time.Second},
				},
			},
		},
		"restarted where it was": {
			steps: []step{{Source, true, true, 0}, {Source, false, false, 10}, {Source, true, true, 12}},
		},
		"the end of the old pod is learned late": {
			steps: []step{{Source, true, true, 0}, {Destination, true, true, 15}, {Source, false, false, 16}},
			want:  []OrdinalTime{{Ordinal: 4, From: "source", To: "destination", Ready: at(15)}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tl := NewTimeline()
			for _, s := range tc.steps {
				tl.Observe(s.side, PodState{Ordinal: 4, UID: "p", Ready: s.ready}, s.exists, at(s.at))
			}
			if diff := cmp.Diff(tc.want, tl.Moves); diff != "" {
				t.Errorf("moves (-want +got):\n%s", diff)
			}
		})
	}
}
