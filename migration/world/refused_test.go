package world

import (
	"context"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
	"github.com/sliceshift/sliceshift/migration/endpoint/endpointtest"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// TestRefused: the events are read once the pod has been missing for a while, and not for each pass. With several ordinals in
// flight that time begins when the pod is missed: their step may be older.
func TestRefused(t *testing.T) {
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, tc := range map[string]struct {
		step    time.Time
		further []api.Handoff
		want    []int
	}{
		"alone, just started":         {begin, nil, []int{0, 1, 1, 2}},
		"alone, for a while":          {begin.Add(-time.Minute), nil, []int{1, 1, 1, 2}},
		"in a block of an older step": {begin.Add(-time.Minute), []api.Handoff{{Ordinal: 1}}, []int{0, 1, 1, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			live := clustertest.Hooked(clustertest.Hooks{List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, _ ...client.ListOption) error {
				if _, events := list.(*corev1.EventList); events {
					asked++
				}
				return nil
			}})
			clock := testingclock.NewFakePassiveClock(begin)
			e := &Observer{Clock: clock}
			to := &observed{endpoint: endpointtest.Destination(live), set: &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "web"}}}
			s := plan.Snapshot{Destination: plan.Side{Set: plan.Set{Presence: plan.Seen, Start: 2, Replicas: 1}}}
			s.Record = plan.Record{Baseline: &api.Baseline{Replicas: 3}, Handoff: &api.Handoff{Ordinal: 2, StepTime: metav1.NewMicroTime(tc.step)}, Further: tc.further}
			for i, after := range []time.Duration{0, refusedAfter, refusedAfter + time.Second, refusedAfter + refusedFor} {
				s.Now = begin.Add(after)
				clock.SetTime(s.Now)
				e.refused(t.Context(), s, to)
				if asked != tc.want[i] {
					t.Errorf("after %s: the events were read %d times, want %d", after, asked, tc.want[i])
				}
			}
			s.Destination.SetPod(plan.Pod{Ordinal: 2})
			if e.refused(t.Context(), s, to); len(e.refusals) > 0 {
				t.Error("a pod that exists is still missed")
			}
		})
	}
}
