package migration

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/sliceshift/sliceshift/pdb"
	"github.com/sliceshift/sliceshift/volumes"
)

// apply does one effect as the API server would: it is refused when the object
// has changed since it was judged.
func (w *world) apply(e Effect) error {
	side := w.side(e.Side)
	switch e.Verb {
	case WriteFence, ReleaseFence, SetShare, LiftShare, ScaleDown, ScaleUp, DeleteSet:
		return w.applySet(side, e)
	case CreateNamespace:
		side.NamespaceFound = true
	case CreateService:
		side.Service.Found = true
	case CreateSet:
		return w.createSet(side, e)
	case CreateBudget, SetBudget, RestoreBudget, DeleteBudget:
		return w.applyBudget(side, e)
	case CreateExport:
		side.Export = Export{Found: true, Ours: true}
	case DeleteExport:
		side.Export = Export{}
	case CreatePodService, CreatePodExport, MarkPodService, MarkPodExport, DeletePodExport, DeletePodService:
		return w.applyName(side, e)
	case CarryVolume, RestorePolicy, DeleteVolume, DeleteClaim:
		return w.applyVolume(e)
	}
	return nil
}

func (w *world) createSet(side *Side, e Effect) error {
	if side.Set.Presence == Seen {
		return errConflict
	}
	template := w.state.Source.Set
	side.Set = Set{
		Presence: Seen, Name: e.Name, Resource: side.Set.Resource, UID: w.uid(), ResourceVersion: w.version(), Start: e.Start, Fence: e.Fence,
		RolledOut: true, Ours: true, Ordered: template.Ordered, MinReady: template.MinReady, Templates: template.Templates,
		Rolls: Rolls{Own: side.Set.resource() == sliceResource, AllAtOnce: template.Rolls.AllAtOnce},
	}
	w.acted[e.Side] = acted{start: e.Start}
	w.heed(e.Side)
	return nil
}

func (w *world) applyName(side *Side, e Effect) error {
	for i := range side.Names {
		n := &side.Names[i]
		switch {
		case n.Ordinal != e.Ordinal:
		case e.Verb == CreatePodService && !n.Service.Found:
			n.Service = PodService{Found: true, UID: w.uid(), ResourceVersion: w.version(), Selects: true, Ours: true, Fence: e.Fence}
			return nil
		case e.Verb == CreatePodExport && !n.Export.Found:
			n.Export = Export{Found: true, UID: w.uid(), ResourceVersion: w.version(), Ours: true, Fence: e.Fence}
			return nil
		case e.Verb == MarkPodService && n.Service.UID == e.UID && n.Service.ResourceVersion == e.ResourceVersion:
			n.Service.ResourceVersion, n.Service.Fence = w.version(), e.Fence
			return nil
		case e.Verb == MarkPodExport && n.Export.UID == e.UID && n.Export.ResourceVersion == e.ResourceVersion:
			n.Export.ResourceVersion, n.Export.Fence = w.version(), e.Fence
			return nil
		case e.Verb == DeletePodService && n.Service.UID == e.UID && n.Service.ResourceVersion == e.ResourceVersion:
			n.Service = PodService{}
			return nil
		case e.Verb == DeletePodExport && n.Export.UID == e.UID && n.Export.ResourceVersion == e.ResourceVersion:
			n.Export = Export{}
			return nil
		}
	}
	return errConflict
}

func (w *world) applySet(side *Side, e Effect) error {
	set := &side.Set
	if set.Presence != Seen || set.UID != e.UID || set.ResourceVersion != e.ResourceVersion {
		return errConflict
	}
	switch e.Verb {
	case WriteFence:
		set.Fence = e.Fence
	case ReleaseFence:
		set.Fence, set.Rolls.Shared, set.Rolls.Share = "", false, 0
	case SetShare:
		set.Rolls.Shared, set.Rolls.Share = true, e.MaxUnavailable
	case LiftShare:
		set.Rolls.Shared, set.Rolls.Share = false, 0
	case DeleteSet:
		*set = Set{Presence: Absent, Name: set.Name, Resource: set.Resource}
		return nil
	default:
		set.Start, set.Replicas, set.Observed, set.ScalesBy = e.Start, e.Replicas, false, ""
		if e.Side == DestinationSide && w.state.Numbers != nil {
			set.Start = 0
		}
	}
	set.ResourceVersion = w.version()
	w.heed(e.Side)
	return nil
}

func (w *world) applyBudget(side *Side, e Effect) error {
	if e.Verb == CreateBudget {
		if len(side.Budgets) > 0 {
			return errConflict
		}
		w.putBudget(e.Side, &Budget{Name: e.Name, UID: w.uid(), Form: pdb.Unavailable(0), Author: &e.Author, Fence: e.Fence, Ours: true})
		return nil
	}
	if len(side.Budgets) != 1 || side.Budgets[0].UID != e.UID || side.Budgets[0].ResourceVersion != e.ResourceVersion {
		return errConflict
	}
	if e.Verb == DeleteBudget {
		w.putBudget(e.Side, nil)
		return nil
	}
	b := side.Budgets[0]
	b.Form, b.Author, b.Fence, b.Observed = e.Form, nil, e.Fence, false
	if e.Verb == SetBudget {
		b.Author = &e.Author
	}
	w.putBudget(e.Side, &b)
	return nil
}

func (w *world) applyVolume(e Effect) error {
	for i := range w.state.Volumes {
		v := &w.state.Volumes[i]
		if v.Ordinal != e.Ordinal || e.Template != "" && v.Template != e.Template {
			continue
		}
		h := v.holding(e.Side)
		if e.Template == "" && e.Name != h.Ref.Name && e.Name != h.Volume.Name {
			continue
		}
		return w.applyHolding(v, e)
	}
	return errConflict
}

func (w *world) applyHolding(v *OrdinalVolume, e Effect) error {
	h := v.holding(e.Side)
	if e.Verb == DeleteClaim {
		if h.Claim.UID != e.UID || h.Claim.ResourceVersion != e.ResourceVersion {
			return errConflict
		}
		h.Claim.Terminating, h.Claim.ResourceVersion = true, w.version()
		return nil
	}
	if e.Verb == CarryVolume && (e.Volume.Verb == volumes.CreateVolume || e.Volume.Verb == volumes.CreateClaim) {
		return w.createHolding(v, e)
	}
	if e.Verb == CarryVolume && e.Volume.Verb == volumes.MarkClaim {
		if h.Claim.UID != e.Volume.UID || h.Claim.ResourceVersion != e.Volume.ResourceVersion {
			return errConflict
		}
		h.Claim.Fence, h.Claim.Calls, h.Claim.ResourceVersion = e.Volume.Fence, e.Volume.Calls, w.version()
		return nil
	}
	uid, version := e.UID, e.ResourceVersion
	if e.Verb == CarryVolume {
		uid, version = e.Volume.UID, e.Volume.ResourceVersion
	}
	volume := h.Volume
	if !volume.Found || volume.UID != uid || volume.ResourceVersion != version {
		return errConflict
	}
	switch {
	case e.Verb == DeleteVolume:
		volume.Terminating = true
	case e.Verb == RestorePolicy:
		volume.Policy, volume.Note, volume.Fence = volume.OriginalFor(w.state.UID), volumes.Note{}, ""
	case e.Volume.Verb == volumes.Secure:
		volume.Policy, volume.Note, volume.Fence = corev1.PersistentVolumeReclaimRetain, e.Volume.Note, e.Volume.Fence
	case e.Volume.Verb == volumes.Point:
		volume.Note = e.Volume.Note
		fallthrough
	default:
		volume.ClaimRef, volume.Fence = e.Volume.Ref, e.Volume.Fence
	}
	w.putVolume(v, e.Side, volume)
	return nil
}

func (w *world) createHolding(v *OrdinalVolume, e Effect) error {
	h := v.holding(e.Side)
	if e.Volume.Verb == volumes.CreateClaim {
		if h.Claim.Found {
			return errConflict
		}
		h.Claim = volumes.Claim{Found: true, UID: w.uid(), ResourceVersion: w.version(), Phase: corev1.ClaimPending, Volume: e.Volume.Volume, Ours: true, Fence: e.Volume.Fence}
		return nil
	}
	if h.Volume.Found {
		return errConflict
	}
	from := v.Source.Volume
	if e.Side == SourceSide {
		from = v.Destination.Volume
	}
	created := from
	created.Policy = corev1.PersistentVolumeReclaimRetain
	created.UID, created.ClaimRef, created.Fence = w.uid(), e.Volume.Ref, e.Volume.Fence
	created.Ours, created.Attachments, created.Terminating, created.Phase = true, nil, false, ""
	w.putVolume(v, e.Side, created)
	return nil
}
