package slices

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/internal/slicetest"
)

// TestRangeWarningOnce: the event is sent once for each change, in any number of passes.
func TestRangeWarningOnce(t *testing.T) {
	t.Run("U-09: one event for one change, another for the next", func(t *testing.T) {
		s := newStage(t, 3)
		if err := s.passes(12); err != nil {
			t.Fatal(err)
		}
		told := func() (count int) {
			for _, line := range s.ears.Lines {
				if strings.HasPrefix(line, "Warning RangeMoved: ") {
					count++
				}
			}
			return count
		}
		for i, start := range []int32{1, 10, 20} { // the first change keeps two of three
			s.change(func(spec *api.StatefulSetSpec) { spec.Ordinals = &api.Ordinals{Start: start} })
			if _ = s.passes(20); told() != i {
				t.Errorf("%d events after %d far moves", told(), i)
			}
		}
	})
}

// TestEventsOfManyPods: one set does not flood the events, events of other sets are still sent, and warnings always.
func TestEventsOfManyPods(t *testing.T) {
	ears, clock := &slicetest.Heard{}, testingclock.NewFakePassiveClock(slicetest.Noon)
	told := newModerate(ears, clock)
	web, other := slicetest.NamedSet("web", nil), slicetest.NamedSet("other", nil)
	tell := func(about client.Object, kind string, times int) int {
		before := len(ears.Lines)
		for range times {
			told.Eventf(about, nil, kind, "SuccessfulCreate", "Create", "a pod")
		}
		return len(ears.Lines) - before
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
