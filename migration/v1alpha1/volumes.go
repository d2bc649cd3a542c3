package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// VolumeMethod says how the data of a claim reaches the destination.
//
// +kubebuilder:validation:Enum=Rebind;Empty;Copy;Snapshot
type VolumeMethod string

// The methods.
const (
	// MethodRebind takes the same volume over: its PersistentVolume is pointed at the
	// destination's claim, or created again in the destination's cluster.
	MethodRebind VolumeMethod = "Rebind"
	// MethodEmpty takes nothing over: the ordinal starts on a new volume of the destination's
	// class, which the application fills from its peers. The volume that it leaves is parked and
	// kept. See EmptySpec.
	MethodEmpty VolumeMethod = "Empty"
	// MethodCopy copies the bytes over the network into a new volume of the destination's class: while the
	// ordinal runs, where it can, and what has changed since when it is stopped. It starts when both sides
	// were read again and are equal. The volume that it leaves is parked and kept. See CopySpec.
	MethodCopy VolumeMethod = "Copy"
	// MethodSnapshot has the CSI driver take a snapshot of the volume, while the ordinal is stopped, imports it
	// into the destination's cluster, and starts the ordinal on a new volume that is made of it. Both clusters
	// must have that driver, for one storage. The volume that it leaves is parked and kept. See SnapshotSpec.
	MethodSnapshot VolumeMethod = "Snapshot"
)

// FillsSecond says whether a method fills a second volume with what is on the first, which is recorded as an attempt.
func (m VolumeMethod) FillsSecond() bool { return m == MethodCopy || m == MethodSnapshot }

// VolumeSpec says how the data of one claim template moves.
//
// +kubebuilder:validation:XValidation:rule="!has(self.accessModes) || has(self.method) && self.method != 'Rebind'",message="accessModes are of new volumes, and method Rebind makes none"
// +kubebuilder:validation:XValidation:rule="!has(self.accessModes) || self.accessModes.all(m, m in ['ReadWriteOnce', 'ReadWriteMany', 'ReadWriteOncePod', 'ReadOnlyMany'])",message="accessModes are ReadWriteOnce, ReadWriteMany, ReadWriteOncePod and ReadOnlyMany"
// +kubebuilder:validation:XValidation:rule="!has(self.accessModes) || self.accessModes.exists(m, m != 'ReadOnlyMany')",message="accessModes must have one that pods can write by"
// +kubebuilder:validation:XValidation:rule="!has(self.accessModes) || size(self.accessModes) == 1 || !self.accessModes.exists(m, m == 'ReadWriteOncePod')",message="access mode ReadWriteOncePod stands alone"
type VolumeSpec struct {
	// claimTemplate is the name of a volumeClaimTemplate of the source; or, with shared alone, of a volume of its pod
	// template.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	ClaimTemplate string `json:"claimTemplate"`
	// method is how the data reaches the destination.
	// +optional
	// +kubebuilder:default=Rebind
	Method VolumeMethod `json:"method,omitempty"`
	// storageClassName is the destination's class for claims and volumes of this
	// template. Default: the source's.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$`
	StorageClassName *string `json:"storageClassName,omitempty"`
	// accessModes of the destination's claims of this template, which their new volumes are made with: one at least that
	// pods can write by. Default: the source's. Method Rebind keeps the volume, and with it what it can.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=3
	AccessModes []corev1.PersistentVolumeAccessMode `json:"accessModes,omitempty"`
	// shared is your word that volumes which are a path on a machine (hostPath, local)
	// hold the same files on the machines of both clusters. Without it such volumes are
	// not moved between clusters: the path may be empty there. Of a volume of the pod template that is no claim
	// it is your word that the pods find there what they need.
	// +optional
	Shared bool `json:"shared,omitempty"`
	// empty is what you know of the application, for method Empty.
	// +optional
	Empty EmptySpec `json:"empty,omitempty,omitzero"`
	// copy is how the bytes are copied, for method Copy.
	// +optional
	Copy CopySpec `json:"copy,omitempty,omitzero"`
	// snapshot is how the volume is snapshotted and restored, for method Snapshot.
	// +optional
	Snapshot SnapshotSpec `json:"snapshot,omitempty,omitzero"`
}

// SnapshotSpec is how the volume of a claim is snapshotted and restored.
type SnapshotSpec struct {
	// className is the VolumeSnapshotClass of the source's cluster by which the snapshot is taken. Default: the
	// default class of the volume's driver, or its only one. On the way back it is always that.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	ClassName string `json:"className,omitempty"`
	// size of the new volumes. Default: as much as the claim has, or as the snapshot needs. It cannot be less.
	// +optional
	Size *resource.Quantity `json:"size,omitempty"`
}

// CopySpec is how the bytes of a claim are copied: by two pods, one that reads at the side that the ordinal
// leaves, and one that writes at the other side.
//
// +kubebuilder:validation:XValidation:rule="!has(self.transport) || self.transport != 'Relay' || !has(self.serviceType) && !has(self.address)",message="transport Relay reaches both pods through their API servers, and needs neither serviceType nor address"
// +kubebuilder:validation:XValidation:rule="!has(self.cutover) || self.cutover != 'At' || has(self.cutoverAt)",message="cutover At needs cutoverAt, the time"
type CopySpec struct {
	// image has the program /mover: the manager's image, of the version that makes the move. Nodes of both
	// sides must be able to pull it.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^\S+$`
	Image string `json:"image,omitempty"`
	// size of the new volumes. Default: as much as the claim has. It cannot be less.
	// +optional
	Size *resource.Quantity `json:"size,omitempty"`
	// transport is how the bytes get from the reading pod to the writing one. Default: Auto. Where it is changed while they
	// copy both pods are made anew, and go on with what is there.
	// +optional
	Transport CopyTransport `json:"transport,omitempty"`
	// serviceType is that of the Service by which the reading pod reaches the writing one. Default: ClusterIP,
	// which is for sides in one cluster, or whose clusters have one network. ServiceExport is for clusters of one clusterset
	// (KEP-1645), with a namespace of the same name: the Service is headless and exported, and is reached by its name there.
	// Where it is changed while they copy the Service and both pods are made anew, and go on with what is there.
	// +optional
	// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer;ServiceExport
	ServiceType corev1.ServiceType `json:"serviceType,omitempty"`
	// address, with a port, at which the reading pod reaches that Service, where the Service itself does not
	// say it: through a gateway, say. It is for moves of one claim at a time.
	// +optional
	// +kubebuilder:validation:MaxLength=300
	// +kubebuilder:validation:Pattern=`^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):[0-9]{1,5}$`
	Address string `json:"address,omitempty"`
	// bandwidth is the most bytes a second that are sent for one claim, such as 50Mi. Default: not limited.
	// +optional
	Bandwidth *resource.Quantity `json:"bandwidth,omitempty"`
	// runAsUser and runAsGroup are who the pods run as, where Pod Security refuses root: they can then copy
	// what belongs to this user and group, and fail at the first entry of another owner. Default: root, with
	// the capabilities that owners, devices and extended attributes need.
	// +optional
	// +kubebuilder:validation:Minimum=0
	RunAsUser *int64 `json:"runAsUser,omitempty"`
	// +optional
	// +kubebuilder:validation:Minimum=0
	RunAsGroup *int64 `json:"runAsGroup,omitempty"`
	// resources of each of the two pods.
	// +optional
	Resources corev1.ResourceRequirements `json:"resources,omitempty,omitzero"`
	// warm says whether passes are made while the ordinal still runs, by a pod on its node that mounts its claim
	// read-only, or by one that mounts a restored snapshot of it: then its stop costs what has changed since, and the proof, and not the whole copy. Default: Auto.
	// It may be changed at any time.
	// +optional
	Warm CopyWarmMode `json:"warm,omitempty"`
	// downtimeBudget is for how long an ordinal may be down: it is not stopped before warm passes have made what
	// is left so little that it is projected to fit. Where it never does, a person is asked. Without warm passes
	// nothing is projected. Default: 30s. It may be changed at any time.
	// +optional
	DowntimeBudget *metav1.Duration `json:"downtimeBudget,omitempty"`
	// downtimeLimit is for how long an ordinal may be copied while it is down. Past it the ordinal goes back by itself, to the
	// volume that it had, and the migration stalls; not any more once the copy was taken over. Default: none. It may be changed at
	// any time.
	// +optional
	DowntimeLimit *metav1.Duration `json:"downtimeLimit,omitempty"`
	// cutover says when an ordinal that was copied while it ran is stopped. Default: Automatic. It may be changed
	// at any time.
	// +optional
	Cutover CopyCutover `json:"cutover,omitempty"`
	// cutoverAt is for cutover At: the time from which the ordinal may be stopped, as 2026-12-01T02:00:00Z. It may be changed
	// at any time.
	// +optional
	CutoverAt *metav1.Time `json:"cutoverAt,omitempty"`
	// verify says what is read of both sides once the ordinal is down, to prove that they are equal. Default: Full. It may be
	// changed at any time.
	// +optional
	Verify CopyVerify `json:"verify,omitempty"`
	// devices has device nodes (block and character devices among the files) made at the destination. Without it a copy that
	// meets one fails and names it: by such a node a pod can reach a device of the machine that it runs on. Default: false. It
	// may be changed at any time.
	// +optional
	Devices bool `json:"devices,omitempty"`
	// prefetch is of how many ordinals whose turn comes next warm passes are made while another one is on its way, so
	// that little is left when it is theirs. The pods, claims and disks of all of them are there at once. Default: 0.
	// It may be changed at any time.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=8
	Prefetch int32 `json:"prefetch,omitempty"`
}

// ServiceTypeExport is the serviceType of a Service that is exported to the clusterset.
const ServiceTypeExport corev1.ServiceType = "ServiceExport"

// CopyTransport is how the bytes of a copy get from one pod to the other. They are encrypted between the two pods in
// any case.
//
// +kubebuilder:validation:Enum=Auto;Direct;Relay
type CopyTransport string

// The transports.
const (
	// TransportAuto is Direct with a manager. "migrate run" makes it Relay for sides in two clusters where neither
	// serviceType nor address says how one reaches the other, and says so.
	TransportAuto CopyTransport = "Auto"
	// TransportDirect has the reading pod connect to the writing one: by its Service, or at address.
	TransportDirect CopyTransport = "Direct"
	// TransportRelay has the process that moves (the manager, or "migrate run") forward a port of both pods, and pass on
	// what comes, through both API servers. It is slow, and works where neither side reaches the other.
	TransportRelay CopyTransport = "Relay"
)

// CopyVerify says what is read of both sides to prove that they are equal.
//
// +kubebuilder:validation:Enum=Full;Changed
type CopyVerify string

// The ways.
const (
	// CopyVerifyFull reads every byte of both sides.
	CopyVerifyFull CopyVerify = "Full"
	// CopyVerifyChanged has warm passes read both sides, and then reads what has changed since, as far as the file system
	// tells: of a regular file on ext4, xfs or btrfs whose inode, size and times are the same it trusts what was read before. Damage
	// on a disk since then is not seen. Where that cannot be told all is read.
	CopyVerifyChanged CopyVerify = "Changed"
)

// CopyCutover says when an ordinal that was copied while it ran is stopped.
//
// +kubebuilder:validation:Enum=Automatic;Manual;Now;At
type CopyCutover string

// The ways. A rollback waits for none of them.
const (
	// CutoverAutomatic stops it as soon as its downtime is projected to fit downtimeBudget.
	CutoverAutomatic CopyCutover = "Automatic"
	// CutoverManual stops nothing: copies are kept warm until somebody sets another one.
	CutoverManual CopyCutover = "Manual"
	// CutoverNow stops it after one warm pass, whatever its downtime is projected to be.
	CutoverNow CopyCutover = "Now"
	// CutoverAt keeps the copy warm until cutoverAt, and stops it then, or in the next window, whatever its downtime is
	// projected to be.
	CutoverAt CopyCutover = "At"
)

// CopyWarmMode says whether a volume is copied while its ordinal still runs.
//
// +kubebuilder:validation:Enum=Auto;Mount;Snapshot;None
type CopyWarmMode string

// The modes.
const (
	// CopyWarmAuto makes warm passes by a second pod that mounts the claim; where the access mode or the node refuses
	// one, as with Snapshot, if a snapshot can be taken that does not stay. Where that is not so either, the ordinal is
	// stopped for the whole copy. The status says what was chosen, and why.
	CopyWarmAuto CopyWarmMode = "Auto"
	// CopyWarmMount stops nothing before a warm pass has ended well.
	CopyWarmMount CopyWarmMode = "Mount"
	// CopyWarmSnapshot reads a claim that is restored from a snapshot of the ordinal's, in the same cluster: nobody
	// mounts that beside the ordinal. Both are deleted after the pass. It stops nothing before one has ended well.
	CopyWarmSnapshot CopyWarmMode = "Snapshot"
	// CopyWarmNone makes no warm pass.
	CopyWarmNone CopyWarmMode = "None"
)

// EmptySpec is a person's word about an application whose replicas start without the data that they
// had. No program can find it out.
type EmptySpec struct {
	// fillsFromPeers is your word that a replica which comes back empty, under the name that it
	// had, is filled by its peers and breaks no promise that it had made: a member of a consensus
	// group (etcd, ZooKeeper, Raft) that answers under its old name has forgotten its votes, and
	// must be removed and added again, by its operator or a hook. Without it nothing is stopped.
	// +optional
	FillsFromPeers bool `json:"fillsFromPeers,omitempty"`
	// readyWhenFilled is your word that a pod is not Ready before it has all of its data. Without
	// it a health gate AfterStart must say when it has: the next ordinal would be stopped while
	// this one has nothing.
	// +optional
	ReadyWhenFilled bool `json:"readyWhenFilled,omitempty"`
	// returnsToKept is your word that an ordinal may go back to the volume that it has left, whose
	// data are as old as its leaving. Without it a rollback waits, with the ordinal running where
	// it is.
	// +optional
	ReturnsToKept bool `json:"returnsToKept,omitempty"`
}
