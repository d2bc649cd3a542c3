package slices

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// patience is the rate limiter for retries after errors. It doubles the wait after each error. The maximum is short, so that
// a raised quota takes effect soon. A failed pass that wanted to requeue earlier is not delayed.
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

// due returns when a failed pass wanted to requeue.
func (r *Reconciler) due(request reconcile.Request) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.memory[request.NamespacedName].due
}
