package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// VolumeMethod is the method by which the data of a claim reach the destination.
//
// +kubebuilder:validation:Enum=Rebind;Empty;Copy;Snapshot
type VolumeMethod string

// The methods.
const (
	// MethodRebind keeps the volume. Its PersistentVolume is bound to the destination's claim, or recreated in the
	// destination's cluster.
	MethodRebind VolumeMethod = "Rebind"
	// MethodEmpty moves no data. The ordinal starts on a new volume of the destination's class, which the application
	// fills from its peers. The old volume is parked and kept. See EmptySpec.
	MethodEmpty VolumeMethod = "Empty"
	// MethodCopy copies the bytes over the network into a new volume of the destination's class: most of them while
	// the ordinal runs, if possible, and the remaining changes after it is stopped. The ordinal starts after both
	// volumes were read again and are equal. The old volume is parked and kept. See CopySpec.
	MethodCopy VolumeMethod = "Copy"
	// MethodSnapshot takes a CSI snapshot of the volume while the ordinal is stopped, and imports it into the
	// destination's cluster. The ordinal starts on a new volume that is restored from it. Both clusters must have
	// that CSI driver, with access to the same storage. The old volume is parked and kept. See SnapshotSpec.
	MethodSnapshot VolumeMethod = "Snapshot"
)

// FillsSecond reports whether the method fills a second volume from the first, which is recorded as an attempt.
func (m VolumeMethod) FillsSecond() bool { return m == MethodCopy || m == MethodSnapshot }

// VolumeSpec configures how the data of one claim template move.
//
// +kubebuilder:validation:XValidation:rule="!has(self.accessModes) || has(self.method) && self.method != 'Rebind'",message="accessModes apply to new volumes, and method Rebind creates none"
// +kubebuilder:validation:XValidation:rule="!has(self.accessModes) || self.accessModes.all(m, m in ['ReadWriteOnce', 'ReadWriteMany', 'ReadWriteOncePod', 'ReadOnlyMany'])",message="accessModes must be ReadWriteOnce, ReadWriteMany, ReadWriteOncePod or ReadOnlyMany"
// +kubebuilder:validation:XValidation:rule="!has(self.accessModes) || self.accessModes.exists(m, m != 'ReadOnlyMany')",message="accessModes must include one that allows writes"
// +kubebuilder:validation:XValidation:rule="!has(self.accessModes) || size(self.accessModes) == 1 || !self.accessModes.exists(m, m == 'ReadWriteOncePod')",message="access mode ReadWriteOncePod must be the only one"
type VolumeSpec struct {
	// claimTemplate is the name of a volumeClaimTemplate of the source. If shared is the only other field, it may be
	// the name of a volume of the pod template.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	ClaimTemplate string `json:"claimTemplate"`
	// method by which the data reach the destination.
	// +optional
	// +kubebuilder:default=Rebind
	Method VolumeMethod `json:"method,omitempty"`
	// storageClassName is the destination's class for claims and volumes of this
	// template. Default: the source's.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$`
	StorageClassName *string `json:"storageClassName,omitempty"`
	// size is the new request of the claim template, with spec.storage. With method Copy it may be less than the present
	// one. Default: the present one.
	// +optional
	Size *resource.Quantity `json:"size,omitempty"`
	// volumeAttributesClassName is the new class of attributes of the claim template, with spec.storage. Default: the
	// present one.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$`
	VolumeAttributesClassName *string `json:"volumeAttributesClassName,omitempty"`
	// accessModes of the destination's claims and new volumes of this template. At least one must allow pods to
	// write. Default: the source's. It is not allowed with method Rebind, which keeps the volume and its access
	// modes.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=3
	AccessModes []corev1.PersistentVolumeAccessMode `json:"accessModes,omitempty"`
	// shared confirms that volumes which are a path on a node (hostPath, local) contain the same files on the nodes
	// of both clusters. Without it such volumes are not moved between clusters, because the path may be empty there.
	// For a volume of the pod template that is not a claim, it confirms that the pods find the data that they need at
	// the destination.
	// +optional
	Shared bool `json:"shared,omitempty"`
	// empty holds confirmations about the application, for method Empty.
	// +optional
	Empty EmptySpec `json:"empty,omitempty,omitzero"`
	// copy configures the copy, for method Copy.
	// +optional
	Copy CopySpec `json:"copy,omitempty,omitzero"`
	// snapshot configures the snapshot and its restore, for method Snapshot.
	// +optional
	Snapshot SnapshotSpec `json:"snapshot,omitempty,omitzero"`
}

// SnapshotSpec configures how the volume of a claim is snapshotted and restored.
type SnapshotSpec struct {
	// className is the VolumeSnapshotClass of the source's cluster. Default: the default class of the volume's
	// driver, or its only class. A rollback always uses the default.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	ClassName string `json:"className,omitempty"`
	// size of the new volumes. Default: the larger of the claim's size and the size that the snapshot needs. It
	// cannot be less.
	// +optional
	Size *resource.Quantity `json:"size,omitempty"`
}

// CopySpec configures how the bytes of a claim are copied by two pods. One reads at the side that the ordinal leaves,
// and the other writes at the other side.
//
// +kubebuilder:validation:XValidation:rule="!has(self.transport) || self.transport != 'Relay' || !has(self.serviceType) && !has(self.address)",message="transport Relay reaches both pods through their API servers, and needs neither serviceType nor address"
// +kubebuilder:validation:XValidation:rule="!has(self.cutover) || self.cutover != 'At' || has(self.cutoverAt)",message="cutover At needs the time cutoverAt"
type CopySpec struct {
	// image that contains the program /mover: the manager's image, of the manager's version. Nodes of both sides must
	// be able to pull it.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^\S+$`
	Image string `json:"image,omitempty"`
	// size of the new volumes. Default: the claim's size. It cannot be less.
	// +optional
	Size *resource.Quantity `json:"size,omitempty"`
	// transport is how the bytes get from the reading pod to the writing pod. Default: Auto. If it is changed during
	// a copy, both pods are recreated and continue with the data already copied.
	// +optional
	Transport CopyTransport `json:"transport,omitempty"`
	// serviceType of the Service by which the reading pod reaches the writing pod. Default: ClusterIP, for sides in
	// one cluster, or in clusters with a common network. ServiceExport is for clusters of one clusterset (KEP-1645),
	// with a namespace of the same name: the Service is headless and exported, and is reached by its clusterset name.
	// If it is changed during a copy, the Service and both pods are recreated and continue with the data already
	// copied.
	// +optional
	// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer;ServiceExport
	ServiceType corev1.ServiceType `json:"serviceType,omitempty"`
	// address, with a port, at which the reading pod reaches that Service if the Service itself does not contain it,
	// such as that of a gateway. It is for moves of one claim at a time.
	// +optional
	// +kubebuilder:validation:MaxLength=300
	// +kubebuilder:validation:Pattern=`^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):[0-9]{1,5}$`
	Address string `json:"address,omitempty"`
	// bandwidth is the maximum number of bytes a second that are sent for one claim, such as 50Mi. Default:
	// unlimited.
	// +optional
	Bandwidth *resource.Quantity `json:"bandwidth,omitempty"`
	// runAsUser and runAsGroup are the user and group of the pods, for namespaces where Pod Security refuses root.
	// Such pods can copy only files of this user and group, and fail at the first entry of another owner. Default:
	// root, with the capabilities that owners, devices and extended attributes need.
	// +optional
	// +kubebuilder:validation:Minimum=0
	RunAsUser *int64 `json:"runAsUser,omitempty"`
	// +optional
	// +kubebuilder:validation:Minimum=0
	RunAsGroup *int64 `json:"runAsGroup,omitempty"`
	// resources of each of the two pods.
	// +optional
	Resources corev1.ResourceRequirements `json:"resources,omitempty,omitzero"`
	// warm selects whether warm passes copy data while the ordinal runs. A pod on the ordinal's node mounts its claim
	// read-only, or a pod mounts a restored snapshot of the claim. The ordinal is then stopped only for the remaining
	// changes and the comparison, and not for the whole copy. Default: Auto. It may be changed at any time.
	// +optional
	Warm CopyWarmMode `json:"warm,omitempty"`
	// downtimeBudget is how long an ordinal may be down. The ordinal is not stopped until warm passes have reduced
	// the remaining work so that its projected downtime fits. If it never fits, the migration waits for a user.
	// Without warm passes nothing is projected. Default: 30s. It may be changed at any time.
	// +optional
	DowntimeBudget *metav1.Duration `json:"downtimeBudget,omitempty"`
	// downtimeLimit is how long an ordinal may be copied while it is down. After that the ordinal returns
	// automatically to its old volume, and the migration stalls. It no longer applies after the copy was taken over.
	// Default: none. It may be changed at any time.
	// +optional
	DowntimeLimit *metav1.Duration `json:"downtimeLimit,omitempty"`
	// cutover selects when an ordinal that was copied while it ran is stopped. Default: Automatic. It may be changed
	// at any time.
	// +optional
	Cutover CopyCutover `json:"cutover,omitempty"`
	// cutoverAt, for cutover At, is the time from which the ordinal may be stopped, such as 2026-12-01T02:00:00Z. It
	// may be changed at any time.
	// +optional
	CutoverAt *metav1.Time `json:"cutoverAt,omitempty"`
	// verify selects how much of both sides is read after the ordinal is stopped, to prove that they are equal.
	// Default: Full if reading both sides whole is projected to fit into downtimeBudget, otherwise Later. In place, Later
	// counts as Full. It may be changed at any time.
	// +optional
	Verify CopyVerify `json:"verify,omitempty"`
	// acceptDiffering lists ordinals that may go on with a copy that verify: Later has found different from its source,
	// or cannot prove. Nothing is deleted: the volume that the ordinal has left is kept. An entry counts for what was
	// reported before it was added: to accept something that was found later, remove the entry, and add it again once the
	// message asks for it. It may be changed at any time.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	AcceptDiffering []int32 `json:"acceptDiffering,omitempty"`
	// devices allows device nodes (block and character devices among the files) to be created at the destination.
	// Without it a copy fails at a device node and reports its path, because through such a node a pod can access a
	// device of its node. Default: false. It may be changed at any time.
	// +optional
	Devices bool `json:"devices,omitempty"`
	// prefetch is the number of next ordinals that get warm passes during the handoff of another ordinal, so that
	// little remains to copy at their turn. The pods, claims and disks of all of them exist at the same time.
	// Default: 0. It may be changed at any time.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=8
	Prefetch int32 `json:"prefetch,omitempty"`
}

// ServiceTypeExport is the serviceType of a Service that is exported to the clusterset.
const ServiceTypeExport corev1.ServiceType = "ServiceExport"

// CopyTransport is how the bytes of a copy get from one pod to the other. They are always encrypted between the two
// pods.
//
// +kubebuilder:validation:Enum=Auto;Direct;Relay
type CopyTransport string

// The transports.
const (
	// TransportAuto is Direct with a manager. "migrate run" replaces it with Relay for sides in two clusters if
	// neither serviceType nor address makes one reachable from the other, and reports that.
	TransportAuto CopyTransport = "Auto"
	// TransportDirect connects the reading pod to the writing pod: by its Service, or at address.
	TransportDirect CopyTransport = "Direct"
	// TransportRelay forwards a port of both pods through their API servers. The process that drives the migration
	// (the manager, or "migrate run") relays the bytes. It is slow, and works if neither side reaches the other.
	TransportRelay CopyTransport = "Relay"
)

// CopyVerify selects how much of both sides is read to prove that they are equal.
//
// +kubebuilder:validation:Enum=Full;Changed;Later
type CopyVerify string

// The modes of verification.
const (
	// CopyVerifyFull reads every byte of both sides.
	CopyVerifyFull CopyVerify = "Full"
	// CopyVerifyChanged lets warm passes read both sides, and reads only later changes after the stop. On ext4, xfs
	// and btrfs it trusts the previous read of a regular file whose inode, size and times are unchanged. Later damage
	// on a disk is not detected. Where changes cannot be determined, everything is read.
	CopyVerifyChanged CopyVerify = "Changed"
	// CopyVerifyLater reads back at the destination what is written, in warm passes and after the stop. After the
	// ordinal has started, the volume that it has left is read whole, and its digest is compared with that of the copy.
	// The migration completes only if they are equal, or if copy.acceptDiffering names the ordinal. Until then, damage
	// that was copied is not detected.
	CopyVerifyLater CopyVerify = "Later"
)

// CopyCutover selects when an ordinal that was copied while it ran is stopped.
//
// +kubebuilder:validation:Enum=Automatic;Manual;Now;At
type CopyCutover string

// The modes of cutover. A rollback waits for none of them.
const (
	// CutoverAutomatic stops the ordinal as soon as its projected downtime fits downtimeBudget.
	CutoverAutomatic CopyCutover = "Automatic"
	// CutoverManual stops no ordinal. Copies are kept warm until a user sets another mode.
	CutoverManual CopyCutover = "Manual"
	// CutoverNow stops the ordinal after one warm pass, whatever its projected downtime.
	CutoverNow CopyCutover = "Now"
	// CutoverAt keeps the copy warm until cutoverAt. The ordinal is stopped then, or in the next window, whatever its
	// projected downtime.
	CutoverAt CopyCutover = "At"
)

// CopyWarmMode selects whether and how a volume is copied while its ordinal runs.
//
// +kubebuilder:validation:Enum=Auto;Mount;Snapshot;None
type CopyWarmMode string

// The modes.
const (
	// CopyWarmAuto runs warm passes in a second pod that mounts the claim. If the access mode or the node prevents
	// that, it reads a snapshot, as with Snapshot, unless the snapshot or its volume would be retained afterwards.
	// Otherwise the ordinal is stopped for the whole copy. The status shows the chosen mode and the reason.
	CopyWarmAuto CopyWarmMode = "Auto"
	// CopyWarmMount mounts the claim. It stops no ordinal before a warm pass has succeeded.
	CopyWarmMount CopyWarmMode = "Mount"
	// CopyWarmSnapshot reads a claim that is restored from a snapshot of the ordinal's claim in the same cluster.
	// Thus no second pod mounts the ordinal's claim. Snapshot and claim are deleted after the pass. It stops no
	// ordinal before a pass has succeeded.
	CopyWarmSnapshot CopyWarmMode = "Snapshot"
	// CopyWarmNone runs no warm pass.
	CopyWarmNone CopyWarmMode = "None"
)

// EmptySpec holds a person's confirmations about an application whose replicas start without their data. No program
// can find them out.
type EmptySpec struct {
	// fillsFromPeers confirms that a replica that returns empty under its old name is filled by its peers and breaks
	// no promise that it made. A member of a consensus group (etcd, ZooKeeper, Raft) that answers under its old name
	// has lost its votes. It must be removed and added again, by its operator or a hook. Without fillsFromPeers no
	// ordinal is stopped.
	// +optional
	FillsFromPeers bool `json:"fillsFromPeers,omitempty"`
	// readyWhenFilled confirms that a pod is not Ready before it has all of its data. Without it a health gate
	// AfterStart is required that passes only then. Otherwise the next ordinal would be stopped while this one has no
	// data.
	// +optional
	ReadyWhenFilled bool `json:"readyWhenFilled,omitempty"`
	// returnsToKept confirms that an ordinal may return to the volume that it left, whose data are as old as the
	// move. Without it a rollback waits, and the ordinal continues to run where it is.
	// +optional
	ReturnsToKept bool `json:"returnsToKept,omitempty"`
}
