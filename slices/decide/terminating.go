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
		message = fmt.Sprintf("it is Terminating, and node %s has not confirmed since %s that it has stopped; repair the node, or power it off, make sure that it is off, and free the pod: %s",
			pod.Node, ends, shell.Kubectl{}.Do("taint", "nodes", pod.Node, corev1.TaintNodeOutOfService+"=nodeshutdown:NoExecute"))
	}
	if len(pod.Finalizers) > 0 {
		message += "; it also waits for the controllers of its finalizers: " + strings.Join(pod.Finalizers, ", ")
	}
	return message
}
