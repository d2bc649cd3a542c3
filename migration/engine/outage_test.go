package engine

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// TestV4OutageAndSoak: an outage lasts until the ordinal's pod is Ready at the other side. It excludes the time
// that the pod must stay Ready, and the time in which no process observes.
func TestV4OutageAndSoak(t *testing.T) {
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	stop, ready, end := start.Add(10400*time.Millisecond), start.Add(10700*time.Millisecond), start.Add(30*time.Second)
	at := func(now time.Time, pod *plan.Pod) plan.Snapshot {
		s := plan.Snapshot{Now: now}
		s.Source = plan.Side{Reach: plan.Seen, Set: plan.Set{Presence: plan.Seen, Replicas: 2}}
		s.Destination = plan.Side{Reach: plan.Seen, Set: plan.Set{Presence: plan.Seen, Start: 2, Replicas: 1, MinReady: 10 * time.Second}}
		if pod != nil {
			s.Destination.Pods = []plan.Pod{*pod}
		}
		return s
	}
	up := &plan.Pod{Ordinal: 2, Ready: true, Owned: true, ReadySince: ready.Truncate(time.Second)}
	for name, tc := range map[string]struct {
		looks []plan.Snapshot
		down  time.Duration
	}{
		"seen at once":                {[]plan.Snapshot{at(stop, nil), at(ready, up), at(end, up)}, 300 * time.Millisecond},
		"nobody looked until later":   {[]plan.Snapshot{at(stop, nil), at(end, up)}, 600 * time.Millisecond}, // whole seconds, plus one
		"it was not Ready in between": {[]plan.Snapshot{at(stop, nil), at(ready, up), at(ready.Add(time.Second), &plan.Pod{Ordinal: 2, Owned: true}), at(ready.Add(2*time.Second), &plan.Pod{Ordinal: 2, Ready: true, Owned: true, ReadySince: ready.Add(2 * time.Second).Truncate(time.Second)}), at(end, up)}, 2300 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			m := &api.Migration{}
			m.Status.Handoff = &api.Handoff{Ordinal: 2, StartTime: metav1.NewMicroTime(start)}
			d := downtime{ordinal: 2, direction: api.Forward, since: metav1.NewMicroTime(stop)}
			for _, s := range tc.looks {
				d.note(m, s)
			}
			if got := d.readyOf(*m.Status.Handoff).Sub(stop); got != tc.down {
				t.Errorf("down for %s, want %s", got, tc.down)
			}
			if kept := d.stopped(m.Status.Handoff); kept == nil || !kept.ReadyTime.Time.Equal(d.ready.Time) {
				t.Errorf("what is recorded of it: %+v", kept)
			}
		})
	}
}
