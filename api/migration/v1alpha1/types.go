package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sliceshift/sliceshift/api/tolerant"
)

// Migration moves the replicas of one StatefulSet to another cluster or
// namespace, one ordinal at a time, while the application keeps running.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=mig,categories=sliceshift
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Moved",type=string,JSONPath=`.status.progress`
// +kubebuilder:printcolumn:name="Now",type=string,JSONPath=`.status.now`
// +kubebuilder:printcolumn:name="Destination",type=string,JSONPath=`.status.destination.slice`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Source",type=string,JSONPath=`.status.source.slice`,priority=1
// +kubebuilder:printcolumn:name="Mode",type=string,JSONPath=`.spec.mode`,priority=1
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="the name must be at most 63 characters long"
// +kubebuilder:validation:XValidation:rule="has(self.spec.storage) || has(self.spec.source.kubeConfigSecretRef) || has(self.spec.destination.kubeConfigSecretRef) || has(self.spec.destination.namespace) || (has(self.spec.destination.name) && self.spec.destination.name != self.spec.source.name)",message="source and destination are the same StatefulSet: name another cluster, namespace or name, or set storage to change its volumes in place"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.storage) || !has(self.spec.destination.kubeConfigSecretRef) && !has(self.spec.destination.namespace) && !has(self.spec.destination.name) && !has(self.spec.destination.apiVersion)",message="with storage the volumes are changed in place: remove the fields of destination"
// +kubebuilder:validation:XValidation:rule="has(self.spec.storage) || !has(self.spec.volumes) || self.spec.volumes.all(v, !has(v.size) && !has(v.volumeAttributesClassName))",message="size and volumeAttributesClassName of spec.volumes are for spec.storage: set copy.size or snapshot.size"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.storage) || !has(self.spec.volumes) || self.spec.volumes.all(v, (!has(v.copy) || !has(v.copy.size)) && (!has(v.snapshot) || !has(v.snapshot.size)))",message="with storage the size of a template is size of spec.volumes: remove copy.size and snapshot.size"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.baseline) || !has(oldSelf.status.baseline.volumes) || (has(oldSelf.status.conditions) && oldSelf.status.conditions.exists(c, c.type == 'Completed' && c.status == 'True')) || (has(self.spec.volumes) == has(oldSelf.spec.volumes) && (!has(self.spec.volumes) || self.spec.volumes == oldSelf.spec.volumes)) || oldSelf.status.baseline.volumes.all(b, has(self.spec.volumes) && self.spec.volumes.exists(v, v.claimTemplate == b.claimTemplate) ? self.spec.volumes.exists(v, v.claimTemplate == b.claimTemplate && v.method == b.method && has(v.storageClassName) == has(b.storageClassName) && (!has(b.storageClassName) || v.storageClassName == b.storageClassName)) : b.method == 'Rebind' && !has(b.storageClassName))",message="method and storageClassName of spec.volumes cannot be changed while the migration is under way: set mode Rollback first, and change them when it is back"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.baseline) || !has(oldSelf.status.baseline.services) || (has(oldSelf.status.conditions) && oldSelf.status.conditions.exists(c, c.type == 'Completed' && c.status == 'True')) || (has(self.spec.services) == has(oldSelf.spec.services) && (!has(self.spec.services) || self.spec.services == oldSelf.spec.services)) || ((has(self.spec.services) && has(self.spec.services.export) && self.spec.services.export) == (has(oldSelf.status.baseline.services.export) && oldSelf.status.baseline.services.export) && (has(self.spec.services) && has(self.spec.services.perOrdinal) ? self.spec.services.perOrdinal : 'None') == (has(oldSelf.status.baseline.services.perOrdinal) ? oldSelf.status.baseline.services.perOrdinal : 'None'))",message="export and perOrdinal of spec.services cannot be changed while the migration is under way: set mode Rollback first, and change them when it is back"
type Migration struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// +required
	Spec MigrationSpec `json:"spec"`
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status MigrationStatus `json:"status,omitempty"`
	// Unreadable lists the fields whose stored values did not fit their type and were dropped by the decoder. A
	// Migration that has any is not acted on.
	Unreadable []tolerant.Fault `json:"-"`
}

// MigrationList is a list of Migrations.
//
// +kubebuilder:object:root=true
type MigrationList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Migration `json:"items"`
}

// Mode selects the work of the migration. It may be changed at any time.
//
// +kubebuilder:validation:Enum=Run;Pause;Rollback;Recover
type Mode string

// The modes of a migration.
const (
	// ModeRun moves ordinals from the source to the destination.
	ModeRun Mode = "Run"
	// ModePause starts no further handoff. A handoff whose ordinal is already stopped is finished first, so that a
	// pause never keeps a replica down.
	ModePause Mode = "Pause"
	// ModeRollback returns every ordinal to the source, under the same rules.
	ModeRollback Mode = "Rollback"
	// ModeRecover returns every ordinal to the source without reading the destination, which is permanently lost. The
	// ordinals start on their disks in the state in which they left the source. Only a person can know that nothing
	// runs at the destination any more: see spec.recovery.
	ModeRecover Mode = "Recover"
)

// Order selects the end of the source that is moved first.
//
// +kubebuilder:validation:Enum=HighestFirst;LowestFirst
type Order string

// The orders of a migration.
const (
	// HighestFirst moves the highest ordinal of the source first (KEP-3335).
	HighestFirst Order = "HighestFirst"
	// LowestFirst moves the lowest ordinal of the source first.
	LowestFirst Order = "LowestFirst"
)

// CleanupPolicy selects the treatment, at the end, of objects that are no longer needed.
//
// +kubebuilder:validation:Enum=Retain;Delete
type CleanupPolicy string

// The clean-up policies.
const (
	// CleanupRetain keeps them. At the source these are the emptied StatefulSet, its claims and its parked volumes.
	CleanupRetain CleanupPolicy = "Retain"
	// CleanupDelete deletes them. At the source these are the emptied StatefulSet, the claims of the moved ordinals
	// and, if the destination is in another cluster, their PersistentVolumes. The policy of these volumes is Retain,
	// so the storage itself is never deleted. In place, the volumes that were replaced get their own policy back
	// instead, and the cluster deletes the storage of those with policy Delete.
	CleanupDelete CleanupPolicy = "Delete"
)

// PerOrdinal selects the name that each ordinal keeps through the move.
//
// +kubebuilder:validation:Enum=None;Export
type PerOrdinal string

// The names of ordinals.
const (
	// PerOrdinalNone creates no such name.
	PerOrdinalNone PerOrdinal = "None"
	// PerOrdinalExport creates, for each ordinal, a headless Service with the name of its pod that selects this pod.
	// The side that owns the ordinal exports the Service. Thus web-3.shop.svc.clusterset.local is the same name
	// before, during and after the handoff (KEP-1645).
	PerOrdinalExport PerOrdinal = "Export"
)

// SplitBudget selects the slice that gets the disruption budget of a split application.
//
// +kubebuilder:validation:Enum=Proportional;Source;Destination
type SplitBudget string

// The ways to divide the disruption budget of a split application.
const (
	// SplitBudgetProportional divides it in proportion to the slices' sizes. Each slice gets at least one if the
	// budget is large enough.
	SplitBudgetProportional SplitBudget = "Proportional"
	// SplitBudgetSource gives all of it to the source, up to the source's replicas.
	SplitBudgetSource SplitBudget = "Source"
	// SplitBudgetDestination gives all of it to the destination, up to the destination's replicas.
	SplitBudgetDestination SplitBudget = "Destination"
)

// MigrationSpec is the desired move.
//
// +kubebuilder:validation:XValidation:rule="self.source == oldSelf.source",message="source is immutable"
// +kubebuilder:validation:XValidation:rule="self.destination == oldSelf.destination",message="destination is immutable"
// +kubebuilder:validation:XValidation:rule="self.ordinals == oldSelf.ordinals",message="ordinals is immutable"
// +kubebuilder:validation:XValidation:rule="has(self.storage) == has(oldSelf.storage)",message="storage cannot be added or removed"
type MigrationSpec struct {
	// source is the StatefulSet that runs the application now. Immutable.
	// +required
	Source SourceReference `json:"source"`
	// destination is the StatefulSet that runs the application after the move. If it does not exist, it is created as
	// a copy of the source with no replicas. With storage it is the source, and is left out. Immutable.
	// +optional
	// +kubebuilder:default={}
	Destination DestinationReference `json:"destination"`
	// storage makes the migration one in place: it changes the volumes of the source. It cannot be added or removed.
	// +optional
	Storage *StorageSpec `json:"storage,omitempty"`
	// ordinals selects the ordinals that move, and their order. Default: all, the highest first. Immutable.
	// +optional
	// +kubebuilder:default={}
	Ordinals OrdinalsSpec `json:"ordinals,omitempty,omitzero"`
	// maxUnavailable is the disruption budget d: how many replicas of the whole application may be unavailable at
	// once, as a number or as a percentage (rounded up). Default: the budget of the source's PodDisruptionBudget, or
	// 1 without one. It cannot exceed that of the PodDisruptionBudget. The value at acceptance applies. A larger
	// value has no effect later; while the value is smaller, no further ordinal is stopped.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 : self.matches('^([1-9][0-9]?|100)%$')",message="must be a number of at least 1 or a percentage from 1% to 100%"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	// splitBudget selects the slice whose PodDisruptionBudget has the disruption budget while the application stays
	// split over the two slices, after a move of some ordinals or during a pause. It may be changed at any time, also
	// after completion. With a budget of 1 only one side can have it, and nodes of the other side cannot be drained.
	// +optional
	// +kubebuilder:default=Proportional
	SplitBudget SplitBudget `json:"splitBudget,omitempty"`
	// mode selects the work of the migration: Run, Pause, Rollback or Recover.
	// +optional
	// +kubebuilder:default=Run
	Mode Mode `json:"mode,omitempty"`
	// recovery confirms the mode Recover.
	// +optional
	Recovery RecoverySpec `json:"recovery,omitempty,omitzero"`
	// wave orders the Migrations of a namespace: a Migration starts after all those of lower waves have moved. A
	// Migration that has started is not held back. Default: 0, which waits for none.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Wave int32 `json:"wave,omitempty"`
	// schedule limits the times at which ordinals may be stopped for the move. Default: at any time.
	// +optional
	Schedule *ScheduleSpec `json:"schedule,omitempty"`
	// handoff sets the time limits of one ordinal's handoff, and how many ordinals move at once.
	// +optional
	// +kubebuilder:default={}
	Handoff HandoffSpec `json:"handoff,omitempty,omitzero"`
	// volumes selects, for each claim template, how its data moves. A template that is not listed moves by Rebind
	// with its storage class unchanged. Between acceptance and completion, method and storageClassName cannot be
	// changed.
	// +optional
	// +listType=map
	// +listMapKey=claimTemplate
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self.all(v, !has(v.copy) || has(v.method) && v.method == 'Copy')",message="copy is for method Copy: set the method, or remove copy"
	// +kubebuilder:validation:XValidation:rule="self.all(v, !has(v.snapshot) || has(v.method) && v.method == 'Snapshot')",message="snapshot is for method Snapshot: set the method, or remove snapshot"
	// +kubebuilder:validation:XValidation:rule="self.all(v, !has(v.empty) || has(v.method) && v.method == 'Empty')",message="empty is for method Empty: set the method, or remove empty"
	// +kubebuilder:validation:XValidation:rule="self.all(v, !has(v.method) || v.method != 'Copy' || has(v.copy) && has(v.copy.image))",message="method Copy needs copy.image: name the manager's image of this version"
	// +kubebuilder:validation:XValidation:rule="self.all(v, !has(v.copy) || !has(v.copy.size) || (type(v.copy.size) == int ? v.copy.size > 0 : v.copy.size.matches('^[+]?[0-9.]*[1-9]')))",message="copy.size must be above 0"
	// +kubebuilder:validation:XValidation:rule="self.all(v, !has(v.copy) || !has(v.copy.bandwidth) || (type(v.copy.bandwidth) == int ? v.copy.bandwidth > 0 : v.copy.bandwidth.matches('^[+]?[0-9.]*[1-9]')))",message="copy.bandwidth must be above 0"
	// +kubebuilder:validation:XValidation:rule="self.all(v, !has(v.snapshot) || !has(v.snapshot.size) || (type(v.snapshot.size) == int ? v.snapshot.size > 0 : v.snapshot.size.matches('^[+]?[0-9.]*[1-9]')))",message="snapshot.size must be above 0"
	// +kubebuilder:validation:XValidation:rule="self.all(v, !has(v.copy) || !has(v.copy.downtimeLimit) || duration(v.copy.downtimeLimit) > duration('0s') && (!has(v.copy.downtimeBudget) || duration(v.copy.downtimeLimit) >= duration(v.copy.downtimeBudget)))",message="copy.downtimeLimit must be above 0, and at least downtimeBudget"
	// +kubebuilder:validation:XValidation:rule="self.all(v, !has(v.copy) || !has(v.copy.prefetch) || v.copy.prefetch == 0 || !has(v.copy.warm) || v.copy.warm != 'None')",message="copy.prefetch needs warm passes, which warm: None disables"
	Volumes []VolumeSpec `json:"volumes,omitempty"`
	// services configures how clients in both clusters find the pods. It cannot be changed between acceptance and
	// completion of the migration.
	// +optional
	Services ServicesSpec `json:"services,omitempty,omitzero"`
	// gates are health checks of the application. While a gate that applies has not passed, no ordinal is stopped and
	// the migration is not completed.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	Gates []HealthGate `json:"gates,omitempty"`
	// hooks are Jobs that run before and after each ordinal, and before and after the migration. Hooks of the same
	// point run one after the other.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	Hooks []Hook `json:"hooks,omitempty"`
	// probe measures, during the move, the requests of clients to the application. Default: no measurement.
	// +optional
	Probe *ProbeSpec `json:"probe,omitempty"`
	// hookAnswer decides how to continue after a failed hook. It is written by kubectl migrate hooks retry and
	// kubectl migrate hooks skip.
	// +optional
	HookAnswer *HookAnswer `json:"hookAnswer,omitempty"`
	// dependencies configures how objects that pods need, other than their volumes, reach the destination.
	// +optional
	Dependencies DependenciesSpec `json:"dependencies,omitempty,omitzero"`
	// writers configures how other controllers that write the source are paused.
	// +optional
	Writers WritersSpec `json:"writers,omitempty,omitzero"`
	// cleanup selects the objects that are deleted at the end.
	// +optional
	// +kubebuilder:default={}
	Cleanup CleanupSpec `json:"cleanup,omitempty,omitzero"`
	// serviceAccountName is the ServiceAccount of this namespace that is impersonated to read and write the cluster
	// that holds this object. Default: the manager's configured default account.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
}

// SecretKeyReference names one key of a Secret in the Migration's namespace.
type SecretKeyReference struct {
	// name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Name string `json:"name"`
	// key in the Secret's data.
	// +optional
	// +kubebuilder:default=value
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	Key string `json:"key,omitempty"`
}

// SourceReference names the source StatefulSet.
type SourceReference struct {
	// kubeConfigSecretRef names a kubeconfig for the cluster. Default: the cluster
	// that holds this object.
	// +optional
	KubeConfigSecretRef *SecretKeyReference `json:"kubeConfigSecretRef,omitempty"`
	// namespace of the StatefulSet. Default: this object's namespace.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace,omitempty"`
	// name of the StatefulSet.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Name string `json:"name"`
	// apiVersion of the StatefulSet.
	// +optional
	// +kubebuilder:default=apps/v1
	// +kubebuilder:validation:Enum=apps/v1;apps.sliceshift.io/v1alpha1
	APIVersion string `json:"apiVersion,omitempty"`
}

// DestinationReference names the destination StatefulSet.
type DestinationReference struct {
	// kubeConfigSecretRef names a kubeconfig for the cluster. Default: the cluster
	// that holds this object.
	// +optional
	KubeConfigSecretRef *SecretKeyReference `json:"kubeConfigSecretRef,omitempty"`
	// namespace of the StatefulSet. Default: this object's namespace.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace,omitempty"`
	// name of the StatefulSet. Default: the source's name.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`
	// apiVersion of the StatefulSet. Default: the source's.
	// +optional
	// +kubebuilder:validation:Enum=apps/v1;apps.sliceshift.io/v1alpha1
	APIVersion string `json:"apiVersion,omitempty"`
	// createNamespace creates the namespace when it does not exist.
	// +optional
	CreateNamespace bool `json:"createNamespace,omitempty"`
}

// OrdinalsSpec selects the ordinals that move.
type OrdinalsSpec struct {
	// order is the end of the source that moves first.
	// +optional
	// +kubebuilder:default=HighestFirst
	Order Order `json:"order,omitempty"`
	// count is how many ordinals move; the application then stays split over both
	// slices. Default: all.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Count *int32 `json:"count,omitempty"`
}

// RecoverySpec holds a person's confirmations of facts that no program can find out.
type RecoverySpec struct {
	// destinationIsOff is the UID of the namespace kube-system of the destination's cluster, as recorded in
	// status.baseline.destinationCluster. Setting it confirms that nothing of the application runs in that cluster:
	// its machines are off, or cut off from the storage, and none will return with the application.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	DestinationIsOff string `json:"destinationIsOff,omitempty"`
	// nothingMovedOn confirms that, since completion, no ordinal was moved on from its destination: by no other
	// Migration, run or person, including those that left no record. It is required to recover a migration that was
	// completed with all ordinals at the destination. An ordinal that was moved on runs elsewhere, on the disks that
	// are parked here, and recovery would start it a second time.
	// +optional
	NothingMovedOn bool `json:"nothingMovedOn,omitempty"`
}

// HandoffSpec sets the time limits of one ordinal's handoff, and how many ordinals move at once.
type HandoffSpec struct {
	// maxInFlight is how many neighboring ordinals may be handed off at once, as a number or as a percentage of the
	// replicas (rounded down, at least 1, at most 16). Default: 1. It cannot exceed the disruption budget, see maxUnavailable.
	// Each one counts as unavailable from before its stop until it is available at the other side. A smaller value
	// takes effect for the next handoffs; those in progress complete. More than 1 requires that the pods have claims,
	// that no gate and no hook runs between two ordinals, and that no copy has a downtimeLimit, which takes one ordinal
	// back. More than 1 is refused with spec.storage, because a change in place records one ordinal at a time, and with
	// method Empty, because the last replicas that have a write could be emptied together.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 && self <= 16 : self.matches('^([1-9][0-9]?|100)%$')",message="must be a number from 1 to 16 or a percentage from 1% to 100%"
	MaxInFlight *intstr.IntOrString `json:"maxInFlight,omitempty"`
	// minReadySeconds is how long a moved pod must have been Ready before the next ordinal moves. If the
	// StatefulSet's own minReadySeconds is larger, that applies.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	MinReadySeconds *int32 `json:"minReadySeconds,omitempty"`
	// progressDeadlineSeconds is how long one step of an ordinal's handoff may take before the migration is reported
	// as stalled. The migration continues automatically when the cause is removed.
	// +optional
	// +kubebuilder:default=600
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=604800
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds,omitempty"`
}

// ServicesSpec configures how clients find the pods during the move.
type ServicesSpec struct {
	// export creates a ServiceExport (sigs.k8s.io/mcs-api) for the governing Service on both sides. The destination's
	// is created before the first handoff; the source's is deleted last.
	// +optional
	Export bool `json:"export,omitempty"`
	// perOrdinal gives each ordinal a name that survives the move. Both StatefulSets must have the same name and
	// namespace, because the name contains the pod's name.
	// +optional
	// +kubebuilder:default=None
	PerOrdinal PerOrdinal `json:"perOrdinal,omitempty"`
}

// CleanupSpec selects the objects that are deleted at the end.
type CleanupSpec struct {
	// source selects whether the source's objects are deleted. With spec.storage, Delete gives the volumes that were
	// replaced their own reclaim policy back, and the cluster deletes the storage of those whose policy is Delete.
	// +optional
	// +kubebuilder:default=Retain
	Source CleanupPolicy `json:"source,omitempty"`
	// perOrdinalServices selects whether the Services and ServiceExports that services.perOrdinal created are deleted
	// at the end.
	// +optional
	// +kubebuilder:default=Retain
	PerOrdinalServices CleanupPolicy `json:"perOrdinalServices,omitempty"`
}
