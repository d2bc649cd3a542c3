package planner

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// Cleans reports whether a migration in place has completed, and its user wants no volume back that an ordinal has left. It
// needs the fence, without which the set may belong to another migration by now.
func Cleans(s plan.Snapshot) bool {
	return s.Record.Completed == api.ReasonMoved && s.Spec.DeleteSource && api.FenceOwner(s.Source.Set.Fence) == s.UID
}

// clean gives the volumes that ordinals have left their own reclaim policy back, so that the cluster deletes their storage if
// their class says so. Those of policy Retain stay. It begins when no rollback can need them any more.
func (p storagePlanner) clean() *plan.Decision {
	if !Cleans(p.Snapshot) {
		return nil
	}
	for _, left := range p.Storage.Left {
		if left.Volume.OriginalFor(p.UID) == corev1.PersistentVolumeReclaimRetain {
			continue
		}
		if held := p.superseded(left); held != nil {
			return &plan.Decision{Hold: held}
		}
		v, _ := p.claimed(left.Claim)
		action := p.pair(v).Written(volumes.Restore, left.Volume, func(state *volumes.State) {
			left.Volume.Restored(p.UID)(state)
			state.ClaimRef.UID = left.Volume.UID // a claim that does not exist: the volume is Released
		})
		return restorePolicy(plan.SourceSide, v.Ordinal, action)
	}
	return nil
}

// claimed returns the claim of an ordinal by its name.
func (p storagePlanner) claimed(ref volumes.Ref) (plan.OrdinalVolume, bool) {
	at := slices.IndexFunc(p.Volumes, func(v plan.OrdinalVolume) bool { return p.oldOf(v).Ref.Names(ref) })
	if at < 0 {
		return plan.OrdinalVolume{}, false
	}
	return p.Volumes[at], true
}

// superseded returns why the data of a volume may still be needed: its ordinal does not run on another disk, which was
// compared with it.
func (p storagePlanner) superseded(left plan.Left) *plan.Hold {
	v, found := p.claimed(left.Claim)
	now := p.oldOf(v)
	stays := func(why string) *plan.Hold {
		return volumes.Stalled(volumes.ReasonVolumeNotRetain, fmt.Sprintf("volume %s, which claim %s has left, is kept: %s", left.Volume.Name, left.Claim.Name, why), "correct that, or set spec.cleanup.source to Retain: "+p.Source.Kubectl().Do("describe", "pv", left.Volume.Name))
	}
	switch {
	case !found || !now.Bound() || now.Claim.Terminating:
		return stays("the claim is not bound to another volume")
	case now.Volume.Seal == "" || now.Volume.Name == left.Volume.Name:
		return stays("the present volume of the claim has no seal")
	case left.Twin != "" || now.Volume.Handle == left.Volume.Handle:
		return stays("volume " + cmp.Or(left.Twin, now.Volume.Name) + " is on the same disk")
	case len(left.Volume.Attachments) > 0:
		return &plan.Hold{Reason: api.ReasonVolumeAttached, Message: "waiting until volume " + left.Volume.Name + " is attached nowhere"}
	case !p.podOf(v.Ordinal).Available:
		return &plan.Hold{Reason: api.ReasonPodNotReady, Message: fmt.Sprintf("waiting until the pod of ordinal %d is Ready: its former volume is kept until then", v.Ordinal)}
	}
	return nil
}
