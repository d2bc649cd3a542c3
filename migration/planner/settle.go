package planner

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/pdb"
	"github.com/sliceshift/sliceshift/volumes"
)

// settlePlanner restores the changed objects, and deletes the ones that the migration created.
type settlePlanner struct {
	*View
	budget budgetPlanner
}

func settleOf(v *View) settlePlanner { return settlePlanner{v, budgetPlanner{v}} }

// settle restores the changed objects and deletes those that are no longer needed, once no ordinal is left to move
// in the plan's direction. For a Migration that is being deleted, it restores only the budgets and the reclaim
// policies.
func (p settlePlanner) settle() *plan.Decision {
	for _, stage := range p.settling() {
		if decision := stage(); decision != nil {
			return decision
		}
	}
	return nil
}

func (p settlePlanner) settling() []func() *plan.Decision {
	back := p.direction() == api.Back
	switch {
	case p.Deleting && p.Focused:
		return []func() *plan.Decision{p.keepPolicies}
	case p.Deleting:
		return []func() *plan.Decision{p.budgets, p.keepPolicies}
	case p.Focused && back: // only one ordinal's volumes were read
		return []func() *plan.Decision{p.cleanDestination, p.policies, namePlanner{p.View}.dropNames}
	case p.Focused:
		return []func() *plan.Decision{p.policies, namePlanner{p.View}.dropNames}
	case back:
		return []func() *plan.Decision{p.budgets, p.cleanDestination, p.policies, p.withdrawBoth, namePlanner{p.View}.dropNames, p.removeDestinationSet, dependencyPlanner{p.View}.cleanup}
	default:
		return []func() *plan.Decision{p.budgets, p.policies, p.withdrawSource, namePlanner{p.View}.dropNames}
	}
}

// budgets restores the author's form of the PodDisruptionBudgets where one of them covers the whole application.
// An application that stays split over two budgets keeps its budget split.
func (p settlePlanner) budgets() *plan.Decision {
	if decision := p.budget.reserveBudget(0); decision != nil {
		return decision
	}
	if p.Spec.SameNamespace {
		return p.budget.giveBack(plan.SourceSide)
	}
	if p.layout.moved > 0 && !p.whole() {
		return nil
	}
	if p.direction() == api.Back && !p.Deleting && len(p.Destination.Budgets) == 1 && p.Destination.Budgets[0].Ours {
		return p.deleteBudget(plan.DestinationSide)
	}
	if decision := p.budget.giveBack(plan.DestinationSide); decision != nil {
		return decision
	}
	return p.budget.giveBack(plan.SourceSide)
}

func (p settlePlanner) deleteBudget(name plan.SideName) *plan.Decision {
	side := p.Side(name)
	if len(side.Budgets) == 0 {
		return nil
	}
	b := side.Budgets[0]
	return effect(plan.Effect{Verb: plan.DeleteBudget, Side: name, Name: b.Name, UID: b.UID, ResourceVersion: b.ResourceVersion})
}

// policies restores the original reclaim policy of the volumes that the taker runs on. A parked volume keeps
// Retain permanently: its disk is in use on the other side.
func (p settlePlanner) policies() *plan.Decision {
	for _, v := range p.Volumes {
		if !p.taker.Set.Has(v.Ordinal) {
			continue
		}
		if decision := (carryPlanner{p.View}).volumeDecision(v, v.Way().Settle(p.pair(v))); decision != nil {
			return decision
		}
	}
	return nil
}

// keepPolicies restores the original reclaim policy of the volumes that either slice runs on, when the Migration
// is being deleted. Nothing else would restore it, and another Migration would take Retain for the author's own
// policy.
func (p settlePlanner) keepPolicies() *plan.Decision {
	for _, v := range p.Volumes {
		for _, name := range plan.SideNames {
			holding := v.Holding(name)
			if p.Side(name).Set.Has(v.Ordinal) && p.pair(v).Marked(holding.Volume) && holding.Bound() {
				return restorePolicy(name, v.Ordinal, p.pair(v).Restore(holding.Volume))
			}
		}
	}
	return nil
}

func restorePolicy(name plan.SideName, ordinal int32, action volumes.Action) *plan.Decision {
	return effect(plan.Effect{
		Verb: plan.RestorePolicy, Side: name, Ordinal: ordinal, Name: action.Volume, UID: action.UID, ResourceVersion: action.ResourceVersion, Volume: action,
	})
}

// withdrawSource deletes the source's export, the last of the objects that clients see.
func (p settlePlanner) withdrawSource() *plan.Decision {
	if p.Services().Export && p.whole() && p.Source.Export.Found && p.Source.Export.Ours && !p.Source.Export.Terminating {
		return p.withdraw(plan.SourceSide)
	}
	return nil
}

func (p settlePlanner) withdrawBoth() *plan.Decision {
	for _, name := range []plan.SideName{plan.DestinationSide, plan.SourceSide} {
		if side := p.Side(name); side.Export.Found && side.Export.Ours && !side.Export.Terminating {
			return p.withdraw(name)
		}
	}
	return nil
}

func (p settlePlanner) withdraw(name plan.SideName) *plan.Decision {
	side := p.Side(name)
	return effect(plan.Effect{Verb: plan.DeleteExport, Side: name, Name: side.Service.Name, UID: side.Export.UID, ResourceVersion: side.Export.ResourceVersion})
}

// cleanSource deletes the source's unneeded objects, if the spec requests it: claims, then their parked volumes,
// and last the empty StatefulSet with its budget, after the release of the destination. No rollback could restore
// them, so it begins only when the migration has completed. It requires the source's fence: without it, the
// StatefulSet may belong to another migration by now.
func (p settlePlanner) cleanSource() *plan.Decision {
	set := p.Source.Set
	if p.Record.Completed != api.ReasonMoved || !p.Spec.DeleteSource || api.FenceOwner(set.Fence) != p.UID {
		return nil
	}
	for _, v := range p.Volumes {
		if !p.Destination.Set.Has(v.Ordinal) || set.Has(v.Ordinal) {
			continue
		}
		if _, found := p.Source.Pod(v.Ordinal); found {
			return p.awaitPod(p.Source, v.Ordinal)
		}
		if decision := p.remove(plan.SourceSide, v, true); decision != nil {
			return decision
		}
	}
	if p.Focused {
		return done()
	}
	if !p.whole() || set.Terminating || set.Replicas > 0 {
		return nil
	}
	if at := slices.IndexFunc(p.Source.Pods, func(pod plan.Pod) bool { return p.Destination.Set.Has(pod.Ordinal) }); at >= 0 {
		return p.awaitPod(p.Source, p.Source.Pods[at].Ordinal)
	}
	if len(p.Source.Pods) > 0 {
		return nil // it is not of this move
	}
	if p.ownBudgetLeft() {
		return p.deleteBudget(plan.SourceSide)
	}
	// The release copies the source's field managers to the destination.
	return cmp.Or(fencePlanner{p.View}.releaseOf(plan.DestinationSide), deleteSet(plan.SourceSide, set))
}

// ownBudgetLeft reports whether the source has the PodDisruptionBudget with which the migration began, and that
// budget covers no foreign pods. Any other budget remains (I9).
func (p settlePlanner) ownBudgetLeft() bool {
	recorded, all := p.Record.Baseline.DisruptionBudget, p.Source.Budgets
	return !p.Spec.SameNamespace && recorded != nil && len(all) == 1 && all[0].Name == recorded.Name && all[0].Covers == ""
}

// cleanDestination deletes the claims and volumes that the migration created at the destination.
func (p settlePlanner) cleanDestination() *plan.Decision {
	for _, v := range p.Volumes {
		if p.Destination.Set.Has(v.Ordinal) {
			continue
		}
		if decision := p.remove(plan.DestinationSide, v, false); decision != nil {
			return decision
		}
	}
	return nil
}

// remove deletes a claim that has lost its volume, then the volume (I3): only a volume that is parked, has policy
// Retain and is not attached. In one cluster the volume belongs to the other side by now and remains. A volume
// that an ordinal has left behind remains too, because no other object records where its data is.
func (p settlePlanner) remove(name plan.SideName, v plan.OrdinalVolume, foreign bool) *plan.Decision {
	if decision := cmp.Or(p.lastRecord(name, v), p.removeClaim(name, v, foreign)); decision != nil {
		return decision
	}
	return p.removeVolume(name, v, foreign)
}

func (p settlePlanner) removeClaim(name plan.SideName, v plan.OrdinalVolume, foreign bool) *plan.Decision {
	ordinal, template, h := v.Ordinal, v.Template, *v.Holding(name)
	claim, volume := h.Claim, h.Volume
	if claim.Found && claim.Phase == corev1.ClaimBound && volume.ClaimRef.UID != claim.UID {
		// Until the binder has observed the loss, the claim could get its volume back unchanged, and a late delete
		// would find it bound.
		if claim.Fence != p.fence() {
			mark := volumes.MarkClaimOf(h, p.fence())
			return effect(plan.Effect{Verb: plan.CarryVolume, Side: name, Ordinal: ordinal, Name: h.Volume.Name, Template: template, Volume: mark})
		}
		return &plan.Decision{Hold: &plan.Hold{Reason: api.ReasonAwaitingDeletion, Message: "waiting until claim " + h.Ref.Namespace + "/" + h.Ref.Name + " is known to have lost its volume"}}
	}
	if claim.Found && !claim.Terminating && (foreign || claim.Ours) && volume.ClaimRef.UID != claim.UID {
		return effect(plan.Effect{Verb: plan.DeleteClaim, Side: name, Ordinal: ordinal, Name: h.Ref.Name, UID: claim.UID, ResourceVersion: claim.ResourceVersion})
	}
	return nil
}

func (p settlePlanner) removeVolume(name plan.SideName, v plan.OrdinalVolume, foreign bool) *plan.Decision {
	h := *v.Holding(name)
	claim, volume := h.Claim, h.Volume
	if v.Separate() || p.Spec.SameCluster || volume.Terminating || !h.Parked() || !foreign && !volume.Ours {
		return nil
	}
	if claim.Found && !claim.Terminating && !foreign && !claim.Ours {
		return nil // another writer created the claim: it keeps its volume
	}
	if going := h.Going(); going != nil {
		return p.goingAtEnd(going)
	}
	if claim.Found {
		return &plan.Decision{Hold: &plan.Hold{Reason: api.ReasonAwaitingDeletion, Message: "waiting until claim " + h.Ref.Namespace + "/" + h.Ref.Name + " is deleted"}}
	}
	if volume.Policy != corev1.PersistentVolumeReclaimRetain {
		return plan.Stalled(volumes.ReasonVolumeNotRetain, "volume "+volume.Name+" is not to be deleted: its reclaim policy is "+string(volume.Policy), "set it to Retain")
	}
	if len(volume.Attachments) > 0 {
		return &plan.Decision{Hold: &plan.Hold{Reason: api.ReasonVolumeAttached, Message: "waiting until volume " + volume.Name + " is attached nowhere"}}
	}
	return effect(plan.Effect{Verb: plan.DeleteVolume, Side: name, Ordinal: v.Ordinal, Name: volume.Name, UID: volume.UID, ResourceVersion: volume.ResourceVersion})
}

// goingAtEnd waits for a deletion once no ordinal moves any more, and requeues when the deletion would stall.
func (p settlePlanner) goingAtEnd(d *volumes.Deletion) *plan.Decision {
	decision := &plan.Decision{Hold: p.going(d)}
	if !decision.Hold.Stalled && d.At > 0 {
		decision.Wait = time.Unix(d.At, 0).Add(p.Spec.Deadline).Sub(p.Now) + time.Second
	}
	return decision
}

// lastRecord stalls if the objects to delete are the last record of an ordinal's disk (I3): the other side must
// use that disk.
func (p settlePlanner) lastRecord(name plan.SideName, v plan.OrdinalVolume) *plan.Decision {
	moved := volumes.Pair{Shared: v.Shared(p.Spec), Giver: *v.Holding(name), Taker: *v.Holding(name.Other())}
	if !moved.Giver.Claim.Found && !moved.Giver.Volume.Found {
		return nil // nothing is left to delete
	}
	if problem, _ := v.Way().Check(moved, volumes.AfterArrival); problem != nil {
		return &plan.Decision{Hold: problem}
	}
	return nil
}

func (p settlePlanner) removeDestinationSet() *plan.Decision {
	set := p.Destination.Set
	if set.Presence == plan.Seen && set.Ours && !set.Terminating && set.Replicas == 0 {
		if pods := p.Destination.Pods; len(pods) > 0 { // deleting the set would delete them
			return p.awaitPod(p.Destination, pods[0].Ordinal)
		}
		if p.Record.Baseline.DestinationUID != "" { // a missing StatefulSet is no longer an error after this
			return lossPlanner{p.View}.takenFor("")
		}
		return deleteSet(plan.DestinationSide, set)
	}
	return nil
}

// awaitPod waits until a pod that another writer has started is deleted.
func (p settlePlanner) awaitPod(side plan.Side, ordinal int32) *plan.Decision {
	pod, _ := side.Pod(ordinal)
	return &plan.Decision{Hold: &plan.Hold{
		Reason:  api.ReasonPodTerminating,
		Message: fmt.Sprintf("waiting until pod %s/%s-%d in cluster %s is deleted%s", side.Namespace, side.Set.Name, ordinal, side.Cluster, keptBy(pod)),
	}}
}

// deleteSet returns the decision to delete a StatefulSet in its observed version.
func deleteSet(name plan.SideName, set plan.Set) *plan.Decision {
	return writeSet(set, plan.Effect{Verb: plan.DeleteSet, Side: name, Propagation: propagation(set)}, func(*plan.SetState) {})
}

// propagation returns the deletion propagation policy for a StatefulSet. If it owns claims, they are orphaned.
// With whenDeleted: Delete, now or when they were created, the garbage collector would delete them, and then their
// disks (KEP-1847). Otherwise it owns only its ControllerRevisions, which are deleted with it.
func propagation(s plan.Set) metav1.DeletionPropagation {
	if len(s.OwnsClaims) > 0 {
		return metav1.DeletePropagationOrphan
	}
	return metav1.DeletePropagationBackground
}

// handOver gives the budget of an application that stays split to the side that the spec names, once the migration
// has completed. With d = 1 only one side can have the budget at a time, and the nodes of the other side cannot be
// drained.
func (p settlePlanner) handOver() *plan.Decision {
	if p.Record.Completed != api.ReasonMoved || p.Deleting || p.direction() == api.Back || p.layout.broken != "" || p.whole() || p.layout.moved == 0 || !p.holdsBudgets() {
		return nil
	}
	want := p.budget.wanted(0)
	move, _ := pdb.Next(p.budget.applied(plan.SourceSide, 0, want.Source), p.budget.applied(plan.DestinationSide, 0, want.Destination), want)
	if move == pdb.Reached {
		return nil
	}
	if !p.Engaged || p.Record.Fence.Holder != p.Holder {
		return fencePlanner{p.View}.nextFence()
	}
	return p.budget.reserveBudget(0)
}

// holdsBudgets reports whether both PodDisruptionBudgets still have the split of this migration, and no other
// migration has begun on the split application.
func (p settlePlanner) holdsBudgets() bool {
	for _, name := range plan.SideNames {
		side := p.Side(name)
		if owner := api.FenceOwner(side.Set.Fence); owner != "" && owner != p.UID {
			return false
		}
		if len(side.Budgets) != 1 || api.FenceOwner(side.Budgets[0].Fence) != p.UID || side.Budgets[0].Edited() {
			return false
		}
	}
	return !p.Spec.SameNamespace
}
