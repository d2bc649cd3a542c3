// Package manifest defines the input and the output of the movers of method Copy as Kubernetes objects: the pod
// of a receiver, the pod of a sender, the Service between them, and the parts of a pod's status that are read.
//
// A mover is declared, not commanded. Its pod states its task. Its findings are in the termination messages of
// its containers, of which the kubelet keeps 4096 bytes. So it needs no credentials, and observing it needs no
// right to read logs or to execute commands in it. Only the fingerprint of its peer's key is written to it
// later:
//
//	init container "key"   creates the key of this mover; its termination message is the fingerprint
//	annotation peer        the fingerprint of the other mover, written once that mover has reported it
//	container "mover"      waits for the annotation, makes one pass, and ends with a report.Result
//
// A pod makes one pass and is never restarted: another pass uses another pair of pods.
//
// This package is pure: the same Spec gives the same object.
package manifest

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// Labels and annotations of a mover's pod. It also has api.OwnerAnnotationKey and api.FenceAnnotationKey.
const (
	// RoleLabelKey is on every pod of a mover: a Role.
	RoleLabelKey = "migration.sliceshift.io/mover"
	// IncomingLabelKey is on a receiver: the claim that it writes to. Its Service selects it by this label.
	IncomingLabelKey = "migration.sliceshift.io/incoming"
	// AttemptAnnotationKey and PassAnnotationKey are numbers, from 1.
	AttemptAnnotationKey = "migration.sliceshift.io/attempt"
	PassAnnotationKey    = "migration.sliceshift.io/pass"
	// WarmAnnotationKey is on the movers of a pass while the application runs.
	WarmAnnotationKey = "migration.sliceshift.io/warm"
	// TransportAnnotationKey is on the movers that listen for a relay: api.TransportRelay.
	TransportAnnotationKey = "migration.sliceshift.io/transport"
	// ServiceTypeAnnotationKey is on a Service: the copy.serviceType that it was created for, even if its type
	// is changed later.
	ServiceTypeAnnotationKey = "migration.sliceshift.io/service-type"
	// PeerAnnotationKey is the fingerprint of the other mover's key. Without it a mover waits.
	PeerAnnotationKey = "migration.sliceshift.io/peer"
	// NeverCondition is a readiness gate that is never set, so that no budget counts a mover as healthy.
	NeverCondition corev1.PodConditionType = "migration.sliceshift.io/never"
)

// Role is the task of a mover.
type Role string

// The roles: write, read while the application runs, and read after it has been stopped.
const (
	RoleReceiver Role = "receiver"
	RoleWarm     Role = "warm"
	RoleLast     Role = "last"
)

// Port is where a receiver listens, and a sender that waits for a relay.
const Port = 8722

// loopback is where movers listen for a relay. A forwarded port arrives there; other connections do not.
const loopback = "127.0.0.1"

const (
	// KeyContainer is the container of a mover's pod that creates its key, and ends before the other one
	// begins.
	KeyContainer = "key"
	// MoverContainer is the container that reads or writes the volume.
	MoverContainer = "mover"
	// Root is the path of a volume with a file system.
	Root = "/volume"
	// Device is the path of a volume of mode Block.
	Device = "/dev/volume"

	// Scratch is where a sender keeps what it has read, while it runs.
	Scratch = "/scratch"

	keyFile  = "/keys/key"
	peerFile = "/peer/fingerprint"
)

// DefaultDeadline bounds the life of a mover for which no deadline is set.
const DefaultDeadline = 24 * time.Hour

// Spec is the task of one mover in one pass. Fields that its two sides share are equal in both.
type Spec struct {
	Namespace, Name string
	// Owner is the UID of the migration. Fence is the fence under which the pod is created.
	Owner types.UID
	Fence string
	// Attempt counts the incoming volumes, and Pass the passes, from 1.
	Attempt, Pass int32
	// Warm is true if the application runs. A change during the pass is left to the next pass; otherwise it is
	// an error.
	Warm bool
	// Fresh is for a receiver: no mover could have written to the claim yet, so it must be empty.
	Fresh bool
	// Claim is mounted: for a receiver the incoming claim, for a sender the ordinal's or the outgoing one.
	Claim string
	// Mode is that of the claim. A block device is not mounted.
	Mode corev1.PersistentVolumeMode

	// Connect is the address of the receiver, with its port, for a sender.
	Connect string
	// Relayed is true if both movers listen for a relay, and on no network.
	Relayed bool
	// Bandwidth and ReadRate limit the bytes a second that a sender sends and reads, as quantities; empty for
	// no limit.
	Bandwidth, ReadRate string
	// Verify is Full, Changed, Later or None: how much of both sides is read at the end. Empty is Full. Copy
	// identifies the copy, for Changed and Later; a sender without it has read a snapshot. Tally is that of the copy, for a prover.
	Verify, Copy, Tally string
	// Content is true if files of one size and time are compared too. It is for the pass after one that ended
	// Different.
	Content bool
	// Devices is true if device nodes are created at the destination.
	Devices bool

	// Image contains the program /mover.
	Image       string
	PullSecrets []corev1.LocalObjectReference
	// ServiceAccount is for admission that depends on it. No token of it is mounted. Empty is "default".
	ServiceAccount string
	// Node is the node that it must run on; empty if Placement decides.
	Node      string
	Placement Placement
	// Near lists the node affinities of other volumes that the ordinal's pod will mount. The pod's node must
	// match each of them.
	Near []corev1.NodeSelector
	// Security replaces AsRoot, if it is set.
	Security *Security
	// SELinux is that of the application's pods, so that the application and the mover can read each other's
	// files.
	SELinux *corev1.SELinuxOptions
	// Resources are those of each container; if they are empty, DefaultResources apply.
	Resources     corev1.ResourceRequirements
	PriorityClass string
	// Deadline bounds the life of the pod; 0 is DefaultDeadline.
	Deadline time.Duration
}

// Placement holds the fields of a pod that decide where it may run.
type Placement struct {
	NodeSelector map[string]string
	Affinity     *corev1.Affinity
	Tolerations  []corev1.Toleration
	Spread       []corev1.TopologySpreadConstraint
	Scheduler    string
	RuntimeClass *string
}

// PlacementOf returns the placement of the pods of a template.
func PlacementOf(pod corev1.PodSpec) Placement {
	return Placement{
		NodeSelector: pod.NodeSelector, Affinity: pod.Affinity, Tolerations: pod.Tolerations, Spread: pod.TopologySpreadConstraints,
		Scheduler: pod.SchedulerName, RuntimeClass: pod.RuntimeClassName,
	}
}

// Security holds the rights of a mover.
type Security struct {
	Pod       *corev1.PodSecurityContext
	Container *corev1.SecurityContext
}

// AsRoot returns the rights that preserve everything a mover can preserve: owners, modes and capabilities of
// files of any user. Device nodes are included only if they are to be created. Pod Security "baseline" admits
// these rights; "restricted" refuses root and every capability.
func AsRoot(devices bool) Security {
	rights := []corev1.Capability{"CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "SETFCAP"}
	if devices {
		rights = append(rights, "MKNOD")
	}
	return Security{
		Pod: &corev1.PodSecurityContext{
			RunAsUser: new(int64(0)), RunAsGroup: new(int64(0)), RunAsNonRoot: new(false),
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		Container: &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
			Capabilities: &corev1.Capabilities{
				Drop: []corev1.Capability{"ALL"},
				Add:  rights,
			},
		},
	}
}

// AsUser returns the rights that Pod Security "restricted" admits. Such a mover reads and writes what this user
// and group may. It fails at the first entry of another owner, so nothing is skipped silently.
func AsUser(user, group int64) Security {
	return Security{
		Pod: &corev1.PodSecurityContext{
			RunAsUser: new(user), RunAsGroup: new(group), RunAsNonRoot: new(true),
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		Container: &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
	}
}

// role returns the role of a sender of this pass.
func (s Spec) role() Role {
	if s.Warm {
		return RoleWarm
	}
	return RoleLast
}

// marks returns the labels and annotations of all objects that are created for a mover. None belongs to the
// application.
func (s Spec) marks() (labels, annotations map[string]string) {
	labels = map[string]string{api.MigrationLabelKey: string(s.Owner), "app.kubernetes.io/managed-by": api.FieldManager}
	annotations = map[string]string{api.OwnerAnnotationKey: string(s.Owner), api.FenceAnnotationKey: s.Fence}
	return labels, annotations
}
