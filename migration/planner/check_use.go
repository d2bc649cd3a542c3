package planner

import (
	"fmt"
	"slices"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// InUse refuses to stop an ordinal while pods of other users reference its claim, because its volume could not be
// detached. Pods of the migration itself are deleted automatically.
func InUse(h volumes.Holding) *plan.Finding {
	users := slices.DeleteFunc(slices.Clone(h.Claim.Users), func(pod string) bool { return slices.Contains(h.Claim.Own, pod) })
	if len(users) == 0 {
		return nil
	}
	return &plan.Finding{
		Reason: api.ReasonClaimInUse, Object: claimNamed(h),
		Message: fmt.Sprintf("pod %s uses claim %s/%s: an ordinal that is stopped now would be down until that pod ends", plan.Listed(users), h.Ref.Namespace, h.Ref.Name),
		Remedy:  "wait until the pod ends, or have its owner stop it: " + h.Command("describe pod -n %s %s", h.Ref.Namespace, users[0]),
	}
}

// AttachedElsewhere refuses to stop an ordinal whose volume is attached to another node than its pod's, because the
// stop does not detach it there.
func AttachedElsewhere(side plan.Side, ordinal int32, h volumes.Holding) *plan.Finding {
	pod, _ := side.Pod(ordinal)
	for _, attachment := range h.Volume.Attachments {
		if attachment.Node == pod.Node {
			continue
		}
		return &plan.Finding{
			Reason: api.ReasonVolumeAttached, Object: claimNamed(h),
			Message: fmt.Sprintf("VolumeAttachment %s keeps volume %s attached to node %s, and pod %s runs on node %q: an ordinal that is stopped now would be down until the volume is detached there",
				attachment.Name, h.Volume.Name, attachment.Node, plan.PodName(side.Set.Name, ordinal), pod.Node),
			Remedy: "see what keeps it attached there, and whether that node exists and runs: " + h.Command("describe volumeattachment %s", attachment.Name),
		}
	}
	return nil
}

// BeingDeleted refuses to stop an ordinal while its claim or volume on a side is being deleted. A deletion cannot be
// undone, and may not complete.
func BeingDeleted(h volumes.Holding) *plan.Finding {
	going := h.Going()
	if going == nil {
		return nil
	}
	return &plan.Finding{Reason: api.ReasonAwaitingDeletion, Object: claimNamed(h), Message: going.Message() + ", before the ordinal is stopped", Remedy: going.Remedy()}
}

func claimNamed(h volumes.Holding) string {
	return fmt.Sprintf("claim %s/%s", h.Ref.Namespace, h.Ref.Name)
}
