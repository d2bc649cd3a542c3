package slices

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// patience is how long to wait after an error: twice as long as the time before, and not
// so long that nobody would wait for a quota that has been raised. What is due before that is
// not late for it.
type patience struct {
	workqueue.TypedRateLimiter[reconcile.Request]
	r *Reconciler
}

func (r *Reconciler) patience() patience {
	const first, longest = 5 * time.Millisecond, 30 * time.Second
	return patience{workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](first, longest), r}
}

// When returns how long to wait.
func (p patience) When(request reconcile.Request) time.Duration {
	wait := p.TypedRateLimiter.When(request)
	if left := p.r.due(request).Sub(p.r.now()); left > 0 {
		return min(wait, left)
	}
	return wait
}

// due is when a pass that failed has wanted to look again, whatever failed.
func (r *Reconciler) due(request reconcile.Request) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.memory[request.NamespacedName].due
}
