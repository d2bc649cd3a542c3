// Package slices is the controller of our own StatefulSet: a slice of an application,
// the ordinals [start, start+replicas) less the reserved ones.
//
// A pass reads a set and what belongs to it into an Input of small values (package observe). Decide, a
// pure function, returns all that is to be done now (package decide). The hands do it, each write
// refused by the API server when the object is another one by then (package execute). This package
// runs the passes, and tells of them: status, events and metrics.
package slices

import (
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

	"github.com/sliceshift/sliceshift/internal/tolerant"
	"github.com/sliceshift/sliceshift/slices/decide"
	"github.com/sliceshift/sliceshift/slices/execute"
	"github.com/sliceshift/sliceshift/slices/history"
	"github.com/sliceshift/sliceshift/slices/observe"
	api "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// Reconciler runs all StatefulSets of our kind in the manager's cluster.
type Reconciler struct {
	// Client reads from the cache and writes.
	Client client.Client
	// Live reads from the API server.
	Live   client.Reader
	Events events.EventRecorder
	// Clock is the time; nil: the real one.
	Clock clock.PassiveClock

	expectations *execute.Expectations
	told         *moderate
	mu           sync.Mutex
	memory       map[types.NamespacedName]memory
	begun        time.Time
}

// memory is what is kept of a set between two passes.
type memory struct {
	uid      types.UID
	progress decide.Progress
	failures []decide.Failure
	// told is when its status was written last.
	told time.Time
	// rest is until when it is not looked at again.
	rest time.Time
	// due is when a pass that failed has wanted to look again.
	due time.Time
	// unsettled is until when something that was asked for may be done without an answer.
	unsettled time.Time
	// written is the set as this controller wrote it last, at writtenAt, until the cache shows it.
	written   *api.StatefulSet
	writtenAt time.Time
	// warned is the generation of which it was told that its range is moved far.
	warned int64
	// unpulled are the pods whose update does not wait for the images of a revision any more.
	unpulled map[types.UID]string
}

// tellEvery bounds how often the counts of a status are written.
const tellEvery = time.Second

func (r *Reconciler) now() time.Time { return r.clock().Now() }

func (r *Reconciler) clock() clock.PassiveClock {
	if r.Clock == nil {
		return clock.RealClock{}
	}
	return r.Clock
}

// recall is what is kept of a set; nothing of a former one of its name. What this
// controller has not seen yet is what the status tells.
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

// A set rests after a pass, the longer the more pods are on their way, up to mostRest: they bring
// events, and each pass looks at all pods. While pods are left to be made or updated the time grows
// with the square of those on their way: what comes of a few is answered at once, and what comes of
// hundreds is looked at together. When all are as they shall be, they are only counted.
const (
	restPerPair    = 1   // µs
	restPerCounted = 500 // µs
	mostRest       = 500 * time.Millisecond
)

func (r *Reconciler) rest(set *api.StatefulSet, in decide.Input, status decide.Status) {
	desired := len(in.Spec.Ordinals())
	onTheirWay := max(len(in.Pods), desired) - int(status.Available)
	rest := onTheirWay * onTheirWay * restPerPair
	if int(status.Updated) == desired {
		rest = onTheirWay * restPerCounted
	}
	known := r.recall(set)
	known.rest = r.now().Add(min(time.Duration(rest)*time.Microsecond, mostRest))
	r.memorise(set, known)
}

// comeBack notes when to look again at the latest, after a pass that failed.
func (r *Reconciler) comeBack(set *api.StatefulSet, wait time.Duration) {
	known := r.recall(set)
	if known.due = (time.Time{}); wait > 0 {
		known.due = r.now().Add(wait)
	}
	r.memorise(set, known)
}

// forget is for a set that is gone.
func (r *Reconciler) forget(set types.NamespacedName) {
	r.expectations.Forget(set)
	r.told.forget(set)
	gauges.forget(set)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.memory, set)
}

// Reconcile brings one set a step on: it observes, decides, does what was decided and
// tells of it.
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
	case observed.control == nil: // what is waited for may never be shown: see CaughtUp
		return ctrl.Result{RequeueAfter: execute.ExpectationTimeout}, nil
	}
	in, control := observed.in, observed.control
	decision := decide.Decide(in)
	gauges.record(request.NamespacedName, samplesOf(in, decision))
	r.warnOfRange(set, decision.RangeWarning)
	defer r.rest(set, in, decision.Status)
	if err := r.hold(ctx, set, decision); err != nil {
		return whenChanged(err)
	}
	failed := control.Execute(ctx, decision)
	if err := r.letGo(ctx, set, decision); err != nil {
		return whenChanged(err)
	}
	wait, err := r.tell(ctx, control, in, decision, failed)
	if decision.RollBack {
		// Whatever was refused: what is taken back may be the reason.
		err = errors.Join(err, r.rollBack(ctx, control, in.Revisions))
	}
	err = errors.Join(err, observed.historyErr)
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
	return ctrl.Result{RequeueAfter: soonest(decision.Wait, wait)}, nil
}

const (
	// retryChanged is when to look again after a write met a changed object.
	retryChanged = 20 * time.Millisecond
	// retryRefused is when an eviction is asked for again that the budget refused.
	retryRefused = time.Second
)

// changedMeanwhile says whether nothing went wrong but that an object had changed since
// it was judged.
func changedMeanwhile(err error) bool {
	if several, is := err.(interface{ Unwrap() []error }); is {
		return !slices.ContainsFunc(several.Unwrap(), func(err error) bool { return !changedMeanwhile(err) })
	}
	return err == nil || apierrors.IsConflict(err)
}

// whenChanged looks again soon after a write met a changed object, and hands on any other
// error.
func whenChanged(err error) (ctrl.Result, error) {
	if changedMeanwhile(err) {
		return ctrl.Result{RequeueAfter: retryChanged}, nil
	}
	return ctrl.Result{}, err
}

// soonest is the shorter one of two waits, of which 0 is none.
func soonest(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// observation is what one pass starts from.
type observation struct {
	in      decide.Input
	control *execute.PodControl
	// historyErr is why something in the history could not be written that no pod waits for.
	historyErr error
}

// observe reads what Decide is to know, after orphans were adopted and the history was
// brought up to date. Without a control nothing can be decided yet: the cache does not
// show the last writes.
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
	recorded, historyErr := history.Store{Client: r.Client, Live: r.Live}.Sync(ctx, set, observe.RevisionsOf(pods))
	if recorded.Update == nil {
		return observation{}, historyErr
	}
	in, objects, err := observe.Reader{Client: r.Client, Set: set, Spec: spec, Pods: pods, History: recorded, PrePullRefused: known.unpulled}.Read(ctx)
	if err != nil {
		return observation{}, err
	}
	in.Now, in.Progress, in.Failures = now, known.progress, known.failures
	return observation{in: in, control: r.writer().For(objects, pods), historyErr: historyErr}, nil
}

// writer writes pods and claims.
func (r *Reconciler) writer() execute.Writer {
	return execute.Writer{Client: r.Client, Live: r.Live, Events: r.told, Expectations: r.expectations, Now: r.now}
}

// tell writes the status, at once when others act upon what is new, else not more
// often than tellEvery. It returns when to come back for it.
func (r *Reconciler) tell(ctx context.Context, c *execute.PodControl, in decide.Input, decision decide.Decision, failed error) (time.Duration, error) {
	set := c.Set
	known := r.recall(set)
	known.progress, known.failures, known.unpulled = decision.Progress, decision.Failures, c.StillUnpulled(known.unpulled)
	if execute.Unsettled(failed) {
		known.unsettled = r.now().Add(answerWithin)
	}
	defer func() { r.memorise(set, known) }()
	status, later := statusOf(c.Seen, in, decision, failed), time.Duration(0)
	if left := r.unconfirmed(set, known); left > 0 && withhold(set, &status) {
		later = left
	}
	if equality.Semantic.DeepEqual(set.Status, status) {
		return later, nil
	}
	if left := tellEvery - r.now().Sub(known.told); left > 0 && !urgent(set.Status, status) && !settled(status, len(in.Spec.Ordinals())) {
		return soonest(left, later), nil
	}
	next := set.DeepCopy()
	next.Status = status
	err := r.Client.Status().Update(ctx, next)
	execute.RecordWrite(writeStatus, err)
	if err != nil {
		return 0, client.IgnoreNotFound(err)
	}
	c.Set = next // what is written after this is written over it
	known.told = r.now()
	known.wrote(next, r.now())
	return later, nil
}
