package plan

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// SideName names the side of an effect or a hold.
type SideName string

// The sides of a migration.
const (
	SourceSide      SideName = "source"
	DestinationSide SideName = "destination"
)

// SideNames lists both sides, the source first.
var SideNames = []SideName{SourceSide, DestinationSide}

// Other returns the opposite side.
func (name SideName) Other() SideName {
	if name == SourceSide {
		return DestinationSide
	}
	return SourceSide
}

// Presence is the observed existence of an object.
type Presence string

// Values of Presence. The zero value is Unreachable: an object that was not read is not absent.
const (
	Unreachable Presence = ""
	Seen        Presence = "Seen"
	Absent      Presence = "Absent"
)

// Side is the observed state of one side. When Reach is Unreachable, no other field counts.
type Side struct {
	// Cluster and Namespace name the side in messages.
	Cluster, Namespace string
	// Flags select the cluster for kubectl, for instance --context east. Empty where no context is known, as in a
	// manager.
	Flags string
	// ClusterID identifies the cluster.
	ClusterID types.UID
	Reach     Presence
	// Lost is true for a destination that was declared lost: it was not read, and counts as empty.
	Lost bool
	// ReachError says why the side could not be read.
	ReachError string
	// NamespaceFound is false when the namespace does not exist.
	NamespaceFound bool
	Set            Set
	// Pods are all pods named <set>-<ordinal>, ascending, Terminating ones included.
	Pods []Pod
	// Budgets lists the PodDisruptionBudgets that select the slice's pods, OtherBudgets the names of the others.
	Budgets      []Budget
	OtherBudgets []string
	// Service is the governing Service; Needed is false when the set names none.
	Service Dependent
	// Export is the ServiceExport of the governing Service.
	Export Export
	// Names lists the names of the ordinals that were read, ascending.
	Names []Name
	// Marks lists the volumes of all ordinals that have a migration's mark or are in use, as far as they were
	// read. They are read before a migration begins.
	Marks []Mark
}

// Object returns how messages name the StatefulSet of the side.
func (s Side) Object() string {
	return fmt.Sprintf("StatefulSet %s/%s in cluster %s", s.Namespace, s.Set.Name, s.Cluster)
}

// WhatKeepsIt returns the remedy for a StatefulSet that is being deleted and still exists.
func (s Side) WhatKeepsIt() string {
	return "a deletion cannot be undone; wait until it is complete; to see what blocks it: " + s.Kubectl().Do("get", s.Set.ResourceName(), "-n", s.Namespace, s.Set.Name, "-o", "yaml")
}

// Pod returns the pod of an ordinal.
func (s Side) Pod(ordinal int32) (Pod, bool) {
	if at, found := s.at(ordinal); found {
		return s.Pods[at], true
	}
	return Pod{}, false
}

// Outside returns the first pod of an ordinal that the slice does not own.
func (s Side) Outside() (Pod, bool) {
	if len(s.Pods) > 0 && !s.Set.Has(s.Pods[0].Ordinal) {
		return s.Pods[0], true
	}
	if at, _ := s.at(s.Set.End()); at < len(s.Pods) {
		return s.Pods[at], true
	}
	return Pod{}, false
}

// at returns the index of an ordinal's pod among the pods, or the index at which it would be inserted.
func (s Side) at(ordinal int32) (int, bool) {
	return slices.BinarySearchFunc(s.Pods, ordinal, func(pod Pod, want int32) int { return int(pod.Ordinal) - int(want) })
}

// SetPod stores or replaces a pod and keeps the order.
func (s *Side) SetPod(pod Pod) {
	at, found := s.at(pod.Ordinal)
	if found {
		s.Pods[at] = pod
		return
	}
	s.Pods = slices.Insert(s.Pods, at, pod)
}

// RemovePod removes a pod.
func (s *Side) RemovePod(ordinal int32) {
	if at, found := s.at(ordinal); found {
		s.Pods = slices.Delete(s.Pods, at, at+1)
	}
}

// Pod holds the fields of an ordinal's pod that a plan needs.
type Pod struct {
	Ordinal int32
	UID     types.UID
	Ready   bool
	// ReadySince is when it became Ready.
	ReadySince  time.Time
	Terminating bool
	// GoneBy is the end of the grace period of a terminating pod; zero: it does not terminate.
	GoneBy time.Time
	// Owned is true when the StatefulSet controls it, and Orphan when nothing does.
	Owned, Orphan bool
	// Node is the node on which it runs; empty: it is not scheduled.
	Node string
	// Pending is its phase before its first container has started.
	Pending bool
	// Created is when it was created, for a migration in place; zero for others.
	Created time.Time
	// Trouble is the reported reason that it is not Ready.
	Trouble string
	// Finalizers lists the finalizers that block the deletion of its object; empty: none.
	Finalizers string
}

// Available reports whether the pod has been Ready for minReady and is not terminating.
func (p *Pod) Available(now time.Time, minReady time.Duration) bool {
	return p.Owned && p.serves(now, minReady)
}

// serves reports whether the pod has been Ready for that long. Without minReadySeconds no clock counts (kubernetes
// podutil.IsPodAvailable).
func (p *Pod) serves(now time.Time, minReady time.Duration) bool {
	return p.Ready && !p.Terminating && (minReady == 0 || !now.Before(p.ReadySince.Add(minReady)))
}

// ClaimName returns the name that the StatefulSet controller gives a claim (kubernetes stateful_set_utils.go,
// getPersistentVolumeClaimName).
func ClaimName(template, set string, ordinal int32) string {
	return fmt.Sprintf("%s-%s-%d", template, set, ordinal)
}

// PodName returns the name that the StatefulSet controller gives a pod.
func PodName(set string, ordinal int32) string { return fmt.Sprintf("%s-%d", set, ordinal) }

// PodNames returns the names of the pods of the ordinals, except leaveOut.
func PodNames(side Side, ordinals []int32, leaveOut *int32) []string {
	var names []string
	for _, ordinal := range ordinals {
		if leaveOut == nil || *leaveOut != ordinal {
			names = append(names, fmt.Sprintf("%s-%d", side.Set.Name, ordinal))
		}
	}
	return names
}

// Down returns the ordinals of a slice whose pods are not available.
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

// disrupted reports whether an eviction of the pod was granted and not yet observed.
func disrupted(budgets []Budget, set string, ordinal int32) bool {
	for i := range budgets {
		if names := budgets[i].Disrupted; len(names) > 0 && slices.Contains(names, PodName(set, ordinal)) {
			return true
		}
	}
	return false
}

// Available counts the available replicas of a side. Pods without an owner count: they run on while their StatefulSet is
// recreated, until its controller adopts them.
func Available(now time.Time, side Side) int32 {
	var n int32
	start, end := side.Set.Start, side.Set.End()
	for i := range side.Pods {
		pod := &side.Pods[i]
		if start <= pod.Ordinal && pod.Ordinal < end && (pod.Owned || pod.Orphan) && pod.serves(now, side.Set.MinReady) {
			n++
		}
	}
	return n
}
