package decide

import (
	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// inPlace reports whether a pod is updated in place. With InPlaceIfPossible, a pod that must be recreated for its claims is
// not.
func (d *facts) inPlace(pod *Pod) bool {
	if !pod.Change.InPlace || d.infeasible(pod) {
		return false
	}
	return d.Spec.Policy == api.InPlaceOnly || d.Spec.Policy == api.InPlaceIfPossible && !d.remounts(pod)
}

// infeasible reports whether the node can never provide the resources of the pod's in-place update. Only a new pod can get
// them.
func (d *facts) infeasible(pod *Pod) bool {
	switch in := pod.InPlace; {
	case in == nil || !in.Infeasible:
		return false
	case in.Patched:
		return pod.Revision == d.target
	default:
		return in.Revision == d.target
	}
}

// settleInPlace ends in-place updates that are complete, and those that began but are no longer desired. An update that is
// still desired is left to the update stage.
func (d *decider) settleInPlace() {
	for _, pod := range d.pods {
		if pod.InPlace == nil || pod.Terminating || ended(pod) {
			continue
		}
		wanted := d.toUpdate(pod) && (d.infeasible(pod) || d.updating() && !d.impossible(pod))
		switch {
		case wanted:
		case pod.InPlace.Done:
			d.act(FinishInPlace, pod, pod.Revision, "")
		case pod.InPlace.Waits != "":
			d.hold(pod.Ordinal, HeldResize, "its node does not resize it: "+pod.InPlace.Waits)
		default:
			d.hold(pod.Ordinal, HeldInPlace, "its containers do not run the update yet")
		}
	}
}

// changeInPlace takes the next step of an in-place update: it charges the PodDisruptionBudget of the pod, closes the readiness
// gate, and patches the pod after the grace period. A pod in an update to another revision restarts from the gate. The patch
// waits until the kubelet reports the pod as not Ready, because the pod would look available too early otherwise.
func (d *decider) changeInPlace(pod *Pod) {
	begun := pod.InPlace != nil && pod.InPlace.Revision == d.target
	switch {
	case pod.HeldForUpdate:
		d.hold(pod.Ordinal, HeldInPlaceUpdate, "lifecycle.inPlaceUpdate holds it back before it is updated")
	case !begun && pod.InPlace != nil && pod.InPlace.Unseen:
		d.hold(pod.Ordinal, HeldInPlace, "its kubelet has not taken up the change in place before this one")
	case !begun:
		if d.chargeFor(pod) {
			d.act(BeginInPlace, pod, d.target, "")
		}
	default:
		if left := d.Spec.InPlaceGrace - d.Now.Sub(pod.InPlace.Since); left > 0 {
			d.hold(pod.Ordinal, HeldInPlaceGrace, "it is not Ready for inPlaceUpdateStrategy.gracePeriodSeconds before it is patched")
			d.lookAgain(left)
			return
		}
		if ready(pod) {
			d.hold(pod.Ordinal, HeldInPlaceGrace, "its readiness gate is closed, and its kubelet has not said so yet")
			return
		}
		d.act(PatchInPlace, pod, d.target, "")
	}
}
