package migration

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sliceshift/sliceshift/migration/queue"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// doubts bound how many workers the Migrations of all namespaces hold together whose clusters have not answered yet, or not
// the last time. The bound of a namespace does not help against two of them.
type doubts struct {
	rota *queue.Rota
	// held are the requests that are worked on.
	held map[types.NamespacedName]bool
}

// newDoubts leaves half of the workers to the others. One worker is for all.
func newDoubts(concurrency int) *doubts {
	return &doubts{queue.NewRota(max(1, concurrency/2)), map[types.NamespacedName]bool{}}
}

// doubted is a request among those of all namespaces.
func doubted(request types.NamespacedName) types.NamespacedName {
	return types.NamespacedName{Name: request.String()}
}

// begin says whether it is a request's turn. It is not safe for concurrent use, as all of doubts.
func (d *doubts) begin(request types.NamespacedName, urgency int) bool {
	began := d.rota.Begin(doubted(request), urgency)
	if began {
		d.held[request] = true
	}
	return began
}

// end returns who is to come for a request whose turn is over.
func (d *doubts) end(request types.NamespacedName) (next types.NamespacedName, urgency int, found bool) {
	if !d.held[request] {
		return types.NamespacedName{}, 0, false
	}
	delete(d.held, request)
	first, urgency, found := d.rota.End(doubted(request))
	namespace, name, _ := strings.Cut(first.Name, "/")
	return types.NamespacedName{Namespace: namespace, Name: name}, urgency, found
}

// doubtful says whether it is not known that the clusters of a Migration answer. Its own cluster has answered.
func (r *Reconciler) doubtful(m *api.Migration) bool {
	if m.Name == "" || ended(m) || m.Spec.Source.KubeConfigSecretRef == nil && m.Spec.Destination.KubeConfigSecretRef == nil {
		return false
	}
	known := r.engines[client.ObjectKeyFromObject(m)]
	return known == nil || !known.heard
}

// begin says whether it is a request's turn; otherwise it is queued again when it is.
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

// end lets the next ones take their turn.
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
