package clusters

import (
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// NodesWithin is an option for a list of nodes. The result may be a list that the same identity made at most this long ago.
// With 0, nodes are listed now. The result has all nodes in one page, without images and managed fields, which are most of
// an answer. Callers must copy a node before changing it.
type NodesWithin time.Duration

// ApplyToList implements client.ListOption. It does not change the request.
func (NodesWithin) ApplyToList(*client.ListOptions) {}

// nodesAPage is the page size of a list of nodes, because an answer is limited.
const nodesAPage = 500

// keepNodes is the maximum time for which nodes are kept.
const keepNodes = time.Minute

// nodes lists all nodes page by page, and keeps them for later callers.
type nodes struct {
	client.Client
	kept *keptNodes
}

// keptNodes are the nodes of one cluster that one identity may see. A nil keptNodes keeps none: the answers of an untrusted
// cluster must not be held beyond its allowance.
type keptNodes struct {
	mu    sync.Mutex
	items []corev1.Node
	at    time.Time
}

// List implements client.Reader.
func (n nodes) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	all, is := list.(*corev1.NodeList)
	at := slices.IndexFunc(opts, func(opt client.ListOption) bool { _, is := opt.(NodesWithin); return is })
	if !is || at < 0 {
		return n.Client.List(ctx, list, opts...)
	}
	within, _ := opts[at].(NodesWithin)
	if all.Items = n.kept.since(time.Now().Add(-time.Duration(within))); all.Items != nil {
		return nil
	}
	asked := time.Now()
	all.Items = []corev1.Node{}
	for next, more := "", true; more; more = next != "" {
		var page corev1.NodeList
		if err := n.Client.List(ctx, &page, slices.Concat(opts, []client.ListOption{client.Limit(nodesAPage), client.Continue(next)})...); err != nil {
			return err
		}
		for _, node := range page.Items {
			node.ManagedFields, node.Annotations, node.Status.Images = nil, nil, nil
			all.Items = append(all.Items, node)
		}
		next = page.Continue
	}
	n.kept.keep(all.Items, asked)
	all.ListMeta = metav1.ListMeta{}
	return nil
}

// since returns the kept nodes if they were listed after a time, or nil.
func (k *keptNodes) since(oldest time.Time) []corev1.Node {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.items == nil || !k.at.After(oldest) {
		return nil
	}
	return slices.Clone(k.items)
}

// keep keeps the nodes for keepNodes. A late answer never replaces a newer one.
func (k *keptNodes) keep(items []corev1.Node, asked time.Time) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if asked.Before(k.at) {
		return
	}
	k.items, k.at = slices.Clone(items), asked
	time.AfterFunc(keepNodes, func() { k.drop(asked) })
}

// drop removes the nodes, unless newer ones were kept.
func (k *keptNodes) drop(asked time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.at.Equal(asked) {
		k.items = nil
	}
}
