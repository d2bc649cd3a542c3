package decide

import (
	"fmt"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// The reasons why no action is taken for a pod, or for an ordinal without a pod.
const (
	// HeldTerminating means that the pod is Terminating.
	HeldTerminating = "Terminating"
	// HeldNotReady means that the pod is in its desired state, but not Ready.
	HeldNotReady = "NotReady"
	// HeldMinReady means that the pod has not been Ready for minReadySeconds.
	HeldMinReady = "MinReadySeconds"
	// HeldPredecessor means that a pod of a lower ordinal must be available first (OrderedReady).
	HeldPredecessor = "WaitsForPredecessor"
	// HeldScaleStrategy means that scaleStrategy.maxUnavailable allows no further new pod.
	HeldScaleStrategy = "ScaleStrategy"
	// HeldOldPods means that all pods of old revisions must be deleted first (Recreate).
	HeldOldPods = "OldPodsRemain"
	// HeldBackoff means that the pod has ended shortly after other pods of its ordinal.
	HeldBackoff = "Backoff"
	// HeldStaleClaim means that a claim of a former pod must be deleted first.
	HeldStaleClaim = "StaleClaim"
	// HeldScaleDown means that the pod is deleted once the other pods are created and available.
	HeldScaleDown = "ScaleDownWaits"
	// HeldScaleFirst means that scaling comes before updating.
	HeldScaleFirst = "ScalesFirst"
	// HeldBudget means that maxUnavailable is used up.
	HeldBudget = "MaxUnavailable"
	// HeldDisruption means that the PodDisruptionBudget of the pod does not allow its disruption (budget).
	HeldDisruption = "PodDisruptionBudget"
	// HeldTopology means that pods of another topology domain are updated first (topologyKey).
	HeldTopology = "TopologyDomain"
	// HeldBatch means that the pods updated before must be available first (OrderedReady).
	HeldBatch = "WaitsForBatch"
	// HeldPaused means that the set is paused.
	HeldPaused = "Paused"
	// HeldInput means that an input of a revision is missing, cannot be read or cannot be copied.
	HeldInput = api.ReasonRevisionInput
	// HeldOnDelete means that the pod is updated when the user deletes it.
	HeldOnDelete = "OnDelete"
	// HeldPartition means that the partition keeps the pod at a revision that is neither the current one nor the template's.
	HeldPartition = "Partition"
	// HeldBurst means that a pass creates no more than MostCreated pods.
	HeldBurst = "CreatedInSteps"
	// HeldRollback means that the roll-out has failed and is rolled back.
	HeldRollback = "RollsBack"
	// HeldInPlaceOnly means that the change requires recreation, which the policy InPlaceOnly forbids.
	HeldInPlaceOnly = "InPlaceOnly"
	// HeldInPlaceUpdate means that lifecycle.inPlaceUpdate delays the update.
	HeldInPlaceUpdate = "LifecycleInPlaceUpdate"
	// HeldInPlaceGrace means that the pod is in the grace period, not Ready, before it is patched.
	HeldInPlaceGrace = "InPlaceGracePeriod"
	// HeldInPlace means that the pod was patched and its containers do not run the patched spec yet.
	HeldInPlace = "UpdatesInPlace"
	// HeldResize means that the pod was patched and its node does not resize it.
	HeldResize = "ResizePending"
	// HeldClaims means that a claim of the pod grows first.
	HeldClaims = "ClaimsGrow"
	// HeldInfeasible means that the driver reports that a claim cannot grow.
	HeldInfeasible = "ClaimCannotGrow"
	// HeldPrePull means that the images of the update are pulled first.
	HeldPrePull = "PullsImages"
	// HeldPreDelete means that lifecycle.preDelete delays the deletion.
	HeldPreDelete = "LifecyclePreDelete"
	// HeldTerminationGrace means that the pod has its termination reason and has time to read it.
	HeldTerminationGrace = "TerminationReasonGrace"
)

// explain holds the pods that no stage has acted on or held, with the reason (D5), and requeues at the time at which
// minReadySeconds ends.
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
		d.hold(pod.Ordinal, HeldTerminating, d.terminating(pod))
	case !ready(pod):
		d.hold(pod.Ordinal, HeldNotReady, notReady(pod))
	case !d.available(pod):
		d.hold(pod.Ordinal, HeldMinReady, "it has not been Ready for minReadySeconds")
	case d.outdated(pod) && pod.Revision != d.Revisions.Current:
		d.hold(pod.Ordinal, HeldPartition, fmt.Sprintf("it keeps revision %s: it is below the partition %d", pod.Revision, d.partition()))
	}
}
