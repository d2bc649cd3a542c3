package world

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
	"github.com/sliceshift/sliceshift/migration/endpoint/endpointtest"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
)

// TestH6ArrivalIsAskedOnceInAWhile: an ordinal is checked at most once in 30 s, if a decision depends on it, and
// again while the answer is negative. A missing answer is not a positive one.
func TestH6ArrivalIsAskedOnceInAWhile(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(Began)
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: appsv1.StatefulSetSpec{Replicas: new(int32(3))}}
	pair := endpointtest.Pair(clustertest.New(set), clustertest.New())
	var asked []int32
	var finding *plan.Finding
	var broken error
	o := &Observer{
		Pair: pair, Clock: clock,
		KeepsSlice: func(context.Context, plan.Snapshot, *appsv1.StatefulSet, bool) (*plan.Finding, error) {
			return nil, nil
		},
		LetsIn: func(_ context.Context, a Arriving) (*plan.Finding, error) {
			asked = append(asked, a.Ordinal)
			return finding, broken
		},
	}
	look := func(ordinal *int32) plan.Snapshot {
		return o.Snapshot(t.Context(), migrating(), planner.Reads{Live: true, Arrival: ordinal})
	}
	expect := func(when string, s plan.Snapshot, asks int, known, bad bool) {
		t.Helper()
		if len(asked) != asks || (s.Arrival != nil) != known || known && (s.Arrival.Finding != nil) != bad {
			t.Errorf("%s: asked %v, %+v", when, asked, s.Arrival)
		}
	}
	one := int32(1)
	expect("nothing rests on it", look(nil), 0, false, false)
	expect("it is asked", look(&one), 1, true, false)
	expect("it was asked", look(&one), 1, true, false)
	clock.SetTime(clock.Now().Add(arrivalFor))
	expect("a good answer is old", look(nil), 1, false, false)
	finding = &plan.Finding{Reason: api.ReasonWriteRefused}
	expect("it is asked again", look(&one), 2, true, true)
	expect("a bad answer stays", look(nil), 2, true, true)
	finding = nil
	clock.SetTime(clock.Now().Add(arrivalFor))
	expect("a bad answer is asked for again", look(nil), 3, true, false)
	two := int32(2)
	expect("another one", look(&two), 4, true, false)
	broken = errors.New("no answer")
	if s := look(&one); s.Destination.Reach != plan.Unreachable || s.Source.Reach != plan.Seen {
		t.Errorf("without an answer: %+v", s.Destination)
	}
}

// TestH6WhyThereIsNoPod: the newest event of this very pod is used, and no event from before the start.
func TestH6WhyThereIsNoPod(t *testing.T) {
	event := func(name, message string, seconds int) corev1.Event {
		return corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Reason: failedCreate, Message: message,
			InvolvedObject: corev1.ObjectReference{Name: "web"}, LastTimestamp: metav1.NewTime(Began.Add(time.Duration(seconds) * time.Second)),
		}
	}
	live := clustertest.Hooked(clustertest.Hooks{List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, _ ...client.ListOption) error {
		list.(*corev1.EventList).Items = []corev1.Event{ //nolint:forcetypeassert // nothing else is listed
			event("a", "create Pod web-1 in StatefulSet web failed error: full", 0), event("b", "create Pod web-1 in StatefulSet web failed error: fuller", 5),
			event("c", "create Pod web-10 in StatefulSet web failed error: other", 9), event("d", "create Pod web-2 in StatefulSet web failed error: old", -600),
		}
		return nil
	}})
	at := endpointtest.Pair(nil, live).Destination
	for pod, want := range map[string]string{"web-1": "fuller", "web-2": "", "web-3": ""} {
		if got := failedCreateOf(t.Context(), at, pod, Began.Add(-refusedSkew)); !strings.HasSuffix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q", pod, got)
		}
	}
}

// TestP1LookAsksOfTheNextOrdinal: a plan during a move checks the side that takes the next ordinal, each time, and no
// stop depends on the answer. Before a move the preflight checks it.
func TestP1LookAsksOfTheNextOrdinal(t *testing.T) {
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: appsv1.StatefulSetSpec{Replicas: new(int32(3))}}
	var asked []Arriving
	o := &Observer{
		Pair: endpointtest.Pair(clustertest.New(set), clustertest.New()), Clock: clocktesting.NewFakePassiveClock(Began),
		KeepsSlice: func(context.Context, plan.Snapshot, *appsv1.StatefulSet, bool) (*plan.Finding, error) {
			return nil, nil
		},
		LetsIn: func(_ context.Context, a Arriving) (*plan.Finding, error) {
			asked = append(asked, a)
			return &plan.Finding{Reason: api.ReasonWriteRefused}, nil
		},
	}
	reads := planner.Reads{Live: true, Wide: true, Looks: true}
	m := migrating()
	m.Status.Baseline.Replicas = 3
	for range 2 {
		if s := o.Snapshot(t.Context(), m, reads); s.Arrival == nil || s.Arrival.Ordinal != 2 || s.Arrival.Finding == nil || s.Arrival.Side != plan.DestinationSide {
			t.Errorf("the answer is %+v", s.Arrival)
		}
	}
	if len(asked) != 2 || !asked[0].Looks || asked[1].Ordinal != 2 || !o.arrived.at.IsZero() {
		t.Errorf("asked %+v, and kept %+v", asked, o.arrived)
	}
	m.Status.Baseline = nil
	if s := o.Snapshot(t.Context(), m, reads); s.Arrival != nil || len(asked) != 2 {
		t.Errorf("before the move: %+v", s.Arrival)
	}
}
