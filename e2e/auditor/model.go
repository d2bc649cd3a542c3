package auditor

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// sideIndex says which end of the move something belongs to.
type sideIndex int

const (
	source sideIndex = iota
	destination
	nowhere
)

// bothSides is what loops range over.
func bothSides() [2]sideIndex { return [2]sideIndex{source, destination} }

func (s sideIndex) other() sideIndex { return destination - s }

// String is the word for people.
func (s sideIndex) String() string {
	switch s {
	case source:
		return "source"
	case destination:
		return "destination"
	default:
		return "nowhere"
	}
}

// podState is one pod of the set at one instant. The zero value means that the
// API server said NotFound.
type podState struct {
	Ordinal            int32
	UID                types.UID
	RV                 string
	Ready, Terminating bool
}

func (p podState) exists() bool { return p.UID != "" }

// available is what the budget counts on: Ready and meant to stay.
func (p podState) available() bool { return p.exists() && p.Ready && !p.Terminating }

// sliceState is the StatefulSet of one side.
type sliceState struct {
	UID             types.UID
	Generation      int64
	Start, Replicas int32
	Labels          map[string]string
	Templates       []string
}

// sameSpec says that the range was not written between two reads.
func (s sliceState) sameSpec(o sliceState) bool {
	return s.UID == o.UID && s.Generation == o.Generation
}

func (s sliceState) owns(ordinal int32) bool {
	return s.UID != "" && ordinal >= s.Start && ordinal < s.Start+s.Replicas
}

// disruptionBudget is one PodDisruptionBudget.
type disruptionBudget struct {
	Name                           string
	UID                            types.UID
	RV                             string
	Generation, ObservedGeneration int64
	Allowed                        int32
	Selector                       *metav1.LabelSelector
	MinAvailable, MaxUnavailable   *intstr.IntOrString
}

// replicaSide is one side as one phase of a replica sample read it.
type replicaSide struct {
	Set sliceState
	// Asked are the ordinals whose pods were read, Pods those that exist.
	Asked   []int32
	Pods    []podState
	Budgets []disruptionBudget
	// Seen are all pods as the watch saw them last.
	Seen []podState
}

// asked says whether the pod of the ordinal was read at all.
func (r replicaSide) asked(ordinal int32) bool { return slices.Contains(r.Asked, ordinal) }

func (r replicaSide) pod(ordinal int32) podState {
	for _, p := range r.Pods {
		if p.Ordinal == ordinal {
			return p
		}
	}
	return podState{}
}

// volumeKey names one volume of the application wherever it is.
type volumeKey struct {
	Ordinal  int32
	Template string
}

// claimName is the name that the StatefulSet controller gives the claim.
func (k volumeKey) claimName(set string) string {
	return k.Template + "-" + set + "-" + strconv.Itoa(int(k.Ordinal))
}

// claimState is one PersistentVolumeClaim. Key is nil for a foreign claim.
type claimState struct {
	Name       string
	UID        types.UID
	RV         string
	VolumeName string
	Phase      corev1.PersistentVolumeClaimPhase
	Key        *volumeKey
}

// volumeState is one PersistentVolume.
type volumeState struct {
	Name, RV                  string
	UID                       types.UID
	Handle                    string
	Policy                    corev1.PersistentVolumeReclaimPolicy
	Phase                     corev1.PersistentVolumePhase
	ClaimNamespace, ClaimName string
	ClaimUID                  types.UID
}

// volumeSide is one side as one phase of a volume sample read it. Volumes are
// those of the whole cluster, Claims those of the side's namespace.
type volumeSide struct {
	Namespace string
	Volumes   []volumeState
	Claims    []claimState
}

func (v volumeSide) volume(name string) volumeState {
	for _, pv := range v.Volumes {
		if pv.Name == name {
			return pv
		}
	}
	return volumeState{}
}

func (v volumeSide) claim(name string) claimState {
	for _, c := range v.Claims {
		if c.Name == name {
			return c
		}
	}
	return claimState{}
}

// origin is where and how a volume was first seen.
type origin struct {
	Handle string
	Side   sideIndex
}
