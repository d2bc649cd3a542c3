package slices

import (
	"context"
	"maps"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/slices/decide"
)

// nodes remembers the answers of the nodes that were asked. The zero value is ready to use.
type nodes struct {
	mu    sync.Mutex
	known map[string]node
}

// node is the answer of a node, in times of this process: clocks of nodes may differ.
type node struct {
	// asked is the time of the last request, and first that of the first one of a series.
	asked, first time.Time
	// lease is the version of the node's lease. Its kubelet renews it every 10 s.
	lease string
	// answered is the time at which the node was known to answer, or zero. lost is the time since which it is not Ready, or
	// zero.
	answered, lost time.Time
}

const (
	// series is the maximum interval between two requests that prove together that a node answers.
	series = 40 * time.Second
	// judged is the time after which Kubernetes has judged a silent node (--node-monitor-grace-period, 50 s).
	judged = 90 * time.Second
	// answersFor is the time for which an answer counts.
	answersFor = time.Minute
	// forgotten is the time after which an answer is removed.
	forgotten = 24 * time.Hour
)

// mark adds the answers of their nodes to pods that are not Ready.
func (n *nodes) mark(pods []decide.Pod, now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range pods {
		pod := &pods[i]
		known, asked := n.known[pod.Node]
		if !asked || pod.Terminating || pod.Ready {
			continue
		}
		pod.Asked, pod.Answers = known.asked, !known.answered.IsZero() && now.Sub(known.answered) <= answersFor
		if pod.LostSince.IsZero() {
			pod.LostSince = known.lost
		}
	}
}

// ask reads the state of a node and its lease from the API server. It reports whether the answer is another one than before.
// A request that fails is no answer. A node that may not be read, or that does not exist, counts as one that answers: the
// status of its pods is all that is known.
func (n *nodes) ask(ctx context.Context, live client.Reader, name string, now time.Time) (changed bool) {
	before := n.of(name)
	after := before
	after.asked = now
	if now.Sub(before.asked) > series {
		after.first, after.lease = now, ""
	}
	var found corev1.Node
	switch err := live.Get(ctx, client.ObjectKey{Name: name}, &found); {
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
		after.answered, after.lost = now, time.Time{}
	case err != nil:
	default:
		after.judge(ctx, live, &found, now)
	}
	n.keep(name, after)
	return !after.lost.Equal(before.lost)
}

// judge updates the answer from the node's condition Ready. A node that Kubernetes still considers Ready has answered if it
// has renewed its lease meanwhile, or if it would be judged otherwise by now.
func (n *node) judge(ctx context.Context, live client.Reader, found *corev1.Node, now time.Time) {
	n.lost = time.Time{}
	for _, c := range found.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			n.lost = c.LastTransitionTime.Time
			return
		}
	}
	lease := metav1.PartialObjectMetadata{}
	lease.SetGroupVersionKind(coordinationv1.SchemeGroupVersion.WithKind("Lease"))
	err := live.Get(ctx, client.ObjectKey{Namespace: corev1.NamespaceNodeLease, Name: found.Name}, &lease)
	renewed := err == nil && n.lease != "" && lease.ResourceVersion != n.lease
	if err == nil {
		n.lease = lease.ResourceVersion
	}
	if renewed || apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || now.Sub(n.first) >= judged {
		n.answered = now
	}
}

func (n *nodes) of(name string) node {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.known[name]
}

// keep stores an answer, and removes those that nobody has asked for lately.
func (n *nodes) keep(name string, answer node) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known == nil {
		n.known = map[string]node{}
	}
	maps.DeleteFunc(n.known, func(_ string, other node) bool { return answer.asked.Sub(other.asked) > forgotten })
	n.known[name] = answer
}

// askNodes asks the nodes of a decision. It returns when to reconcile again because of an answer, or 0.
func (r *Reconciler) askNodes(ctx context.Context, decision decide.Decision) time.Duration {
	var wait time.Duration
	for _, name := range decision.AskNodes {
		if r.nodes.ask(ctx, r.Live, name, r.now()) {
			wait = retryChanged
		}
	}
	return wait
}
