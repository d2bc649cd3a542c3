package engine

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/api/tolerant"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/berths"
	"github.com/sliceshift/sliceshift/migration/health"
	"github.com/sliceshift/sliceshift/migration/metrics"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/migration/queue"
	"github.com/sliceshift/sliceshift/migration/relay"
	"github.com/sliceshift/sliceshift/migration/traces"
	"github.com/sliceshift/sliceshift/migration/world"
	"github.com/sliceshift/sliceshift/volumes"
)

// Reconciler drives all Migrations of the manager's cluster, with one engine for each.
type Reconciler struct {
	Client client.Client
	// Live reads from the API server of the manager's cluster, without a cache.
	Live client.Reader
	// Namespace limits the reconciler to the Migrations of one namespace; empty means all namespaces.
	Namespace string
	Connector *Connector
	Events    events.EventRecorder
	// Volumes restricts which volumes may be created in a Migration's clusters.
	Volumes volumes.Policy
	// Addresses restricts the Prometheus servers that health gates may query.
	Addresses health.Addresses
	// Probes restricts the addresses that probes may request.
	Probes health.Addresses
	// Holder identifies this process.
	Holder string
	// ServerTime converts a local time to the time of the API server of the manager's cluster; nil means that
	// both are equal.
	ServerTime func(time.Time) time.Time
	// Traces records a trace of each handoff; the zero value records none.
	Traces traces.Recorder

	queue    priorityqueue.PriorityQueue[reconcile.Request]
	mu       sync.Mutex
	engines  map[types.NamespacedName]*driven
	rota     *queue.Rota
	doubts   *doubts
	silences *silences
	line     *queue.Line
	ledger   *ledger
	relays   *relay.Bound
	followed *metrics.Migrations

	seeding sync.Mutex
	seeded  bool
}

// Limits bounds concurrent work.
type Limits struct {
	// Concurrency is the number of Migrations that are reconciled at once.
	Concurrency int
	// Namespace is the same limit for one namespace.
	Namespace int
	// Destination is the number of active Migrations to one destination; 0 means no limit. DestinationShare is
	// the number of these that may be of one namespace.
	Destination, DestinationShare int
	// Handoffs bounds the handoffs that use one resource at once.
	Handoffs berths.Limits
	// Relays is the number of relays that run at once, and RelayShare the number of these of one namespace; 0
	// means no limit.
	Relays, RelayShare int
}

// driven is an engine with the connections and state that belong to it.
type driven struct {
	engine              *Engine
	uid                 types.UID
	source, destination link
	// checked is when the links were last compared with the spec, and generation is the generation of that
	// spec.
	checked    time.Time
	generation int64
	// heard is true after the clusters have answered. waits is true while the Migration uses nothing that
	// another one could use.
	heard, waits bool
	// urgency is the urgency of the Migration at its last pass; events are queued with it.
	urgency atomic.Int32
	// arrived holds the arrivals that no event has reported yet.
	arrived arrivals
}

// reached returns the key by which its clusters are reached.
func (d *driven) reached() string { return d.source.key + " " + d.destination.key }

func (d *driven) close() {
	d.engine.Close()
	d.source.release()
	d.destination.release()
}

// SetupWithManager registers the reconciler.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, limits Limits) error {
	r.engines, r.rota, r.silences, r.line = map[types.NamespacedName]*driven{}, queue.NewRota(limits.Namespace), newSilences(), queue.NewLine(limits.Destination, limits.DestinationShare)
	r.doubts = newDoubts(limits.Concurrency)
	r.ledger, r.followed = newLedger(limits.Handoffs), metrics.All
	r.relays = &relay.Bound{Most: limits.Relays, Namespace: limits.RelayShare}
	return ctrl.NewControllerManagedBy(mgr).
		Named("migration").
		Watches(&api.Migration{}, byUrgency(), builder.WithPredicates(predicate.ResourceVersionChangedPredicate{})).
		WatchesRawSource(source.Func(func(_ context.Context, of workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
			var ok bool
			if r.queue, ok = of.(priorityqueue.PriorityQueue[reconcile.Request]); !ok {
				return errors.New("the queue of Migrations has no priorities")
			}
			return nil
		})).
		WithOptions(controller.Options{MaxConcurrentReconciles: limits.Concurrency, UsePriorityQueue: new(true)}).
		Complete(r)
}

// Reconcile runs one step of one Migration when it is the turn of its namespace.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (ctrl.Result, error) {
	if err := r.seed(ctx); err != nil {
		return ctrl.Result{}, err
	}
	m := &api.Migration{}
	missing := r.Client.Get(ctx, request.NamespacedName, m)
	if !r.begin(request, m, priority(m)) {
		return ctrl.Result{}, nil
	}
	defer r.end(request)
	if missing != nil {
		r.leave(request.NamespacedName)
		r.drop(request.NamespacedName)
		if apierrors.IsNotFound(missing) {
			r.followed.Forget(request.NamespacedName)
		}
		r.nextWave(ctx, request.Namespace)
		return ctrl.Result{}, client.IgnoreNotFound(missing)
	}
	result, err := r.step(ctx, m)
	r.settle(m, err != nil)
	r.book(m, err != nil)
	if !m.DeletionTimestamp.IsZero() && ended(m) {
		r.followed.Forget(request.NamespacedName)
	} else {
		r.followed.See(m, destinationName(m))
	}
	result, err = again(result, err)
	result.Priority = new(priority(m))
	return result, err
}

// again requeues a Migration that was changed since it was read: a conflict is not an error to report.
func again(result ctrl.Result, err error) (ctrl.Result, error) {
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: planner.RequeueUnobserved}, nil
	}
	return result, err
}

func (r *Reconciler) step(ctx context.Context, m *api.Migration) (ctrl.Result, error) {
	if err := tolerant.Check(m); err != nil {
		return r.unreadable(ctx, m, err)
	}
	if ended(m) {
		r.drop(client.ObjectKeyFromObject(m))
		r.nextWave(ctx, m.Namespace)
		return ctrl.Result{}, r.removeFinalizer(ctx, m)
	}
	queued, err := r.turn(ctx, m)
	if err != nil {
		return r.refuse(ctx, m, err)
	}
	if queued != nil && !stalled(m) {
		return r.wait(ctx, m, *queued)
	}
	d, err := r.engine(ctx, m)
	if err != nil {
		return r.refuse(ctx, m, err)
	}
	movedOn, err := r.movedOn(ctx, m)
	if err != nil {
		return r.refuse(ctx, m, err)
	}
	d.engine.others.queued, d.engine.others.movedOn = queued, movedOn
	d.engine.newest(m)
	d.urgency.Store(int32(urgency(m)))
	if kept, err := r.keep(ctx, m); kept || err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if wait, why := r.ask(d, m); wait > 0 {
		return r.hold(ctx, m, *plan.Stalled(api.ReasonClusterUnreachable, why, plan.RemedyUnreachable), wait)
	}
	asked := time.Now()
	reading, release := clusters.Hold(ctx)
	defer release()
	outcome, err := d.engine.Pass(reading, m)
	r.told(d, outcome.Decision, asked)
	if err != nil {
		if apierrors.IsConflict(err) {
			return ctrl.Result{RequeueAfter: planner.RequeueUnobserved}, nil
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	r.noteWait(d, outcome)
	if outcome.Done { // the completion event comes last: after it nothing writes the Migration
		err = r.removeFinalizer(ctx, m)
	}
	r.announce(m, outcome, &d.arrived)
	r.queueFor(m, outcome.Decision.Hold)
	if outcome.Done {
		r.drop(client.ObjectKeyFromObject(m))
		return ctrl.Result{}, err
	}
	return r.result(ctx, m, outcome)
}

// result returns when to requeue, and closes connections that are not needed any more.
func (r *Reconciler) result(ctx context.Context, m *api.Migration, outcome Outcome) (ctrl.Result, error) {
	key := client.ObjectKeyFromObject(m)
	hold := outcome.Decision.Hold
	if hold != nil && hold.Reason == api.ReasonQueued {
		r.drop(key)
		return ctrl.Result{RequeueAfter: queue.Pause}, nil
	}
	if hold != nil && (hold.Reason == api.ReasonClusterUnreachable || hold.Reason == api.ReasonClusterReplaced) {
		if !r.cannotReturn(ctx, m) { // the kubeconfig may have been replaced in the meantime
			r.drop(key)
		}
		if hold.Reason == api.ReasonClusterUnreachable {
			return ctrl.Result{RequeueAfter: silenceFirst}, nil
		}
	}
	return ctrl.Result{RequeueAfter: outcome.RequeueAfter}, nil
}

// keep adds the finalizer to a Migration before anything is written for it.
func (r *Reconciler) keep(ctx context.Context, m *api.Migration) (kept bool, err error) {
	if m.Status.Baseline == nil || !m.DeletionTimestamp.IsZero() || controllerutil.ContainsFinalizer(m, api.Finalizer) {
		return false, nil
	}
	before := m.DeepCopy()
	controllerutil.AddFinalizer(m, api.Finalizer)
	return true, r.Client.Patch(ctx, m, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// ended reports whether nothing is left to do for a Migration, because neither StatefulSet carries its marks.
// Its clusters need not be reachable any more: they may have been deleted. Deleting a namespace also deletes
// the rights and the kubeconfig.
func ended(m *api.Migration) bool {
	completed := meta.FindStatusCondition(m.Status.Conditions, api.ConditionCompleted)
	atItsEnd := completed != nil && completed.Status == metav1.ConditionTrue
	if !m.DeletionTimestamp.IsZero() {
		return atItsEnd || m.Status.Baseline == nil || !controllerutil.ContainsFinalizer(m, api.Finalizer)
	}
	return atItsEnd && completed.ObservedGeneration == m.Generation && !begunAnew(m, completed.Reason)
}

// begunAnew reports whether a Migration that was rolled back has to run again. This excludes one that was
// rolled back automatically before it was paused.
func begunAnew(m *api.Migration, reason string) bool {
	return m.Status.AutomaticRollback == nil && reason == api.ReasonRolledBack && m.Spec.Mode != api.ModeRollback && m.Spec.Mode != api.ModePause
}

func (r *Reconciler) removeFinalizer(ctx context.Context, m *api.Migration) error {
	if !controllerutil.ContainsFinalizer(m, api.Finalizer) {
		return nil
	}
	before := m.DeepCopy()
	controllerutil.RemoveFinalizer(m, api.Finalizer)
	return client.IgnoreNotFound(r.Client.Patch(ctx, m, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})))
}

// engine returns the Migration's engine, with open connections.
func (r *Reconciler) engine(ctx context.Context, m *api.Migration) (*driven, error) {
	key := client.ObjectKeyFromObject(m)
	r.mu.Lock()
	found := r.engines[key]
	r.mu.Unlock()
	if found != nil && found.uid == m.UID && !r.outdated(ctx, m, found) {
		return found, nil
	}
	r.drop(key)
	from, to, err := r.Connector.open(ctx, m)
	if err != nil {
		return nil, err
	}
	created := &driven{uid: m.UID, checked: time.Now(), generation: m.Generation, source: from, destination: to}
	created.engine = NewEngine(m, Options{
		Source: from.connection, Destination: to.connection, Holder: r.Holder, Policy: r.Volumes,
		Access:  Access{Secrets: health.Secrets{Reader: r.Connector.Secrets, Kubectl: plan.Kubectl(localName, "")}, Addresses: r.Addresses, Probes: r.Probes},
		Traffic: traffic{r, key}, Relays: r.relays,
		Records:    records.Resource{Client: r.Client, Namespace: m.Namespace, Name: m.Name},
		ServerTime: r.ServerTime,
		Notify: func() {
			r.queue.AddWithOpts(priorityqueue.AddOpts{Priority: new(int(created.urgency.Load()))}, reconcile.Request{NamespacedName: key})
		},
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.engines[key] = created
	return created, nil
}

// outdated reports whether a Migration must be reconnected: its account has changed, or the kubeconfig in a
// Secret has changed or was deleted. It reads the Secrets when the Migration was changed, while it is stalled,
// and at intervals. A Migration that is being deleted keeps its connections when a Secret is deleted. Deleting
// a namespace deletes the Secret at once, and then nothing else would start the ordinal that is down.
func (r *Reconciler) outdated(ctx context.Context, m *api.Migration, d *driven) bool {
	stalls := meta.IsStatusConditionTrue(m.Status.Conditions, api.ConditionStalled)
	if !stalls && d.generation == m.Generation && time.Since(d.checked) < planner.RequeueAtLatest {
		return false
	}
	from, to, err := r.Connector.keys(ctx, m)
	if err != nil {
		refused, is := errors.AsType[*refusal](err)
		return is && (!refused.gone || m.DeletionTimestamp.IsZero())
	}
	d.checked, d.generation = time.Now(), m.Generation
	return from != d.source.key || to != d.destination.key
}

// cannotReturn reports whether the connections of a Migration could not be opened again. This is so if it is
// being deleted and one of its Secrets does not exist any more.
func (r *Reconciler) cannotReturn(ctx context.Context, m *api.Migration) bool {
	if m.DeletionTimestamp.IsZero() {
		return false
	}
	_, _, err := r.Connector.keys(ctx, m)
	refused, is := errors.AsType[*refusal](err)
	return is && refused.gone
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

// refuse reports in the status why a Migration's clusters cannot be connected to.
func (r *Reconciler) refuse(ctx context.Context, m *api.Migration, err error) (ctrl.Result, error) {
	decision := unreachable(err)
	requeueAfter := planner.RequeueUnreachable
	if refused, ok := errors.AsType[*refusal](err); ok {
		decision = plan.Decision{Hold: &refused.hold}
		requeueAfter = planner.Patient(m, planner.RequeueRefused, time.Now())
	}
	return r.hold(ctx, m, decision, requeueAfter)
}

// hold reports in the status why no request is sent to a Migration's clusters.
func (r *Reconciler) hold(ctx context.Context, m *api.Migration, decision plan.Decision, requeueAfter time.Duration) (ctrl.Result, error) {
	before := m.DeepCopy()
	render(m, plan.Snapshot{Spec: world.SpecOf(m, false)}, decision)
	beats := heart{serverTime: r.ServerTime}
	if changed(before, m) || beats.late(m, time.Now()) {
		beats.beat(m, time.Now())
		if err := (records.Resource{Client: r.Client, Namespace: m.Namespace, Name: m.Name}).Save(ctx, m); err != nil {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
		outcome := Outcome{Decision: decision}
		outcome.saved(before, m)
		r.announce(m, outcome, &arrivals{})
	}
	return ctrl.Result{RequeueAfter: requeueAfter}, nil
}
