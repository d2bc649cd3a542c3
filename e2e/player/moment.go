package player

import (
	"syscall"

	corev1 "k8s.io/api/core/v1"
)

// Step is a stage in the life of a pod.
type Step string

// The steps of a pod, in their order. Each is reported before it happens, except Started, which is reported when the
// process runs.
const (
	StepMount   Step = "mount"   // before its volumes are mounted
	StepKey     Step = "key"     // before the init container starts
	StepStart   Step = "start"   // before the mover, or another program, starts
	StepStarted Step = "started" // it runs
	StepEnded   Step = "ended"   // its process has ended; before its status is written
	StepDelete  Step = "delete"  // the pod was deleted and its process has ended; before its object is deleted
)

// Moment is a step of a pod. With it a test injects faults, then or later.
type Moment struct {
	Step Step
	// Pod is the last state that its kubelet saw.
	Pod     *corev1.Pod
	kubelet *kubelet
}

// Kill kills the pod's process (SIGKILL). If none runs, the next process is not started, and counts as ended with 137.
func (m Moment) Kill() { m.kubelet.kill() }

// Silence cuts the node off until Speak: no state of the pod is written to the API server, and no change there is
// seen. The process continues to run.
func (m Moment) Silence() { m.kubelet.silence(true) }

// Speak ends Silence.
func (m Moment) Speak() { m.kubelet.silence(false) }

// Freeze freezes the whole node, including the pod's process, until Thaw.
func (m Moment) Freeze() {
	m.Silence()
	m.kubelet.signal(syscall.SIGSTOP)
}

// Thaw ends Freeze.
func (m Moment) Thaw() {
	m.kubelet.signal(syscall.SIGCONT)
	m.Speak()
}
