package preflight

import (
	"context"
	"errors"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
	"github.com/sliceshift/sliceshift/migration/endpoint/endpointtest"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/world"
)

// TestH6NodesOfLately: nodes that were listed for another ordinal only select the node that is read again before a stop. A refusal
// always lists all nodes again.
func TestH6NodesOfLately(t *testing.T) {
	cordoned := []client.Object{&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Spec: corev1.NodeSpec{Unschedulable: true}}}
	for name, tc := range map[string]struct {
		lately, now []client.Object
		refused     bool
		lists       []clusters.NodesWithin
	}{
		"one fits, and still does": {[]client.Object{readyNode("a", nil)}, []client.Object{readyNode("a", nil)}, false, []clusters.NodesWithin{clusters.NodesWithin(nodesFor), 0}},
		"one fitted lately":        {[]client.Object{readyNode("a", nil)}, cordoned, true, []clusters.NodesWithin{clusters.NodesWithin(nodesFor), 0, 0}},
		"one fits since":           {cordoned, []client.Object{readyNode("a", nil)}, false, []clusters.NodesWithin{clusters.NodesWithin(nodesFor), 0}},
		"none fits, lately or now": {cordoned, cordoned, true, []clusters.NodesWithin{clusters.NodesWithin(nodesFor), 0}},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []clusters.NodesWithin
			hooks := clustertest.Hooks{List: func(ctx context.Context, under client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
				nodes, is := list.(*corev1.NodeList)
				if !is {
					return under.List(ctx, list, options...)
				}
				within, _ := options[0].(clusters.NodesWithin)
				asked = append(asked, within)
				there := tc.now
				if within != 0 {
					there = tc.lately
				}
				for _, node := range there {
					nodes.Items = append(nodes.Items, *node.(*corev1.Node))
				}
				return nil
			}}
			set := &appsv1.StatefulSet{}
			e := &Inspector{Pair: endpointtest.Pair(clustertest.New(), clustertest.Hooked(hooks))}
			finding, err := e.toward(world.Arriving{Migration: &api.Migration{}, To: plan.DestinationSide, From: set, Set: set}).node(t.Context())
			if err != nil || (finding != nil) != tc.refused || !slices.Equal(asked, tc.lists) {
				t.Errorf("found %+v, %v, with nodes of %v", finding, err, asked)
			}
		})
	}
}

// TestY15NamedOnceMore: right before the stop of an ordinal the objects that its pod and its new claims name are looked
// up again, except those that admission looks up and copies. Objects that may not be read refuse nothing.
func TestY15NamedOnceMore(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "settings", errors.New("no"))
	broken := errors.New("no route to host")
	const missing, class = "DependencyMissing ConfigMap shop/settings in cluster west", "DependencyMissing VolumeAttributesClass gold in cluster west"
	for name, tc := range map[string]struct {
		mode   api.DependencyMode
		method api.VolumeMethod
		to     plan.SideName
		hooks  clustertest.Hooks
		there  []client.Object
		want   string
		err    error
	}{
		"missing":             {api.DependenciesCheck, api.MethodRebind, plan.DestinationSide, clustertest.Hooks{}, nil, missing, nil},
		"there":               {api.DependenciesCheck, api.MethodRebind, plan.DestinationSide, clustertest.Hooks{}, []client.Object{settings()}, "", nil},
		"copied":              {api.DependenciesCopy, api.MethodRebind, plan.DestinationSide, clustertest.Hooks{}, nil, "", nil},
		"not copied back":     {api.DependenciesCopy, api.MethodRebind, plan.SourceSide, clustertest.Hooks{}, nil, missing, nil},
		"may not be read":     {api.DependenciesCheck, api.MethodRebind, plan.DestinationSide, clustertest.Failing(forbidden, "get"), nil, "", nil},
		"no answer":           {api.DependenciesCheck, api.MethodRebind, plan.DestinationSide, clustertest.Failing(broken, "get"), nil, "", broken},
		"of a new claim":      {api.DependenciesCopy, api.MethodEmpty, plan.DestinationSide, clustertest.Hooks{}, nil, class, nil},
		"of a carried volume": {api.DependenciesCopy, api.MethodRebind, plan.DestinationSide, clustertest.Hooks{}, nil, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			set := needySet()
			set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
			there := endpointtest.Serving(tc.hooks, nil, tc.there...)
			e := &Inspector{Pair: endpointtest.Pair(endpointtest.Serving(clustertest.Hooks{}, nil), there)}
			if tc.to == plan.SourceSide {
				e.Source, e.Destination = e.Destination, e.Source
			}
			m := &api.Migration{Spec: api.MigrationSpec{Volumes: []api.VolumeSpec{{ClaimTemplate: "data", Method: tc.method}}}}
			m.Spec.Dependencies.Mode = tc.mode
			claim := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "data-web-2"}, Spec: corev1.PersistentVolumeClaimSpec{VolumeAttributesClassName: new("gold")}}
			finding, err := e.toward(world.Arriving{Migration: m, Ordinal: 2, To: tc.to, From: set, Set: set, Claims: []corev1.PersistentVolumeClaim{claim}}).named(t.Context())
			if !errors.Is(err, tc.err) || (finding == nil) != (tc.want == "") || finding != nil && finding.Reason+" "+finding.Object != tc.want {
				t.Errorf("found %+v, %v", finding, err)
			}
		})
	}
}
