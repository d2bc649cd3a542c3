package slices

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestEventsOfManyPods: one set does not flood the events, another is heard all the
// same, and what went wrong is always told.
func TestEventsOfManyPods(t *testing.T) {
	ears, clock := &heard{}, testingclock.NewFakePassiveClock(noon)
	told := newModerate(ears, clock)
	web, other := namedSet("web", nil), namedSet("other", nil)
	tell := func(about client.Object, kind string, times int) int {
		before := len(ears.lines)
		for range times {
			told.Eventf(about, nil, kind, "SuccessfulCreate", "Create", "a pod")
		}
		return len(ears.lines) - before
	}
	for _, c := range []struct {
		name  string
		about client.Object
		kind  string
		after time.Duration
		want  int
	}{
		{"the first ones", web, corev1.EventTypeNormal, 0, eventsAtOnce},
		{"of another set", other, corev1.EventTypeNormal, 0, eventsAtOnce},
		{"warnings", web, corev1.EventTypeWarning, 0, 200},
		{"soon after", web, corev1.EventTypeNormal, time.Second, 0},
		{"later", web, corev1.EventTypeNormal, time.Minute, 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			clock.SetTime(clock.Now().Add(c.after))
			if got := tell(c.about, c.kind, 200); got != c.want {
				t.Errorf("%d of 200 events were told, not %d", got, c.want)
			}
		})
	}
	told.forget(client.ObjectKeyFromObject(web))
	if got := tell(web, corev1.EventTypeNormal, 200); got != eventsAtOnce {
		t.Errorf("%d events of a set that was made anew", got)
	}
}
