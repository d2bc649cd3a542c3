package player

import (
	"syscall"

	corev1 "k8s.io/api/core/v1"
)

// Step is where a pod is.
type Step string

// The steps of a pod, in their order. Each is told before it is made; Started when the process is there.
const (
	StepMount   Step = "mount"   // its volumes are to be mounted
	StepKey     Step = "key"     // the init container is to be started
	StepStart   Step = "start"   // the mover, or another program, is to be started
	StepStarted Step = "started" // it runs
	StepEnded   Step = "ended"   // its process is over, and its status is to be written
	StepDelete  Step = "delete"  // the pod was deleted, its process is over, and it is to go away
)

// Moment is a step of a pod. By it harm is done, then or later.
type Moment struct {
	Step Step
	// Pod is as its kubelet last saw it.
	Pod     *corev1.Pod
	kubelet *kubelet
}

// Kill ends the pod's process at once (SIGKILL). If none runs, the next one is not started, and has ended
// with 137.
func (m Moment) Kill() { m.kubelet.kill() }

// Silence cuts the node off: nothing of the pod is written to the API server, and nothing that is written there
// is seen, until Speak. Its process goes on.
func (m Moment) Silence() { m.kubelet.silence(true) }

// Speak ends Silence.
func (m Moment) Speak() { m.kubelet.silence(false) }

// Freeze has the whole node stand still: the pod's process too, until Thaw.
func (m Moment) Freeze() {
	m.Silence()
	m.kubelet.signal(syscall.SIGSTOP)
}

// Thaw ends Freeze.
func (m Moment) Thaw() {
	m.kubelet.signal(syscall.SIGCONT)
	m.Speak()
}
