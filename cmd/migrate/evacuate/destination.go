package evacuate

import (
	"cmp"
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/component-helpers/resource"

	"github.com/sliceshift/sliceshift/cmd/migrate/sets"
	"github.com/sliceshift/sliceshift/migration/evacuate"
	"github.com/sliceshift/sliceshift/migration/preflight/scheduling"
)

// readDestination reads what the destination's cluster has.
func (r *reader) readDestination(ctx context.Context) (has evacuate.Destination, err error) {
	from := sets.Of(r.destination)
	if has.Nodes, err = r.readNodes(ctx, &from); err != nil {
		return has, err
	}
	err = each(ctx, &from, &storagev1.StorageClassList{}, func(c *storagev1.StorageClass) { r.classes = append(r.classes, *c) })
	if err := r.allowed(err, "storageclasses", r.destination, "the drivers of new volumes"); err != nil {
		return has, err
	}
	if has.Classes, err = r.readCapacities(ctx, &from); err != nil {
		return has, err
	}
	err = each(ctx, &from, &corev1.ResourceQuotaList{}, func(q *corev1.ResourceQuota) {
		if len(q.Spec.Scopes) == 0 && q.Spec.ScopeSelector == nil {
			has.Quotas = append(has.Quotas, evacuate.Quota{Name: evacuate.Name{Namespace: q.Namespace, Name: q.Name}, Hard: q.Status.Hard, Used: q.Status.Used})
		}
	})
	return has, r.allowed(err, "resourcequotas", r.destination, "whether quotas have room for all")
}

// readNodes reads the nodes that take pods, and what their pods and volumes leave of them.
func (r *reader) readNodes(ctx context.Context, from *sets.Reader) ([]evacuate.Node, error) {
	const unknown = "whether the nodes have room"
	err := each(ctx, from, &corev1.NodeList{}, func(n *corev1.Node) {
		if scheduling.TakesPods(*n) {
			n.ManagedFields, n.Status.Images = nil, nil
			r.nodes = append(r.nodes, *n)
		}
	})
	if err != nil {
		return nil, r.allowed(err, "nodes", r.destination, unknown)
	}
	free := map[string]*evacuate.Node{}
	for _, node := range r.nodes {
		has := node.Status.Allocatable
		free[node.Name] = &evacuate.Node{Name: node.Name, Attach: map[string]int64{}, Free: evacuate.Amounts{
			MilliCPU: has.Cpu().MilliValue(), Memory: has.Memory().Value(), Pods: has.Pods().Value(),
		}}
	}
	err = each(ctx, from, &corev1.PodList{}, func(p *corev1.Pod) {
		if node := free[p.Spec.NodeName]; node != nil && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed {
			asks := amountsOf(p.Spec)
			node.Free.MilliCPU -= asks.MilliCPU
			node.Free.Memory -= asks.Memory
			node.Free.Pods -= asks.Pods
		}
	})
	if err != nil {
		return nil, r.allowed(err, "pods", r.destination, unknown)
	}
	if err := r.readAttachments(ctx, from, free); err != nil {
		return nil, err
	}
	nodes := make([]evacuate.Node, 0, len(free))
	for _, name := range slices.Sorted(maps.Keys(free)) {
		nodes = append(nodes, *free[name])
	}
	return nodes, nil
}

// amountsOf returns what a pod requests.
func amountsOf(spec corev1.PodSpec) evacuate.Amounts {
	requests := resource.PodRequests(&corev1.Pod{Spec: spec}, resource.PodResourcesOptions{})
	return evacuate.Amounts{MilliCPU: requests.Cpu().MilliValue(), Memory: requests.Memory().Value(), Pods: 1}
}

// readAttachments reads how many volumes can still be attached to each node.
func (r *reader) readAttachments(ctx context.Context, from *sets.Reader, nodes map[string]*evacuate.Node) error {
	const unknown = "how many volumes the nodes can attach"
	err := each(ctx, from, &storagev1.CSINodeList{}, func(n *storagev1.CSINode) {
		for _, driver := range n.Spec.Drivers {
			if node := nodes[n.Name]; node != nil && driver.Allocatable != nil && driver.Allocatable.Count != nil {
				node.Attach[driver.Name] += int64(*driver.Allocatable.Count)
			}
		}
	})
	if err != nil {
		return r.allowed(err, "csinodes", r.destination, unknown)
	}
	err = each(ctx, from, &storagev1.VolumeAttachmentList{}, func(a *storagev1.VolumeAttachment) {
		if node := nodes[a.Spec.NodeName]; node != nil {
			if _, limited := node.Attach[a.Spec.Attacher]; limited {
				node.Attach[a.Spec.Attacher]--
			}
		}
	})
	return r.allowed(err, "volumeattachments", r.destination, unknown)
}

// readCapacities reads the storage that drivers report for their classes. The sum over all segments is an upper bound: a
// volume is in one of them.
func (r *reader) readCapacities(ctx context.Context, from *sets.Reader) ([]evacuate.Class, error) {
	found := map[string]*evacuate.Class{}
	err := each(ctx, from, &storagev1.CSIStorageCapacityList{}, func(c *storagev1.CSIStorageCapacity) {
		class := found[c.StorageClassName]
		if class == nil {
			class = &evacuate.Class{Name: c.StorageClassName}
			found[c.StorageClassName] = class
		}
		if c.Capacity != nil {
			class.Free += c.Capacity.Value()
		}
		if c.MaximumVolumeSize != nil {
			class.Largest = max(class.Largest, c.MaximumVolumeSize.Value())
		}
	})
	var all []evacuate.Class
	for _, class := range found {
		all = append(all, *class)
	}
	slices.SortFunc(all, func(a, b evacuate.Class) int { return cmp.Compare(a.Name, b.Name) })
	return all, r.allowed(err, "csistoragecapacities", r.destination, "how much storage the classes have")
}
