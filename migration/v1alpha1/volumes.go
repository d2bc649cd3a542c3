package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// VolumeMethod says how the data of a claim reaches the destination.
//
// +kubebuilder:validation:Enum=Rebind;Empty;Copy
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
	// MethodCopy copies the bytes over the network into a new volume of the destination's class, while
	// the ordinal is stopped, and starts it when both sides were read again and are equal. The volume
	// that it leaves is parked and kept. See CopySpec.
	MethodCopy VolumeMethod = "Copy"
)

// VolumeSpec says how the data of one claim template moves.
type VolumeSpec struct {
	// claimTemplate is the name of a volumeClaimTemplate of the source.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ClaimTemplate string `json:"claimTemplate"`
	// method is how the data reaches the destination.
	// +optional
	// +kubebuilder:default=Rebind
	Method VolumeMethod `json:"method,omitempty"`
	// storageClassName is the destination's class for claims and volumes of this
	// template. Default: the source's.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	StorageClassName *string `json:"storageClassName,omitempty"`
	// shared is your word that volumes which are a path on a machine (hostPath, local)
	// hold the same files on the machines of both clusters. Without it such volumes are
	// not moved between clusters: the path may be empty there.
	// +optional
	Shared bool `json:"shared,omitempty"`
	// empty is what you know of the application, for method Empty.
	// +optional
	Empty EmptySpec `json:"empty,omitempty,omitzero"`
	// copy is how the bytes are copied, for method Copy.
	// +optional
	Copy CopySpec `json:"copy,omitempty,omitzero"`
}

// CopySpec is how the bytes of a claim are copied: by two pods, one that reads at the side that the ordinal
// leaves, and one that writes at the other side.
type CopySpec struct {
	// image has the program /mover: the manager's image, of the version that makes the move. Nodes of both
	// sides must be able to pull it.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Image string `json:"image,omitempty"`
	// size of the new volumes. Default: as much as the claim has. It cannot be less.
	// +optional
	Size *resource.Quantity `json:"size,omitempty"`
	// serviceType is that of the Service by which the reading pod reaches the writing one. Default: ClusterIP,
	// which is for sides in one cluster, or whose clusters have one network.
	// +optional
	// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
	ServiceType corev1.ServiceType `json:"serviceType,omitempty"`
	// address, with a port, at which the reading pod reaches that Service, where the Service itself does not
	// say it: through a gateway, say. It is for moves of one claim at a time.
	// +optional
	// +kubebuilder:validation:MaxLength=300
	Address string `json:"address,omitempty"`
	// bandwidth is the most bytes a second that are sent for one claim, such as 50Mi. Default: not limited.
	// +optional
	Bandwidth *resource.Quantity `json:"bandwidth,omitempty"`
	// runAsUser and runAsGroup are who the pods run as, where Pod Security refuses root: they can then copy
	// what belongs to this user and group, and fail at the first entry of another owner. Default: root, with
	// the capabilities that owners, devices and extended attributes need.
	// +optional
	RunAsUser *int64 `json:"runAsUser,omitempty"`
	// +optional
	RunAsGroup *int64 `json:"runAsGroup,omitempty"`
	// resources of each of the two pods.
	// +optional
	Resources corev1.ResourceRequirements `json:"resources,omitempty,omitzero"`
}

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
