package decide

import (
	"cmp"
	"fmt"
	"slices"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// updates updates the pods to the target revision.
type updates struct{ *decider }

// release deletes the pods whose deletion a user requested, as far as the budget allows. Pods that the slice does not own
// are deleted anyway.
func (d updates) release() {
	for _, pod := range slices.Backward(d.pods) {
		if !pod.AskedToGo || pod.Terminating || d.going[pod.Ordinal] {
			continue
		}
		if d.strategy.together && d.updating() && d.toUpdate(pod) {
			continue // it is deleted with all others
		}
		d.going[pod.Ordinal] = true
		if d.spend(pod) {
			d.remove(pod, api.TerminationDeletion)
			continue
		}
		d.hold(pod.Ordinal, HeldBudget, d.budgetMessage(pod))
	}
}

// update updates pods to the target revision, and their claims to the sizes of their templates. Pods that are not Ready come first:
// free pods at once, the others while the budget has room (D6). Neither the order nor scaling delays them, because these
// pods may be the cause of that delay.
func (d updates) update() {
	d.relabel()
	var rest []*Pod
	targets := d.targets()
	d.choosePlace(targets)
	for _, pod := range targets {
		switch {
		case d.strategy.together && d.outdated(pod):
			d.remove(pod, api.TerminationUpdate)
		case d.free(pod), (!ready(pod) || d.infeasible(pod) && d.outOfPlace(pod) == "") && d.spend(pod):
			d.advance(pod)
		case !ready(pod):
			d.hold(pod.Ordinal, HeldBudget, d.budgetMessage(pod))
		case d.begun(pod):
			d.spend(pod) // other pods wait for it
			d.advance(pod)
		default:
			rest = append(rest, pod)
		}
	}
	reason, message := d.gate()
	for _, pod := range rest {
		away := d.outOfPlace(pod)
		switch {
		case reason != "":
			d.hold(pod.Ordinal, reason, message)
		case away != "":
			d.hold(pod.Ordinal, HeldTopology, away)
		case d.spend(pod):
			d.advance(pod)
		default:
			d.hold(pod.Ordinal, HeldBudget, d.budgetMessage(pod))
		}
	}
}

func (d updates) budgetMessage(pod *Pod) string {
	if ready(pod) {
		return d.waitsForBudget()
	}
	return "it is not Ready, and may have been available at the current revision: " + d.waitsForBudget() +
		fmt.Sprintf("; to replace it at once, set updateStrategy.rollingUpdate.unhealthyPodEvictionPolicy: %s, or delete the pod", api.AlwaysAllow)
}

func (d updates) waitsForBudget() string {
	if most := d.Spec.MostUnavailable(); most < d.Spec.MaxUnavailable {
		return fmt.Sprintf("it waits for a migration, which lets no more than %d be unavailable now (annotation %s)", most, api.MaxUnavailableAnnotationKey)
	}
	message := fmt.Sprintf("it waits until fewer than maxUnavailable (%d) pods are unavailable", d.Spec.MaxUnavailable)
	if d.Spec.Split && d.Spec.MaxSurge > 0 {
		message += fmt.Sprintf("; no surge pod is created, because another slice may own the ordinals above (annotation %s; %q declares that none does)", api.SplitAnnotationKey, api.NotSplit)
	}
	return message
}

// stays reports whether the update applies to a pod that is not being removed.
func (d updates) stays(pod *Pod) bool {
	return d.inScope(pod.Ordinal) && !pod.Terminating && !ended(pod) && !d.going[pod.Ordinal]
}

// relabel sets the label of the target revision on pods whose revision is equivalent. This does not affect the pods, so a
// pause and the strategy do not matter. A pod whose claims must grow gets the label after they have grown.
func (d updates) relabel() {
	for _, pod := range d.pods {
		if d.stays(pod) && pod.Revision != d.target && pod.Change.Same && pod.Growth.State == Grown {
			d.act(Relabel, pod, d.target, "")
		}
	}
}

// merge relabels pods to the kept revision among equivalent ones, so that the others can be deleted. It skips pods that have
// another action.
func (d updates) merge() {
	for _, pod := range d.pods {
		acted := func(a Action) bool { return a.Ordinal == pod.Ordinal }
		if pod.SameAs != "" && !pod.Terminating && !ended(pod) && pod.InPlace == nil && !slices.ContainsFunc(d.actions, acted) {
			d.act(Relabel, pod, pod.SameAs, "")
		}
	}
}

// targets returns the pods to update, in the order of the strategy. It holds the pods that are not updated now.
func (d updates) targets() []*Pod {
	var out []*Pod
	for _, pod := range d.pods {
		if !d.unfinished(pod) || d.going[pod.Ordinal] {
			continue
		}
		if reason, message := d.excluded(pod); reason != "" {
			if d.begun(pod) {
				d.spend(pod) // its claims grow nevertheless
			}
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

// excluded returns why a pod is not updated, regardless of the other pods, or an empty reason.
func (d updates) excluded(pod *Pod) (reason, message string) {
	switch {
	case d.strategy.order == nil && d.outdated(pod):
		return HeldOnDelete, "it gets the new revision when it is deleted"
	case d.strategy.order == nil && (pod.Revision != d.target || d.remounts(pod)):
		return HeldOnDelete, fmt.Sprintf("claim %s grows when the pod is deleted", pod.Growth.Claim)
	case d.Revisions.Blocked != "":
		return HeldInput, d.Revisions.Blocked
	case d.Spec.Paused:
		return HeldPaused, d.pausedMessage()
	case d.rollingBack:
		return HeldRollback, fmt.Sprintf("the update has failed: it gets revision %s again", d.Revisions.Current)
	case d.impossible(pod) && !d.outdated(pod):
		return HeldInPlaceOnly, fmt.Sprintf("the file system of claim %s grows when the pod is recreated, and the policy is InPlaceOnly: delete the pod", pod.Growth.Claim)
	case d.impossible(pod):
		return HeldInPlaceOnly, d.impossibleMessage(pod)
	default:
		return "", ""
	}
}

// impossibleMessage names the field and the remedy.
func (d updates) impossibleMessage(pod *Pod) string {
	message := cmp.Or(pod.Change.Blocker, "the template") + " cannot be changed in place, and the policy is InPlaceOnly"
	if d.infeasible(pod) {
		message += ", and its node says: " + pod.InPlace.Waits
	}
	return message + "; revert the change, or set updateStrategy.rollingUpdate.podUpdatePolicy to InPlaceIfPossible to recreate the pod"
}

func (d updates) pausedMessage() string {
	if d.Spec.Migrating && d.strategy.together {
		return "Recreate takes all pods down at once: it waits for the end of the migration"
	}
	return "the update is paused"
}

// gate returns what must happen before an available pod is updated, or an empty reason.
func (d updates) gate() (reason, message string) {
	if d.scalesFirst() {
		return HeldScaleFirst, "it is updated when no pod is left that the slice does not own"
	}
	if at := slices.IndexFunc(d.pods, func(pod *Pod) bool { return d.unfinished(pod) && pod.Growth.State == Infeasible }); at >= 0 {
		return HeldInfeasible, infeasibleMessage(d.pods[at])
	}
	if d.strategy.batches && d.batchOpen() {
		return HeldBatch, "it is updated when the pods updated before are available"
	}
	return "", ""
}

// batchOpen reports whether pods of the last batch are missing or not available. A pod that is Terminating or is changed in
// place belongs to a batch that other pods may still join, unless a higher ordinal is already updated.
func (d updates) batchOpen() bool {
	if d.missingInScope() > 0 {
		return true
	}
	updated := false
	for _, pod := range slices.Backward(d.pods) {
		switch {
		case !d.inScope(pod.Ordinal):
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
