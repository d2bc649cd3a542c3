package decide

import (
	"fmt"
	"slices"
	"time"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// scaling creates the missing pods and removes the pods that the slice does not own.
type scaling struct{ *decider }

// mend repairs the pods that stay, sets the owners of claims, and replaces pods that have ended. It does not wait for other
// pods.
func (d scaling) mend() {
	for _, pod := range d.pods {
		stays := d.ours[pod.Ordinal] || d.stands[pod.Ordinal]
		switch {
		case !stays:
			d.ownClaims(pod)
		case pod.Terminating:
			// If the ordinal returns in time, it keeps its claims. They would be deleted with the pod otherwise.
			if !pod.StandIn {
				d.ownClaims(pod)
			}
		case ended(pod):
			d.replaceEnded(pod)
		default:
			d.mendPod(pod)
		}
	}
}

func (d scaling) mendPod(pod *Pod) {
	if pod.ClaimsMissing {
		d.act(CreateClaims, pod, pod.Revision, "")
	}
	d.ownClaims(pod)
	if !pod.IdentityOK {
		d.act(Repair, pod, pod.Revision, "")
	}
}

func (d scaling) ownClaims(pod *Pod) {
	if !pod.ClaimsOK {
		d.act(OwnClaims, pod, pod.Revision, "")
	}
}

// create creates the missing pods, the lowest ordinal first.
func (d scaling) create() {
	rest := d.wantedMissing()
	if len(rest) == 0 {
		return
	}
	if reason, message := d.createsNone(); reason != "" {
		for _, ordinal := range rest {
			d.hold(ordinal, reason, message)
		}
		d.holdMore()
		return
	}
	if d.Spec.Parallel {
		d.createFreely(rest)
		return
	}
	d.createInOrder(rest)
}

// createsNone returns why this pass creates no pod at all, or an empty reason.
func (d scaling) createsNone() (reason, message string) {
	switch {
	case d.rollingBack:
		return HeldRollback, "the update has failed: it is created at revision " + d.Revisions.Current
	case d.strategy.together && !d.Spec.Paused && d.oldRemain():
		return HeldOldPods, "it is created when no pod of an old revision exists"
	default:
		return "", ""
	}
}

// wantedMissing returns the desired ordinals that have no pod, as far as this pass considers them. Surge pods are desired
// only while standInsWanted.
func (d *facts) wantedMissing() []int32 {
	out := slices.Clone(d.lacks)
	if !d.standInsWanted() || int(d.missing) > len(d.lacks) {
		return out
	}
	return append(out, slices.DeleteFunc(slices.Clone(d.surge), func(ordinal int32) bool { return d.at[ordinal] != nil })...)
}

// standInsWanted reports whether surge pods are desired: while the update has work, and when a requested deletion is not
// possible within the budget.
func (d *facts) standInsWanted() bool {
	if len(d.surge) == 0 {
		return false
	}
	asked := d.Spec.MaxUnavailable == 0 && slices.ContainsFunc(d.pods, func(pod *Pod) bool {
		return d.ours[pod.Ordinal] && pod.AskedToGo && !pod.Terminating
	})
	return asked || !d.Spec.Paused && d.remaining()
}

// createInOrder creates one pod, once all lower ordinals are available. Higher ordinals do not matter: a lost pod is
// recreated even if a later pod never becomes Ready.
//
// During a migration, the first ordinal may be the one that is handed over. The slice owned it last, so it does not delay
// the others, which ran before it.
func (d scaling) createInOrder(missing []int32) {
	waitsFor := missing[0]
	if first := d.waitsFor(missing[0]); first != nil {
		waitsFor = first.Ordinal
	} else if d.makeable(missing[0]) {
		d.make(missing[0])
	}
	for _, ordinal := range missing {
		if ordinal != waitsFor {
			d.hold(ordinal, HeldPredecessor, fmt.Sprintf("it is created when ordinal %d is available", waitsFor))
		}
	}
	d.holdMore()
}

// waitsFor returns the pod with the lowest ordinal that must be available before the first missing ordinal gets a pod, or
// nil.
func (d *facts) waitsFor(next int32) *Pod {
	first := true
	for _, pod := range d.pods {
		switch {
		case pod.Ordinal >= next:
			return nil
		case !d.ours[pod.Ordinal] && !d.stands[pod.Ordinal]:
			continue
		case !d.serving(pod) && (!first || !d.Spec.Migrating):
			return pod
		}
		first = false
	}
	return nil
}

// holdMore counts the ordinals without a pod that this pass does not consider.
func (d *decider) holdMore() { d.heldMore += d.missing - int32(len(d.lacks)) }

// createFreely creates all pods at once, as far as scaleStrategy and MostCreated allow.
func (d scaling) createFreely(missing []int32) {
	most, burst := int32(len(missing)), MostCreated
	if d.Spec.ScaleMaxUnavailable > 0 {
		most = d.Spec.ScaleMaxUnavailable
		for _, pod := range d.pods {
			most -= one(d.ours[pod.Ordinal] && !d.serving(pod))
		}
	}
	for _, ordinal := range missing {
		switch {
		case !d.makeable(ordinal):
		case most <= 0:
			d.hold(ordinal, HeldScaleStrategy, fmt.Sprintf("it is created when fewer than %d pods are unavailable (scaleStrategy)", d.Spec.ScaleMaxUnavailable))
		case burst == 0:
			d.hold(ordinal, HeldBurst, fmt.Sprintf("it is created after others, %d at a time", MostCreated))
			d.lookAgain(time.Second)
		default:
			d.make(ordinal)
			most--
			burst--
		}
	}
	d.holdMore()
}

func (d scaling) makeable(ordinal int32) bool {
	if d.stale[ordinal] {
		d.hold(ordinal, HeldStaleClaim, "a claim of its former pod must be deleted first")
		return false
	}
	return true
}

func (d scaling) make(ordinal int32) {
	d.act(Create, &Pod{Ordinal: ordinal}, d.revisionOfNew(ordinal), "")
}

// revisionOfNew returns the revision of a new pod: the current one below the partition, otherwise the target, for any
// strategy. A paused Recreate replaces a lost pod with the old revision, because it never mixes the two.
func (d *facts) revisionOfNew(ordinal int32) string {
	if ordinal < d.partition() || d.strategy.together && d.Spec.Paused && d.oldRemain() {
		return d.Revisions.Current
	}
	return d.target
}

// oldRemain reports whether a pod of an old revision exists, in or out of the range.
func (d *facts) oldRemain() bool { return slices.ContainsFunc(d.pods, d.outdated) }

// condemned returns the pods that the slice does not own, the highest ordinal first.
func (d *facts) condemned() []*Pod {
	var out []*Pod
	for _, pod := range slices.Backward(d.pods) {
		if !d.ours[pod.Ordinal] && !d.stands[pod.Ordinal] {
			out = append(out, pod)
		}
	}
	return out
}

// leaving returns the termination reason of pods that the slice does not own.
func (d *decider) leaving() api.TerminationReason {
	if d.Spec.Migrating {
		return api.TerminationMigration
	}
	return api.TerminationScaleDown
}

// scaleDown removes the pods that the slice does not own. Owned pods are created first, so that there are never fewer pods
// than replicas.
func (d scaling) scaleDown() {
	condemned := d.condemned()
	for _, pod := range condemned {
		d.going[pod.Ordinal] = true
	}
	if d.strategy.together && d.updating() {
		for _, pod := range condemned {
			if d.outdated(pod) && !pod.Terminating {
				d.remove(pod, d.leaving())
			}
		}
		condemned = slices.DeleteFunc(condemned, d.outdated)
	}
	if d.Spec.Parallel {
		d.scaleDownFreely(condemned)
	} else {
		d.scaleDownInOrder(condemned)
	}
}

// scaleDownFreely removes all pods at once, but keeps as many as there are owned ordinals without a pod.
func (d scaling) scaleDownFreely(condemned []*Pod) {
	condemned = slices.DeleteFunc(condemned, func(pod *Pod) bool { return pod.Terminating })
	room, most := d.room(condemned), len(condemned)-int(d.missing)
	for i, pod := range condemned {
		switch {
		case i < most:
			room.left -= int64(one(d.serving(pod)))
			d.remove(pod, d.leaving())
		case room.takes(d.serving(pod)):
			d.remove(pod, d.leaving())
		default:
			d.hold(pod.Ordinal, HeldScaleDown, "it is deleted when every ordinal has a pod"+room.refused())
		}
	}
}

// scaleDownInOrder removes one pod. The others wait for it, or for the same reason.
func (d scaling) scaleDownInOrder(condemned []*Pod) {
	if len(condemned) == 0 {
		return
	}
	goes, blocker := d.nextInOrder(condemned)
	if goes != nil {
		d.remove(goes, d.leaving())
		blocker = fmt.Sprintf("it is deleted after ordinal %d", goes.Ordinal)
	}
	for _, pod := range condemned {
		if pod != goes && !pod.Terminating {
			d.hold(pod.Ordinal, HeldScaleDown, blocker)
		}
	}
}

// nextInOrder returns the pod to remove: the highest ordinal, when all lower pods are available. A pod that is not available
// is removed when it is the only such pod (apps/v1). A pod of an old revision is not waited for, because that revision may be
// why it is not available. If no pod can be removed, nextInOrder returns the reason.
func (d scaling) nextInOrder(condemned []*Pod) (goes *Pod, blocker string) {
	first, last, waitsFor := condemned[0], firstUnavailable(d.decider, condemned), d.firstOwnedUnavailable()
	switch {
	case first.Terminating:
		return nil, fmt.Sprintf("it is deleted after ordinal %d", first.Ordinal)
	case waitsFor >= 0:
		room := d.room(condemned)
		if d.at[waitsFor] == nil {
			goes = d.makesRoom(&room, condemned)
		}
		return goes, fmt.Sprintf("it is deleted when ordinal %d is available", waitsFor) + room.refused()
	case !d.serving(first) && first != last && !ended(first) && !d.outdated(first):
		return nil, fmt.Sprintf("it is deleted when it is available, or ordinal %d is", last.Ordinal)
	default:
		return first, ""
	}
}

// firstOwnedUnavailable returns the lowest owned ordinal that is not available, or -1.
func (d scaling) firstOwnedUnavailable() int32 {
	first := int32(-1)
	if len(d.lacks) > 0 {
		first = d.lacks[0]
	}
	for _, pod := range d.pods {
		if d.ours[pod.Ordinal] && !d.serving(pod) && (first < 0 || pod.Ordinal < first) {
			return pod.Ordinal
		}
	}
	return first
}

// firstUnavailable returns the pod with the lowest ordinal that is not available, or nil. A pod that has ended never becomes
// available.
func firstUnavailable(d *decider, descending []*Pod) *Pod {
	for _, pod := range slices.Backward(descending) {
		if !d.serving(pod) && !ended(pod) {
			return pod
		}
	}
	return nil
}

// scalesFirst reports whether a pod that the slice does not own still has to be deleted. In OrderedReady, it must no longer
// exist. Scaling comes before updating.
func (d *decider) scalesFirst() bool {
	return slices.ContainsFunc(d.condemned(), func(pod *Pod) bool {
		return !d.Spec.Parallel || !pod.Terminating && !d.deletes(pod)
	})
}

func (d *decider) deletes(pod *Pod) bool {
	return slices.ContainsFunc(d.actions, func(a Action) bool { return a.Verb == Delete && a.Ordinal == pod.Ordinal })
}

// endSurge removes surge pods, the highest ordinal first: those of an old revision, and all of them at the end of the
// update. They count as available until then, so their removal is charged to the budget.
func (d scaling) endSurge() {
	over := !d.standInsWanted() && !d.remaining()
	// In OrderedReady, one at a time, after those with higher ordinals.
	before := int32(-1)
	if condemned := d.condemned(); !d.Spec.Parallel && len(condemned) > 0 {
		before = condemned[0].Ordinal
	}
	for _, ordinal := range slices.Backward(d.surge) {
		pod := d.at[ordinal]
		if pod == nil || !over && !d.outdated(pod) {
			continue
		}
		d.going[ordinal] = true
		if before >= 0 && !pod.Terminating && !ended(pod) {
			d.hold(ordinal, HeldScaleDown, fmt.Sprintf("it is deleted after ordinal %d", before))
			continue
		}
		d.endStandIn(pod)
		if !d.Spec.Parallel {
			before = ordinal
		}
	}
}

func (d scaling) endStandIn(pod *Pod) {
	switch {
	case pod.Terminating || ended(pod):
	case down(pod) || d.spend(pod): // it replaces no other pod
		d.remove(pod, d.leaving())
	default:
		d.hold(pod.Ordinal, HeldBudget, "it is deleted when others are available in its place")
	}
}
