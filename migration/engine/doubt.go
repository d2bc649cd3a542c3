package engine

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/queue"
)

// doubts bounds the number of workers, over all namespaces, for Migrations whose clusters have not answered yet
// or did not answer the last time. The bound of each namespace does not help when there are two such
// namespaces.
type doubts struct {
	rota *queue.Rota
	// held holds the requests that are being worked on.
	held map[types.NamespacedName]bool
}

// newDoubts leaves half of the workers to the other Migrations. A single worker serves all.
func newDoubts(concurrency int) *doubts {
	return &doubts{queue.NewRota(max(1, concurrency/2)), map[types.NamespacedName]bool{}}
}

// doubted returns a request's name in the rota of all namespaces.
func doubted(request types.NamespacedName) types.NamespacedName {
	return types.NamespacedName{Name: request.String()}
}

// begin reports whether it is a request's turn. Like all methods of doubts, it is not safe for concurrent use.
func (d *doubts) begin(request types.NamespacedName, urgency int) bool {
	began := d.rota.Begin(doubted(request), urgency)
	if began {
		d.held[request] = true
	}
	return began
}

// end ends a request's turn and returns the request that is next.
func (d *doubts) end(request types.NamespacedName) (next types.NamespacedName, urgency int, found bool) {
	if !d.held[request] {
		return types.NamespacedName{}, 0, false
	}
	delete(d.held, request)
	first, urgency, found := d.rota.End(doubted(request))
	namespace, name, _ := strings.Cut(first.Name, "/")
	return types.NamespacedName{Namespace: namespace, Name: name}, urgency, found
}

// doubtful reports whether it is unknown if the clusters of a Migration answer. The manager's own cluster does
// answer.
func (r *Reconciler) doubtful(m *api.Migration) bool {
	if m.Name == "" || ended(m) || m.Spec.Source.KubeConfigSecretRef == nil && m.Spec.Destination.KubeConfigSecretRef == nil {
		return false
	}
	known := r.engines[client.ObjectKeyFromObject(m)]
	return known == nil || !known.heard
}

// begin reports whether it is a request's turn. If not, the request is queued again when its turn comes.
func (r *Reconciler) begin(request reconcile.Request, m *api.Migration, urgency int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.rota.Begin(request.NamespacedName, urgency) {
		return false
	}
	if !r.doubtful(m) || r.doubts.begin(request.NamespacedName, urgency) {
		return true
	}
	if next, urgency, found := r.rota.End(request.NamespacedName); found {
		r.recall(next, urgency)
	}
	return false
}

// end ends a request's turn and queues the next ones.
func (r *Reconciler) end(request reconcile.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if next, urgency, found := r.rota.End(request.NamespacedName); found {
		r.recall(next, urgency)
	}
	if next, urgency, found := r.doubts.end(request.NamespacedName); found {
		r.recall(next, urgency)
	}
}
