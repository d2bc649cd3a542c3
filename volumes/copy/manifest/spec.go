// Package manifest is what the movers of method Copy are told, and what they say, as Kubernetes objects: the
// pod of a receiver, the pod of a sender, the Service between them, and what is read from a pod's status.
//
// A mover is declared, not commanded. What it is to do stands in its pod; what it has found is in the
// termination messages of its containers, of which the kubelet keeps 4096 bytes. So it needs no credentials,
// and whoever looks at it needs no right to read logs or to run something in it. The only thing that is
// written to it later is the fingerprint of its peer's key:
//
//	init container "key"   makes the key of this mover; its termination message is the fingerprint
//	annotation peer        the fingerprint of the other mover, written once that one has said it
//	container "mover"      waits for the annotation, makes one pass, and ends with a report.Result
//
// A pod makes one pass and is never started again by itself: another pass is another pair of pods.
//
// Everything here is pure: the same Spec, the same object.
package manifest

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// What a mover's pod is marked with, besides api.OwnerAnnotationKey and api.FenceAnnotationKey.
const (
	// RoleLabelKey is on every pod of a mover: a Role.
	RoleLabelKey = "migration.sliceshift.io/mover"
	// IncomingLabelKey is on a receiver: the claim that it writes to. By it its Service finds it.
	IncomingLabelKey = "migration.sliceshift.io/incoming"
	// AttemptAnnotationKey and PassAnnotationKey are numbers, from 1.
	AttemptAnnotationKey = "migration.sliceshift.io/attempt"
	PassAnnotationKey    = "migration.sliceshift.io/pass"
	// WarmAnnotationKey is on the movers of a pass that is made while the application runs.
	WarmAnnotationKey = "migration.sliceshift.io/warm"
	// TransportAnnotationKey is on the movers that listen for a relay: api.TransportRelay.
	TransportAnnotationKey = "migration.sliceshift.io/transport"
	// ServiceTypeAnnotationKey says on a Service for which copy.serviceType it was made, whatever somebody makes of it.
	ServiceTypeAnnotationKey = "migration.sliceshift.io/service-type"
	// PeerAnnotationKey is the fingerprint of the other mover's key. Without it a mover waits.
	PeerAnnotationKey = "migration.sliceshift.io/peer"
	// NeverCondition is a readiness gate that nobody opens: no budget counts a mover as healthy.
	NeverCondition corev1.PodConditionType = "migration.sliceshift.io/never"
)

// Role is what a mover does.
type Role string

// The roles: who writes, who reads while the application runs, and who reads when it has been stopped.
const (
	RoleReceiver Role = "receiver"
	RoleWarm     Role = "warm"
	RoleLast     Role = "last"
)

// Port is where a receiver listens, and a sender that waits for a relay.
const Port = 8722

// loopback is where movers listen for a relay: a forwarded port arrives there, and nothing that has another way does.
const loopback = "127.0.0.1"

const (
	// KeyContainer is the container of a mover's pod that makes its key, and ends before the other one begins.
	KeyContainer = "key"
	// MoverContainer is the one that reads or writes the volume.
	MoverContainer = "mover"
	// Root is where a volume with a file system is.
	Root = "/volume"
	// Device is where a volume of mode Block is.
	Device = "/dev/volume"

	// Scratch is where a sender keeps what was read, while it runs.
	Scratch = "/scratch"

	keyFile  = "/keys/key"
	peerFile = "/peer/fingerprint"
)

// DefaultDeadline bounds the life of a mover of which nobody said how long it may take.
const DefaultDeadline = 24 * time.Hour

// Spec is what one mover is to do in one pass. What its two sides share is set alike in both.
type Spec struct {
	Namespace, Name string
	// Owner is the UID of the migration, and Fence the one under which the pod is made.
	Owner types.UID
	Fence string
	// Attempt counts the incoming volumes, and Pass the passes, from 1.
	Attempt, Pass int32
	// Warm: the application runs, and what changes is left to the next pass. Otherwise it is an error.
	Warm bool
	// Fresh: nothing was let write to the claim yet, so that it must be empty. It is for a receiver.
	Fresh bool
	// Claim is what is mounted: the incoming one of a receiver, the ordinal's or the outgoing one of a sender.
	Claim string
	// Mode is that of the claim. A block device is not mounted.
	Mode corev1.PersistentVolumeMode

	// Connect is the address of the receiver, with its port; only a sender is told it.
	Connect string
	// Relayed: both movers listen for a relay, and on no network.
	Relayed bool
	// Bandwidth and ReadRate are the most bytes a second that a sender sends, and reads, as quantities; empty:
	// not limited.
	Bandwidth, ReadRate string
	// Verify is Full, Changed or None: what of both sides is read at the end. Empty is Full. Copy tells the copy from every
	// other one, for Changed.
	Verify, Copy string
	// Content: files of one size and time are compared too. It is for the pass after one that ended Different.
	Content bool
	// Devices has device nodes made at the destination.
	Devices bool

	// Image has the program /mover.
	Image       string
	PullSecrets []corev1.LocalObjectReference
	// ServiceAccount is for who admits pods by it. No token of it is mounted; empty is "default".
	ServiceAccount string
	// Node is where it must run; empty: where Placement lets it.
	Node      string
	Placement Placement
	// Near are the node affinities of other volumes that the ordinal's pod is to mount: where the pod runs it must match each of them.
	Near []corev1.NodeSelector
	// Security replaces Root's, where it is set.
	Security *Security
	// SELinux is that of the application's pods, so that what one of them has labelled the other may read.
	SELinux *corev1.SELinuxOptions
	// Resources are of each container; without any they are DefaultResources.
	Resources     corev1.ResourceRequirements
	PriorityClass string
	// Deadline bounds the life of the pod; 0 is DefaultDeadline.
	Deadline time.Duration
}

// Placement is what of a pod says where it may run.
type Placement struct {
	NodeSelector map[string]string
	Affinity     *corev1.Affinity
	Tolerations  []corev1.Toleration
	Spread       []corev1.TopologySpreadConstraint
	Scheduler    string
	RuntimeClass *string
}

// PlacementOf is the placement of the pods of a template.
func PlacementOf(pod corev1.PodSpec) Placement {
	return Placement{
		NodeSelector: pod.NodeSelector, Affinity: pod.Affinity, Tolerations: pod.Tolerations, Spread: pod.TopologySpreadConstraints,
		Scheduler: pod.SchedulerName, RuntimeClass: pod.RuntimeClassName,
	}
}

// Security are the rights of a mover.
type Security struct {
	Pod       *corev1.PodSecurityContext
	Container *corev1.SecurityContext
}

// AsRoot are the rights with which all that a mover keeps can be kept: owners, modes and capabilities of files that belong
// to anybody, and device nodes only where they are to be made. Pod Security "baseline" admits them; "restricted" refuses
// root and every capability.
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

// AsUser are the rights that Pod Security "restricted" admits. Such a mover reads and writes what this user
// and group may, and fails at the first entry of another owner: nothing is left out in silence.
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

// role is what a sender of this pass is.
func (s Spec) role() Role {
	if s.Warm {
		return RoleWarm
	}
	return RoleLast
}

// marks are the labels and annotations of all that is made for a mover. None is of the application.
func (s Spec) marks() (labels, annotations map[string]string) {
	labels = map[string]string{api.MigrationLabelKey: string(s.Owner), "app.kubernetes.io/managed-by": api.FieldManager}
	annotations = map[string]string{api.OwnerAnnotationKey: string(s.Owner), api.FenceAnnotationKey: s.Fence}
	return labels, annotations
}
