package player

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sliceshift/sliceshift/mover/report"
	"github.com/sliceshift/sliceshift/volumes/copy/manifest"
)

const patchType = types.StrategicMergePatchType

// killed is the exit code of a process that SIGKILL ended, as shells and kubelets report it.
const killed = 128 + int32(syscall.SIGKILL)

// status is the pod status of a kubelet.
type status struct {
	began           metav1.Time
	address         netip.Addr
	phase           corev1.PodPhase
	reason, message string
	key, main       corev1.ContainerState
}

func newStatus(pod *corev1.Pod) status {
	waiting := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}
	s := status{began: metav1.Now(), address: randomAddress(10), phase: corev1.PodPending, key: waiting, main: waiting}
	if len(pod.Spec.InitContainers) == 0 {
		s.key = corev1.ContainerState{}
	}
	return s
}

// randomAddress returns an address in the upper half of a network x.0.0.0/8, which nothing else uses.
func randomAddress(network byte) netip.Addr {
	const free = 128
	n := rand.Uint32()
	return netip.AddrFrom4([4]byte{network, free + byte(n>>16)%(255-free), byte(n >> 8), byte(n)%254 + 1})
}

// Here returns the address of this machine that corresponds to a pod's address.
func Here(address netip.Addr) netip.Addr {
	four := address.As4()
	four[0] = 127
	return netip.AddrFrom4(four)
}

// late sets the status of a pod that exceeded its deadline.
func (s *status) late() {
	s.phase, s.reason, s.message = corev1.PodFailed, "DeadlineExceeded", errLate.Error()
}

// lost sets the status of a pod whose kubelet did not run when its processes ended.
func (s *status) lost() {
	s.phase = corev1.PodFailed
	s.main = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: killed, Reason: "ContainerStatusUnknown", Message: "The container could not be located when the pod was terminated",
		FinishedAt: metav1.Now(),
	}}
}

// patch returns the patch of the status, with the pod's UID.
func (s *status) patch(pod *corev1.Pod) ([]byte, error) {
	over := s.phase == corev1.PodSucceeded || s.phase == corev1.PodFailed
	initialized := s.key.Waiting == nil && s.key.Running == nil && (s.key.Terminated == nil || s.key.Terminated.ExitCode == 0)
	running := s.main.Running != nil && !over
	condition := func(kind corev1.PodConditionType, holds bool, reason string) corev1.PodCondition {
		c := corev1.PodCondition{Type: kind, Status: corev1.ConditionFalse, Reason: reason, LastTransitionTime: metav1.Now()}
		if holds {
			c.Status, c.Reason = corev1.ConditionTrue, ""
		}
		return c
	}
	unready := "ContainersNotReady"
	if s.phase == corev1.PodSucceeded {
		unready = "PodCompleted"
	}
	if s.phase == corev1.PodFailed {
		unready = "PodFailed"
	}
	ready := condition(corev1.PodReady, running && len(pod.Spec.ReadinessGates) == 0, unready)
	if running && ready.Status == corev1.ConditionFalse {
		ready.Reason = "ReadinessGatesNotReady"
	}
	next := corev1.PodStatus{
		Phase: s.phase, Reason: s.reason, Message: s.message, StartTime: &s.began, ObservedGeneration: pod.Generation,
		PodIP: s.address.String(), PodIPs: []corev1.PodIP{{IP: s.address.String()}},
		Conditions: []corev1.PodCondition{
			condition(corev1.PodInitialized, initialized, "ContainersNotInitialized"), ready,
			condition(corev1.ContainersReady, running, unready),
		},
	}
	for _, c := range pod.Spec.InitContainers {
		next.InitContainerStatuses = append(next.InitContainerStatuses, containerStatus(c, s.key))
	}
	for _, c := range pod.Spec.Containers {
		next.ContainerStatuses = append(next.ContainerStatuses, containerStatus(c, s.main))
	}
	return json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID}, "status": next})
}

func containerStatus(c corev1.Container, state corev1.ContainerState) corev1.ContainerStatus {
	return corev1.ContainerStatus{
		Name: c.Name, Image: c.Image, ImageID: c.Image, State: state,
		Ready:   state.Running != nil || c.Name == manifest.KeyContainer && state.Terminated != nil && state.Terminated.ExitCode == 0,
		Started: new(state.Running != nil),
	}
}

// terminated returns the state of an ended container, as a kubelet reports it: its exit code, and its termination
// message. If a container failed without a message, it is the end of its log.
func terminated(err error, message, log string) *corev1.ContainerStateTerminated {
	ended := &corev1.ContainerStateTerminated{Reason: "Completed", ExitCode: exitCode(err)}
	text, _ := os.ReadFile(message) //nolint:gosec // the player's own file
	if ended.ExitCode != 0 {
		ended.Reason = "Error"
		if len(bytes.TrimSpace(text)) == 0 {
			text, _ = os.ReadFile(log) //nolint:gosec // the player's own file
			const most = 2048
			text = text[max(0, len(text)-most):]
		}
	}
	ended.Message = string(text[:min(len(text), report.Most)])
	return ended
}

func exitCode(err error) int32 {
	if err == nil {
		return 0
	}
	failed := &exec.ExitError{}
	if !errors.As(err, &failed) {
		return killed
	}
	if of, ok := failed.Sys().(syscall.WaitStatus); ok && of.Signaled() {
		return 128 + int32(of.Signal())
	}
	return int32(failed.ExitCode())
}
