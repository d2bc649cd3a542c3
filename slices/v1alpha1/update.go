package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// UpdateStrategyType is how pods get another revision.
//
// +kubebuilder:validation:Enum=RollingUpdate;OnDelete;Recreate
type UpdateStrategyType string

// The strategies.
const (
	// RollingUpdate replaces pods while the others run.
	RollingUpdate UpdateStrategyType = "RollingUpdate"
	// OnDelete leaves it to whoever deletes a pod.
	OnDelete UpdateStrategyType = "OnDelete"
	// Recreate stops all pods of the old revision before one of the new is started.
	Recreate UpdateStrategyType = "Recreate"
)

// StatefulSetUpdateStrategy is how pods get another revision.
//
// +kubebuilder:validation:XValidation:rule="self.type == 'RollingUpdate' || !has(self.rollingUpdate)",message="updateStrategy.rollingUpdate is only allowed with type RollingUpdate",fieldPath=".rollingUpdate"
// +kubebuilder:validation:XValidation:rule="self.type == 'Recreate' || !has(self.recreate)",message="updateStrategy.recreate is only allowed with type Recreate",fieldPath=".recreate"
type StatefulSetUpdateStrategy struct {
	// type of the strategy.
	// +optional
	// +kubebuilder:default=RollingUpdate
	Type UpdateStrategyType `json:"type,omitempty"`
	// rollingUpdate is for type RollingUpdate only.
	// +optional
	RollingUpdate *RollingUpdateStrategy `json:"rollingUpdate,omitempty"`
	// recreate is for type Recreate only.
	// +optional
	Recreate *RecreateStrategy `json:"recreate,omitempty"`
}

// PodUpdatePolicy says whether a pod may keep running through an update.
//
// +kubebuilder:validation:Enum=ReCreate;InPlaceIfPossible;InPlaceOnly
type PodUpdatePolicy string

// The policies.
const (
	// ReCreate deletes the pod and makes it anew.
	ReCreate PodUpdatePolicy = "ReCreate"
	// InPlaceIfPossible patches the pod where the change allows it.
	InPlaceIfPossible PodUpdatePolicy = "InPlaceIfPossible"
	// InPlaceOnly never deletes a pod for an update: a change that needs that is held.
	InPlaceOnly PodUpdatePolicy = "InPlaceOnly"
)

// OnFailure is what a roll-out does that makes no progress within its deadline.
//
// +kubebuilder:validation:Enum=Halt;Rollback
type OnFailure string

// What a failed roll-out does.
const (
	// Halt leaves it where it is.
	Halt OnFailure = "Halt"
	// Rollback takes the pods back to the current revision.
	Rollback OnFailure = "Rollback"
)

// UnhealthyPodEvictionPolicy says when an update replaces pods that are not Ready, as that of a PodDisruptionBudget does for
// evictions.
//
// +kubebuilder:validation:Enum=IfHealthyBudget;AlwaysAllow
type UnhealthyPodEvictionPolicy string

// When a pod is replaced that is not Ready, and was available at the current revision.
const (
	// IfHealthyBudget replaces it while no more than maxUnavailable pods are unavailable.
	IfHealthyBudget UnhealthyPodEvictionPolicy = "IfHealthyBudget"
	// AlwaysAllow replaces it at once, and as many of them as there are.
	AlwaysAllow UnhealthyPodEvictionPolicy = "AlwaysAllow"
)

// RecreateStrategy parameterises an update by type Recreate.
type RecreateStrategy struct {
	// onFailure is what a roll-out does that makes no progress within its deadline.
	// +optional
	OnFailure OnFailure `json:"onFailure,omitempty"`
}

// RollingUpdateStrategy parameterises a rolling update.
//
// +kubebuilder:validation:XValidation:rule="!has(self.maxUnavailable) || (type(self.maxUnavailable) == int ? int(self.maxUnavailable) > 0 : !string(self.maxUnavailable).matches('^0+%$')) || has(self.maxSurge) && (type(self.maxSurge) == int ? int(self.maxSurge) > 0 : !string(self.maxSurge).matches('^0+%$'))",message="updateStrategy.rollingUpdate.maxUnavailable must not be 0 unless maxSurge is above 0",fieldPath=".maxUnavailable"
type RollingUpdateStrategy struct {
	// partition is the ordinal below which pods keep the current revision.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	Partition *int32 `json:"partition,omitempty"`
	// maxUnavailable is how many pods may be unavailable during an update: a number or
	// a percentage of replicas, rounded up. Default 1; 0 only with a maxSurge.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? int(self) >= 0 : string(self).matches('^0*(100|[1-9]?[0-9])%$')",message="maxUnavailable must be a number of at least 0 or a percentage from 0% to 100%"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	// maxSurge is how many ordinals above the range run the new revision during an
	// update: a number or a percentage of replicas, rounded up.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? int(self) >= 0 : string(self).matches('^0*(100|[1-9]?[0-9])%$')",message="maxSurge must be a number of at least 0 or a percentage from 0% to 100%"
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`
	// minReadySeconds, see spec.minReadySeconds.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=300
	MinReadySeconds *int32 `json:"minReadySeconds,omitempty"`
	// unhealthyPodEvictionPolicy says when the update replaces a pod that is not Ready, and was available at
	// status.currentRevision before. IfHealthyBudget, the default: while no more than maxUnavailable pods are unavailable.
	// AlwaysAllow: at once. A pod of another revision, or one that was never available, is replaced at once by either.
	// +optional
	UnhealthyPodEvictionPolicy UnhealthyPodEvictionPolicy `json:"unhealthyPodEvictionPolicy,omitempty"`
	// paused stops the update.
	// +optional
	Paused bool `json:"paused,omitempty"`
	// podUpdatePolicy says whether a pod may keep running through an update.
	// +optional
	PodUpdatePolicy PodUpdatePolicy `json:"podUpdatePolicy,omitempty"`
	// inPlaceUpdateStrategy is for the policies InPlaceIfPossible and InPlaceOnly.
	// +optional
	InPlaceUpdateStrategy *InPlaceUpdateStrategy `json:"inPlaceUpdateStrategy,omitempty"`
	// prePull has the images that an update brings pulled on the node of a pod that serves, by
	// a pod beside it, before it is deleted: five minutes at most.
	// +optional
	PrePull bool `json:"prePull,omitempty"`
	// unorderedUpdate lets labels decide which pods are updated first, instead of
	// ordinals; only with podManagementPolicy Parallel.
	// +optional
	UnorderedUpdate *UnorderedUpdate `json:"unorderedUpdate,omitempty"`
	// onFailure is what a roll-out does that makes no progress within its deadline.
	// +optional
	OnFailure OnFailure `json:"onFailure,omitempty"`
}

// InPlaceUpdateStrategy parameterises updates in place.
type InPlaceUpdateStrategy struct {
	// gracePeriodSeconds is how long a pod is not Ready before it is patched.
	// +optional
	// +kubebuilder:validation:Minimum=0
	GracePeriodSeconds int32 `json:"gracePeriodSeconds,omitempty"`
}

// UnorderedUpdate lets labels decide which pods are updated first.
type UnorderedUpdate struct {
	// priorityStrategy orders the pods.
	// +optional
	PriorityStrategy *PriorityStrategy `json:"priorityStrategy,omitempty"`
}

// PriorityStrategy orders pods by weight or by the value of labels; not by both.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.weightPriority) && size(self.weightPriority) > 0 && has(self.orderPriority) && size(self.orderPriority) > 0)",message="priorityStrategy: only one of weightPriority and orderPriority is allowed"
type PriorityStrategy struct {
	// orderPriority compares the values of labels: the first key decides, then the
	// next. A value that ends in a larger number comes first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	OrderPriority []OrderTerm `json:"orderPriority,omitempty"`
	// weightPriority adds the weights of the selectors that match: the larger sum
	// comes first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	WeightPriority []WeightTerm `json:"weightPriority,omitempty"`
}

// OrderTerm names a label.
type OrderTerm struct {
	// orderedKey is the label's key.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	OrderedKey string `json:"orderedKey"`
}

// WeightTerm gives the pods that it selects a weight.
type WeightTerm struct {
	// weight is added for the pods that match.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Weight int32 `json:"weight"`
	// matchSelector selects the pods.
	// +required
	// +kubebuilder:validation:XValidation:rule="has(self.matchLabels) && size(self.matchLabels) > 0 || has(self.matchExpressions) && size(self.matchExpressions) > 0",message="matchSelector must not be empty"
	MatchSelector metav1.LabelSelector `json:"matchSelector"`
}
