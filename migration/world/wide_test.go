package world

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/endpoint/endpointtest"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
)

// server is an API server that records the kinds that are requested.
type server struct {
	mu    sync.Mutex
	asked []string
	client.WithWatch
}

func newServer(objects ...client.Object) *server {
	s := &server{}
	s.WithWatch = clustertest.Indexed(clustertest.Before(s.note), objects...)
	return s
}

func (s *server) note(_ string, object runtime.Object) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, kind, _ := strings.Cut(fmt.Sprintf("%T", object), ".")
	s.asked = append(s.asked, kind)
	return nil
}

// kinds returns the kinds that were requested since the last call.
func (s *server) kinds() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := slices.Sorted(slices.Values(s.asked))
	s.asked = nil
	return asked
}

// watched returns an observer of two sides whose caches have the objects of their API servers. The source has a set
// of one ordinal.
func watched(clock *clocktesting.FakePassiveClock, namespaces ...client.Object) (o *Observer, source, destination *server) {
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: appsv1.StatefulSetSpec{ServiceName: "web"}}
	source, destination = newServer(set), newServer(namespaces...)
	pair := endpointtest.Pair(source, destination)
	pair.Source.Cached, pair.Destination.Cached = newServer(set), newServer()
	o = &Observer{
		Pair: pair, Clock: clock,
		KeepsSlice: func(context.Context, plan.Snapshot, *appsv1.StatefulSet, bool) (*plan.Finding, error) {
			return nil, nil
		},
		Identify: func(_ context.Context, p *endpoint.Endpoint) error {
			p.ID = "asked"
			return nil
		},
	}
	return o, source, destination
}

// TestWhatIsListedWide: the kinds that decisions depend on and that are not spared are listed at the API servers, and
// no others.
func TestWhatIsListedWide(t *testing.T) {
	const both = planner.BothSides
	for name, tc := range map[string]struct {
		spared planner.Spared
		want   []string
	}{
		"all of it":     {planner.Spared{}, []string{"PersistentVolumeClaimList", "PersistentVolumeList", "PodDisruptionBudgetList", "PodList", "StatefulSet", "VolumeAttachmentList"}},
		"no sets":       {planner.Spared{Sets: both}, []string{"PersistentVolumeClaimList", "PersistentVolumeList", "PodDisruptionBudgetList", "PodList", "VolumeAttachmentList"}},
		"no budgets":    {planner.Spared{Budgets: both}, []string{"PersistentVolumeClaimList", "PersistentVolumeList", "PodList", "StatefulSet", "VolumeAttachmentList"}},
		"no pods":       {planner.Spared{Pods: both}, []string{"PersistentVolumeClaimList", "PersistentVolumeList", "PodDisruptionBudgetList", "StatefulSet"}},
		"no claims":     {planner.Spared{Claims: both}, []string{"PersistentVolumeList", "PodDisruptionBudgetList", "PodList", "StatefulSet", "VolumeAttachmentList"}},
		"no volumes":    {planner.Spared{Volumes: both}, []string{"PersistentVolumeClaimList", "PodDisruptionBudgetList", "PodList", "StatefulSet", "VolumeAttachmentList"}},
		"of the others": {planner.Spared{Pods: planner.OfDestination}, []string{"PersistentVolumeClaimList", "PersistentVolumeList", "PodDisruptionBudgetList", "PodList", "StatefulSet", "VolumeAttachmentList"}},
	} {
		t.Run(name, func(t *testing.T) {
			o, source, _ := watched(clocktesting.NewFakePassiveClock(Began))
			o.Snapshot(t.Context(), migrating(), planner.Reads{Live: true, Wide: true, Spared: tc.spared})
			if diff := cmp.Diff(tc.want, source.kinds()); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// TestOneSideIsAsked: only the side in doubt is identified again (I9).
func TestOneSideIsAsked(t *testing.T) {
	o, _, _ := watched(clocktesting.NewFakePassiveClock(Began))
	s := o.Snapshot(t.Context(), migrating(), planner.Reads{Live: true, Identity: planner.OfDestination})
	if s.Source.ClusterID != "1" || s.Destination.ClusterID != "asked" || o.Destination.ID != "asked" {
		t.Errorf("source %s, destination %s", s.Source.ClusterID, s.Destination.ClusterID)
	}
}

// TestNamespaceIsLookedFor: the namespace of a destination without a StatefulSet is read if it may be written to:
// every time while it does not exist, and occasionally when it does.
func TestNamespaceIsLookedFor(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(Began)
	o, _, destination := watched(clock)
	looks := func(sc planner.Reads) bool {
		destination.kinds()
		found := o.Snapshot(t.Context(), migrating(), sc).Destination.NamespaceFound
		looked := slices.Contains(destination.kinds(), "Namespace")
		if looked == found && o.namespaceSeen.IsZero() {
			t.Errorf("looked: %t, found: %t", looked, found)
		}
		return looked
	}
	live := planner.Reads{Live: true, Namespace: true}
	if looks(planner.Reads{}) || !looks(live) || !looks(live) {
		t.Error("one that is not there is not looked for, or for a wait")
	}
	o.LookAhead(t.Context(), plan.Effect{Verb: plan.CreateNamespace, Side: plan.DestinationSide})
	if looks(live) {
		t.Error("one that was made just now is looked for")
	}
	if err := destination.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}); err != nil {
		t.Fatal(err)
	}
	clock.SetTime(Began.Add(seenFor))
	if !looks(live) || looks(live) {
		t.Error("one that is there is not looked for once in a while")
	}
	o.Destination.Cached = newServer(&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}})
	looks(live)
	o.Destination.Cached = newServer()
	clock.SetTime(clock.Now().Add(time.Second))
	if !looks(live) {
		t.Error("the namespace of a set that is gone is taken to be there")
	}
}

// TestNearReadsOneOrdinal: during a handoff only the ordinal's own claims and volumes, and only the pods of the set,
// are read from the caches, and nothing from the API servers.
func TestNearReadsOneOrdinal(t *testing.T) {
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	set.Spec.Template.Labels = map[string]string{"app": "web"}
	set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: set.Spec.Template.Labels}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "data-web-1"}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pv"}}
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}}
	o, source, destination := watched(clocktesting.NewFakePassiveClock(Began))
	cached := newServer(set, budget, claim, volume)
	o.Source.Cached = cached
	m := migrating()
	m.Status.Handoff = &api.Handoff{Ordinal: 1}
	s := o.Snapshot(t.Context(), m, planner.Near(RecordOf(m)))
	if len(s.Volumes) != 1 || s.Volumes[0].Ordinal != 1 || !s.Volumes[0].Source.Volume.Found || !s.Focused || !s.VolumesRead {
		t.Errorf("got %+v", s.Volumes)
	}
	want := []string{"PersistentVolume", "PersistentVolumeClaim", "PodDisruptionBudgetList", "PodList", "StatefulSet", "VolumeAttachmentList"}
	if diff := cmp.Diff(want, cached.kinds()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if live := append(source.kinds(), destination.kinds()...); len(live) > 0 {
		t.Errorf("live is read %q", live)
	}
	o.Snapshot(t.Context(), m, planner.Reads{})
	if all := cached.kinds(); !slices.Contains(all, "PersistentVolumeClaimList") {
		t.Errorf("of all there are, %q", all)
	}
}
