package v1alpha1

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sliceshift/sliceshift/internal/tolerant"
)

// StatefulSet is a slice of an application: the ordinals [start, start+replicas),
// less the reserved ones.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.labelSelector
// +kubebuilder:resource:path=statefulsets,singular=statefulset,shortName={slice,slices},categories=all
// +kubebuilder:printcolumn:name="Desired",type=integer,JSONPath=`.spec.replicas`
// +kubebuilder:printcolumn:name="Current",type=integer,JSONPath=`.status.replicas`
// +kubebuilder:printcolumn:name="Updated",type=integer,JSONPath=`.status.updatedReplicas`
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.readyReplicas`
// +kubebuilder:printcolumn:name="Start",type=integer,JSONPath=`.spec.ordinals.start`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name must be a DNS label: lower case letters, digits and '-', with a letter or digit at both ends"
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 52",message="metadata.name must be at most 52 characters: '-' and a revision hash or an ordinal of up to 10 are added to it in labels and host names of at most 63"
type StatefulSet struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec is what is asked for.
	// +required
	Spec StatefulSetSpec `json:"spec"`
	// status is what was found.
	// +optional
	// +kubebuilder:default={observedGeneration: 0}
	Status StatefulSetStatus `json:"status,omitempty"`
	// Unreadable are the fields whose stored values do not fit them, and which were left out when the object was decoded.
	// Nothing is done for a StatefulSet that has some.
	Unreadable []tolerant.Fault `json:"-"`
}

// StatefulSetList is a list of StatefulSets.
//
// +kubebuilder:object:root=true
type StatefulSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []StatefulSet `json:"items"`
}

// StatefulSetSpec has every field of apps/v1 StatefulSet of Kubernetes 1.37 with the
// same meaning, and more. Its rules are those of apps/v1 and of Advanced StatefulSet;
// where they go further, docs/validation.md says why.
//
// +kubebuilder:validation:XValidation:rule="!has(self.selector.matchLabels) || self.selector.matchLabels.all(k, has(self.template.metadata) && has(self.template.metadata.labels) && k in self.template.metadata.labels && self.template.metadata.labels[k] == self.selector.matchLabels[k])",message="template.metadata.labels must have every label of selector.matchLabels",fieldPath=".template.metadata.labels"
// +kubebuilder:validation:XValidation:rule="!has(self.selector.matchExpressions) || self.selector.matchExpressions.all(e, has(self.template.metadata) && has(self.template.metadata.labels) && e.key in self.template.metadata.labels ? e.operator == 'Exists' || e.operator != 'DoesNotExist' && has(e.values) && (self.template.metadata.labels[e.key] in e.values) == (e.operator == 'In') : e.operator in ['NotIn', 'DoesNotExist'])",message="template.metadata.labels must satisfy selector.matchExpressions",fieldPath=".template.metadata.labels"
// +kubebuilder:validation:XValidation:rule=`(has(self.serviceName) ? self.serviceName : "") == (has(oldSelf.serviceName) ? oldSelf.serviceName : "")`,message="serviceName is immutable",fieldPath=".serviceName",reason="FieldValueForbidden"
// +kubebuilder:validation:XValidation:rule="self.podManagementPolicy == oldSelf.podManagementPolicy",message="podManagementPolicy is immutable",fieldPath=".podManagementPolicy",reason="FieldValueForbidden"
// +kubebuilder:validation:XValidation:rule="has(self.volumeClaimUpdateStrategy) || (has(self.volumeClaimTemplates) ? self.volumeClaimTemplates : []) == (has(oldSelf.volumeClaimTemplates) ? oldSelf.volumeClaimTemplates : [])",message="volumeClaimTemplates is immutable without a volumeClaimUpdateStrategy",fieldPath=".volumeClaimTemplates",reason="FieldValueForbidden"
// +kubebuilder:validation:XValidation:rule="!has(self.volumeClaimUpdateStrategy) || (has(self.volumeClaimTemplates) ? size(self.volumeClaimTemplates) : 0) == (has(oldSelf.volumeClaimTemplates) ? size(oldSelf.volumeClaimTemplates) : 0) && (!has(self.volumeClaimTemplates) || self.volumeClaimTemplates.all(n, oldSelf.volumeClaimTemplates.exists(o, n.metadata == o.metadata && has(n.spec.accessModes) == has(o.spec.accessModes) && (!has(n.spec.accessModes) || n.spec.accessModes == o.spec.accessModes) && has(n.spec.dataSource) == has(o.spec.dataSource) && (!has(n.spec.dataSource) || n.spec.dataSource == o.spec.dataSource) && has(n.spec.dataSourceRef) == has(o.spec.dataSourceRef) && (!has(n.spec.dataSourceRef) || n.spec.dataSourceRef == o.spec.dataSourceRef) && has(n.spec.selector) == has(o.spec.selector) && (!has(n.spec.selector) || n.spec.selector == o.spec.selector) && has(n.spec.storageClassName) == has(o.spec.storageClassName) && (!has(n.spec.storageClassName) || n.spec.storageClassName == o.spec.storageClassName) && has(n.spec.volumeAttributesClassName) == has(o.spec.volumeAttributesClassName) && (!has(n.spec.volumeAttributesClassName) || n.spec.volumeAttributesClassName == o.spec.volumeAttributesClassName) && has(n.spec.volumeMode) == has(o.spec.volumeMode) && (!has(n.spec.volumeMode) || n.spec.volumeMode == o.spec.volumeMode) && has(n.spec.volumeName) == has(o.spec.volumeName) && (!has(n.spec.volumeName) || n.spec.volumeName == o.spec.volumeName) && has(n.spec.resources.limits) == has(o.spec.resources.limits) && (!has(n.spec.resources.limits) || n.spec.resources.limits == o.spec.resources.limits))))",message="volumeClaimTemplates: only resources.requests.storage may change",fieldPath=".volumeClaimTemplates",reason="FieldValueForbidden"
// +kubebuilder:validation:XValidation:rule="!has(self.volumeClaimUpdateStrategy) || !has(self.volumeClaimTemplates) || !has(oldSelf.volumeClaimTemplates) || self.volumeClaimTemplates.all(n, oldSelf.volumeClaimTemplates.all(o, n.metadata.name != o.metadata.name || quantity(string(n.spec.resources.requests['storage'])).compareTo(quantity(string(o.spec.resources.requests['storage']))) >= 0))",message="volumeClaimTemplates: resources.requests.storage may only grow, for no volume can shrink",fieldPath=".volumeClaimTemplates",reason="FieldValueForbidden"
// +kubebuilder:validation:XValidation:rule="!has(self.updateStrategy.rollingUpdate) || self.updateStrategy.rollingUpdate.?partition.orValue(0) == 0 || self.replicas == 0 || has(self.reserveOrdinals) && size(self.reserveOrdinals) > 0 || self.updateStrategy.rollingUpdate.partition >= self.?ordinals.?start.orValue(0) && self.updateStrategy.rollingUpdate.partition <= self.?ordinals.?start.orValue(0) + self.replicas || oldSelf.hasValue() && oldSelf.value().updateStrategy.?rollingUpdate.?partition.orValue(0) == self.updateStrategy.rollingUpdate.partition",message="updateStrategy.rollingUpdate.partition is an ordinal: it must be 0 or between ordinals.start and ordinals.start + replicas",fieldPath=".updateStrategy.rollingUpdate.partition",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="!has(self.updateStrategy.rollingUpdate) || self.updateStrategy.rollingUpdate.?podUpdatePolicy.orValue('ReCreate') == 'ReCreate' || has(self.template.spec.readinessGates) && self.template.spec.readinessGates.exists(g, g.conditionType == 'InPlaceUpdateReady')",message="template.spec.readinessGates must have InPlaceUpdateReady for a podUpdatePolicy in place",fieldPath=".template.spec.readinessGates"
// +kubebuilder:validation:XValidation:rule="self.replicas == 0 || !(has(self.updateStrategy.rollingUpdate) && self.updateStrategy.rollingUpdate.?podUpdatePolicy.orValue('ReCreate') == 'InPlaceOnly') || !(has(oldSelf.updateStrategy.rollingUpdate) && oldSelf.updateStrategy.rollingUpdate.?podUpdatePolicy.orValue('ReCreate') == 'InPlaceOnly') || self.template.spec.containers.map(c, c.name) == oldSelf.template.spec.containers.map(c, c.name) && self.template.spec.containers.map(c, c.?command) == oldSelf.template.spec.containers.map(c, c.?command) && self.template.spec.containers.map(c, c.?args) == oldSelf.template.spec.containers.map(c, c.?args) && self.template.spec.containers.map(c, c.?workingDir) == oldSelf.template.spec.containers.map(c, c.?workingDir) && self.template.spec.containers.map(c, c.?env) == oldSelf.template.spec.containers.map(c, c.?env) && self.template.spec.containers.map(c, c.?envFrom) == oldSelf.template.spec.containers.map(c, c.?envFrom) && self.template.spec.containers.map(c, c.?volumeMounts) == oldSelf.template.spec.containers.map(c, c.?volumeMounts) && self.template.spec.containers.map(c, c.?ports) == oldSelf.template.spec.containers.map(c, c.?ports) && has(self.template.spec.initContainers) == has(oldSelf.template.spec.initContainers) && (!has(self.template.spec.initContainers) || self.template.spec.initContainers.map(c, c.?name) == oldSelf.template.spec.initContainers.map(c, c.?name) && self.template.spec.initContainers.map(c, c.?image) == oldSelf.template.spec.initContainers.map(c, c.?image) && self.template.spec.initContainers.map(c, c.?command) == oldSelf.template.spec.initContainers.map(c, c.?command) && self.template.spec.initContainers.map(c, c.?args) == oldSelf.template.spec.initContainers.map(c, c.?args) && self.template.spec.initContainers.map(c, c.?env) == oldSelf.template.spec.initContainers.map(c, c.?env)) && has(self.template.spec.volumes) == has(oldSelf.template.spec.volumes) && (!has(self.template.spec.volumes) || self.template.spec.volumes.map(v, v.name) == oldSelf.template.spec.volumes.map(v, v.name)) && has(self.template.spec.nodeSelector) == has(oldSelf.template.spec.nodeSelector) && (!has(self.template.spec.nodeSelector) || self.template.spec.nodeSelector == oldSelf.template.spec.nodeSelector) && has(self.template.spec.serviceAccountName) == has(oldSelf.template.spec.serviceAccountName) && (!has(self.template.spec.serviceAccountName) || self.template.spec.serviceAccountName == oldSelf.template.spec.serviceAccountName) && has(self.template.spec.hostNetwork) == has(oldSelf.template.spec.hostNetwork) && (!has(self.template.spec.hostNetwork) || self.template.spec.hostNetwork == oldSelf.template.spec.hostNetwork) && has(self.template.spec.priorityClassName) == has(oldSelf.template.spec.priorityClassName) && (!has(self.template.spec.priorityClassName) || self.template.spec.priorityClassName == oldSelf.template.spec.priorityClassName) && has(self.template.spec.runtimeClassName) == has(oldSelf.template.spec.runtimeClassName) && (!has(self.template.spec.runtimeClassName) || self.template.spec.runtimeClassName == oldSelf.template.spec.runtimeClassName) && (!(has(self.template.metadata) && has(self.template.metadata.annotations) && 'kubectl.kubernetes.io/restartedAt' in self.template.metadata.annotations) || has(oldSelf.template.metadata) && has(oldSelf.template.metadata.annotations) && 'kubectl.kubernetes.io/restartedAt' in oldSelf.template.metadata.annotations && self.template.metadata.annotations['kubectl.kubernetes.io/restartedAt'] == oldSelf.template.metadata.annotations['kubectl.kubernetes.io/restartedAt'])",message="template cannot be changed in place, and the podUpdatePolicy is InPlaceOnly: of a running pod only the images and resources of containers, labels and annotations can be; set updateStrategy.rollingUpdate.podUpdatePolicy to InPlaceIfPossible together with the change to have the pods made anew",fieldPath=".template",reason="FieldValueForbidden"
// +kubebuilder:validation:XValidation:rule="!has(self.updateStrategy.rollingUpdate) || !has(self.updateStrategy.rollingUpdate.unorderedUpdate) || self.podManagementPolicy == 'Parallel'",message="updateStrategy.rollingUpdate.unorderedUpdate is only allowed with podManagementPolicy Parallel",fieldPath=".updateStrategy.rollingUpdate.unorderedUpdate"
// +kubebuilder:validation:XValidation:rule="self.podManagementPolicy == 'Parallel' || !has(self.scaleStrategy) || !has(self.scaleStrategy.maxUnavailable) || type(self.scaleStrategy.maxUnavailable) == int && int(self.scaleStrategy.maxUnavailable) == 1",message="scaleStrategy.maxUnavailable must be 1 unless podManagementPolicy is Parallel",fieldPath=".scaleStrategy.maxUnavailable"
// +kubebuilder:validation:XValidation:rule="self.terminationReasonPolicy != 'Never' || !has(self.terminationReasonGraceSeconds) || self.terminationReasonGraceSeconds == 0",message="terminationReasonGraceSeconds is not allowed with terminationReasonPolicy Never",fieldPath=".terminationReasonGraceSeconds",reason="FieldValueForbidden"
// +kubebuilder:validation:XValidation:rule="self.terminationReasonPolicy != 'Never' || !has(self.lifecycle) || !has(self.lifecycle.preDelete)",message="lifecycle.preDelete is not allowed with terminationReasonPolicy Never: the reason is what tells the hook's owner",fieldPath=".lifecycle.preDelete",reason="FieldValueForbidden"
// +kubebuilder:validation:XValidation:rule="self.?ordinals.?start.orValue(0) + self.replicas + (has(self.reserveOrdinals) ? self.reserveOrdinals.map(r, type(r) == int ? (int(r) < self.?ordinals.?start.orValue(0) ? 0 : 1) : !string(r).matches('^[0-9]+-[0-9]+$') || int(string(r).split('-')[1]) < self.?ordinals.?start.orValue(0) ? 0 : int(string(r).split('-')[1]) + 1 - (int(string(r).split('-')[0]) < self.?ordinals.?start.orValue(0) ? self.?ordinals.?start.orValue(0) : int(string(r).split('-')[0]))).sum() : 0) <= 2147483647",message="ordinals.start, replicas and the number of reserveOrdinals must not add up to more than 2147483647",fieldPath=".ordinals"
type StatefulSetSpec struct {
	// replicas is how many ordinals the slice owns: at most a million, many times what a
	// cluster holds.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	Replicas *int32 `json:"replicas,omitempty"`
	// selector matches the labels of the template. It cannot be changed.
	// +required
	// +kubebuilder:validation:XValidation:rule="has(self.matchLabels) && size(self.matchLabels) > 0 || has(self.matchExpressions) && size(self.matchExpressions) > 0",message="selector must not be empty: name labels of template.metadata.labels in selector.matchLabels; there is no default, as in apps/v1"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="selector is immutable",reason="FieldValueForbidden"
	Selector *metav1.LabelSelector `json:"selector"`
	// template is what the pods are made from.
	// +required
	// +kubebuilder:validation:XValidation:rule="!has(self.spec.activeDeadlineSeconds)",message="template.spec.activeDeadlineSeconds is not allowed: the pods of a StatefulSet run for ever",reason="FieldValueForbidden"
	Template corev1.PodTemplateSpec `json:"template"`
	// volumeClaimTemplates are what each ordinal's claims are made from.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.all(t, self.exists_one(o, o.metadata.name == t.metadata.name))",message="volumeClaimTemplates must have different metadata.name"
	VolumeClaimTemplates []corev1.PersistentVolumeClaim `json:"volumeClaimTemplates,omitempty"`
	// serviceName is the governing Service. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`
	ServiceName string `json:"serviceName,omitempty"`
	// podManagementPolicy: OrderedReady starts and stops one pod at a time, in order.
	// Parallel does it all at once. It cannot be changed.
	// +optional
	// +kubebuilder:default=OrderedReady
	// +kubebuilder:validation:Enum=OrderedReady;Parallel
	PodManagementPolicy appsv1.PodManagementPolicyType `json:"podManagementPolicy,omitempty"`
	// updateStrategy is how pods get another revision.
	// +optional
	// +kubebuilder:default={type: RollingUpdate, rollingUpdate: {partition: 0}}
	UpdateStrategy StatefulSetUpdateStrategy `json:"updateStrategy,omitempty"`
	// revisionHistoryLimit is how many revisions without pods are kept; a negative one
	// keeps all.
	// +optional
	// +kubebuilder:default=10
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`
	// minReadySeconds is how long a pod must be Ready to be available. The larger one
	// of this and updateStrategy.rollingUpdate.minReadySeconds counts.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinReadySeconds int32 `json:"minReadySeconds,omitempty"`
	// persistentVolumeClaimRetentionPolicy says what becomes of claims whose ordinal or
	// whose StatefulSet goes. Default: both Retain.
	// +optional
	// +kubebuilder:default={whenDeleted: Retain, whenScaled: Retain}
	PersistentVolumeClaimRetentionPolicy *appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy `json:"persistentVolumeClaimRetentionPolicy,omitempty"`
	// ordinals says where the slice begins.
	// +optional
	Ordinals *Ordinals `json:"ordinals,omitempty"`

	// paused stops updates. Replicas are still created, healed and removed.
	// +optional
	Paused bool `json:"paused,omitempty"`
	// progressDeadlineSeconds is how long a roll-out may make no progress before the
	// condition Progressing is False; 0: for ever.
	// +optional
	// +kubebuilder:default=600
	// +kubebuilder:validation:Minimum=0
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds,omitempty"`
	// reserveOrdinals are ordinals that are skipped: numbers, and ranges like "3-5".
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:XValidation:rule="type(self) == int || !string(self).matches('^[0-9]+-[0-9]+$') || int(string(self).split('-')[0]) <= int(string(self).split('-')[1])",message="reserveOrdinals: a range must begin with its smaller ordinal"
	ReserveOrdinals []intstr.IntOrString `json:"reserveOrdinals,omitempty"`
	// scaleStrategy bounds how many pods are created at once.
	// +optional
	ScaleStrategy *ScaleStrategy `json:"scaleStrategy,omitempty"`
	// volumeClaimUpdateStrategy is how existing claims follow a larger request in
	// their template.
	// +optional
	VolumeClaimUpdateStrategy *VolumeClaimUpdateStrategy `json:"volumeClaimUpdateStrategy,omitempty"`
	// lifecycle lets others hold a pod back before it is deleted or updated in place.
	// +optional
	Lifecycle *Lifecycle `json:"lifecycle,omitempty"`
	// terminationReasonPolicy says which pods are told why they are deleted, by the annotation
	// apps.sliceshift.io/termination-reason, which is a write of its own. IfRead, the default:
	// those that can read it, for they have that annotation in a downward API volume or an
	// environment variable, or have a preStop hook; and all pods of a set with
	// lifecycle.preDelete or a terminationReasonGraceSeconds. Always: all. Never: none, they are
	// deleted as by apps/v1.
	// +optional
	// +kubebuilder:default=IfRead
	TerminationReasonPolicy TerminationReasonPolicy `json:"terminationReasonPolicy,omitempty"`
	// terminationReasonGraceSeconds is how long a pod carries the annotation
	// apps.sliceshift.io/termination-reason before it is deleted: the kubelet shows an
	// annotation in a downward-API file only after a while.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=300
	TerminationReasonGraceSeconds int32 `json:"terminationReasonGraceSeconds,omitempty"`
}

// Ordinals says where a slice begins.
type Ordinals struct {
	// start is the first ordinal.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Start int32 `json:"start"`
}

// ScaleStrategy bounds how many pods are created at once.
type ScaleStrategy struct {
	// maxUnavailable is how many pods may be unavailable while pods are created: a
	// number or a percentage of replicas, rounded up; only with Parallel.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? int(self) >= 1 : string(self).matches('^0*(100|[1-9][0-9]?)%$')",message="scaleStrategy.maxUnavailable must be a number of at least 1 or a percentage from 1% to 100%"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
}

// VolumeClaimUpdateStrategyType is when an existing claim follows its template.
//
// +kubebuilder:validation:Enum=OnPodRollingUpdate;OnDelete
type VolumeClaimUpdateStrategyType string

// When claims follow their template.
const (
	// OnPodRollingUpdate grows a claim when its pod is updated.
	OnPodRollingUpdate VolumeClaimUpdateStrategyType = "OnPodRollingUpdate"
	// OnClaimDelete leaves it to whoever deletes the claim.
	OnClaimDelete VolumeClaimUpdateStrategyType = "OnDelete"
)

// VolumeClaimUpdateStrategy is how existing claims follow their template.
type VolumeClaimUpdateStrategy struct {
	// type is when.
	// +optional
	// +kubebuilder:default=OnDelete
	Type VolumeClaimUpdateStrategyType `json:"type,omitempty"`
}
