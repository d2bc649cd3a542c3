// Package judge holds the auditor's verdicts: pure functions over small structs that say what was
// read of each side. It has no client and no clock, and shares no code with the engine.
package judge

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// SideIndex says which end of the move something belongs to.
type SideIndex int

// The sides.
const (
	Source SideIndex = iota
	Destination
	Nowhere
)

// BothSides is what loops range over.
func BothSides() [2]SideIndex { return [2]SideIndex{Source, Destination} }

// Other is the side across.
func (s SideIndex) Other() SideIndex { return Destination - s }

// String is the word for people.
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

// PodState is one pod of the set at one instant. The zero value means that the
// API server said NotFound.
type PodState struct {
	Ordinal            int32
	UID                types.UID
	RV                 string
	Ready, Terminating bool
}

// Exists says that it was found.
func (p PodState) Exists() bool { return p.UID != "" }

// Available is what the budget counts on: Ready and meant to stay.
func (p PodState) Available() bool { return p.Exists() && p.Ready && !p.Terminating }

// SliceState is the StatefulSet of one side.
type SliceState struct {
	UID             types.UID
	Generation      int64
	Start, Replicas int32
	Labels          map[string]string
	Templates       []string
}

// sameSpec says that the range was not written between two reads.
func (s SliceState) sameSpec(o SliceState) bool {
	return s.UID == o.UID && s.Generation == o.Generation
}

// Owns says that an ordinal is in the range.
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
	// WrittenBy is the manager that owns the form and is no migration; empty: none does.
	WrittenBy string
}

// ReplicaSide is one side as one phase of a replica sample read it.
type ReplicaSide struct {
	Set SliceState
	// Asked are the ordinals whose pods were read, Pods those that exist.
	Asked   []int32
	Pods    []PodState
	Budgets []DisruptionBudget
	// Seen are all pods as the watch saw them last.
	Seen []PodState
}

// asked says whether the pod of the ordinal was read at all.
func (r ReplicaSide) asked(ordinal int32) bool { return slices.Contains(r.Asked, ordinal) }

func (r ReplicaSide) pod(ordinal int32) PodState {
	return first(r.Pods, func(p PodState) bool { return p.Ordinal == ordinal })
}

// first is the first that is as it should be; the zero value: none is.
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

// ClaimName is the name that the StatefulSet controller gives the claim.
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
	// Many is true when machines may have it mounted together.
	Many bool
	// Folder is where its content is on this machine, or the handle by which a CSI driver knows it; empty: it is
	// not here.
	Folder string
}

// VolumeSide is one side as one phase of a volume sample read it. Volumes are
// those of the whole cluster, Claims those of the side's namespace.
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

// Origin is where and how a volume was first seen; of what is copied, the one that the ordinal ran on last.
type Origin struct {
	Handle, Folder string
	Side           SideIndex
}
