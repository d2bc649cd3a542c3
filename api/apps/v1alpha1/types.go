package v1alpha1

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sliceshift/sliceshift/api/tolerant"
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
	// spec is the desired state.
	// +required
	Spec StatefulSetSpec `json:"spec"`
	// status is the observed state.
	// +optional
	// +kubebuilder:default={observedGeneration: 0}
	Status StatefulSetStatus `json:"status,omitempty"`
	// Unreadable lists the fields whose stored values have the wrong type. The decoder leaves these fields empty. The
	// controller does not act on a StatefulSet that has any.
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

// StatefulSetSpec has every field of apps/v1 StatefulSet of Kubernetes 1.37 with the same meaning, and more. Its validation
// rules are those of apps/v1 and of Advanced StatefulSet. docs/validation.md explains the rules that are stricter.
//
// +kubebuilder:validation:XValidation:rule="!has(self.selector.matchLabels) || self.selector.matchLabels.all(k, has(self.template.metadata) && has(self.template.metadata.labels) && k in self.template.metadata.labels && self.template.metadata.labels[k] == self.selector.matchLabels[k])",message="template.metadata.labels must have every label of selector.matchLabels",fieldPath=".template.metadata.labels"
// +kubebuilder:validation:XValidation:rule="!has(self.selector.matchExpressions) || self.selector.matchExpressions.all(e, has(self.template.metadata) && has(self.template.metadata.labels) && e.key in self.template.metadata.labels ? e.operator == 'Exists' || e.operator != 'DoesNotExist' && has(e.values) && (self.template.metadata.labels[e.key] in e.values) == (e.operator == 'In') : e.operator in ['NotIn', 'DoesNotExist'])",message="template.metadata.labels must satisfy selector.matchExpressions",fieldPath=".template.metadata.labels"
// +kubebuilder:validation:XValidation:rule=`(has(self.serviceName) ? self.serviceName : "") == (has(oldSelf.serviceName) ? oldSelf.serviceName : "")`,message="serviceName is immutable",fieldPath=".serviceName",reason="FieldValueForbidden"
// +kubebuilder:validation:XValidation:rule="self.podManagementPolicy == oldSelf.podManagementPolicy",message="podManagementPolicy is immutable",fieldPath=".podManagementPolicy",reason="FieldValueForbidden"
// +kubebuilder:validation:XValidation:rule="has(self.volumeClaimUpdateStrategy) || (has(self.volumeClaimTemplates) ? self.volumeClaimTemplates.map(t, t.metadata.name) : []) == (has(oldSelf.volumeClaimTemplates) ? oldSelf.volumeClaimTemplates.map(t, t.metadata.name) : []) && (!has(self.volumeClaimTemplates) || !has(oldSelf.volumeClaimTemplates) || self.volumeClaimTemplates.all(n, oldSelf.volumeClaimTemplates.all(o, n.metadata.name != o.metadata.name || quantity(string(n.spec.resources.requests['storage'])).compareTo(quantity(string(o.spec.resources.requests['storage']))) == 0)))",message="volumeClaimTemplates is immutable without a volumeClaimUpdateStrategy",fieldPath=".volumeClaimTemplates",reason="FieldValueForbidden"
// +kubebuilder:validation:XValidation:rule="!has(self.volumeClaimUpdateStrategy) || (has(self.volumeClaimTemplates) ? size(self.volumeClaimTemplates) : 0) == (has(oldSelf.volumeClaimTemplates) ? size(oldSelf.volumeClaimTemplates) : 0)",message="volumeClaimTemplates: no template can be added or removed",fieldPath=".volumeClaimTemplates",reason="FieldValueForbidden"
// +kubebuilder:validation:XValidation:rule="!has(self.volumeClaimUpdateStrategy) || self.volumeClaimUpdateStrategy.?type.orValue('None') == 'OnDelete' || !has(self.volumeClaimTemplates) || !has(oldSelf.volumeClaimTemplates) || self.volumeClaimTemplates.all(n, oldSelf.volumeClaimTemplates.all(o, n.metadata.name != o.metadata.name || quantity(string(n.spec.resources.requests['storage'])).compareTo(quantity(string(o.spec.resources.requests['storage']))) >= 0))",message="volumeClaimTemplates: resources.requests.storage may only grow, because no volume can shrink; with volumeClaimUpdateStrategy.type OnDelete it may shrink",fieldPath=".volumeClaimTemplates",reason="FieldValueForbidden"
// +kubebuilder:validation:XValidation:rule="self.?volumeClaimUpdateStrategy.?type.orValue('None') == 'OnDelete' || !has(self.volumeClaimTemplates) || !has(oldSelf.volumeClaimTemplates) || self.volumeClaimTemplates.all(n, oldSelf.volumeClaimTemplates.all(o, n.metadata.name != o.metadata.name || has(n.spec.accessModes) == has(o.spec.accessModes) && (!has(n.spec.accessModes) || n.spec.accessModes == o.spec.accessModes) && has(n.spec.storageClassName) == has(o.spec.storageClassName) && (!has(n.spec.storageClassName) || n.spec.storageClassName == o.spec.storageClassName) && has(n.spec.volumeAttributesClassName) == has(o.spec.volumeAttributesClassName) && (!has(n.spec.volumeAttributesClassName) || n.spec.volumeAttributesClassName == o.spec.volumeAttributesClassName)))",message="volumeClaimTemplates: storageClassName, volumeAttributesClassName and accessModes may only change with volumeClaimUpdateStrategy.type OnDelete, because a volume keeps them",fieldPath=".volumeClaimTemplates",reason="FieldValueForbidden"
// +kubebuilder:validation:XValidation:rule="!has(self.updateStrategy.rollingUpdate) || self.updateStrategy.rollingUpdate.?partition.orValue(0) == 0 || self.replicas == 0 || has(self.reserveOrdinals) && size(self.reserveOrdinals) > 0 || self.updateStrategy.rollingUpdate.partition >= self.?ordinals.?start.orValue(0) && self.updateStrategy.rollingUpdate.partition <= self.?ordinals.?start.orValue(0) + self.replicas || oldSelf.hasValue() && oldSelf.value().updateStrategy.?rollingUpdate.?partition.orValue(0) == self.updateStrategy.rollingUpdate.partition",message="updateStrategy.rollingUpdate.partition is an ordinal: it must be 0 or between ordinals.start and ordinals.start + replicas",fieldPath=".updateStrategy.rollingUpdate.partition",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="!has(self.updateStrategy.rollingUpdate) || self.updateStrategy.rollingUpdate.?podUpdatePolicy.orValue('ReCreate') == 'ReCreate' || has(self.template.spec.readinessGates) && self.template.spec.readinessGates.exists(g, g.conditionType == 'InPlaceUpdateReady')",message="template.spec.readinessGates must have InPlaceUpdateReady for a podUpdatePolicy in place",fieldPath=".template.spec.readinessGates"
// +kubebuilder:validation:XValidation:rule=`self.replicas == 0 || !(has(self.updateStrategy.rollingUpdate) && self.updateStrategy.rollingUpdate.?podUpdatePolicy.orValue('ReCreate') == 'InPlaceOnly') || !(has(oldSelf.updateStrategy.rollingUpdate) && oldSelf.updateStrategy.rollingUpdate.?podUpdatePolicy.orValue('ReCreate') == 'InPlaceOnly') || self.template.spec.containers.map(c, c.name) == oldSelf.template.spec.containers.map(c, c.name) && self.template.spec.containers.map(c, c.?command.orValue([])) == oldSelf.template.spec.containers.map(c, c.?command.orValue([])) && self.template.spec.containers.map(c, c.?args.orValue([])) == oldSelf.template.spec.containers.map(c, c.?args.orValue([])) && self.template.spec.containers.map(c, c.?workingDir.orValue("")) == oldSelf.template.spec.containers.map(c, c.?workingDir.orValue("")) && self.template.spec.containers.map(c, c.?env.orValue([])) == oldSelf.template.spec.containers.map(c, c.?env.orValue([])) && self.template.spec.containers.map(c, c.?envFrom.orValue([])) == oldSelf.template.spec.containers.map(c, c.?envFrom.orValue([])) && self.template.spec.containers.map(c, c.?volumeMounts.orValue([])) == oldSelf.template.spec.containers.map(c, c.?volumeMounts.orValue([])) && self.template.spec.containers.map(c, c.?ports.orValue([])) == oldSelf.template.spec.containers.map(c, c.?ports.orValue([])) && (has(self.template.spec.initContainers) ? self.template.spec.initContainers : []).map(c, c.?name.orValue("")) == (has(oldSelf.template.spec.initContainers) ? oldSelf.template.spec.initContainers : []).map(c, c.?name.orValue("")) && (has(self.template.spec.initContainers) ? self.template.spec.initContainers : []).map(c, c.?image.orValue("")) == (has(oldSelf.template.spec.initContainers) ? oldSelf.template.spec.initContainers : []).map(c, c.?image.orValue("")) && (has(self.template.spec.initContainers) ? self.template.spec.initContainers : []).map(c, c.?command.orValue([])) == (has(oldSelf.template.spec.initContainers) ? oldSelf.template.spec.initContainers : []).map(c, c.?command.orValue([])) && (has(self.template.spec.initContainers) ? self.template.spec.initContainers : []).map(c, c.?args.orValue([])) == (has(oldSelf.template.spec.initContainers) ? oldSelf.template.spec.initContainers : []).map(c, c.?args.orValue([])) && (has(self.template.spec.initContainers) ? self.template.spec.initContainers : []).map(c, c.?env.orValue([])) == (has(oldSelf.template.spec.initContainers) ? oldSelf.template.spec.initContainers : []).map(c, c.?env.orValue([])) && (has(self.template.spec.volumes) ? self.template.spec.volumes : []).map(v, v.name) == (has(oldSelf.template.spec.volumes) ? oldSelf.template.spec.volumes : []).map(v, v.name) && (has(self.template.spec.nodeSelector) ? self.template.spec.nodeSelector : {}) == (has(oldSelf.template.spec.nodeSelector) ? oldSelf.template.spec.nodeSelector : {}) && (has(self.template.spec.serviceAccountName) ? self.template.spec.serviceAccountName : "") == (has(oldSelf.template.spec.serviceAccountName) ? oldSelf.template.spec.serviceAccountName : "") && (has(self.template.spec.hostNetwork) ? self.template.spec.hostNetwork : false) == (has(oldSelf.template.spec.hostNetwork) ? oldSelf.template.spec.hostNetwork : false) && (has(self.template.spec.priorityClassName) ? self.template.spec.priorityClassName : "") == (has(oldSelf.template.spec.priorityClassName) ? oldSelf.template.spec.priorityClassName : "") && (has(self.template.spec.runtimeClassName) ? self.template.spec.runtimeClassName : "") == (has(oldSelf.template.spec.runtimeClassName) ? oldSelf.template.spec.runtimeClassName : "") && (!(has(self.template.metadata) && has(self.template.metadata.annotations) && 'kubectl.kubernetes.io/restartedAt' in self.template.metadata.annotations) || has(oldSelf.template.metadata) && has(oldSelf.template.metadata.annotations) && 'kubectl.kubernetes.io/restartedAt' in oldSelf.template.metadata.annotations && self.template.metadata.annotations['kubectl.kubernetes.io/restartedAt'] == oldSelf.template.metadata.annotations['kubectl.kubernetes.io/restartedAt'])`,message="template cannot be changed in place, and the podUpdatePolicy is InPlaceOnly: only images and resources of containers, labels and annotations of a running pod can; to recreate the pods, set updateStrategy.rollingUpdate.podUpdatePolicy to InPlaceIfPossible together with the change",fieldPath=".template",reason="FieldValueForbidden"
// +kubebuilder:validation:XValidation:rule="!has(self.updateStrategy.rollingUpdate) || !has(self.updateStrategy.rollingUpdate.unorderedUpdate) || self.podManagementPolicy == 'Parallel'",message="updateStrategy.rollingUpdate.unorderedUpdate is only allowed with podManagementPolicy Parallel",fieldPath=".updateStrategy.rollingUpdate.unorderedUpdate"
// +kubebuilder:validation:XValidation:rule="self.podManagementPolicy == 'Parallel' || !has(self.scaleStrategy) || !has(self.scaleStrategy.maxUnavailable) || type(self.scaleStrategy.maxUnavailable) == int && int(self.scaleStrategy.maxUnavailable) == 1",message="scaleStrategy.maxUnavailable must be 1 unless podManagementPolicy is Parallel",fieldPath=".scaleStrategy.maxUnavailable"
// +kubebuilder:validation:XValidation:rule="self.terminationReasonPolicy != 'Never' || !has(self.terminationReasonGraceSeconds) || self.terminationReasonGraceSeconds == 0",message="terminationReasonGraceSeconds is not allowed with terminationReasonPolicy Never",fieldPath=".terminationReasonGraceSeconds",reason="FieldValueForbidden"
// +kubebuilder:validation:XValidation:rule="self.terminationReasonPolicy != 'Never' || !has(self.lifecycle) || !has(self.lifecycle.preDelete)",message="lifecycle.preDelete is not allowed with terminationReasonPolicy Never: the reason notifies the hook's owner",fieldPath=".lifecycle.preDelete",reason="FieldValueForbidden"
// +kubebuilder:validation:XValidation:rule="self.?ordinals.?start.orValue(0) + self.replicas + (has(self.reserveOrdinals) ? self.reserveOrdinals.map(r, type(r) == int ? (int(r) < self.?ordinals.?start.orValue(0) ? 0 : 1) : !string(r).matches('^[0-9]+-[0-9]+$') || int(string(r).split('-')[1]) < self.?ordinals.?start.orValue(0) ? 0 : int(string(r).split('-')[1]) + 1 - (int(string(r).split('-')[0]) < self.?ordinals.?start.orValue(0) ? self.?ordinals.?start.orValue(0) : int(string(r).split('-')[0]))).sum() : 0) <= 2147483647",message="ordinals.start, replicas and the number of reserveOrdinals must not add up to more than 2147483647",fieldPath=".ordinals"
type StatefulSetSpec struct {
	// replicas is the number of ordinals that the slice owns. The maximum of one million is many times the size of the
	// largest cluster.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	Replicas *int32 `json:"replicas,omitempty"`
	// selector matches the labels of the template. It cannot be changed.
	// +required
	// +kubebuilder:validation:XValidation:rule="has(self.matchLabels) && size(self.matchLabels) > 0 || has(self.matchExpressions) && size(self.matchExpressions) > 0",message="selector must not be empty: name labels of template.metadata.labels in selector.matchLabels; there is no default, as in apps/v1"
	// +kubebuilder:validation:XValidation:rule="(has(self.matchLabels) ? self.matchLabels : {}) == (has(oldSelf.matchLabels) ? oldSelf.matchLabels : {}) && (has(self.matchExpressions) ? self.matchExpressions : []).map(e, e.key) == (has(oldSelf.matchExpressions) ? oldSelf.matchExpressions : []).map(e, e.key) && (has(self.matchExpressions) ? self.matchExpressions : []).map(e, e.operator) == (has(oldSelf.matchExpressions) ? oldSelf.matchExpressions : []).map(e, e.operator) && (has(self.matchExpressions) ? self.matchExpressions : []).map(e, e.?values.orValue([])) == (has(oldSelf.matchExpressions) ? oldSelf.matchExpressions : []).map(e, e.?values.orValue([]))",message="selector is immutable",reason="FieldValueForbidden"
	Selector *metav1.LabelSelector `json:"selector"`
	// template is the template of the pods.
	// +required
	// +kubebuilder:validation:XValidation:rule="!has(self.spec.activeDeadlineSeconds)",message="template.spec.activeDeadlineSeconds is not allowed: the pods of a StatefulSet have no deadline",reason="FieldValueForbidden"
	Template corev1.PodTemplateSpec `json:"template"`
	// volumeClaimTemplates are the templates of each ordinal's claims.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.all(t, self.exists_one(o, o.metadata.name == t.metadata.name))",message="volumeClaimTemplates must have unique metadata.name"
	// +kubebuilder:validation:XValidation:rule=`self.all(n, oldSelf.exists(o, n.metadata.name == o.metadata.name && (has(n.metadata.labels) ? n.metadata.labels : {}) == (has(o.metadata.labels) ? o.metadata.labels : {}) && (has(n.metadata.annotations) ? n.metadata.annotations : {}) == (has(o.metadata.annotations) ? o.metadata.annotations : {}) && (has(n.metadata.finalizers) ? n.metadata.finalizers : []) == (has(o.metadata.finalizers) ? o.metadata.finalizers : []) && has(n.spec.dataSource) == has(o.spec.dataSource) && (!has(n.spec.dataSource) || n.spec.dataSource == o.spec.dataSource) && has(n.spec.dataSourceRef) == has(o.spec.dataSourceRef) && (!has(n.spec.dataSourceRef) || n.spec.dataSourceRef == o.spec.dataSourceRef) && has(n.spec.volumeMode) == has(o.spec.volumeMode) && (!has(n.spec.volumeMode) || n.spec.volumeMode == o.spec.volumeMode) && (has(n.spec.volumeName) ? n.spec.volumeName : "") == (has(o.spec.volumeName) ? o.spec.volumeName : "") && has(n.spec.selector) == has(o.spec.selector) && (has(n.spec.selector) && has(n.spec.selector.matchLabels) ? n.spec.selector.matchLabels : {}) == (has(o.spec.selector) && has(o.spec.selector.matchLabels) ? o.spec.selector.matchLabels : {}) && (has(n.spec.selector) && has(n.spec.selector.matchExpressions) ? n.spec.selector.matchExpressions : []).map(e, e.key) == (has(o.spec.selector) && has(o.spec.selector.matchExpressions) ? o.spec.selector.matchExpressions : []).map(e, e.key) && (has(n.spec.selector) && has(n.spec.selector.matchExpressions) ? n.spec.selector.matchExpressions : []).map(e, e.operator) == (has(o.spec.selector) && has(o.spec.selector.matchExpressions) ? o.spec.selector.matchExpressions : []).map(e, e.operator) && (has(n.spec.selector) && has(n.spec.selector.matchExpressions) ? n.spec.selector.matchExpressions : []).map(e, e.?values.orValue([])) == (has(o.spec.selector) && has(o.spec.selector.matchExpressions) ? o.spec.selector.matchExpressions : []).map(e, e.?values.orValue([])) && size((has(n.spec.resources.limits) ? n.spec.resources.limits : {})) == size((has(o.spec.resources.limits) ? o.spec.resources.limits : {})) && (has(n.spec.resources.limits) ? n.spec.resources.limits : {}).all(k, k in (has(o.spec.resources.limits) ? o.spec.resources.limits : {}) && quantity(string(n.spec.resources.limits[k])).compareTo(quantity(string(o.spec.resources.limits[k]))) == 0)))`,message="volumeClaimTemplates: only resources.requests.storage, storageClassName, volumeAttributesClassName and accessModes may change, and only with a volumeClaimUpdateStrategy",reason="FieldValueForbidden"
	VolumeClaimTemplates []corev1.PersistentVolumeClaim `json:"volumeClaimTemplates,omitempty"`
	// serviceName is the name of the governing Service. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`
	ServiceName string `json:"serviceName,omitempty"`
	// podManagementPolicy is OrderedReady or Parallel. OrderedReady starts and stops one pod at a time, in order. Parallel
	// starts and stops all pods at once. It cannot be changed.
	// +optional
	// +kubebuilder:default=OrderedReady
	// +kubebuilder:validation:Enum=OrderedReady;Parallel
	PodManagementPolicy appsv1.PodManagementPolicyType `json:"podManagementPolicy,omitempty"`
	// updateStrategy configures how pods are updated to a new revision.
	// +optional
	// +kubebuilder:default={type: RollingUpdate, rollingUpdate: {partition: 0}}
	UpdateStrategy StatefulSetUpdateStrategy `json:"updateStrategy,omitempty"`
	// revisionHistoryLimit is the number of revisions without pods that are kept. A negative value keeps all.
	// +optional
	// +kubebuilder:default=10
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`
	// minReadySeconds is the time for which a pod must be Ready before it is available. If
	// updateStrategy.rollingUpdate.minReadySeconds is set too, the larger value applies.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinReadySeconds int32 `json:"minReadySeconds,omitempty"`
	// persistentVolumeClaimRetentionPolicy configures whether claims are deleted when their ordinal is removed or the
	// StatefulSet is deleted. Default: both Retain.
	// +optional
	// +kubebuilder:default={whenDeleted: Retain, whenScaled: Retain}
	PersistentVolumeClaimRetentionPolicy *appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy `json:"persistentVolumeClaimRetentionPolicy,omitempty"`
	// ordinals sets the first ordinal of the slice.
	// +optional
	Ordinals *Ordinals `json:"ordinals,omitempty"`

	// paused stops updates. Pods are still created, recreated after a failure, and deleted when replicas changes.
	// +optional
	Paused bool `json:"paused,omitempty"`
	// progressDeadlineSeconds is the time without progress after which a roll-out fails and the condition Progressing is
	// False. It counts only while a pod of the roll-out's revision is not available or cannot be created. 0 means no
	// deadline.
	// +optional
	// +kubebuilder:default=600
	// +kubebuilder:validation:Minimum=0
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds,omitempty"`
	// reserveOrdinals are the ordinals that are skipped: numbers, and ranges like "3-5".
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:XValidation:rule="type(self) == int || !string(self).matches('^[0-9]+-[0-9]+$') || int(string(self).split('-')[0]) <= int(string(self).split('-')[1])",message="reserveOrdinals: a range must begin with its smaller ordinal"
	ReserveOrdinals []intstr.IntOrString `json:"reserveOrdinals,omitempty"`
	// scaleStrategy limits the number of pods that are created at once.
	// +optional
	ScaleStrategy *ScaleStrategy `json:"scaleStrategy,omitempty"`
	// volumeClaimUpdateStrategy configures which changes of the claim templates are accepted, and when existing claims follow
	// them. Without it the templates cannot change.
	// +optional
	VolumeClaimUpdateStrategy *VolumeClaimUpdateStrategy `json:"volumeClaimUpdateStrategy,omitempty"`
	// lifecycle has the hooks that delay the deletion or the in-place update of a pod.
	// +optional
	Lifecycle *Lifecycle `json:"lifecycle,omitempty"`
	// revisionInputs are the ConfigMaps and Secrets whose content belongs to the revision, like the template: a change is
	// rolled out under the update strategy, and a rollback restores the former content. Pods refer to immutable copies that
	// belong to their revision. An object counts while the template names it in a volume, in env or in envFrom.
	// imagePullSecrets and the Secrets of volume drivers do not count. The objects are listed because each change restarts
	// pods: a certificate that is renewed, for example, would restart them without a user's action. A change of the list is
	// rolled out, too. Default: none, so that a change of these objects changes no pod.
	// +optional
	// +listType=map
	// +listMapKey=kind
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	RevisionInputs []RevisionInput `json:"revisionInputs,omitempty"`
	// terminationReasonPolicy selects the pods that get the annotation apps.sliceshift.io/termination-reason before they are
	// deleted. The annotation costs one more write for each pod. IfRead, the default, selects pods that can read the
	// annotation: they expose it in a downward API volume or an environment variable, or they have a preStop hook. With
	// lifecycle.preDelete or a terminationReasonGraceSeconds, IfRead selects all pods. Always selects all pods. Never
	// selects none, so that pods are deleted as by apps/v1.
	// +optional
	// +kubebuilder:default=IfRead
	TerminationReasonPolicy TerminationReasonPolicy `json:"terminationReasonPolicy,omitempty"`
	// terminationReasonGraceSeconds is the time between the write of the annotation apps.sliceshift.io/termination-reason
	// and the deletion of the pod. The kubelet updates a downward API file only after a delay.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=300
	TerminationReasonGraceSeconds int32 `json:"terminationReasonGraceSeconds,omitempty"`
}

// Ordinals sets the first ordinal of a slice.
type Ordinals struct {
	// start is the first ordinal.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Start int32 `json:"start"`
}

// ScaleStrategy limits the number of pods that are created at once.
type ScaleStrategy struct {
	// maxUnavailable is the maximum number of unavailable pods while pods are created. It is a number, or a percentage of
	// replicas, rounded up. It is only allowed with podManagementPolicy Parallel.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? int(self) >= 1 : string(self).matches('^0*(100|[1-9][0-9]?)%$')",message="scaleStrategy.maxUnavailable must be a number of at least 1 or a percentage from 1% to 100%"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
}

// VolumeClaimUpdateStrategyType selects when an existing claim follows its template.
//
// +kubebuilder:validation:Enum=OnPodRollingUpdate;OnDelete
type VolumeClaimUpdateStrategyType string

// The types of VolumeClaimUpdateStrategy.
const (
	// OnPodRollingUpdate grows a claim when its pod is updated. Only the storage request of a template may change, and only
	// grow.
	OnPodRollingUpdate VolumeClaimUpdateStrategyType = "OnPodRollingUpdate"
	// OnClaimDelete applies a template when its claim was deleted and is created again. The class, the attributes class, the
	// access modes and the storage request of a template may change. The controller changes no claim. A Migration with
	// spec.storage replaces them, one ordinal after the other, and the condition ClaimsBehind counts those that differ.
	OnClaimDelete VolumeClaimUpdateStrategyType = "OnDelete"
)

// VolumeClaimUpdateStrategy configures when existing claims follow their template.
type VolumeClaimUpdateStrategy struct {
	// type is OnPodRollingUpdate or OnDelete. OnPodRollingUpdate lets the storage request of a template grow, and each claim
	// grows when its pod is updated. OnDelete lets class, attributes class, access modes and storage request change, and a
	// claim follows when it was deleted and is created again, as a Migration with spec.storage does.
	// +optional
	// +kubebuilder:default=OnDelete
	Type VolumeClaimUpdateStrategyType `json:"type,omitempty"`
}
