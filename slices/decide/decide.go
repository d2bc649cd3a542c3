// Package decide decides what to do with the pods of a StatefulSet. Decide is a pure function from an Input of small
// values to a Decision. It uses no client, clock, logger or context.
//
// Decide runs stages in the order of apps/v1: create and repair the owned pods, delete the pods that are not owned, then
// update. A strategy selects the pods to update and their order. Partition, gates and budget are then applied once, to
// the result of any strategy:
//
//	budget      maxUnavailable, or the smaller share that a migration has set, less the
//	            owned ordinals that are not available, plus the available surge pods above
//	            the range (maxSurge); pods whose claims grow for the update count against
//	            it, although they serve
//	free        a pod that is not Ready, and that has another revision than the current one
//	            or was never available: first, and at once
//	unhealthy   a pod of the current revision that is not Ready and may have been available:
//	            first, while at most as many pods as the budget are unavailable
//	paid for    an available pod: in the order of the strategy, while the budget lasts, when
//	            no scaling is left and, in OrderedReady, no batch is in progress
//	paid        a pod that is Ready, but not yet for minReadySeconds, already counts as
//	            unavailable: as above, while at most as many pods as the budget are unavailable
//	resized     a pod that serves while its node does not resize it was charged to the budget
//	            when the resize began: as above, while the budget has room for one more pod
//	            that does not serve
//
// Five pods with maxUnavailable 2, where - is not Ready and b is the new revision:
//
//	a a a a a     Parallel deletes 4 and 3; so does OrderedReady
//	a a a b- b    Parallel deletes 2; OrderedReady waits for 3
//	a a a x- b-   3 is free, whatever x is: it is deleted, and 2 waits
//
// These invariants hold after every pass, for any input (tests cite the numbers):
//
//	D1  of the owned ordinals and their surge pods, at most maxUnavailable are unavailable,
//	    or as many as before; the same bound holds for pods that are not Ready;
//	D2  a Terminating pod is not changed, except that the owners of its claims are set;
//	D3  no pod below the partition is updated, and no pod while the set is paused;
//	D4  a pod that is not Ready costs no budget to replace unless it may have been available at
//	    the current revision, so that a broken roll-out can always be rolled back or forward;
//	D5  each pod or ordinal that is not in its desired state is acted on, or held for a reported reason;
//	D6  of the pods that were available at the current revision, at most maxUnavailable
//	    are being updated to another revision at a time, whether they are Ready or not;
//	D7  where the API server refuses new pods, the pods that the slice no longer owns make room
//	    while at least replicas less maxUnavailable pods are available;
//	D8  a roll-out fails only while a pod of its revision is late on a node that answers, or
//	    the creation of one, or its inputs cannot be had;
//	D9  with budget PodDisruptionBudget, an update takes a pod down only if the budget that selects it
//	    allows the disruption, counted over the pass as the eviction subresource counts it;
//	D10 with a topologyKey, an update takes down available pods of one topology domain, and only
//	    while every pod in scope that is not available is in that domain;
//	D11 no pod is updated while the inputs of the template's revision cannot be had.
package decide

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// Decide returns what to do with the pods of a slice now. The same input gives the same output.
func Decide(in Input) Decision {
	d := newDecider(in)
	rolling, scaling, updates := rollout{d}, scaling{d}, updates{d}
	status := rolling.status()
	progress := rolling.progress()
	rolling.rollBack(status, &progress)
	finalizer := d.tellsAny()
	if in.Spec.Deleting {
		finalizer = d.announceDeletion()
	} else {
		for _, stage := range []func(){
			d.settleInPlace, scaling.mend, scaling.create, scaling.scaleDown, scaling.endSurge,
			updates.release, updates.update, d.releaseBudgets, d.withdraw, updates.merge, d.explain, d.askNodes,
		} {
			stage()
		}
	}
	slices.SortStableFunc(d.held, func(a, b Hold) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	return Decision{
		Actions: d.actions, Held: d.held, HeldMore: d.heldMore, Status: status, Progress: progress, Failures: d.failures,
		Complete: rolling.complete(status, progress), Readiness: rolling.readiness(progress), FailedRevision: d.failedRevision(),
		RangeWarning: d.rangeWarning(), Refused: d.evictions, Domain: d.topology.place, TopologyWarning: d.topology.warning,
		Finalizer: finalizer, AskNodes: d.asks, Served: d.served(), Wait: d.wait,
	}
}

// facts is an input with values derived from it.
type facts struct {
	Input
	strategy strategy
	// pods is sorted by ordinal, ascending.
	pods []*Pod
	at   map[int32]*Pod
	// size is the number of ordinals that the slice owns. missing is the number of those that have no pod. lacks lists these,
	// ascending, as far as this pass considers them: MostCreated and one more, and those with stale claims.
	size, missing int32
	lacks         []int32
	// surge lists the ordinals above the range that may run surge pods during an update.
	surge []int32
	// ours holds the ordinals of pods that the slice owns, stands those of surge.
	ours, stands, stale map[int32]bool
	// target is the revision that pods get.
	target string
	// rollingBack is true when this pass finds that the roll-out has failed and must be rolled back.
	rollingBack bool
}

// decider accumulates the decisions of a pass.
type decider struct {
	facts
	// budget is the number of further pods that may become unavailable. Below 0, too many are unavailable. The largest
	// maxUnavailable plus a surge pod overflows 32 bits.
	budget int64
	// spare is the number of further pods that may stop serving. It limits changes to pods that are unavailable only because
	// a resize is incomplete.
	spare int64

	actions  []Action
	held     []Hold
	heldMore int32
	// failures holds the updated failures of the input.
	failures []Failure
	// charged counts, by name, the disruptions of PodDisruptionBudgets that this pass uses. evictions holds the refused
	// evictions that are not tried again yet.
	charged   map[string]int32
	evictions []Refusal
	topology  topology
	// told holds the ordinals that are acted on or held. going holds the ordinals of pods that will be deleted, now or when
	// they are no longer held.
	told, going map[int32]bool
	// asks lists the nodes to ask.
	asks []string
	wait time.Duration
}

func newDecider(in Input) *decider {
	in.Spec.Paused = in.Spec.Paused || in.Revisions.Blocked != ""
	d := &decider{
		facts: facts{
			Input: in, strategy: strategyOf(in.Spec), size: in.Spec.Size(), target: in.Revisions.Target(),
			at: map[int32]*Pod{}, ours: map[int32]bool{}, stands: map[int32]bool{}, stale: map[int32]bool{},
		},
		told: map[int32]bool{}, going: map[int32]bool{}, charged: map[string]int32{},
	}
	for i := range in.Pods {
		pod := &in.Pods[i]
		d.pods, d.at[pod.Ordinal] = append(d.pods, pod), pod
	}
	slices.SortFunc(d.pods, func(a, b *Pod) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	d.surge = in.Surges()
	for _, ordinal := range d.surge {
		d.stands[ordinal] = true
	}
	d.findMissing()
	d.failures, d.evictions = d.recentFailures(), d.recentEvictions()
	d.budget = int64(in.Spec.MostUnavailable()) - int64(d.size)
	d.spare = d.budget
	for _, pod := range d.pods {
		if d.ours[pod.Ordinal] || d.stands[pod.Ordinal] {
			d.budget += int64(one(d.available(pod)))
			d.spare += int64(one(d.serving(pod)))
		}
	}
	return d
}

// findMissing finds the ordinals of the slice that have a pod, and those that have none.
func (d *facts) findMissing() {
	for _, ordinal := range d.StaleClaims {
		d.stale[ordinal] = true
	}
	d.missing = d.size
	for _, pod := range d.pods {
		if d.Spec.Owns(pod.Ordinal) {
			d.ours[pod.Ordinal] = true
			d.missing--
		}
	}
	if d.missing == 0 {
		return
	}
	considered := 0
	for ordinal := range d.Spec.All() {
		if d.at[ordinal] != nil {
			continue
		}
		d.lacks = append(d.lacks, ordinal)
		if !d.stale[ordinal] {
			considered++
		}
		if considered > MostCreated || len(d.lacks) == int(d.missing) {
			return
		}
	}
}

func (d *decider) act(verb Verb, pod *Pod, revision string, reason api.TerminationReason) {
	d.actions = append(d.actions, Action{Verb: verb, Ordinal: pod.Ordinal, UID: pod.UID, Revision: revision, Reason: reason})
	d.told[pod.Ordinal] = true
}

func (d *decider) hold(ordinal int32, reason, message string) {
	d.held = append(d.held, Hold{Ordinal: ordinal, Reason: reason, Message: message})
	d.told[ordinal] = true
}

// lookAgain requeues after at most the given time. It does nothing if the time is not positive.
func (d *decider) lookAgain(after time.Duration) {
	if after > 0 && (d.wait == 0 || after < d.wait) {
		d.wait = after
	}
}

// spend reports whether the pod may be taken down, and charges it to the budget unless it is free (D4). A pod that is not
// available is already charged. It may be taken down while the budget is not exceeded (D6).
func (d *decider) spend(pod *Pod) bool {
	switch {
	case d.free(pod):
		return true
	case pod.InPlace != nil:
		return d.spendResized(pod)
	case !d.available(pod):
		return d.budget >= 0
	case d.budget <= 0:
		return false
	}
	d.budget--
	d.spare--
	return true
}

// spendResized is spend for a pod that is resized in place. The budget was charged when the resize began, so only the number
// of serving pods limits it.
func (d *decider) spendResized(pod *Pod) bool {
	switch {
	case !d.serving(pod):
		return d.spare >= 0
	case d.spare <= 0:
		return false
	}
	d.spare--
	return true
}

// down reports whether a pod does not serve. A kubelet may report a pod as Ready while the pod is updated in place.
func down(pod *Pod) bool { return changing(pod) || !ready(pod) }

// changing reports whether a pod is Terminating, or is updated in place and does not serve. It is already charged to the
// budget.
func changing(pod *Pod) bool {
	return pod.Terminating || pod.InPlace != nil && !pod.InPlace.Serves
}

// free reports whether a pod may be taken down without the budget. Not Ready alone is not sufficient: all pods of a healthy
// application may be not Ready for a moment.
func (d *facts) free(pod *Pod) bool {
	return changing(pod) || !ready(pod) && (pod.NeverAvailable || !d.current(pod) || d.Spec.Unhealthy == api.AlwaysAllow)
}

// current reports whether a pod has the current revision or an equivalent revision.
func (d *facts) current(pod *Pod) bool {
	return pod.Revision == d.Revisions.Current || pod.SameAs != "" && pod.SameAs == d.Revisions.Current
}

// served returns the pods that are available, or may have been available before.
func (d *facts) served() map[types.UID]bool {
	served := map[types.UID]bool{}
	for _, pod := range d.pods {
		if !pod.NeverAvailable || d.available(pod) {
			served[pod.UID] = true
		}
	}
	return served
}

// ready reports whether a pod is Running and Ready.
func ready(pod *Pod) bool { return pod.Phase == Running && pod.Ready }

// ended reports whether a pod is Failed or Succeeded. Only a new pod can replace it.
func ended(pod *Pod) bool { return pod.Phase == Failed || pod.Phase == Succeeded }

// available reports whether a pod serves and has been Ready for minReadySeconds. A pod that is being updated in place is not
// available.
func (d *facts) available(pod *Pod) bool {
	return d.serving(pod) && pod.InPlace == nil
}

// serving is like available, but includes a pod that serves while it is resized. Scaling uses it.
func (d *facts) serving(pod *Pod) bool {
	return pod != nil && !pod.Terminating && (pod.InPlace == nil || pod.InPlace.Serves) && ready(pod) && d.minReadyLeft(pod) <= 0
}

func (d *facts) minReadyLeft(pod *Pod) time.Duration {
	if d.Spec.MinReady == 0 {
		return 0
	}
	return d.Spec.MinReady - d.Now.Sub(pod.ReadySince)
}

// outdated reports whether the pod's revision differs in content from the target, or its node can never give it the
// resources of its revision.
func (d *facts) outdated(pod *Pod) bool {
	return pod.Revision != d.target && !pod.Change.Same || d.infeasible(pod)
}

// partition returns the ordinal below which pods keep their revision.
func (d *facts) partition() int32 {
	if d.Spec.Strategy != api.RollingUpdate {
		return 0
	}
	return d.Spec.Partition
}

// inScope reports whether the update applies to the ordinal of a pod.
func (d *facts) inScope(ordinal int32) bool { return d.ours[ordinal] && ordinal >= d.partition() }

// impossible reports whether the policy InPlaceOnly prevents the update of a pod.
func (d *facts) impossible(pod *Pod) bool {
	switch {
	case d.Spec.Policy != api.InPlaceOnly:
		return false
	case d.outdated(pod):
		return !pod.Change.InPlace || d.infeasible(pod)
	default:
		return d.remounts(pod)
	}
}

// updating reports whether pods are updated now.
func (d *facts) updating() bool {
	return d.strategy.order != nil && !d.Spec.Paused && !d.rollingBack
}

// toUpdate reports whether the update applies to a pod and the pod is outdated.
func (d *facts) toUpdate(pod *Pod) bool {
	return d.inScope(pod.Ordinal) && !pod.Terminating && !ended(pod) && d.outdated(pod)
}

// remaining reports whether any pod can still be updated, even if the update is paused.
func (d *facts) remaining() bool {
	return d.strategy.order != nil && slices.ContainsFunc(d.pods, func(pod *Pod) bool { return d.unfinished(pod) && !d.impossible(pod) })
}
