package decide

import (
	"fmt"
)

// The reasons for which a pod, or an ordinal without one, is left alone.
const (
	// HeldTerminating: the pod is on its way out, and its ordinal is waited for.
	HeldTerminating = "Terminating"
	// HeldNotReady: the pod is as it shall be, but not Ready.
	HeldNotReady = "NotReady"
	// HeldMinReady: the pod has not been Ready for minReadySeconds.
	HeldMinReady = "MinReadySeconds"
	// HeldPredecessor: a pod of a lower ordinal must be available first (OrderedReady).
	HeldPredecessor = "WaitsForPredecessor"
	// HeldScaleStrategy: scaleStrategy.maxUnavailable allows no other new pod.
	HeldScaleStrategy = "ScaleStrategy"
	// HeldOldPods: all pods of old revisions must be gone first (Recreate).
	HeldOldPods = "OldPodsRemain"
	// HeldBackoff: the pod has ended, as others of its ordinal have shortly before it.
	HeldBackoff = "Backoff"
	// HeldStaleClaim: a claim of a former pod must be gone first.
	HeldStaleClaim = "StaleClaim"
	// HeldScaleDown: the pod leaves once the others are made and available.
	HeldScaleDown = "ScaleDownWaits"
	// HeldScaleFirst: scaling comes before updating.
	HeldScaleFirst = "ScalesFirst"
	// HeldBudget: maxUnavailable is used up.
	HeldBudget = "MaxUnavailable"
	// HeldBatch: the pods updated before must be available first (OrderedReady).
	HeldBatch = "WaitsForBatch"
	// HeldPaused: the set is paused.
	HeldPaused = "Paused"
	// HeldOnDelete: the pod is updated when somebody deletes it.
	HeldOnDelete = "OnDelete"
	// HeldPartition: the pod has a revision that is neither current nor the template's,
	// and the partition keeps it.
	HeldPartition = "Partition"
	// HeldRollback: the roll-out has failed and is about to be taken back.
	HeldRollback = "RollsBack"
	// HeldInPlaceOnly: the change cannot be made in place, and may not be made otherwise.
	HeldInPlaceOnly = "InPlaceOnly"
	// HeldInPlaceUpdate: lifecycle.inPlaceUpdate holds the pod back.
	HeldInPlaceUpdate = "LifecycleInPlaceUpdate"
	// HeldInPlaceGrace: the pod is not Ready, so that it is left in peace before it is
	// patched.
	HeldInPlaceGrace = "InPlaceGracePeriod"
	// HeldInPlace: the pod has been patched, and its containers do not run it yet.
	HeldInPlace = "UpdatesInPlace"
	// HeldResize: the pod has been patched, and its node does not resize it.
	HeldResize = "ResizePending"
	// HeldClaims: a claim of the pod grows first.
	HeldClaims = "ClaimsGrow"
	// HeldInfeasible: a claim cannot grow, says its driver.
	HeldInfeasible = "ClaimCannotGrow"
	// HeldPrePull: the images that the update brings are pulled first.
	HeldPrePull = "PullsImages"
	// HeldPreDelete: lifecycle.preDelete holds the pod back.
	HeldPreDelete = "LifecyclePreDelete"
	// HeldTerminationGrace: the pod has been told why it goes, and has time to read it.
	HeldTerminationGrace = "TerminationReasonGrace"
)

// explain says of whatever no stage has spoken of why it is as it is (D5), and when
// time alone will change that.
func (d *decider) explain() {
	for _, pod := range d.pods {
		if ready(pod) && !pod.Terminating && pod.InPlace == nil {
			d.lookAgain(d.minReadyLeft(pod))
		}
		if !d.told[pod.Ordinal] {
			d.explainPod(pod)
		}
	}
}

func (d *decider) explainPod(pod *Pod) {
	switch {
	case pod.Terminating:
		d.hold(pod.Ordinal, HeldTerminating, "it is Terminating")
	case !ready(pod):
		d.hold(pod.Ordinal, HeldNotReady, "it is not Ready")
	case !d.available(pod):
		d.hold(pod.Ordinal, HeldMinReady, "it has not been Ready for minReadySeconds")
	case d.outdated(pod) && pod.Revision != d.Revisions.Current:
		d.hold(pod.Ordinal, HeldPartition, fmt.Sprintf("it keeps revision %s: it is below the partition %d", pod.Revision, d.partition()))
	}
}
