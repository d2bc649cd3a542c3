package decide

import (
	"slices"
	"time"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// waitToTell is the time that a set in deletion waits for pods whose termination reason could not be written.
const waitToTell = 30 * time.Second

// tells reports whether a pod gets a termination reason.
func (d *facts) tells(pod *Pod) bool { return !ended(pod) && d.tellsWho(pod.ReadsReason) }

// tellsWho reports whether pods get a termination reason, given whether they can read it.
func (d *facts) tellsWho(reads bool) bool {
	switch d.Spec.Tell {
	case api.AnnounceNever:
		return false
	case api.AnnounceIfRead:
		return reads
	default:
		return true
	}
}

// tellsAny reports whether a deletion of the set would have to write a termination reason, on existing pods or on pods of
// either revision.
func (d *decider) tellsAny() bool {
	return d.tellsWho(d.Revisions.ReadsReason) ||
		slices.ContainsFunc(d.pods, func(pod *Pod) bool { return !pod.Terminating && d.tells(pod) })
}

// announceDeletion writes the termination reason on the pods of a set in deletion. The garbage collector deletes them. It
// reports whether the set must stay, because pods still miss the reason or had no time to read it.
func (d *decider) announceDeletion() (stays bool) {
	if d.Spec.Orphaning {
		return false
	}
	for _, pod := range d.pods {
		if pod.Terminating || !d.tells(pod) {
			continue
		}
		left := waitToTell
		if pod.Reason == api.TerminationDeletion {
			left = d.Spec.TerminationGrace - d.Now.Sub(pod.ReasonSince)
		} else {
			d.act(Announce, pod, pod.Revision, api.TerminationDeletion)
		}
		left = min(left, waitToTell+d.Spec.TerminationGrace-d.Now.Sub(d.Spec.DeletingSince))
		d.lookAgain(left)
		stays = stays || left > 0
	}
	return stays
}

// remove deletes or evicts a pod. An eviction needs its PodDisruptionBudget first. A pod that gets a termination reason gets
// it before its deletion. Then lifecycle.preDelete may delay the deletion, and the grace period must pass.
func (d *decider) remove(pod *Pod, reason api.TerminationReason) {
	d.going[pod.Ordinal] = true
	if ended(pod) {
		d.act(Delete, pod, pod.Revision, reason)
		return
	}
	verb := Delete
	if d.evicts(pod, reason) {
		if verb = Evict; !d.disrupts(pod) {
			return
		}
	}
	left := d.Spec.TerminationGrace
	switch {
	case !d.tells(pod):
		left = 0
	case pod.Reason == reason:
		left -= d.Now.Sub(pod.ReasonSince)
	default:
		d.act(Announce, pod, pod.Revision, reason)
	}
	switch {
	case pod.HeldForDelete:
		d.hold(pod.Ordinal, HeldPreDelete, "lifecycle.preDelete holds it back before it is deleted")
	case left > 0:
		d.hold(pod.Ordinal, HeldTerminationGrace, "it is notified of its deletion: "+string(reason))
		d.lookAgain(left)
	default:
		d.act(verb, pod, pod.Revision, reason)
	}
}

// withdraw removes the termination reason of pods that will not be deleted after all.
func (d *decider) withdraw() {
	for _, pod := range d.pods {
		awaits := (d.toUpdate(pod) || d.toGrow(pod) && d.remounts(pod)) && d.updating() && !d.inPlace(pod) && !d.impossible(pod)
		if pod.Reason != "" && !pod.Terminating && !ended(pod) && !d.going[pod.Ordinal] && !awaits {
			d.act(Announce, pod, pod.Revision, "")
		}
	}
}
