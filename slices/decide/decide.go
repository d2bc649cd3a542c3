// Package decide says what is to be done with the pods of a StatefulSet: of an Input of small values
// Decide, a pure function, makes a Decision. It knows no client, clock, logger or context.
//
// Decide goes through stages in the order of apps/v1: make and mend what is owned,
// remove what is not, then update. A strategy says which pods are updated and in which
// order; partition, gates and budget are applied once, to whatever it says:
//
//	budget      maxUnavailable, or a smaller share that a migration has given, less the
//	            owned ordinals that are not available, plus the pods above the range that
//	            stand in for them (maxSurge); pods whose claims grow for the update count
//	            against it, though they serve
//	free        a pod that is not Ready, and of another revision than the current one, or was
//	            never available: first, and at once
//	unhealthy   one of the current revision that is not Ready, and may have been available:
//	            first, while no more pods than the budget are unavailable
//	paid for    an available one: in the order of the strategy, while the budget lasts,
//	            when nothing is left to scale and, in OrderedReady, no batch is under way
//	paid        one that is Ready, and not for minReadySeconds yet, counts as unavailable
//	            already: likewise, while no more pods than the budget are unavailable
//	resized     one that serves while its node does not resize it was paid for when that
//	            began: likewise, while the budget has room for one more that does not serve
//
// Of five pods with maxUnavailable 2, where - is not Ready and b is rolled out:
//
//	a a a a a     Parallel deletes 4 and 3; so does OrderedReady
//	a a a b- b    Parallel deletes 2; OrderedReady waits for 3
//	a a a x- b-   3 is free, whatever x was: it is deleted, and 2 waits
//
// What holds after every pass, whatever the input was (tests cite the numbers):
//
//	D1  of the owned ordinals and those that stand in for them, no more are
//	    unavailable than maxUnavailable, or than were before; nor are more not Ready;
//	D2  nothing is done to a pod that is Terminating, but for whose its claims are;
//	D3  nothing below the partition is updated, and nothing while the set is paused;
//	D4  a pod that is not Ready costs nothing to replace unless it may have been available at
//	    the current revision, so that a broken roll-out can always be rolled back or forward;
//	D5  whatever is not as it shall be is acted on, or is held for a reason that is told;
//	D6  of the pods that were available at the current revision, no more than maxUnavailable
//	    are on their way to another one at a time, whether they are Ready or not.
package decide

import (
	"cmp"
	"slices"
	"time"

	api "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// Decide returns what to do with the pods of a slice now. Same input, same output.
func Decide(in Input) Decision {
	d := newDecider(in)
	rolling, scaling, updates := rollout{d}, scaling{d}, updates{d}
	status := rolling.status()
	progress := rolling.progress()
	rollBack := progress.Failed && in.Spec.OnFailure == api.Rollback && status.CurrentRevision != in.Revisions.Update && !in.Revisions.SameTemplate
	finalizer := d.tellsAny()
	if in.Spec.Deleting {
		finalizer = d.announceDeletion()
	} else {
		d.rollingBack = rollBack
		for _, stage := range []func(){
			d.settleInPlace, scaling.mend, scaling.create, scaling.scaleDown, scaling.endSurge,
			updates.release, updates.update, d.withdraw, updates.merge, d.note, d.explain,
		} {
			stage()
		}
	}
	slices.SortStableFunc(d.held, func(a, b Hold) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	return Decision{
		Actions: d.actions, Held: d.held, Status: status, Progress: progress, Failures: d.failures, Complete: rolling.complete(status, progress),
		Readiness: rolling.readiness(progress), RangeWarning: d.rangeWarning(), RollBack: rollBack && !in.Spec.Deleting, Finalizer: finalizer, Wait: d.wait,
	}
}

// facts are an input together with what follows from it.
type facts struct {
	Input
	strategy strategy
	// pods by ordinal, ascending.
	pods []*Pod
	at   map[int32]*Pod
	// owned are the ordinals of the slice, ascending; surge those above that may stand
	// in for them during an update.
	owned, surge []int32
	ours, stands map[int32]bool
	// rollingBack is true when the update is about to be taken back.
	rollingBack bool
}

// decider is what has been decided so far.
type decider struct {
	facts
	// budget is how many more pods may become unavailable; below 0: fewer should be. The
	// largest maxUnavailable and a pod that stands in are more than 32 bits hold.
	budget int64
	// spare is likewise how many more may not serve: it bounds what happens to pods that are
	// not available only because a resize is not done.
	spare int64

	actions []Action
	held    []Hold
	// failures are those of the input as they become.
	failures []Failure
	// told are ordinals that are acted on or held; going are pods that are to be deleted,
	// at once or when nothing holds them back any more.
	told, going map[int32]bool
	wait        time.Duration
}

func newDecider(in Input) *decider {
	d := &decider{
		facts: facts{
			Input: in, strategy: strategyOf(in.Spec), owned: in.Spec.Ordinals(),
			at: map[int32]*Pod{}, ours: map[int32]bool{}, stands: map[int32]bool{},
		},
		told: map[int32]bool{}, going: map[int32]bool{},
	}
	for i := range in.Pods {
		pod := &in.Pods[i]
		d.pods, d.at[pod.Ordinal] = append(d.pods, pod), pod
	}
	slices.SortFunc(d.pods, func(a, b *Pod) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	d.surge = in.Surges()
	for _, ordinal := range d.owned {
		d.ours[ordinal] = true
	}
	for _, ordinal := range d.surge {
		d.stands[ordinal] = true
	}
	d.failures = d.recentFailures()
	d.budget = int64(in.Spec.MostUnavailable()) - int64(len(d.owned))
	d.spare = d.budget
	for _, pod := range d.pods {
		if d.ours[pod.Ordinal] || d.stands[pod.Ordinal] {
			d.budget += int64(one(d.available(pod)))
			d.spare += int64(one(d.serving(pod)))
		}
	}
	return d
}

func (d *decider) act(verb Verb, pod *Pod, revision string, reason api.TerminationReason) {
	d.actions = append(d.actions, Action{Verb: verb, Ordinal: pod.Ordinal, UID: pod.UID, Revision: revision, Reason: reason})
	d.told[pod.Ordinal] = true
}

func (d *decider) hold(ordinal int32, reason, message string) {
	d.held = append(d.held, Hold{Ordinal: ordinal, Reason: reason, Message: message})
	d.told[ordinal] = true
}

// lookAgain makes sure that the next look comes within a time; nothing when it is over.
func (d *decider) lookAgain(after time.Duration) {
	if after > 0 && (d.wait == 0 || after < d.wait) {
		d.wait = after
	}
}

// spend takes one pod from the budget, unless it is free (D4). A pod that is not available counts
// against the budget already: it is taken down while the budget has room for it (D6).
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

// spendResized takes a pod that serves while it is resized. It was taken from the budget when
// that began: what counts is how many serve.
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

// down says whether a pod does not serve. A kubelet may call a pod Ready that is being updated in place.
func down(pod *Pod) bool { return changing(pod) || !ready(pod) }

// changing says whether a pod is Terminating or being updated in place, and does not serve: that was
// paid for.
func changing(pod *Pod) bool {
	return pod.Terminating || pod.InPlace != nil && !pod.InPlace.Serves
}

// free says whether a pod may be taken down without the budget. Not Ready alone is not enough: all pods
// of a healthy application may lose Ready for a moment.
func (d *facts) free(pod *Pod) bool {
	return changing(pod) || !ready(pod) && (pod.NeverAvailable || !d.current(pod) || d.Spec.Unhealthy == api.AlwaysAllow)
}

// current says whether a pod is of the current revision, or of one that means the same.
func (d *facts) current(pod *Pod) bool {
	return pod.Revision == d.Revisions.Current || pod.SameAs != "" && pod.SameAs == d.Revisions.Current
}

// note removes the marks of pods that are available for the first time, and stay.
func (d *decider) note() {
	for _, pod := range d.pods {
		acted := slices.ContainsFunc(d.actions, func(a Action) bool { return a.Ordinal == pod.Ordinal })
		if pod.NeverAvailable && d.available(pod) && !acted {
			d.act(NoteAvailable, pod, pod.Revision, "")
		}
	}
}

// ready says whether a pod serves.
func ready(pod *Pod) bool { return pod.Phase == Running && pod.Ready }

// ended says whether a pod has run to its end, or was given up: only another one can
// take its place.
func ended(pod *Pod) bool { return pod.Phase == Failed || pod.Phase == Succeeded }

// available says whether a pod counts as one that serves, and will for a while. To an
// update, one that is under way to another revision does not.
func (d *facts) available(pod *Pod) bool {
	return d.serving(pod) && pod.InPlace == nil
}

// serving says so of a pod that scaling may build upon: one that is being resized, and serves
// through that, as well.
func (d *facts) serving(pod *Pod) bool {
	return pod != nil && !pod.Terminating && (pod.InPlace == nil || pod.InPlace.Serves) && ready(pod) && d.minReadyLeft(pod) <= 0
}

func (d *facts) minReadyLeft(pod *Pod) time.Duration {
	if d.Spec.MinReady == 0 {
		return 0
	}
	return d.Spec.MinReady - d.Now.Sub(pod.ReadySince)
}

// outdated says whether a pod has a revision that means something else than the
// template does, or cannot get to what its own asks for.
func (d *facts) outdated(pod *Pod) bool {
	return pod.Revision != d.Revisions.Update && !pod.Change.Same || d.infeasible(pod)
}

// partition is the ordinal below which pods keep their revision.
func (d *facts) partition() int32 {
	if d.Spec.Strategy != api.RollingUpdate {
		return 0
	}
	return d.Spec.Partition
}

// inScope says whether the update is for an ordinal.
func (d *facts) inScope(ordinal int32) bool { return d.ours[ordinal] && ordinal >= d.partition() }

// impossible says whether a pod cannot be updated as the policy asks for.
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

// updating says whether pods are updated at all now.
func (d *facts) updating() bool {
	return d.strategy.order != nil && !d.Spec.Paused && !d.rollingBack
}

// toUpdate says whether the update will have to do with a pod.
func (d *facts) toUpdate(pod *Pod) bool {
	return d.inScope(pod.Ordinal) && !pod.Terminating && !ended(pod) && d.outdated(pod)
}

// remaining says whether pods are left that the update, paused or not, will get to.
func (d *facts) remaining() bool {
	return d.strategy.order != nil && slices.ContainsFunc(d.pods, func(pod *Pod) bool { return d.unfinished(pod) && !d.impossible(pod) })
}
