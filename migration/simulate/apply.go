package simulate

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"

	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/pdb"
	"github.com/sliceshift/sliceshift/volumes"
)

// Apply performs one effect like the API server: it is refused if the object has changed since it was judged.
func (w *World) Apply(e plan.Effect) error { return apiServer{w}.apply(e) }

// apiServer models the API servers of the two clusters, as far as effects need them.
type apiServer struct{ *World }

func (a apiServer) apply(e plan.Effect) error {
	side := a.State.Side(e.Side)
	switch e.Verb {
	case plan.WriteFence, plan.ReleaseFence, plan.SetShare, plan.LiftShare, plan.ScaleDown, plan.ScaleUp, plan.DeleteSet:
		return a.applySet(side, e)
	case plan.CreateNamespace:
		side.NamespaceFound = true
	case plan.CreateService:
		side.Service.Found = true
	case plan.CreateSet:
		return a.createSet(side, e)
	case plan.CreateBudget, plan.SetBudget, plan.RestoreBudget, plan.DeleteBudget:
		return a.applyBudget(side, e)
	case plan.CreateExport:
		side.Export = plan.Export{Found: true, Ours: true}
	case plan.DeleteExport:
		side.Export = plan.Export{}
	case plan.CreatePodService, plan.CreatePodExport, plan.MarkPodService, plan.MarkPodExport, plan.DeletePodExport, plan.DeletePodService:
		return a.applyName(side, e)
	case plan.CarryVolume, plan.RestorePolicy, plan.DeleteVolume, plan.DeleteClaim:
		return a.applyVolume(e)
	case plan.RunHook:
		return a.applyHook(e)
	case plan.StartHook:
		return a.startHook(e)
	case plan.PauseWriter, plan.ReleaseWriter, plan.UnmarkWriter:
		return a.applyWriter(e)
	case plan.CreateCopy, plan.UpdateCopy, plan.DeleteCopy:
		return a.applyCopy(e)
	}
	return nil
}

func (a apiServer) createSet(side *plan.Side, e plan.Effect) error {
	if side.Set.Presence == plan.Seen {
		return ErrConflict
	}
	template := a.State.Source.Set
	side.Set = plan.Set{
		Presence: plan.Seen, Name: e.Name, Resource: side.Set.Resource, UID: a.NewUID(), ResourceVersion: a.NewVersion(), Start: e.Start, Fence: e.Fence,
		RolledOut: true, Ours: true, Ordered: template.Ordered, MinReady: template.MinReady, Templates: template.Templates,
		Rolls: plan.Rolls{Own: side.Set.Resource == plan.SliceResource, AllAtOnce: template.Rolls.AllAtOnce},
	}
	a.Controllers[e.Side] = Controller{Start: e.Start}
	a.observeCap(e.Side)
	return nil
}

func (a apiServer) applyName(side *plan.Side, e plan.Effect) error {
	for i := range side.Names {
		n := &side.Names[i]
		switch {
		case n.Ordinal != e.Ordinal:
		case e.Verb == plan.CreatePodService && !n.Service.Found:
			n.Service = plan.PodService{Found: true, UID: a.NewUID(), ResourceVersion: a.NewVersion(), Selects: true, Ours: true, Fence: e.Fence}
			return nil
		case e.Verb == plan.CreatePodExport && !n.Export.Found:
			n.Export = plan.Export{Found: true, UID: a.NewUID(), ResourceVersion: a.NewVersion(), Ours: true, Fence: e.Fence}
			return nil
		case e.Verb == plan.MarkPodService && n.Service.UID == e.UID && n.Service.ResourceVersion == e.ResourceVersion:
			n.Service.ResourceVersion, n.Service.Fence = a.NewVersion(), e.Fence
			return nil
		case e.Verb == plan.MarkPodExport && n.Export.UID == e.UID && n.Export.ResourceVersion == e.ResourceVersion:
			n.Export.ResourceVersion, n.Export.Fence = a.NewVersion(), e.Fence
			return nil
		case e.Verb == plan.DeletePodService && n.Service.UID == e.UID && n.Service.ResourceVersion == e.ResourceVersion:
			n.Service = plan.PodService{}
			return nil
		case e.Verb == plan.DeletePodExport && n.Export.UID == e.UID && n.Export.ResourceVersion == e.ResourceVersion:
			n.Export = plan.Export{}
			return nil
		}
	}
	return ErrConflict
}

func (a apiServer) applySet(side *plan.Side, e plan.Effect) error {
	set := &side.Set
	if set.Presence != plan.Seen || set.UID != e.UID || set.ResourceVersion != e.ResourceVersion {
		return ErrConflict
	}
	switch e.Verb {
	case plan.WriteFence:
		set.Fence, set.Rolls.Unmarked = e.Fence, false
	case plan.ReleaseFence:
		set.Fence, set.Rolls.Shared, set.Rolls.Share = "", false, 0
	case plan.SetShare:
		set.Rolls.Shared, set.Rolls.Share = true, e.MaxUnavailable
	case plan.LiftShare:
		set.Rolls.Shared, set.Rolls.Share = false, 0
	case plan.DeleteSet:
		*set = plan.Set{Presence: plan.Absent, Name: set.Name, Resource: set.Resource}
		return nil
	default:
		set.Start, set.Replicas, set.Observed, set.ScalesBy = e.Start, e.Replicas, false, ""
		if e.Side == plan.DestinationSide && a.State.Numbers != nil {
			set.Start = 0
		}
	}
	set.ResourceVersion = a.NewVersion()
	a.observeCap(e.Side)
	return nil
}

func (a apiServer) applyBudget(side *plan.Side, e plan.Effect) error {
	if e.Verb == plan.CreateBudget {
		if len(side.Budgets) > 0 {
			return ErrConflict
		}
		form := pdb.Unavailable(0)
		a.PutBudget(e.Side, &plan.Budget{Name: e.Name, UID: a.NewUID(), Form: form, Own: true, Generation: 1, Author: &e.Author, Fence: e.Fence, Wrote: form.String(), Ours: true})
		return nil
	}
	if len(side.Budgets) != 1 || side.Budgets[0].UID != e.UID || side.Budgets[0].ResourceVersion != e.ResourceVersion {
		return ErrConflict
	}
	if e.Verb == plan.DeleteBudget {
		a.PutBudget(e.Side, nil)
		return nil
	}
	b := side.Budgets[0]
	if !b.Form.Equal(e.Form) { // like an API server: a manager that writes the same value does not own the field
		b.Form, b.Own, b.WrittenBy, b.Observed = e.Form, true, "", false
		b.Generation++
	}
	b.Author, b.Fence, b.Wrote, b.HandedOver, b.Observed = nil, e.Fence, "", false, false
	if e.Verb == plan.SetBudget {
		b.Author, b.Wrote = &e.Author, e.Form.String()
	}
	a.PutBudget(e.Side, &b)
	return nil
}

func (a apiServer) applyVolume(e plan.Effect) error {
	own := a.volumesOf(e.Ordinal, e.Ordinal)
	for i := range own {
		v := &own[i]
		if e.Template != "" && v.Template != e.Template {
			continue
		}
		h := v.Holding(e.Side)
		if e.Template == "" && e.Name != h.Ref.Name && e.Name != h.Volume.Name {
			continue
		}
		return a.applyHolding(v, e)
	}
	return ErrConflict
}

func (a apiServer) applyHolding(v *plan.OrdinalVolume, e plan.Effect) error {
	h := v.Holding(e.Side)
	if e.Verb == plan.CarryVolume && v.Copy != nil && e.Volume.Verb != volumes.MarkClaim {
		return a.applyCopying(v, e)
	}
	if e.Verb == plan.DeleteClaim {
		if h.Claim.UID != e.UID || h.Claim.ResourceVersion != e.ResourceVersion {
			return ErrConflict
		}
		h.Claim.Terminating, h.Claim.ResourceVersion = true, a.NewVersion()
		return nil
	}
	if e.Verb == plan.CarryVolume && (e.Volume.Verb == volumes.CreateVolume || e.Volume.Verb == volumes.CreateClaim) {
		return a.createHolding(v, e)
	}
	if e.Verb == plan.CarryVolume && e.Volume.Verb == volumes.MarkClaim {
		if h.Claim.UID != e.Volume.UID || h.Claim.ResourceVersion != e.Volume.ResourceVersion {
			return ErrConflict
		}
		h.Claim.Fence, h.Claim.Calls, h.Claim.ResourceVersion = e.Volume.Fence, e.Volume.Calls, a.NewVersion()
		return nil
	}
	uid, version := e.UID, e.ResourceVersion
	if e.Verb == plan.CarryVolume {
		uid, version = e.Volume.UID, e.Volume.ResourceVersion
	}
	volume := h.Volume
	if !volume.Found || volume.UID != uid || volume.ResourceVersion != version {
		return ErrConflict
	}
	a.PutVolume(v, e.Side, a.written(volume, e))
	return nil
}

// written returns a volume after an effect on it.
func (a apiServer) written(volume volumes.Volume, e plan.Effect) volumes.Volume {
	switch {
	case e.Verb == plan.DeleteVolume:
		volume.Terminating = true
	case e.Verb == plan.RestorePolicy:
		volume.Policy, volume.Note, volume.Fence = volume.OriginalFor(a.State.UID), volumes.Note{}, ""
		if e.Volume.Alone {
			volume.There = ""
		}
	case e.Volume.Verb == volumes.Secure:
		volume.Policy, volume.Note, volume.Fence = corev1.PersistentVolumeReclaimRetain, e.Volume.Note, e.Volume.Fence
	case e.Volume.Verb == volumes.Point:
		volume.Note = e.Volume.Note
		fallthrough
	default:
		volume.ClaimRef, volume.Fence = e.Volume.Ref, e.Volume.Fence
		volume.There = cmp.Or(e.Volume.There, volume.There)
	}
	return volume
}

func (a apiServer) createHolding(v *plan.OrdinalVolume, e plan.Effect) error {
	h := v.Holding(e.Side)
	if e.Volume.Verb == volumes.CreateClaim {
		if h.Claim.Found {
			return ErrConflict
		}
		h.Claim = volumes.Claim{Found: true, UID: a.NewUID(), ResourceVersion: a.NewVersion(), Phase: corev1.ClaimPending, Volume: e.Volume.Volume, Ours: true, Fence: e.Volume.Fence}
		return nil
	}
	if h.Volume.Found {
		return ErrConflict
	}
	from := v.Source.Volume
	if e.Side == plan.SourceSide {
		from = v.Destination.Volume
	}
	created := from
	created.Name, created.There = cmp.Or(e.Volume.Volume, from.Name), ""
	if created.Name != from.Name {
		created.There = from.Name
	}
	created.Policy = corev1.PersistentVolumeReclaimRetain
	created.UID, created.ClaimRef, created.Fence = a.NewUID(), e.Volume.Ref, e.Volume.Fence
	created.Ours, created.Attachments, created.Terminating, created.Phase = true, nil, false, ""
	a.PutVolume(v, e.Side, created)
	return nil
}
