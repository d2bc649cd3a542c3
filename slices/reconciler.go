// Package slices is the controller of the sliceshift StatefulSet: a slice of an application, the ordinals [start,
// start+replicas) without the reserved ones.
//
// A pass reads a set and its objects into an Input of small values (package observe). Decide, a pure function, returns all
// actions for this pass (package decide). Package execute carries them out. The API server rejects each write if the object
// has changed meanwhile. This package runs the passes and writes status, events and metrics.
package slices

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/api/tolerant"
	"github.com/sliceshift/sliceshift/slices/decide"
	"github.com/sliceshift/sliceshift/slices/execute"
	"github.com/sliceshift/sliceshift/slices/observe"
)

// Reconciler reconciles all StatefulSets of sliceshift in the manager's cluster.
type Reconciler struct {
	// Client reads from the cache and writes to the API server.
	Client client.Client
	// Live reads from the API server.
	Live   client.Reader
	Events events.EventRecorder
	// Clock is the source of time. nil means the real clock.
	Clock clock.PassiveClock

	expectations *execute.Expectations
	told         *moderate
	watches      *inputWatches
	mu           sync.Mutex
	memory       map[types.NamespacedName]memory
	begun        time.Time
	nodes        nodes
}

// memory is the state of a set that is kept between passes.
type memory struct {
	uid      types.UID
	progress decide.Progress
	failures []decide.Failure
	// told is the time of the last status write.
	told time.Time
	// rest is the time until which the set is not reconciled.
	rest time.Time
	// due is the time at which a failed pass wanted to requeue.
	due time.Time
	// unsettled is the time until which a request without a response may still take effect.
	unsettled time.Time
	// written is the last version that this controller wrote, at writtenAt. It is kept until the cache shows it.
	written   *api.StatefulSet
	writtenAt time.Time
	// warned is the generation for which the warning about a moved range was sent.
	warned int64
	// warnedOfNodes is the generation for which the warning about nodes without the topologyKey was sent.
	warnedOfNodes int64
	// unpulled maps pods that no longer wait for images to the revision of these images.
	unpulled map[types.UID]string
	// refused are the writes that the API server refused in the last pass, and the evictions that it refused before and that
	// are not tried again yet.
	refused []decide.Refusal
	// place is the topology domain that the last pass updated.
	place decide.Place
	// served holds the pods that may have been available before.
	served map[types.UID]bool
	// charges are the times at which PodDisruptionBudgets were charged for pods.
	charges map[types.UID]time.Time
	// budgetHold is since when a PodDisruptionBudget holds a pod.
	budgetHold budgetHold
	// failedRevision is a failed revision that the status does not record yet, because it could not be written.
	failedRevision string
	// blocked is the last reason why a revision input could not be had, or empty.
	blocked string
}

// tellEvery is the minimum interval between status writes that only change counts.
const tellEvery = time.Second

func (r *Reconciler) now() time.Time { return r.clock().Now() }

func (r *Reconciler) clock() clock.PassiveClock {
	if r.Clock == nil {
		return clock.RealClock{}
	}
	return r.Clock
}

// recall returns the stored state of a set, but not that of a former set of the same name. For a set that this controller
// has not seen, it derives the progress from the status.
func (r *Reconciler) recall(set *api.StatefulSet) memory {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.memory[client.ObjectKeyFromObject(set)]
	if known.uid != set.UID {
		return memory{uid: set.UID, progress: toldProgress(set.Status)}
	}
	return known
}

func (r *Reconciler) memorise(set *api.StatefulSet, m memory) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.memory[client.ObjectKeyFromObject(set)] = m
}

// A set rests after a pass, up to mostRest, because pods that are not available cause events and each pass reads all pods.
// While pods have to be created or updated, the rest grows with the square of the number of unavailable pods. A few events
// are handled at once, and hundreds are handled together. Once all pods are updated, they are only counted.
const (
	restPerPair    = 1   // µs
	restPerCounted = 500 // µs
	mostRest       = 500 * time.Millisecond
)

func (r *Reconciler) rest(set *api.StatefulSet, in decide.Input, status decide.Status) {
	desired := int(in.Spec.Size())
	onTheirWay := max(len(in.Pods), desired) - int(status.Available)
	rest := onTheirWay * onTheirWay * restPerPair
	if int(status.Updated) == desired {
		rest = onTheirWay * restPerCounted
	}
	known := r.recall(set)
	known.rest = r.now().Add(min(time.Duration(rest)*time.Microsecond, mostRest))
	r.memorise(set, known)
}

// comeBack records the latest time of the next pass after a failed pass.
func (r *Reconciler) comeBack(set *api.StatefulSet, wait time.Duration) {
	known := r.recall(set)
	if known.due = (time.Time{}); wait > 0 {
		known.due = r.now().Add(wait)
	}
	r.memorise(set, known)
}

// forget removes the state of a deleted set.
func (r *Reconciler) forget(set types.NamespacedName) {
	r.expectations.Forget(set)
	r.told.forget(set)
	r.watches.forget(set)
	gauges.forget(set)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.memory, set)
}

// Reconcile reconciles a set: it observes, decides, executes the decision and writes the status.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	set := &api.StatefulSet{}
	if err := r.Client.Get(ctx, request.NamespacedName, set); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(request.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if err := tolerant.Check(set); err != nil {
		return r.unreadable(ctx, set, err)
	}
	set = r.newest(set)
	if left := r.recall(set).rest.Sub(r.now()); left > 0 {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	observed, err := r.observe(ctx, set)
	switch {
	case err != nil:
		return ctrl.Result{}, err
	case observed.awaits != "":
		return r.awaitInputs(ctx, set, observed.awaits)
	case observed.control == nil: // the cache may never show the awaited write: see CaughtUp
		return ctrl.Result{RequeueAfter: execute.ExpectationTimeout}, nil
	}
	in, control := observed.in, observed.control
	decision := decide.Decide(in)
	gauges.record(request.NamespacedName, samplesOf(in, decision))
	r.warn(set, decision)
	defer r.rest(set, in, decision.Status)
	if err := r.hold(ctx, set, decision); err != nil {
		return whenChanged(err)
	}
	failed := control.Execute(ctx, decision)
	if err := r.letGo(ctx, set, decision); err != nil {
		return whenChanged(err)
	}
	wait, err := r.tell(ctx, control, in, decision, failed)
	wait, err = soonest(wait, r.askNodes(ctx, decision)), errors.Join(err, observed.historyErr)
	switch {
	case failed == nil && err == nil:
	case changedMeanwhile(failed):
		return whenChanged(err)
	default:
		r.comeBack(set, soonest(decision.Wait, wait))
		return ctrl.Result{}, errors.Join(failed, err)
	}
	if control.Refused() {
		wait = soonest(wait, retryRefused)
	}
	r.tellOfInputs(set, in.Revisions.Blocked)
	wait = soonest(wait, observed.again)
	return ctrl.Result{RequeueAfter: soonest(decision.Wait, wait)}, nil
}

const (
	// retryChanged is the requeue interval after a write conflict.
	retryChanged = 20 * time.Millisecond
	// retryRefused is the interval after which an eviction is retried that the budget refused.
	retryRefused = time.Second
)

// changedMeanwhile reports whether all errors are conflicts.
func changedMeanwhile(err error) bool {
	if several, is := err.(interface{ Unwrap() []error }); is {
		return !slices.ContainsFunc(several.Unwrap(), func(err error) bool { return !changedMeanwhile(err) })
	}
	return err == nil || apierrors.IsConflict(err)
}

// whenChanged requeues soon after a conflict, and returns any other error.
func whenChanged(err error) (ctrl.Result, error) {
	if changedMeanwhile(err) {
		return ctrl.Result{RequeueAfter: retryChanged}, nil
	}
	return ctrl.Result{}, err
}

// soonest returns the shorter of two waits. 0 means no wait.
func soonest(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// observation is the input of one pass.
type observation struct {
	in      decide.Input
	control *execute.PodControl
	// historyErr is an error of a write to the history that no pod depends on.
	historyErr error
	// awaits is why the set has no revision at all, or empty. Nothing can be decided then.
	awaits string
	// again is when the inputs of the template must be read again, or 0.
	again time.Duration
}

// observe adopts orphans, updates the history, and reads the Input of Decide. It returns no control if the cache does not
// show the last writes yet. Nothing can be decided then.
func (r *Reconciler) observe(ctx context.Context, set *api.StatefulSet) (observation, error) {
	spec, err := decide.SpecOf(set)
	if err != nil {
		return observation{}, err
	}
	pods, err := r.writer().AdoptPods(ctx, set)
	if err != nil {
		return observation{}, err
	}
	if shown, err := r.writer().CaughtUp(ctx, set, pods); err != nil || !shown {
		return observation{}, err
	}
	now, known := r.now(), r.recall(set)
	recorded, historyErr := r.record(ctx, set, observe.RevisionsOf(pods))
	if recorded.Update == nil {
		return observation{awaits: recorded.problems.Template}, historyErr
	}
	in, objects, err := observe.Reader{Client: r.Client, Set: set, Spec: spec, Pods: pods, History: recorded.Result, Inputs: recorded.problems, Failed: cmp.Or(set.Status.FailedRevision, known.failedRevision), PrePullRefused: known.unpulled, Served: known.served, Charges: known.charges, Now: now}.Read(ctx)
	if err != nil {
		return observation{}, err
	}
	in.Now, in.Progress, in.Failures, in.Refused = now, known.progress, known.failures, known.refused
	in.Topology.Current = known.place
	r.nodes.mark(in.Pods, now)
	return observation{in: in, control: r.writer().For(objects, pods), historyErr: historyErr, again: recorded.again}, nil
}

// writer returns the Writer of pods and claims.
func (r *Reconciler) writer() execute.Writer {
	return execute.Writer{Client: r.Client, Live: r.Live, Events: r.told, Expectations: r.expectations, Now: r.now}
}

// tell writes the status. Urgent changes and a settled status are written at once, others at most every tellEvery. It
// returns when to requeue for a delayed write.
func (r *Reconciler) tell(ctx context.Context, c *execute.PodControl, in decide.Input, decision decide.Decision, failed error) (time.Duration, error) {
	set := c.Set
	known := r.recall(set)
	known.progress, known.failures, known.unpulled = decision.Progress, decision.Failures, c.StillUnpulled(known.unpulled)
	known.refused, known.failedRevision, known.place = slices.Concat(decision.Refused, c.Refusals()), "", decision.Domain
	known.charges, known.served = c.Charges(known.charges), decision.Served
	if execute.Unsettled(failed) {
		known.unsettled = r.now().Add(answerWithin)
	}
	defer func() { r.memorise(set, known) }()
	status, later := statusOf(c.Seen, in, decision, failed), r.tellOfFailure(set, in, decision)
	if left := r.unconfirmed(set, known); left > 0 && withhold(set, &status) {
		later = soonest(later, left)
	}
	if equality.Semantic.DeepEqual(set.Status, status) {
		return later, nil
	}
	if left := tellEvery - r.now().Sub(known.told); left > 0 && !urgent(set.Status, status) && !settled(status, int(in.Spec.Size())) {
		return soonest(left, later), nil
	}
	next := set.DeepCopy()
	next.Status = status
	err := r.Client.Status().Update(ctx, next)
	execute.RecordWrite(writeStatus, err)
	if err != nil {
		known.failedRevision = decision.FailedRevision
		return 0, client.IgnoreNotFound(err)
	}
	if next.Status.FailedRevision != decision.FailedRevision { // a resource definition of a former version drops the field
		known.failedRevision = decision.FailedRevision
	}
	c.Set = next // later writes are based on this version
	known.told = r.now()
	known.wrote(next, r.now())
	return later, nil
}
