package model

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/migration/simulate"
	"github.com/sliceshift/sliceshift/volumes"
)

// Other clients delete objects that the migration needs, or use them. The damage that they cause themselves is
// excused, but not the migration's reaction to it.

// lostReasons are the reasons of stalls while an object is missing, and of waits for its pods.
var lostReasons = []string{
	api.ReasonDestinationMissing, api.ReasonDestinationReplaced, volumes.ReasonAnotherDisk, api.ReasonDestinationDeleted,
	api.ReasonSourceMissing, api.ReasonSourceReplaced, api.ReasonNamespaceMissing, api.ReasonForeignBudget, api.ReasonForeignScale,
	volumes.ReasonClaimMissing, volumes.ReasonClaimNotBound, volumes.ReasonVolumeLost, volumes.ReasonForeignClaim, volumes.ReasonForeignVolume, api.ReasonVolumeUnbound,
	api.ReasonPodRunning, api.ReasonPodTerminating, api.ReasonPodMissing, api.ReasonPodNotReady, api.ReasonReplicaUnavailable, api.ReasonSourceNotHealthy,
	api.ReasonControllerBehind, api.ReasonAwaitingDeletion, api.ReasonNothingToMove, api.ReasonDestinationNotEmpty, api.ReasonDestinationPodFound, api.ReasonRolloutInProgress,
}

// scars are the reasons of permanent stalls: a deleted object is not restored to its former state.
var (
	lostDisk   = []string{api.ReasonDestinationMissing, api.ReasonDestinationReplaced, volumes.ReasonAnotherDisk, volumes.ReasonClaimMissing, volumes.ReasonClaimNotBound, volumes.ReasonVolumeLost, volumes.ReasonForeignClaim, volumes.ReasonForeignVolume, api.ReasonVolumeUnbound, api.ReasonForeignScale, api.ReasonSourceNotHealthy}
	lostSource = []string{api.ReasonSourceReplaced, api.ReasonSourceMissing}
	inUseOnly  = []string{api.ReasonClaimInUse, api.ReasonReplicaUnavailable}
)

var harms = []edit{
	{name: "the destination is deleted in the background", do: setDeleted(plan.DestinationSide, false), reasons: lostReasons, excuses: ofBudget},
	{name: "the destination is deleted, its pods orphaned", do: setDeleted(plan.DestinationSide, true), reasons: lostReasons, excuses: ofBudget},
	{name: "the source is deleted in the background", do: setDeleted(plan.SourceSide, false), reasons: lostReasons, excuses: ofBudget, scars: lostSource},
	{name: "the source is deleted, its pods orphaned", do: setDeleted(plan.SourceSide, true), reasons: lostReasons, excuses: ofBudget, scars: lostSource},
	{name: "the destination goes with its claims, and its volumes are swept", do: swept(true), reasons: lostReasons, excuses: ofBudget, scars: lostDisk, late: true},
	{name: "the destination's claims and volumes are swept, and its pods come again", do: swept(false), reasons: lostReasons, excuses: ofBudget, scars: lostDisk, late: true},
	{name: "the destination's namespace is deleted", do: namespaceDeleted, reasons: lostReasons, excuses: ofBudget, scars: lostDisk},
	{name: "the claim of the ordinal on its way is deleted at the source", do: claimDeleted(plan.SourceSide), reasons: lostReasons, excuses: ofBudget},
	{name: "the claim of the ordinal on its way is deleted at the destination", do: claimDeleted(plan.DestinationSide), reasons: lostReasons, excuses: ofBudget},
	{name: "a volume that was left behind is deleted", do: recordDeleted, reasons: lostReasons, scars: lostDisk},
	{name: "the source's budget is deleted", do: budgetDeleted(plan.SourceSide), reasons: lostReasons, excuses: ofBudget},
	{name: "the destination's budget is deleted", do: budgetDeleted(plan.DestinationSide), reasons: lostReasons, excuses: ofBudget},
	{name: "the source's budget is put back by a tool", do: reverted(plan.SourceSide), reasons: []string{api.ReasonForeignBudget}, excuses: ofBudget},
	{name: "a backup uses the claim at the source", do: usedBy(plan.SourceSide), reasons: inUseOnly},
	{name: "a backup uses the claim at the destination", do: usedBy(plan.DestinationSide), reasons: inUseOnly},
	{name: "the volume of another disk that has the name of the ordinal's is deleted", do: otherDeleted},
	{name: "an ordinal is reserved", do: reservedBy, reasons: scaleReasons, excuses: ofPlaces | ofBudget},
}

// setDeleted deletes a StatefulSet, with its pods unless they are orphaned. The reversal recreates it with its
// former ordinals, and it adopts its orphans.
func setDeleted(name plan.SideName, orphaned bool) func(*model) func(*model) {
	return func(w *model) func(*model) {
		side := w.State.Side(name)
		was := side.Set
		if was.Presence != plan.Seen || w.State.Record.Completed != "" {
			return nil
		}
		w.dropSet(name, orphaned)
		return func(w *model) { w.again(name, was) }
	}
}

func (w *model) dropSet(name plan.SideName, orphaned bool) {
	side := w.State.Side(name)
	side.Set = plan.Set{Presence: plan.Absent, Name: side.Set.Name, Resource: side.Set.Resource}
	w.Controllers[name], w.remade = simulate.Controller{}, true
	side.Pods = slices.Clone(side.Pods)
	for i := range side.Pods {
		side.Pods[i].Owned, side.Pods[i].Terminating = false, side.Pods[i].Terminating || !orphaned
	}
}

// again recreates a deleted StatefulSet.
func (w *model) again(name plan.SideName, was plan.Set) {
	side := w.State.Side(name)
	if side.Set.Presence == plan.Seen {
		return
	}
	was.UID, was.ResourceVersion, was.Fence, was.Ours, was.Observed = w.NewUID(), w.NewVersion(), "", false, false
	if was.Replicas > 0 && !w.free(name, was) {
		was.Replicas = 0 // the author who recreates it gives it no ordinal that another slice has
	}
	side.NamespaceFound, side.Set, w.remade = true, was, true
	w.Controllers[name] = simulate.Controller{}
}

// free reports whether no ordinal of a slice is owned by the other side or in flight to it together with its
// volumes.
func (w *model) free(name plan.SideName, set plan.Set) bool {
	other := w.State.Side(name.Other()).Set
	for ordinal := set.Start; ordinal < set.End(); ordinal++ {
		fence := w.State.Record.Fence
		leaves := w.State.Record.Moves(ordinal) && fence != nil && (fence.Direction == api.Back) == (name == plan.DestinationSide)
		if leaves || w.carriedOff(spot{name, ordinal}) || other.Presence == plan.Seen && other.Has(ordinal) {
			return false
		}
	}
	return true
}

// carriedOff reports whether a volume of an ordinal is on a side and does not belong to its claim any more.
func (w *model) carriedOff(at spot) bool {
	for i := range w.State.Volumes {
		h := w.State.Volumes[i].Holding(at.side)
		if w.State.Volumes[i].Ordinal == at.ordinal && h.Volume.Found && !h.Volume.ClaimRef.Names(h.Ref) {
			return true
		}
	}
	return false
}

// swept removes the claims and volumes of all ordinals of the destination, with or without its StatefulSet. Its
// controller creates empty claims in their place.
func swept(set bool) func(*model) func(*model) {
	return func(w *model) func(*model) {
		was := w.State.Destination.Set
		if was.Presence != plan.Seen || was.Replicas == 0 || len(w.State.Volumes) == 0 || w.State.Spec.SameCluster || w.State.Record.Baseline == nil {
			return nil
		}
		for ordinal := was.Start; ordinal < was.End(); ordinal++ {
			w.State.Side(plan.DestinationSide).RemovePod(ordinal)
			w.alien[spot{plan.DestinationSide, ordinal}] = true
			w.loseRecord(plan.DestinationSide, ordinal)
		}
		if set {
			w.dropSet(plan.DestinationSide, false)
		}
		return func(w *model) { w.again(plan.DestinationSide, was) }
	}
}

// loseRecord removes the claims and volumes of an ordinal on a side.
func (w *model) loseRecord(name plan.SideName, ordinal int32) {
	for i := range w.State.Volumes {
		v := &w.State.Volumes[i]
		if v.Ordinal != ordinal {
			continue
		}
		h := v.Holding(name)
		h.Claim, h.Volume = volumes.Claim{}, volumes.Volume{}
		if record := v.Holding(name.Other()).Volume; !record.Found || record.Terminating {
			w.forfeit[i] = true // caused by the other client
		}
	}
}

// namespaceDeleted deletes everything at the destination except for its volumes, which are not namespaced.
func namespaceDeleted(w *model) func(*model) {
	side := w.State.Side(plan.DestinationSide)
	was := side.Set
	if was.Presence != plan.Seen || w.State.Spec.SameNamespace || w.State.Spec.SameCluster || w.State.Record.Completed != "" || w.State.Record.Baseline == nil {
		return nil
	}
	w.dropSet(plan.DestinationSide, false)
	side.Pods, side.NamespaceFound, side.Service.Found, side.Export = nil, false, false, plan.Export{}
	w.PutBudget(plan.DestinationSide, nil)
	for i := range w.State.Volumes {
		h := &w.State.Volumes[i].Destination
		h.Claim = volumes.Claim{}
		h.Volume.Attachments = nil
		if h.Volume.Found && h.Volume.Policy != corev1.PersistentVolumeReclaimRetain {
			h.Volume, w.forfeit[i] = volumes.Volume{}, true // its author's policy deletes it
		}
	}
	return func(w *model) {
		w.State.Destination.NamespaceFound = true
	}
}

// claimDeleted deletes the claim of the ordinal in flight, which no pod of the ordinal uses.
func claimDeleted(name plan.SideName) func(*model) func(*model) {
	return func(w *model) func(*model) {
		handoff := w.State.Record.Handoff
		if handoff == nil || w.used(handoff.Ordinal) {
			return nil
		}
		deleted := map[int]volumes.Claim{}
		for i := range w.State.Volumes {
			h := w.State.Volumes[i].Holding(name)
			if w.State.Volumes[i].Ordinal == handoff.Ordinal && h.Claim.Found && h.Volume.Policy == corev1.PersistentVolumeReclaimRetain {
				deleted[i], h.Claim = h.Claim, volumes.Claim{}
			}
		}
		if len(deleted) == 0 {
			return nil
		}
		w.alien[spot{name, handoff.Ordinal}] = true
		return func(w *model) { w.claimAgain(name, deleted) }
	}
}

// claimAgain recreates deleted claims as the remedy says. It reserves their volumes for them again, and
// replaces empty claims and the pods that use those.
func (w *model) claimAgain(name plan.SideName, deleted map[int]volumes.Claim) {
	w.remade = true
	for i, claim := range deleted {
		v := &w.State.Volumes[i]
		h := v.Holding(name)
		if h.Claim.Found && h.Claim.Volume == claim.Volume {
			continue
		}
		w.State.Side(name).RemovePod(v.Ordinal)
		h.Claim = volumes.Claim{Found: true, UID: w.NewUID(), ResourceVersion: w.NewVersion(), Phase: corev1.ClaimPending, Volume: claim.Volume}
		if volume := h.Volume; volume.Found && volume.ClaimRef.Names(h.Ref) {
			volume.ClaimRef.UID = ""
			w.PutVolume(v, name, volume)
		}
	}
}

// recordDeleted deletes the parked volume of an ordinal that has moved.
func recordDeleted(w *model) func(*model) {
	if w.State.Spec.SameCluster {
		return nil
	}
	for i := range w.State.Volumes {
		v := &w.State.Volumes[i]
		if v.Source.Parked() && v.Destination.Bound() && !v.Source.Volume.Terminating {
			v.Source.Volume, w.remade = volumes.Volume{}, true
			return func(*model) {}
		}
	}
	return nil
}

// budgetDeleted deletes a PodDisruptionBudget; its author recreates it in the same form.
func budgetDeleted(name plan.SideName) func(*model) func(*model) {
	return func(w *model) func(*model) {
		if len(w.State.Side(name).Budgets) != 1 || w.State.Spec.SameNamespace || w.State.Record.Completed != "" {
			return nil
		}
		was := w.State.Side(name).Budgets[0]
		w.PutBudget(name, nil)
		w.remade = true
		return func(w *model) {
			if len(w.State.Side(name).Budgets) > 0 || was.Ours {
				return
			}
			w.PutBudget(name, &plan.Budget{Name: was.Name, UID: w.NewUID(), Generation: 1, Form: was.AuthorForm(), WrittenBy: "kubectl"})
		}
	}
}

// reverted restores the author's form of a budget and removes the migration's marks. After the writer is
// stopped, a user hands the budget over.
func reverted(name plan.SideName) func(*model) func(*model) {
	return func(w *model) func(*model) {
		if len(w.State.Side(name).Budgets) != 1 || w.State.Side(name).Budgets[0].Fence == "" || w.State.Spec.SameNamespace && name == plan.DestinationSide {
			return nil
		}
		w.putBack(name, "flux")
		return func(w *model) {
			if len(w.State.Side(name).Budgets) != 1 || w.State.Side(name).Budgets[0].Fence != "" {
				return
			}
			now := w.State.Side(name).Budgets[0]
			now.HandedOver = true
			w.PutBudget(name, &now)
		}
	}
}

// usedBy makes another user's pod use the claim of the ordinal that moves next, or of the one in flight.
func usedBy(name plan.SideName) func(*model) func(*model) {
	return func(w *model) func(*model) {
		base := w.State.Record.Baseline
		if base == nil {
			return nil
		}
		ordinal, more := planner.NextOrdinal(w.State)
		if handoff := w.State.Record.Handoff; handoff != nil {
			ordinal, more = handoff.Ordinal, true
		}
		used := false
		for i := range w.State.Volumes {
			h := w.State.Volumes[i].Holding(name)
			if more && w.State.Volumes[i].Ordinal == ordinal && h.Claim.Found && usable(*h) {
				h.Claim.Users, used = []string{"backup"}, true
			}
		}
		if !used {
			return nil
		}
		return func(w *model) {
			for i := range w.State.Volumes {
				w.State.Volumes[i].Holding(name).Claim.Users = nil
			}
		}
	}
}

// reservedBy makes the source, if it is of this project's kind, skip its first ordinal. Its controller then
// owns one more beyond its end.
func reservedBy(w *model) func(*model) {
	set := &w.State.Side(plan.SourceSide).Set
	if set.Presence != plan.Seen || !set.Rolls.Own || set.Replicas == 0 || set.Reserves {
		return nil
	}
	set.Reserves, set.ReservesBy, set.Observed, set.ResourceVersion = true, "kubectl", false, w.NewVersion()
	w.alien[spot{plan.SourceSide, set.End()}] = true
	return func(w *model) {
		set := &w.State.Side(plan.SourceSide).Set
		set.Reserves, set.ReservesBy, set.Observed, set.ResourceVersion = false, "", false, w.NewVersion()
	}
}
