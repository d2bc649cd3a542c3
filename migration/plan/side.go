package plan

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// SideName says which side an effect or a hold is about.
type SideName string

// The sides.
const (
	SourceSide      SideName = "source"
	DestinationSide SideName = "destination"
)

// SideNames are both sides, the source first.
var SideNames = []SideName{SourceSide, DestinationSide}

// Other is the other one.
func (name SideName) Other() SideName {
	if name == SourceSide {
		return DestinationSide
	}
	return SourceSide
}

// Presence says how a thing was seen.
type Presence string

// Presences. The zero value is Unreachable's: what was not looked at is not absent.
const (
	Unreachable Presence = ""
	Seen        Presence = "Seen"
	Absent      Presence = "Absent"
)

// Side is one side as it was seen. When Reach is Unreachable nothing else counts.
type Side struct {
	// Cluster and Namespace name the side in messages.
	Cluster, Namespace string
	// Flags lead kubectl to the cluster: --context east. Empty where no context is known, as in a manager.
	Flags string
	// ClusterID tells the cluster from every other one.
	ClusterID types.UID
	Reach     Presence
	// Lost is true for a destination that was declared lost for good: it was not looked at, and
	// is taken for a side that has nothing.
	Lost bool
	// ReachError says why the side could not be read.
	ReachError string
	// NamespaceFound is false when the namespace does not exist.
	NamespaceFound bool
	Set            Set
	// Pods are all pods named <set>-<ordinal>, ascending, Terminating ones included.
	Pods []Pod
	// Budgets are the PodDisruptionBudgets that select the slice's pods, OtherBudgets
	// the names of those that do not.
	Budgets      []Budget
	OtherBudgets []string
	// Service is the governing Service; Needed is false when the set names none.
	Service Dependent
	// Export is the ServiceExport of the governing Service.
	Export Export
	// Names are the names of the ordinals that were looked at, ascending.
	Names []Name
	// Marks are the volumes of all ordinals that a migration has left its mark on, or that are in use, as far as they were looked
	// at: before a migration begins.
	Marks []Mark
}

// Object is how messages call the StatefulSet of the side.
func (s Side) Object() string {
	return fmt.Sprintf("StatefulSet %s/%s in cluster %s", s.Namespace, s.Set.Name, s.Cluster)
}

// WhatKeepsIt shows why a StatefulSet that is being deleted is still there.
func (s Side) WhatKeepsIt() string {
	return "a deletion cannot be taken back; wait until it is gone, and see what keeps it: " + s.Kubectl().Do("get", s.Set.ResourceName(), "-n", s.Namespace, s.Set.Name, "-o", "yaml")
}

// Pod returns the pod of an ordinal.
func (s Side) Pod(ordinal int32) (Pod, bool) {
	if at, found := s.at(ordinal); found {
		return s.Pods[at], true
	}
	return Pod{}, false
}

// Outside is the first pod of an ordinal that the slice does not own.
func (s Side) Outside() (Pod, bool) {
	if len(s.Pods) > 0 && !s.Set.Has(s.Pods[0].Ordinal) {
		return s.Pods[0], true
	}
	if at, _ := s.at(s.Set.End()); at < len(s.Pods) {
		return s.Pods[at], true
	}
	return Pod{}, false
}

// at is where the pod of an ordinal is among the pods, or would be.
func (s Side) at(ordinal int32) (int, bool) {
	return slices.BinarySearchFunc(s.Pods, ordinal, func(pod Pod, want int32) int { return int(pod.Ordinal) - int(want) })
}

// SetPod stores or replaces a pod, keeping the order.
func (s *Side) SetPod(pod Pod) {
	at, found := s.at(pod.Ordinal)
	if found {
		s.Pods[at] = pod
		return
	}
	s.Pods = slices.Insert(s.Pods, at, pod)
}

// RemovePod forgets a pod.
func (s *Side) RemovePod(ordinal int32) {
	if at, found := s.at(ordinal); found {
		s.Pods = slices.Delete(s.Pods, at, at+1)
	}
}

// Pod is what matters of a pod of an ordinal.
type Pod struct {
	Ordinal int32
	UID     types.UID
	Ready   bool
	// ReadySince is when it became Ready.
	ReadySince  time.Time
	Terminating bool
	// GoneBy is the end of the grace period of a pod that terminates; zero: it does not.
	GoneBy time.Time
	// Owned is true when the StatefulSet controls it.
	Owned bool
	// Node is where it runs; empty: nowhere yet.
	Node string
	// Trouble is what keeps it from becoming Ready, when it says so.
	Trouble string
	// Finalizers are those that keep its object, listed; empty: none does.
	Finalizers string
}

// Available says whether the pod has been Ready for so long and stays.
func (p *Pod) Available(now time.Time, minReady time.Duration) bool {
	return p.Ready && !p.Terminating && p.Owned && !now.Before(p.ReadySince.Add(minReady))
}

// ClaimName is the name that the StatefulSet controller gives a claim
// (kubernetes stateful_set_utils.go, getPersistentVolumeClaimName).
func ClaimName(template, set string, ordinal int32) string {
	return fmt.Sprintf("%s-%s-%d", template, set, ordinal)
}

// PodName is the name that the StatefulSet controller gives a pod.
func PodName(set string, ordinal int32) string { return fmt.Sprintf("%s-%d", set, ordinal) }

// PodNames names the pods of ordinals, other than the one that is left out.
func PodNames(side Side, ordinals []int32, leaveOut *int32) []string {
	var names []string
	for _, ordinal := range ordinals {
		if leaveOut == nil || *leaveOut != ordinal {
			names = append(names, fmt.Sprintf("%s-%d", side.Set.Name, ordinal))
		}
	}
	return names
}

// Down are the ordinals of a slice whose pods are not available.
func Down(s Snapshot, side Side) []int32 {
	var down []int32
	at, end, pods := 0, side.Set.End(), side.Pods
	for ordinal := side.Set.Start; ordinal < end; ordinal++ {
		for at < len(pods) && pods[at].Ordinal < ordinal {
			at++
		}
		found := at < len(pods) && pods[at].Ordinal == ordinal
		if !found || !pods[at].Available(s.Now, side.Set.MinReady) || disrupted(side.Budgets, side.Set.Name, ordinal) {
			down = append(down, ordinal)
		}
	}
	return down
}

// disrupted says whether an eviction of the pod was granted and not yet seen.
func disrupted(budgets []Budget, set string, ordinal int32) bool {
	for i := range budgets {
		if names := budgets[i].Disrupted; len(names) > 0 && slices.Contains(names, PodName(set, ordinal)) {
			return true
		}
	}
	return false
}

// Available counts the available replicas of a side.
func Available(now time.Time, side Side) int32 {
	var n int32
	start, end := side.Set.Start, side.Set.End()
	for i := range side.Pods {
		pod := &side.Pods[i]
		if start <= pod.Ordinal && pod.Ordinal < end && pod.Available(now, side.Set.MinReady) {
			n++
		}
	}
	return n
}
