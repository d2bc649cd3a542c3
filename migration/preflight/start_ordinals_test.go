package preflight

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
	"github.com/sliceshift/sliceshift/migration/endpoint/endpointtest"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// server returns an API server that changes each stored object. The fake client does not return the result of a dry
// run, so writes are performed.
func server(stored func(client.Object), objects ...client.Object) client.Client {
	return clustertest.Hooked(clustertest.Hooks{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, _ ...client.CreateOption) error {
			err := c.Create(ctx, o)
			raw, sent := o.(*unstructured.Unstructured)
			if !sent || raw.GetKind() != "StatefulSet" {
				return err
			}
			set := &appsv1.StatefulSet{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw.Object, set); err != nil {
				return err
			}
			stored(set)
			kept, convertErr := runtime.DefaultUnstructuredConverter.ToUnstructured(set)
			raw.Object = kept
			return errors.Join(err, convertErr)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, _ ...client.PatchOption) error {
			err := c.Patch(ctx, o, p)
			stored(o)
			return err
		},
	}, objects...)
}

// TestOrdinalsThatAreDropped: a slice that must start above 0 is refused if its API server drops the start, as those
// before Kubernetes 1.27 do. It would start ordinals that run elsewhere.
func TestOrdinalsThatAreDropped(t *testing.T) {
	set := func() *appsv1.StatefulSet {
		return &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: appsv1.StatefulSetSpec{Replicas: new(int32(3))}}
	}
	newer := func(objects ...client.Object) client.Client { return server(func(client.Object) {}, objects...) }
	older := func(objects ...client.Object) client.Client {
		return server(func(object client.Object) {
			if set, native := object.(*appsv1.StatefulSet); native {
				set.Spec.Ordinals = nil
			}
		}, objects...)
	}
	for name, tc := range map[string]struct {
		source, destination client.Client
		// there is the destination StatefulSet, if it exists.
		there *appsv1.StatefulSet
		order api.Order
		want  string
	}{
		"both know them":                       {newer(set()), newer(), nil, api.HighestFirst, ""},
		"the destination drops them":           {newer(set()), older(), nil, api.HighestFirst, "west"},
		"a destination that exists drops them": {newer(set()), older(set()), set(), api.HighestFirst, "west"},
		"a destination that exists knows them": {newer(set()), newer(set()), set(), api.HighestFirst, ""},
		"the source drops them":                {older(set()), newer(), nil, api.LowestFirst, "east"},
		"a source that never begins above 0":   {older(set()), newer(), nil, api.HighestFirst, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := &Inspector{Pair: endpointtest.Pair(tc.source, tc.destination)}
			m := &api.Migration{Spec: api.MigrationSpec{Ordinals: api.OrdinalsSpec{Order: tc.order}}}
			rehearsed, err := e.rehearse(t.Context(), m, set(), tc.there)
			if err != nil {
				t.Fatal(err)
			}
			patched, err := e.startOrdinals(t.Context(), m, set(), tc.there)
			if err != nil {
				t.Fatal(err)
			}
			findings := slices.Concat(rehearsed, patched)
			if tc.want == "" {
				if len(findings) > 0 {
					t.Errorf("found %+v", findings)
				}
				return
			}
			if len(findings) != 1 || findings[0].Reason != api.ReasonKindUnsupported || findings[0].Warning || !strings.Contains(findings[0].Message, "cluster "+tc.want) {
				t.Errorf("found %+v, want one of cluster %s", findings, tc.want)
			}
		})
	}
}

// TestNoAnswerIsNoProof: a 404, such as from a proxy, does not prove that an API server keeps spec.ordinals, and is
// not cached as a proof.
func TestNoAnswerIsNoProof(t *testing.T) {
	e := &Inspector{Clock: clock.RealClock{}, Pair: endpointtest.Pair(nil, server(func(client.Object) {}))}
	s := plan.Snapshot{
		Record: plan.Record{Baseline: &api.Baseline{Replicas: 3}},
		Source: plan.Side{Set: plan.Set{Presence: plan.Seen, Replicas: 3}}, Destination: plan.Side{Set: plan.Set{Presence: plan.Seen, UID: "made"}},
	}
	for range 2 {
		if found, err := e.KeepsSlice(t.Context(), s, &appsv1.StatefulSet{}, false); err == nil {
			t.Errorf("found %+v, and no error", found)
		}
	}
}

// TestOrdinalsThatAreDroppedAfterTheBeginning: a destination in a namespace that the migration creates is dry-run
// once after that, before the first stop.
func TestOrdinalsThatAreDroppedAfterTheBeginning(t *testing.T) {
	set := func() *appsv1.StatefulSet {
		return &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: appsv1.StatefulSetSpec{Replicas: new(int32(0))}}
	}
	for name, tc := range map[string]struct {
		keeps bool
		spec  plan.Spec
		lo    int32
		moved int32
		asks  int
		want  bool
	}{
		"it keeps them":                   {true, plan.Spec{}, 0, 0, 1, false},
		"it drops them":                   {false, plan.Spec{}, 0, 0, 1, true},
		"its slice begins with 0":         {false, plan.Spec{Order: api.LowestFirst}, 0, 0, 1, false},
		"the application begins above 0":  {false, plan.Spec{Order: api.LowestFirst}, 4, 0, 1, true},
		"the first ordinal is on its way": {false, plan.Spec{}, 0, 1, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			asks := 0
			live := server(func(object client.Object) {
				asks++
				if stored, native := object.(*appsv1.StatefulSet); native && !tc.keeps {
					stored.Spec.Ordinals = nil
				}
			}, set())
			e := &Inspector{Clock: clock.RealClock{}, Pair: endpointtest.Pair(nil, live)}
			s := plan.Snapshot{
				Spec: tc.spec, Record: plan.Record{Baseline: &api.Baseline{Start: tc.lo, Replicas: 3}},
				Source:      plan.Side{Set: plan.Set{Presence: plan.Seen, Start: tc.lo, Replicas: 3 - tc.moved}},
				Destination: plan.Side{Set: plan.Set{Presence: plan.Seen, UID: "made"}},
			}
			for range 3 {
				found, err := e.KeepsSlice(t.Context(), s, set(), false)
				if err != nil {
					t.Fatal(err)
				}
				if got := found != nil && found.Reason == api.ReasonKindUnsupported; got != tc.want {
					t.Errorf("found %+v", found)
				}
			}
			if asks != tc.asks {
				t.Errorf("asked %d times, want %d", asks, tc.asks)
			}
		})
	}
}
