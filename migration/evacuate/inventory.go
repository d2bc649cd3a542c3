// Package evacuate plans the move of many StatefulSets from one cluster to another as one: which of them can move, in
// which order, when each ordinal is down, and what the destination must hold. It is pure: an Inventory in, a Plan out.
package evacuate

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/berths"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// Name is the namespace and name of a StatefulSet.
type Name = types.NamespacedName

// Inventory is the input of a plan.
type Inventory struct {
	Sets        []Set
	Destination Destination
	Limits      Limits
}

// Limits bound the concurrent work; 0 means no limit.
type Limits struct {
	// Limits bound the handoffs: those that leave one node, those with volumes of one storage class of the source, and,
	// because an evacuation has one link, all of them.
	berths.Limits
	// Sets bounds the StatefulSets that are under way.
	Sets int
}

// Set is a StatefulSet of the source's cluster.
type Set struct {
	Name
	// APIVersion is that of its kind.
	APIVersion string
	// Wave is the declared order: a set begins after the sets of lower waves have ended.
	Wave int32
	// Replicas is the number of its replicas, and Budget how many of them may be unavailable at once.
	Replicas, Budget int32
	// AtOnce is how many of its ordinals move at once; 0 is 1.
	AtOnce int32
	// Owner is its controller, such as "Database/main"; empty if it has none.
	Owner string
	// Ordinals are those that move, in the order of their move.
	Ordinals []Ordinal
	// Templates are its claim templates.
	Templates []Template
	// Classes are the storage classes of its volumes in the source's cluster.
	Classes []string
	// Expected is the time that one handoff takes.
	Expected Expected
	// Pod holds the needs of one of its pods at the destination.
	Pod Pod
	// Quota is the use by its ordinals of the ResourceQuotas of its namespace at the destination.
	Quota corev1.ResourceList
	// Uses are the other sets that its pods name.
	Uses []Use
	// Obstacles are the findings that forbid its move.
	Obstacles []plan.Finding
	// Idle is true if it has no replicas, because its ordinals have moved already, or it was scaled down. It does not move,
	// and no other set waits for it.
	Idle bool
	// Begun is true if it is under way already: it waits for no other set.
	Begun bool
}

// Ordinal is an ordinal that moves.
type Ordinal struct {
	Ordinal int32
	// Node is the node on which it runs; empty if it is not known.
	Node string
}

// Template is a claim template of a set.
type Template struct {
	Name string
	// Method carries its volumes.
	Method api.VolumeMethod
	// Class and Driver are the storage class and the driver of its volumes at the destination; empty if they are not
	// known.
	Class, Driver string
	// Claims is the number of its claims that move. Bytes is the capacity of all of them together, and Largest that of
	// the largest one.
	Claims         int
	Bytes, Largest int64
}

// Fills reports whether the volumes of the template are new ones at the destination.
func (t Template) Fills() bool { return t.Method.FillsSecond() || t.Method == api.MethodEmpty }

// Expected is the expected time of each handoff of a set.
type Expected struct {
	// Handoff is the whole time. It ends with Down, in which the ordinal is down, and Soak, in which it must stay Ready.
	Handoff, Down, Soak time.Duration
	// Measured is the number of handoffs that Down is the median of; 0: it is an assumption.
	Measured int
}

// Pod holds the needs of one pod at the destination.
type Pod struct {
	// Amounts are its requests. Its field Pods is 1.
	Amounts
	// Nodes are the names of the nodes that could take it; nil: all nodes can.
	Nodes []string
	// Volumes is the number of its volumes by driver.
	Volumes map[string]int64
}

// Amounts are the resources that nodes offer and pods request.
type Amounts struct {
	// MilliCPU is in thousandths of a processor, and Memory in bytes.
	MilliCPU, Memory, Pods int64
}

// Destination holds the resources of the destination's cluster.
type Destination struct {
	// Nodes are those that take pods. If none is listed, nothing about nodes is checked: they are not known, or an
	// autoscaler adds them for the pods.
	Nodes   []Node
	Classes []Class
	Quotas  []Quota
}

// Node is a node of the destination.
type Node struct {
	Name string
	// Free are its allocatable resources without the requests of its pods.
	Free Amounts
	// Attach is the number of volumes that can still be attached, by driver. A driver without a limit is not listed.
	Attach map[string]int64
}

// Class is a storage class of the destination that reports its capacity (CSIStorageCapacity).
type Class struct {
	Name string
	// Free is the reported capacity in bytes, and Largest the maximum size of one volume; 0: no maximum is reported.
	Free, Largest int64
}

// Quota is a ResourceQuota of the destination without scopes.
type Quota struct {
	Name
	Hard, Used corev1.ResourceList
}
