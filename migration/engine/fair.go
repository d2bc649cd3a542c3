package engine

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// Priorities in the queue of Migrations: a Migration with an ordinal down goes first, and one that has begun
// before those that have not. When a hundred are created at once, the first ones move while the others are
// still checked. One whose ordinals have all arrived has few passes left, and another one may wait for its end.
const (
	urgencyNone = iota
	urgencyBegun
	urgencyDown
)

// urgency returns the priority of a Migration.
func urgency(m *api.Migration) int {
	switch {
	case m.Status.Handoff != nil, ends(m):
		return urgencyDown
	case m.Status.Baseline != nil:
		return urgencyBegun
	default:
		return urgencyNone
	}
}

// ends reports whether no ordinal of a Migration is left to move.
func ends(m *api.Migration) bool {
	switch {
	case m.Status.Baseline == nil || m.Status.Handoff != nil:
		return false
	case m.Spec.Mode == api.ModeRollback:
		return m.Status.Moved == 0
	default:
		return m.Status.Moved == m.Status.Total && m.Status.Total > 0
	}
}

// priority returns a Migration's priority in the queue. One that has not begun, and that was never reported on, waits in
// line or was resumed, has the priority of those whose ordinals are down: at its own urgency nothing would be reported
// while others have work. Those that an Evacuation holds are hundreds, and were checked when it was planned.
func priority(m *api.Migration) int {
	if m.Status.Baseline != nil || m.Spec.Mode == api.ModePause && m.Annotations[api.EvacuationHeldAnnotationKey] != "" {
		return urgency(m)
	}
	if records.InLine(m) || meta.FindStatusCondition(m.Status.Conditions, api.ConditionProgressing) == nil {
		return urgencyDown
	}
	return urgency(m)
}

// byUrgency returns the handler that queues a Migration that was changed, or that exists when the manager
// starts.
func byUrgency() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	add := func(to queue, object client.Object) {
		request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(object)}
		m, isOne := object.(*api.Migration)
		if ranked, ok := to.(priorityqueue.PriorityQueue[reconcile.Request]); ok && isOne {
			ranked.AddWithOpts(priorityqueue.AddOpts{Priority: new(priority(m))}, request)
			return
		}
		to.Add(request)
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, to queue) { add(to, e.Object) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, to queue) { add(to, e.ObjectNew) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, to queue) { add(to, e.Object) },
	}
}

// recall queues a request whose turn it is.
func (r *Reconciler) recall(next types.NamespacedName, urgency int) {
	r.queue.AddWithOpts(priorityqueue.AddOpts{Priority: &urgency}, reconcile.Request{NamespacedName: next})
}

// ask reports whether requests may be sent to a Migration's clusters, by the time to wait. Clusters that have
// answered the Migration so far may be asked.
func (r *Reconciler) ask(d *driven, m *api.Migration) (wait time.Duration, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if d.heard {
		return 0, ""
	}
	return r.silences.ask(d.reached(), m.Status.Handoff != nil, time.Now())
}

// told records whether the clusters answered.
func (r *Reconciler) told(d *driven, decision plan.Decision, asked time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch hold := decision.Hold; {
	case hold != nil && hold.Reason == api.ReasonClusterUnreachable:
		d.heard = false
		r.silences.unanswered(d.reached(), hold.Message, asked, time.Now())
	case !d.heard:
		d.heard = true
		r.silences.answered(d.reached())
	}
}
