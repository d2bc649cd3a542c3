package observe

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/slices/decide"
)

// readWithin is the time that a read of PodDisruptionBudgets or nodes gets. The cache lists a kind at its first read. Where
// the manager may not list it, that read would never end.
const readWithin = 2 * time.Second

// readDomains reads the topology domains of the pods from the labels of their nodes. A node that does not exist has no
// label. An error becomes part of the input.
func (r Reader) readDomains(ctx context.Context, in *decide.Input) {
	if r.Spec.TopologyKey == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	nodes := map[string]*metav1.PartialObjectMetadata{}
	for i := range in.Pods {
		domain := &in.Pods[i].Domain
		if domain.Node = r.Pods[in.Pods[i].Ordinal].Spec.NodeName; domain.Node == "" {
			continue
		}
		node := nodes[domain.Node]
		if node == nil {
			node = &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: corev1.SchemeGroupVersion.String(), Kind: "Node"}}
			if err := client.IgnoreNotFound(r.Client.Get(ctx, client.ObjectKey{Name: domain.Node}, node)); err != nil {
				in.Topology.Unread = fmt.Sprintf("node %s: %v", domain.Node, err)
				return
			}
			nodes[domain.Node] = node
		}
		domain.Value, domain.Labeled = node.Labels[r.Spec.TopologyKey]
	}
}
