package decide

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sliceshift/sliceshift/internal/shell"
)

// endsWithin is the time that a kubelet gets to report the end of a pod after the grace period.
const endsWithin = 30 * time.Second

// terminating returns why a Terminating pod still exists, and requeues when the reason may change. After the grace period,
// its node or its finalizers are the reason: only the kubelet confirms that the containers of a pod have stopped.
func (d *decider) terminating(pod *Pod) string {
	if pod.GoneBy.IsZero() {
		return "it is Terminating"
	}
	ends := pod.GoneBy.UTC().Format(time.RFC3339)
	if left := endsWithin - d.Now.Sub(pod.GoneBy); left > 0 {
		d.lookAgain(left)
		return "it is Terminating: its grace period ends at " + ends
	}
	message := "it is Terminating since before " + ends
	if pod.Node != "" && !ended(pod) {
		message = fmt.Sprintf("it is Terminating, and node %s has not confirmed since %s that it has stopped", pod.Node, ends) + freedBy(pod.Node)
	}
	if len(pod.Finalizers) > 0 {
		message += "; it also waits for the controllers of its finalizers: " + strings.Join(pod.Finalizers, ", ")
	}
	return message
}

// notReady returns why a pod is not Ready, as far as that is known.
func notReady(pod *Pod) string {
	if pod.LostSince.IsZero() {
		return "it is not Ready"
	}
	return fmt.Sprintf("it is not Ready, because node %s is not Ready or does not answer since %s", pod.Node, pod.LostSince.UTC().Format(time.RFC3339)) + freedBy(pod.Node)
}

// freedBy returns how a pod can leave a node that is lost. The taint deletes the pods of the node and detaches their
// volumes, so the machine must be off.
func freedBy(node string) string {
	return "; repair the node, or power it off, make sure that it is off, and free its pods: " +
		shell.Kubectl{}.Do("taint", "nodes", node, corev1.TaintNodeOutOfService+"=nodeshutdown:NoExecute")
}
