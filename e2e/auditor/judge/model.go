// Package judge holds the auditor's verdicts: pure functions over small structs that describe the state read from each
// side. It has no client and no clock, and shares no code with the engine.
package judge

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// SideIndex identifies one end of the move.
type SideIndex int

// The sides.
const (
	Source SideIndex = iota
	Destination
	Nowhere
)

// BothSides returns both sides, for loops.
func BothSides() [2]SideIndex { return [2]SideIndex{Source, Destination} }

// Other returns the opposite side.
func (s SideIndex) Other() SideIndex { return Destination - s }

// String returns the side's name for messages.
func (s SideIndex) String() string {
	switch s {
	case Source:
		return "source"
	case Destination:
		return "destination"
	default:
		return "nowhere"
	}
}

// PodState is one pod of the set at one instant. The zero value means that the API server answered NotFound.
type PodState struct {
	Ordinal            int32
	UID                types.UID
	RV                 string
	Ready, Terminating bool
	// Node is empty until the pod is scheduled. Until then it has mounted nothing.
	Node string
}

// Exists reports whether the pod was found.
func (p PodState) Exists() bool { return p.UID != "" }

// Available reports whether the pod counts as available for the budget: Ready and not Terminating.
func (p PodState) Available() bool { return p.Exists() && p.Ready && !p.Terminating }

// SliceState is the StatefulSet of one side.
type SliceState struct {
	UID             types.UID
	Generation      int64
	Start, Replicas int32
	Labels          map[string]string
	Templates       []string
}

// sameSpec reports whether the spec was not written between two reads.
func (s SliceState) sameSpec(o SliceState) bool {
	return s.UID == o.UID && s.Generation == o.Generation
}

// Owns reports whether an ordinal is in the range.
func (s SliceState) Owns(ordinal int32) bool {
	return s.UID != "" && ordinal >= s.Start && ordinal < s.Start+s.Replicas
}

// DisruptionBudget is one PodDisruptionBudget.
type DisruptionBudget struct {
	Name                           string
	UID                            types.UID
	RV                             string
	Generation, ObservedGeneration int64
	Allowed                        int32
	Selector                       *metav1.LabelSelector
	MinAvailable, MaxUnavailable   *intstr.IntOrString
	// WrittenBy is the field manager, other than a migration, that owns minAvailable or maxUnavailable; empty if there
	// is none.
	WrittenBy string
}

// ReplicaSide is one side as read in one phase of a replica sample.
type ReplicaSide struct {
	Set SliceState
	// Asked are the ordinals whose pods were read, Pods those that exist.
	Asked   []int32
	Pods    []PodState
	Budgets []DisruptionBudget
	// Seen are all pods as the watch saw them last.
	Seen []PodState
}

// asked reports whether the pod of the ordinal was read.
func (r ReplicaSide) asked(ordinal int32) bool { return slices.Contains(r.Asked, ordinal) }

func (r ReplicaSide) pod(ordinal int32) PodState {
	return first(r.Pods, func(p PodState) bool { return p.Ordinal == ordinal })
}

// first returns the first element that satisfies is; the zero value if there is none.
func first[T any](all []T, is func(T) bool) T {
	var none T
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i]
	}
	return none
}

// VolumeKey names one volume of the application wherever it is.
type VolumeKey struct {
	Ordinal  int32
	Template string
}

// ClaimName returns the name that the StatefulSet controller gives the claim.
func (k VolumeKey) ClaimName(set string) string {
	return k.Template + "-" + set + "-" + strconv.Itoa(int(k.Ordinal))
}

// ClaimState is one PersistentVolumeClaim. Key is nil for a foreign claim.
type ClaimState struct {
	Name       string
	UID        types.UID
	RV         string
	VolumeName string
	Phase      corev1.PersistentVolumeClaimPhase
	Key        *VolumeKey
	// Terminating is true once the claim is deleted, until its last finalizer is removed.
	Terminating bool
}

// VolumeState is one PersistentVolume.
type VolumeState struct {
	Name, RV                  string
	UID                       types.UID
	Handle                    string
	Policy                    corev1.PersistentVolumeReclaimPolicy
	Phase                     corev1.PersistentVolumePhase
	ClaimNamespace, ClaimName string
	ClaimUID                  types.UID
	// Many is true when several nodes may mount the volume together.
	Many bool
	// Folder is the path of its content on this machine, or its handle in a CSI driver. It is empty when the content
	// is not on this machine.
	Folder string
}

// VolumeSide is one side as read in one phase of a volume sample. Volumes are those of the whole cluster, Claims those
// of the side's namespace.
type VolumeSide struct {
	Namespace string
	Volumes   []VolumeState
	Claims    []ClaimState
}

func (v VolumeSide) volume(name string) VolumeState {
	return first(v.Volumes, func(pv VolumeState) bool { return pv.Name == name })
}

func (v VolumeSide) claim(name string) ClaimState {
	return first(v.Claims, func(c ClaimState) bool { return c.Name == name })
}

// Origin is the place of a volume when it was first seen; for a copied volume, the place that the ordinal ran on last.
type Origin struct {
	Handle, Folder string
	Side           SideIndex
}

// OrdinalOf parses the ordinal of a pod's name. A pod counts by its name alone: a pod of that name that another
// controller or user created writes to the same claims.
func OrdinalOf(pod, set string) (int32, bool) {
	rest, ok := strings.CutPrefix(pod, set+"-")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(rest, 10, 32)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != rest {
		return 0, false
	}
	return int32(n), true
}

// PodName returns the name of an ordinal's pod.
func PodName(set string, ordinal int32) string {
	return set + "-" + strconv.Itoa(int(ordinal))
}

// VolumeKeyOf parses template and ordinal of a claim's name.
func VolumeKeyOf(claim, set string, templates []string) (VolumeKey, bool) {
	for _, template := range templates {
		rest, ok := strings.CutPrefix(claim, template+"-")
		if !ok {
			continue
		}
		if ordinal, ok := OrdinalOf(rest, set); ok {
			return VolumeKey{Ordinal: ordinal, Template: template}, true
		}
	}
	return VolumeKey{}, false
}
