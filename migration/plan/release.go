package plan

import (
	"cmp"
	"fmt"
	"strings"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// released says what still holds an ordinal that neither slice owns, or its volumes (I1,
// I2). Where all its volumes are still bound to the slice that takes it, nothing has been
// carried anywhere: then it is enough that the other side has nothing of it.
func (p carryPlanner) released(k int32) *Hold {
	sides := []*Side{p.giver, p.taker}
	held, unread := p.volumesOf(k)
	kept := unread == nil && p.keptByTaker(held)
	if kept {
		sides = sides[:1]
	}
	for _, side := range sides {
		if hold := cmp.Or(side.stopping(k), side.behind()); hold != nil {
			return hold
		}
	}
	for _, v := range held {
		pair := p.pair(v)
		if hold := inUse(pair.Giver); hold != nil {
			return hold
		}
		if kept {
			if !p.Spec.SameCluster {
				if hold := anyAttached(pair.Giver); hold != nil {
					return hold
				}
			}
			continue
		}
		if hold := cmp.Or(anyAttached(pair.Giver), inUse(pair.Taker), anyAttached(pair.Taker)); hold != nil {
			return hold
		}
	}
	return unread
}

// keptByTaker says whether all volumes of an ordinal are still bound to the taker's claims:
// it was stopped there, and turned round before anything was carried away. Of an ordinal
// without volumes nothing ever is.
func (p carryPlanner) keptByTaker(held []OrdinalVolume) bool {
	for _, v := range held {
		pair := p.pair(v)
		if !pair.Taker.Bound() || !p.Spec.SameCluster && pair.Giver.Volume.Found && !pair.Giver.Parked() {
			return false
		}
	}
	return true
}

// stopping holds while a side has a pod of an ordinal, whether its StatefulSet exists or
// not: a pod is gone when its object is gone.
func (s *Side) stopping(k int32) *Hold {
	pod, found := s.Pod(k)
	name := fmt.Sprintf("%s/%s-%d in cluster %s", s.Namespace, s.Set.Name, k, s.Cluster)
	switch {
	case !found:
		return nil
	case pod.Terminating:
		return &Hold{
			Reason: api.ReasonPodTerminating, Message: "waiting until pod " + name + " is gone",
			Remedy: "it is never force-deleted: look at its finalizers and its node",
		}
	case s.Set.Presence == Seen:
		return &Hold{Reason: api.ReasonPodRunning, Message: "waiting until pod " + name + " is stopped"}
	default:
		return &Hold{
			Reason: api.ReasonPodRunning, Message: fmt.Sprintf("waiting until pod %s is stopped; %s does not exist any more, so nothing will stop it", name, s.object()),
			Remedy: fmt.Sprintf("delete the pod, and it is stopped as it should be: kubectl delete pod -n %s %s-%d", s.Namespace, s.Set.Name, k),
		}
	}
}

// inUse holds while other pods than the ordinal's own use its claim.
func inUse(h volumes.Holding) *Hold {
	if len(h.Claim.Users) == 0 {
		return nil
	}
	return &Hold{
		Reason: api.ReasonClaimInUse, Message: fmt.Sprintf("waiting until pod %s does not use claim %s/%s any more", strings.Join(h.Claim.Users, ", "), h.Ref.Namespace, h.Ref.Name),
		Remedy: fmt.Sprintf("kubectl describe pvc -n %s %s", h.Ref.Namespace, h.Ref.Name),
	}
}

// anyAttached holds while a volume is attached to a node.
func anyAttached(h volumes.Holding) *Hold {
	if len(h.Volume.Attachments) == 0 {
		return nil
	}
	return stillAttached(h.Volume, h.Volume.Attachments[0])
}

func stillAttached(volume volumes.Volume, attachment volumes.Attachment) *Hold {
	return &Hold{
		Reason: api.ReasonVolumeAttached, Message: fmt.Sprintf("waiting until VolumeAttachment %s of volume %s, on node %s, is gone", attachment.Name, volume.Name, attachment.Node),
		Remedy: "kubectl describe volumeattachment " + attachment.Name,
	}
}
