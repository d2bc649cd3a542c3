package v1alpha1

// VolumeMethod says how the data of a claim reaches the destination.
//
// +kubebuilder:validation:Enum=Rebind;Empty
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
