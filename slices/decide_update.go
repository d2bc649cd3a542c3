package slices

import (
	"cmp"
	"fmt"
	"slices"

	api "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// release deletes the pods that a person asked to go, as far as the budget allows. Those
// that the slice does not own are going anyway.
func (d *decider) release() {
	for _, pod := range slices.Backward(d.pods) {
		if !pod.AskedToGo || pod.Terminating || d.going[pod.Ordinal] {
			continue
		}
		if d.strategy.together && d.updating() && d.toUpdate(pod) {
			continue // it goes with all others
		}
		d.going[pod.Ordinal] = true
		if d.spend(pod) {
			d.remove(pod, api.TerminationDeletion)
			continue
		}
		d.hold(pod.Ordinal, HeldBudget, d.budgetMessage())
	}
}

// update brings pods to the revision of the template. Those that are not Ready come
// first, and cost nothing; neither order nor scaling holds them up, for
// they may be what holds up those.
func (d *decider) update() {
	d.relabel()
	d.growUpdated()
	outdated := d.outdatedPods()
	if d.strategy.together {
		for _, pod := range outdated {
			d.remove(pod, api.TerminationUpdate)
		}
		return
	}
	var rest []*Pod
	for _, pod := range outdated {
		if free(pod) {
			d.replace(pod)
			continue
		}
		rest = append(rest, pod)
	}
	reason, message := d.gate()
	for _, pod := range rest {
		switch {
		case reason != "":
			d.hold(pod.Ordinal, reason, message)
		case d.spend(pod):
			d.replace(pod)
		default:
			d.hold(pod.Ordinal, HeldBudget, d.budgetMessage())
		}
	}
}

func (d *decider) budgetMessage() string {
	if most := d.Spec.mostUnavailable(); most < d.Spec.MaxUnavailable {
		return fmt.Sprintf("it waits for a migration, which lets no more than %d be unavailable now (annotation %s)", most, api.MaxUnavailableAnnotationKey)
	}
	return fmt.Sprintf("it waits until fewer than maxUnavailable (%d) pods are unavailable", d.Spec.MaxUnavailable)
}

// stays says whether the update is for a pod that nothing has removed.
func (d *decider) stays(pod *Pod) bool {
	return d.inScope(pod.Ordinal) && !pod.Terminating && !ended(pod) && !d.going[pod.Ordinal]
}

// relabel gives pods the label of a revision that means the same as their own: no pod
// is the worse for it, so that neither a pause nor a strategy matters.
func (d *decider) relabel() {
	for _, pod := range d.pods {
		if d.stays(pod) && pod.Revision != d.Revisions.Update && pod.Change.Same {
			d.act(Relabel, pod, d.Revisions.Update, "")
		}
	}
}

// merge gives the pods that nothing else is done to the label of the revision that stays
// of those that mean the same as their own, so that the others can go.
func (d *decider) merge() {
	for _, pod := range d.pods {
		acted := func(a Action) bool { return a.Ordinal == pod.Ordinal }
		if pod.SameAs != "" && !pod.Terminating && !ended(pod) && pod.InPlace == nil && !slices.ContainsFunc(d.actions, acted) {
			d.act(Relabel, pod, pod.SameAs, "")
		}
	}
}

// growUpdated grows the claims of pods that have the revision already.
func (d *decider) growUpdated() {
	if d.Spec.Paused || d.rollingBack {
		return
	}
	for _, pod := range d.pods {
		if d.stays(pod) && !pod.ClaimsReady && !d.outdated(pod) {
			d.grow(pod)
		}
	}
}

func (d *decider) grow(pod *Pod) {
	d.act(GrowClaims, pod, d.Revisions.Update, "")
	d.hold(pod.Ordinal, HeldClaims, "its claims grow")
}

// outdatedPods are the pods to be updated, in the order of the strategy. Those that are
// not updated now are held.
func (d *decider) outdatedPods() []*Pod {
	var out []*Pod
	for _, pod := range d.pods {
		if !d.toUpdate(pod) || d.going[pod.Ordinal] {
			continue
		}
		if reason, message := d.excluded(pod); reason != "" {
			d.hold(pod.Ordinal, reason, message)
			continue
		}
		out = append(out, pod)
	}
	if d.strategy.order != nil {
		slices.SortFunc(out, d.strategy.order)
	}
	return out
}

// excluded says why a pod is not updated, whatever the others are like; empty: it is.
func (d *decider) excluded(pod *Pod) (reason, message string) {
	switch {
	case d.strategy.order == nil:
		return HeldOnDelete, "it gets the new revision when it is deleted"
	case d.Spec.Paused:
		return HeldPaused, d.pausedMessage()
	case d.rollingBack:
		return HeldRollback, d.rollBackMessage()
	case d.impossible(pod):
		return HeldInPlaceOnly, cmp.Or(pod.Change.Blocker, "the template") + " cannot be changed in place, and the policy is InPlaceOnly"
	default:
		return "", ""
	}
}

func (d *decider) rollBackMessage() string {
	if d.Progress.Refused != "" {
		return "the update has failed, and the API server refuses to take it back"
	}
	return "the update has failed and is taken back"
}

func (d *decider) pausedMessage() string {
	if d.Spec.Migrating && d.strategy.together {
		return "Recreate takes all pods down at once: it waits for the end of the migration"
	}
	return "the update is paused"
}

// gate says what must come before an available pod is updated; empty: nothing.
func (d *decider) gate() (reason, message string) {
	if d.scalesFirst() {
		return HeldScaleFirst, "it is updated when no pod is left that the slice does not own"
	}
	if d.strategy.batches && d.batchOpen() {
		return HeldBatch, "it is updated when the pods updated before are available"
	}
	return "", ""
}

// batchOpen says whether pods that were updated last are still missing or not
// available. One that is on its way out, or is being changed in place, belongs to a
// batch that others may still join, unless an ordinal above it is through already.
func (d *decider) batchOpen() bool {
	updated := false
	for _, ordinal := range slices.Backward(d.owned) {
		if !d.inScope(ordinal) {
			break
		}
		pod := d.at[ordinal]
		switch {
		case pod == nil:
			return true
		case pod.Terminating || pod.InPlace != nil && d.outdated(pod):
			if updated {
				return true
			}
		case d.outdated(pod):
		case !d.available(pod):
			return true
		default:
			updated = true
		}
	}
	return false
}

// replace updates one pod, in place or by deleting it; its claims grow first, and its images
// are pulled.
func (d *decider) replace(pod *Pod) {
	switch {
	case !pod.ClaimsReady:
		d.grow(pod)
	case d.inPlace(pod):
		d.changeInPlace(pod)
	case d.awaitsImages(pod):
	default:
		d.remove(pod, api.TerminationUpdate)
	}
}
