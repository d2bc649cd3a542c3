package decide

import (
	"slices"
	"time"
)

// A node is known to be lost only after the grace period of Kubernetes (--node-monitor-grace-period, 50 s), and the status of
// a pod that was never Ready on it does not show it at all. So the node of a pod that is not Ready is asked.
const (
	// suspectAfter is the time for which a pod is not Ready before its node is asked, and the interval for a lost node.
	suspectAfter = time.Minute
	// askAgain is the interval in which a node that answers must have renewed its lease. Kubelets renew it every 10 s.
	askAgain = 15 * time.Second
	// mostAsked is the maximum number of nodes that a pass asks.
	mostAsked = 8
)

// suspect reports whether a pod may be not Ready because of its node.
func suspect(pod *Pod) bool {
	return pod.Node != "" && !pod.Terminating && !ready(pod) && !ended(pod)
}

// askNodes asks the nodes of pods that are not Ready, less often the longer that lasts. The status of some pods already shows
// that their node is lost.
func (d *decider) askNodes() {
	for _, pod := range d.pods {
		lost := !pod.LostSince.IsZero()
		if !suspect(pod) || lost && pod.Asked.IsZero() {
			continue
		}
		due := pod.UnreadySince.Add(suspectAfter)
		switch {
		case pod.Asked.IsZero():
		case lost:
			due = pod.Asked.Add(suspectAfter)
		default:
			due = pod.Asked.Add(max(suspectAfter, d.Now.Sub(pod.UnreadySince)/2))
		}
		d.askAt(pod, due)
	}
}

// askAt asks the node of a pod when that is due.
func (d *decider) askAt(pod *Pod, due time.Time) {
	if left := due.Sub(d.Now); left > 0 {
		d.lookAgain(left)
		return
	}
	if !slices.Contains(d.asks, pod.Node) && len(d.asks) < mostAsked {
		d.asks = append(d.asks, pod.Node)
	}
	d.lookAgain(askAgain)
}

// blameless reports whether a late pod may be late because its node does not answer, and asks that node. The roll-out must
// not fail before it has answered.
func (d *decider) blameless(pod *Pod) bool {
	if pod == nil || !suspect(pod) || pod.Answers {
		return false
	}
	d.askAt(pod, pod.Asked.Add(askAgain))
	return true
}
