package auditor

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
		side          sideIndex
		ready, exists bool
		at            int
	}
	cases := map[string]struct {
		steps []step
		want  []OrdinalTime
	}{
		"moved": {
			steps: []step{
				{source, true, true, 0},
				{source, false, true, 10},
				{source, false, false, 11},
				{destination, false, true, 12},
				{destination, true, true, 15},
			},
			want: []OrdinalTime{{
				Ordinal: 4, From: "source", To: "destination",
				Stopped: at(10), Gone: at(11), Ready: at(15), Down: metav1.Duration{Duration: 5 * time.Second},
			}},
		},
		"moved and taken back": {
			steps: []step{
				{source, true, true, 0},
				{source, false, false, 10},
				{destination, true, true, 15},
				{destination, false, true, 20},
				{destination, false, false, 21},
				{source, true, true, 24},
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
			steps: []step{{source, true, true, 0}, {source, false, false, 10}, {source, true, true, 12}},
		},
		"the end of the old pod is learned late": {
			steps: []step{{source, true, true, 0}, {destination, true, true, 15}, {source, false, false, 16}},
			want:  []OrdinalTime{{Ordinal: 4, From: "source", To: "destination", Ready: at(15)}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tl := newTimeline()
			for _, s := range tc.steps {
				tl.observe(s.side, podState{Ordinal: 4, UID: "p", Ready: s.ready}, s.exists, at(s.at))
			}
			if diff := cmp.Diff(tc.want, tl.moves); diff != "" {
				t.Errorf("moves (-want +got):\n%s", diff)
			}
		})
	}
}
