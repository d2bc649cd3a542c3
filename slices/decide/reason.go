package decide

import (
	"slices"
	"time"

	api "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// waitToTell is how long a set that is being deleted is kept for pods that cannot be told.
const waitToTell = 30 * time.Second

// tells says whether a pod is told why it is deleted.
func (d *facts) tells(pod *Pod) bool { return !ended(pod) && d.tellsWho(pod.ReadsReason) }

// tellsWho says whether pods are told that can read it, or cannot.
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

// tellsAny says whether pods would be told if the set were deleted, or those that are yet to
// be made would be.
func (d *decider) tellsAny() bool {
	return d.tellsWho(d.Revisions.ReadsReason) ||
		slices.ContainsFunc(d.pods, func(pod *Pod) bool { return !pod.Terminating && d.tells(pod) })
}

// announceDeletion tells the pods of a set that is being deleted; deleting them is the
// garbage collector's. It says whether the set must stay: not all have been told, and had
// the time to read it.
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

// remove deletes a pod: first one that can read it is told why, then whoever wants to hold it
// back does, and then it has the time to read it.
func (d *decider) remove(pod *Pod, reason api.TerminationReason) {
	d.going[pod.Ordinal] = true
	if ended(pod) {
		d.act(Delete, pod, pod.Revision, reason)
		return
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
		d.hold(pod.Ordinal, HeldTerminationGrace, "it is told that it will be deleted: "+string(reason))
		d.lookAgain(left)
	default:
		d.act(Delete, pod, pod.Revision, reason)
	}
}

// withdraw takes back what was announced to pods that are to stay after all.
func (d *decider) withdraw() {
	for _, pod := range d.pods {
		awaits := (d.toUpdate(pod) || d.toGrow(pod) && d.remounts(pod)) && d.updating() && !d.inPlace(pod) && !d.impossible(pod)
		if pod.Reason != "" && !pod.Terminating && !ended(pod) && !d.going[pod.Ordinal] && !awaits {
			d.act(Announce, pod, pod.Revision, "")
		}
	}
}
