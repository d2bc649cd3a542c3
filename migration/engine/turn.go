package engine

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/queue"
)

// seedAtMost bounds the time in which a starting manager resolves the destinations of Migrations that have
// begun.
const seedAtMost = 10 * time.Second

// destinationOf returns the destination to which a connection's key leads, regardless of the identity; empty if
// there is none.
func destinationOf(key string) string {
	switch {
	case key == offKey:
		return ""
	case strings.HasPrefix(key, localPrefix):
		return localName
	default:
		cluster, _, _ := strings.Cut(strings.TrimPrefix(key, remotePrefix), "/")
		return cluster
	}
}

// destinationName returns the display name of a Migration's destination.
func destinationName(m *api.Migration) string {
	if ref := m.Target().KubeConfigSecretRef; ref != nil {
		return ref.Name
	}
	return localName
}

// stalled reports whether a Migration has the condition Stalled.
func stalled(m *api.Migration) bool {
	return meta.IsStatusConditionTrue(m.Status.Conditions, api.ConditionStalled)
}

// outsideWindow reports whether a Migration waits for its window, according to its status.
func outsideWindow(m *api.Migration) bool {
	progressing := meta.FindStatusCondition(m.Status.Conditions, api.ConditionProgressing)
	return progressing != nil && progressing.Reason == api.ReasonOutsideWindow
}

// standsAside reports whether a Migration neither moves nor would move. It has ended, or it waits for a user
// and must not hold up the line. waits is true if it uses nothing that another one could use, although a
// handoff of it is recorded.
func standsAside(m *api.Migration, waits bool) bool {
	switch {
	case ended(m), stalled(m):
		return true
	case m.Status.Baseline == nil:
		return m.Spec.Mode != api.ModeRun
	default:
		return waits || m.Status.Handoff == nil && (m.Spec.Mode == api.ModePause || outsideWindow(m))
	}
}

// turn returns the reason why a Migration may not begin; nil if it may. A stalled one is still checked, and
// rejoins the line when the problem is fixed.
func (r *Reconciler) turn(ctx context.Context, m *api.Migration) (*plan.Hold, error) {
	if hold, err := r.wave(ctx, m); hold != nil || err != nil {
		r.leave(client.ObjectKeyFromObject(m))
		return hold, err
	}
	if !r.line.Bounded() || m.Status.Baseline != nil || m.Spec.Mode != api.ModeRun {
		return nil, nil
	}
	r.mu.Lock()
	destination, active, found := r.line.Known(queue.TicketOf(m, ""))
	r.mu.Unlock()
	if active {
		return nil, nil
	}
	if found {
		if hold := r.stand(m, destination); hold != nil {
			return hold, nil
		}
	}
	// The Secret is read when a Migration is new, and when its turn has come.
	_, to, err := r.Connector.keys(ctx, m)
	if err != nil {
		return nil, err
	}
	return r.stand(m, destinationOf(to)), nil
}

// stand requests a place in line, and returns the reason to wait; nil if the Migration has a place.
func (r *Reconciler) stand(m *api.Migration, destination string) *plan.Hold {
	r.mu.Lock()
	stands, called := r.line.Ask(queue.TicketOf(m, destination), !stalled(m), time.Now())
	r.mu.Unlock()
	r.call(called)
	return stands.Hold(destinationName(m))
}

// wait reports a Migration's position in line, at intervals.
func (r *Reconciler) wait(ctx context.Context, m *api.Migration, hold plan.Hold) (ctrl.Result, error) {
	key := client.ObjectKeyFromObject(m)
	r.drop(key)
	r.mu.Lock()
	left := r.line.Tell(key, time.Now())
	r.mu.Unlock()
	if left > 0 {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	return r.hold(ctx, m, plan.Decision{Hold: &hold}, queue.Pause)
}

// settle updates the line after a step of a Migration, which may have failed.
func (r *Reconciler) settle(m *api.Migration, failed bool) {
	if !r.line.Bounded() {
		return
	}
	key := client.ObjectKeyFromObject(m)
	var called []types.NamespacedName
	r.mu.Lock()
	switch destination := r.destination(m); {
	case standsAside(m, r.waits(key)), destination == "", failed && m.Status.Baseline == nil:
		called = r.line.Leave(key, time.Now())
	case m.Status.Baseline != nil:
		called = r.line.Begun(queue.TicketOf(m, destination), time.Now())
	}
	r.mu.Unlock()
	r.call(called)
}

// destination returns the destination to which a Migration is connected, or would be.
func (r *Reconciler) destination(m *api.Migration) string {
	if d := r.engines[client.ObjectKeyFromObject(m)]; d != nil && d.uid == m.UID {
		return destinationOf(d.destination.key)
	}
	destination, _, _ := r.line.Known(queue.TicketOf(m, ""))
	return destination
}

// leave removes a Migration that does not exist any more.
func (r *Reconciler) leave(key types.NamespacedName) {
	r.mu.Lock()
	called := append(r.line.Leave(key, time.Now()), r.ledger.leave(key)...)
	r.mu.Unlock()
	r.call(called)
}

// call queues the Migrations whose turn has come.
func (r *Reconciler) call(called []types.NamespacedName) {
	for _, who := range called {
		r.queue.AddWithOpts(priorityqueue.AddOpts{Priority: new(urgencyNone)}, reconcile.Request{NamespacedName: who})
	}
}

// seed records once which Migrations had begun before this manager started, so that no other one begins too
// early. A destination that cannot be resolved now is recorded when its Migration is reconciled.
func (r *Reconciler) seed(ctx context.Context) error {
	r.seeding.Lock()
	defer r.seeding.Unlock()
	if r.seeded || !r.line.Bounded() && r.ledger == nil {
		return nil
	}
	all := &api.MigrationList{}
	if err := r.Client.List(ctx, all); err != nil {
		return fmt.Errorf("listing the migrations in progress: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, seedAtMost)
	defer cancel()
	for i := range all.Items {
		m := &all.Items[i]
		r.book(m, false)
		if m.Status.Baseline == nil || standsAside(m, false) || !r.line.Bounded() {
			continue
		}
		_, to, err := r.Connector.keys(ctx, m)
		if destination := destinationOf(to); err == nil && destination != "" {
			r.mu.Lock()
			r.line.Begun(queue.TicketOf(m, destination), time.Now())
			r.mu.Unlock()
		}
	}
	r.seeded = true
	return nil
}
