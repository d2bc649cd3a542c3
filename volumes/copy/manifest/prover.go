package manifest

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// RoleProver is the role of a mover that reads a volume whole, alone, after the application has left it.
const RoleProver Role = "prover"

// proverDeadline bounds the life of a prover: a large volume on a slow disk takes days.
const proverDeadline = 14 * 24 * time.Hour

// Prover returns the pod that reads its claim whole and reports the root. It has no peer, so it needs no key and no
// network. It mounts the claim read-only.
func Prover(s Spec) *corev1.Pod {
	args := []string{"seal"}
	if s.Tally != "" {
		args = append(args, "--tally="+s.Tally)
	}
	if s.Deadline == 0 {
		s.Deadline = proverDeadline
	}
	pod := s.pod(RoleProver, args)
	pod.Spec.InitContainers = nil
	pod.Spec.Volumes = pod.Spec.Volumes[:1]
	pod.Spec.Volumes[0].PersistentVolumeClaim.ReadOnly = true
	mover := &pod.Spec.Containers[0]
	mover.Args, mover.VolumeMounts = args, nil
	if s.block() {
		mover.Args = append(mover.Args, "--device="+Device)
		return pod
	}
	mover.Args = append(mover.Args, "--root="+Root)
	mover.VolumeMounts = []corev1.VolumeMount{{Name: "volume", MountPath: Root, ReadOnly: true}}
	return pod
}
