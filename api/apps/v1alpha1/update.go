package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// UpdateStrategyType selects how pods are updated to a new revision.
//
// +kubebuilder:validation:Enum=RollingUpdate;OnDelete;Recreate
type UpdateStrategyType string

// The strategies.
const (
	// RollingUpdate replaces pods while the others run.
	RollingUpdate UpdateStrategyType = "RollingUpdate"
	// OnDelete updates a pod when the user deletes it.
	OnDelete UpdateStrategyType = "OnDelete"
	// Recreate stops all pods of the old revision before it starts a pod of the new revision.
	Recreate UpdateStrategyType = "Recreate"
)

// StatefulSetUpdateStrategy configures how pods are updated to a new revision.
//
// +kubebuilder:validation:XValidation:rule="self.type == 'RollingUpdate' || !has(self.rollingUpdate)",message="updateStrategy.rollingUpdate is only allowed with type RollingUpdate",fieldPath=".rollingUpdate"
// +kubebuilder:validation:XValidation:rule="self.type == 'Recreate' || !has(self.recreate)",message="updateStrategy.recreate is only allowed with type Recreate",fieldPath=".recreate"
type StatefulSetUpdateStrategy struct {
	// type is RollingUpdate, OnDelete or Recreate.
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

// PodUpdatePolicy selects whether an update recreates a pod or patches it in place.
//
// +kubebuilder:validation:Enum=ReCreate;InPlaceIfPossible;InPlaceOnly
type PodUpdatePolicy string

// The policies.
const (
	// ReCreate deletes and recreates the pod.
	ReCreate PodUpdatePolicy = "ReCreate"
	// InPlaceIfPossible patches the pod where the change allows it.
	InPlaceIfPossible PodUpdatePolicy = "InPlaceIfPossible"
	// InPlaceOnly never deletes a pod for an update. A pod that cannot be updated in place is held.
	InPlaceOnly PodUpdatePolicy = "InPlaceOnly"
)

// OnFailure selects the reaction to a roll-out whose pods are late for progressDeadlineSeconds.
//
// +kubebuilder:validation:Enum=Halt;Rollback
type OnFailure string

// The reactions to a failed roll-out.
const (
	// Halt stops the roll-out and leaves the pods as they are.
	Halt OnFailure = "Halt"
	// Rollback records the update revision in status.failedRevision and returns the pods to status.currentRevision, until the
	// template changes. The spec does not change.
	Rollback OnFailure = "Rollback"
)

// UnhealthyPodEvictionPolicy selects when an update replaces pods that are not Ready. It corresponds to the field of a
// PodDisruptionBudget, which applies to evictions.
//
// +kubebuilder:validation:Enum=IfHealthyBudget;AlwaysAllow
type UnhealthyPodEvictionPolicy string

// The policies for a pod that is not Ready now and was available at the current revision.
const (
	// IfHealthyBudget replaces the pod only while at most maxUnavailable pods are unavailable.
	IfHealthyBudget UnhealthyPodEvictionPolicy = "IfHealthyBudget"
	// AlwaysAllow replaces all such pods at once.
	AlwaysAllow UnhealthyPodEvictionPolicy = "AlwaysAllow"
)

// RolloutBudget selects a budget that an update keeps, next to maxUnavailable.
//
// +kubebuilder:validation:Enum=None;PodDisruptionBudget
type RolloutBudget string

// The budgets of an update.
const (
	// BudgetNone keeps maxUnavailable alone.
	BudgetNone RolloutBudget = "None"
	// BudgetPodDisruptionBudget keeps every PodDisruptionBudget that selects the pod as well.
	BudgetPodDisruptionBudget RolloutBudget = "PodDisruptionBudget"
)

// RecreateStrategy configures an update of type Recreate.
type RecreateStrategy struct {
	// onFailure selects the reaction to a roll-out whose pods are late for progressDeadlineSeconds. Halt, the default, stops
	// it. Rollback returns the pods to status.currentRevision until the template changes.
	// +optional
	OnFailure OnFailure `json:"onFailure,omitempty"`
}

// RollingUpdateStrategy configures a rolling update.
//
// +kubebuilder:validation:XValidation:rule="!has(self.maxUnavailable) || (type(self.maxUnavailable) == int ? int(self.maxUnavailable) > 0 : !string(self.maxUnavailable).matches('^0+%$')) || has(self.maxSurge) && (type(self.maxSurge) == int ? int(self.maxSurge) > 0 : !string(self.maxSurge).matches('^0+%$'))",message="updateStrategy.rollingUpdate.maxUnavailable must not be 0 unless maxSurge is above 0",fieldPath=".maxUnavailable"
type RollingUpdateStrategy struct {
	// partition is an ordinal. Pods with a lower ordinal keep the current revision.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	Partition *int32 `json:"partition,omitempty"`
	// maxUnavailable is the maximum number of unavailable pods during an update. It is a number, or a percentage of
	// replicas, rounded up. Default 1. 0 is only allowed with a maxSurge.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? int(self) >= 0 : string(self).matches('^0*(100|[1-9]?[0-9])%$')",message="maxUnavailable must be a number of at least 0 or a percentage from 0% to 100%"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	// maxSurge is the number of ordinals above the range that run the new revision during an update. It is a number, or a
	// percentage of replicas, rounded up.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? int(self) >= 0 : string(self).matches('^0*(100|[1-9]?[0-9])%$')",message="maxSurge must be a number of at least 0 or a percentage from 0% to 100%"
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`
	// minReadySeconds is the field of Advanced StatefulSet. If spec.minReadySeconds is set too, the larger value applies.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=300
	MinReadySeconds *int32 `json:"minReadySeconds,omitempty"`
	// unhealthyPodEvictionPolicy selects when the update replaces a pod that is not Ready and that was available at
	// status.currentRevision before. IfHealthyBudget, the default, replaces it only while at most maxUnavailable pods are
	// unavailable. AlwaysAllow replaces it at once. A pod of another revision, or a pod that was never available, is
	// replaced at once with either value.
	// +optional
	UnhealthyPodEvictionPolicy UnhealthyPodEvictionPolicy `json:"unhealthyPodEvictionPolicy,omitempty"`
	// budget selects a budget that the update keeps, next to maxUnavailable: None, the default, or PodDisruptionBudget.
	// With PodDisruptionBudget the update evicts a pod instead of deleting it. The API server then counts the disruptions
	// of all StatefulSets whose pods the PodDisruptionBudget selects. An update in place is counted in the status of the
	// PodDisruptionBudget before it begins. A deletion that a user has requested is an eviction too. The removal of pods
	// after a change of replicas, and the replacement of pods that have ended, keep no PodDisruptionBudget.
	// +optional
	Budget RolloutBudget `json:"budget,omitempty"`
	// topologyKey is the key of a node label, such as topology.kubernetes.io/zone. The update then takes down available pods
	// of one value of the label at a time. All pods on nodes with that value are updated and available before the update
	// begins with another value. maxUnavailable limits the pods of that value. A pod whose node does not have the label is
	// updated alone.
	// +optional
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`
	TopologyKey string `json:"topologyKey,omitempty"`
	// paused stops the update.
	// +optional
	Paused bool `json:"paused,omitempty"`
	// podUpdatePolicy selects whether an update recreates a pod or patches it in place.
	// +optional
	PodUpdatePolicy PodUpdatePolicy `json:"podUpdatePolicy,omitempty"`
	// inPlaceUpdateStrategy is for the policies InPlaceIfPossible and InPlaceOnly.
	// +optional
	InPlaceUpdateStrategy *InPlaceUpdateStrategy `json:"inPlaceUpdateStrategy,omitempty"`
	// prePull pulls the new images on the node of a Ready pod before that pod is deleted. A separate pod pulls them. The
	// update waits for it at most five minutes.
	// +optional
	PrePull bool `json:"prePull,omitempty"`
	// unorderedUpdate orders the update by pod labels instead of ordinals. It is only allowed with podManagementPolicy
	// Parallel.
	// +optional
	UnorderedUpdate *UnorderedUpdate `json:"unorderedUpdate,omitempty"`
	// onFailure selects the reaction to a roll-out whose pods are late for progressDeadlineSeconds. Halt, the default, stops
	// it. Rollback returns the pods to status.currentRevision until the template changes.
	// +optional
	OnFailure OnFailure `json:"onFailure,omitempty"`
}

// InPlaceUpdateStrategy configures updates in place.
type InPlaceUpdateStrategy struct {
	// gracePeriodSeconds is the time for which a pod is not Ready before it is patched.
	// +optional
	// +kubebuilder:validation:Minimum=0
	GracePeriodSeconds int32 `json:"gracePeriodSeconds,omitempty"`
}

// UnorderedUpdate orders the update by pod labels.
type UnorderedUpdate struct {
	// priorityStrategy orders the pods.
	// +optional
	PriorityStrategy *PriorityStrategy `json:"priorityStrategy,omitempty"`
}

// PriorityStrategy orders pods by weight or by label values. Only one of the two can be set.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.weightPriority) && size(self.weightPriority) > 0 && has(self.orderPriority) && size(self.orderPriority) > 0)",message="priorityStrategy: only one of weightPriority and orderPriority is allowed"
type PriorityStrategy struct {
	// orderPriority compares label values. The first key decides, then the next. A value that ends in a larger number comes
	// first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	OrderPriority []OrderTerm `json:"orderPriority,omitempty"`
	// weightPriority adds the weights of the selectors that match. The larger sum comes first.
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

// WeightTerm assigns a weight to the pods that it selects.
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
