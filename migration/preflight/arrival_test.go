package preflight

import (
	"context"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
