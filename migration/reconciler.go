package migration

import (
	"context"
	"errors"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/sliceshift/sliceshift/internal/records"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Reconciler drives all Migrations of the manager's cluster, one engine each.
type Reconciler struct {
	Client    client.Client
	Connector *Connector
	Events    events.EventRecorder
	// Holder identifies this process.
	Holder string

	queue   workqueue.TypedRateLimitingInterface[reconcile.Request]
	mu      sync.Mutex
	engines map[types.NamespacedName]*driven
}

// driven is an engine with what it holds.
type driven struct {
	engine              *Engine
	uid                 types.UID
	source, destination link
}

func (d *driven) close() {
	d.engine.Close()
	d.source.release()
	d.destination.release()
}

// SetupWithManager registers the reconciler. At most concurrency Migrations are
// worked on at once.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, concurrency int) error {
	r.engines = map[types.NamespacedName]*driven{}
	return ctrl.NewControllerManagedBy(mgr).
		Named("migration").
		For(&api.Migration{}, builder.WithPredicates(predicate.ResourceVersionChangedPredicate{})).
		WatchesRawSource(source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
			r.queue = queue
			return nil
		})).
		WithOptions(controller.Options{MaxConcurrentReconciles: concurrency}).
		Complete(r)
}

// Reconcile does one step of one Migration.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (ctrl.Result, error) {
	m := &api.Migration{}
	if err := r.Client.Get(ctx, request.NamespacedName, m); err != nil {
		r.drop(request.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if done, err := r.finalizer(ctx, m); done || err != nil {
		return ctrl.Result{}, err
	}
	engine, err := r.engine(ctx, m)
	if err != nil {
		return r.refuse(ctx, m, err)
	}
	outcome, err := engine.Pass(ctx, m)
	if err != nil {
		if apierrors.IsConflict(err) {
			return ctrl.Result{RequeueAfter: againUnseen}, nil
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	r.announce(m, outcome)
	return r.result(ctx, m, outcome)
}

// result says when to come back, and lets go of what is not needed any more.
func (r *Reconciler) result(ctx context.Context, m *api.Migration, outcome Outcome) (ctrl.Result, error) {
	key := client.ObjectKeyFromObject(m)
	if outcome.Done {
		r.drop(key)
		if m.DeletionTimestamp.IsZero() {
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, r.removeFinalizer(ctx, m)
	}
	if hold := outcome.Decision.Hold; hold != nil && (hold.Reason == api.ReasonClusterUnreachable || hold.Reason == api.ReasonClusterReplaced) {
		// The kubeconfig may have been replaced meanwhile.
		r.drop(key)
	}
	return ctrl.Result{RequeueAfter: outcome.Again}, nil
}

// finalizer keeps a Migration until it has let go of both StatefulSets.
func (r *Reconciler) finalizer(ctx context.Context, m *api.Migration) (done bool, err error) {
	has := controllerutil.ContainsFinalizer(m, api.Finalizer)
	switch {
	case !m.DeletionTimestamp.IsZero() && !has:
		r.drop(client.ObjectKeyFromObject(m))
		return true, nil
	case !m.DeletionTimestamp.IsZero() && letGo(m):
		// Its clusters need not be reached for that: who deletes a namespace takes the
		// rights and the kubeconfig away with it.
		r.drop(client.ObjectKeyFromObject(m))
		return true, r.removeFinalizer(ctx, m)
	case m.DeletionTimestamp.IsZero() && !has:
		before := m.DeepCopy()
		controllerutil.AddFinalizer(m, api.Finalizer)
		return true, r.Client.Patch(ctx, m, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	}
	return false, nil
}

// letGo says whether neither StatefulSet carries anything of a Migration: nothing was
// written in its name, or it is at its end.
func letGo(m *api.Migration) bool {
	return m.Status.Baseline == nil || meta.IsStatusConditionTrue(m.Status.Conditions, api.ConditionCompleted)
}

func (r *Reconciler) removeFinalizer(ctx context.Context, m *api.Migration) error {
	before := m.DeepCopy()
	controllerutil.RemoveFinalizer(m, api.Finalizer)
	return client.IgnoreNotFound(r.Client.Patch(ctx, m, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})))
}

// engine returns the Migration's engine, connected.
func (r *Reconciler) engine(ctx context.Context, m *api.Migration) (*Engine, error) {
	key := client.ObjectKeyFromObject(m)
	r.mu.Lock()
	found := r.engines[key]
	r.mu.Unlock()
	if found != nil && found.uid == m.UID {
		return found.engine, nil
	}
	r.drop(key)
	from, to, err := r.Connector.open(ctx, m)
	if err != nil {
		return nil, err
	}
	created := &driven{uid: m.UID, source: from, destination: to, engine: NewEngine(m, Options{
		Source: from.connection, Destination: to.connection, Holder: r.Holder,
		Records: records.Resource{Client: r.Client, Namespace: m.Namespace, Name: m.Name},
		Notify:  func() { r.queue.Add(reconcile.Request{NamespacedName: key}) },
	})}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.engines[key] = created
	return created.engine, nil
}

func (r *Reconciler) drop(key types.NamespacedName) {
	r.mu.Lock()
	found := r.engines[key]
	delete(r.engines, key)
	r.mu.Unlock()
	if found != nil {
		found.close()
	}
}

// refuse reports why a Migration's clusters cannot be connected to.
func (r *Reconciler) refuse(ctx context.Context, m *api.Migration, err error) (ctrl.Result, error) {
	decision := unreachable(err)
	again := againUnreachable
	if refused, ok := errors.AsType[*refusal](err); ok {
		decision = Decision{Hold: &refused.hold}
		again = againRefused
	}
	before := m.DeepCopy()
	render(m, Snapshot{Spec: specOf(m, false)}, decision)
	if changed(before, m) {
		if err := r.Client.Status().Update(ctx, m); err != nil {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
		r.announce(m, Outcome{Decision: decision, Saved: true, Stalls: beginsToStall(before, m)})
	}
	return ctrl.Result{RequeueAfter: again}, nil
}
