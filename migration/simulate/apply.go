package simulate

import (
	"cmp"
	"slices"

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
	switch kind := e.On(); {
	case e.Carries(), kind == volumes.KindVolume, kind == volumes.KindClaim:
		return a.applyVolume(e)
	case kind == plan.KindSet:
		return a.applySet(side, e)
	case kind == plan.KindBudget:
		return a.applyBudget(side, e)
	case kind == plan.KindNamespace:
		side.NamespaceFound = true
	case e.OfPod():
		return a.applyName(side, e)
	case kind == volumes.KindService:
		side.Service.Found = true
	case kind == volumes.KindExport:
		created := e.Change() == volumes.Creates
		side.Export = plan.Export{Found: created, Ours: created}
	case kind == plan.KindJob:
		return a.applyHook(e)
	case kind == plan.KindWriter:
		return a.applyWriter(e)
	case kind == plan.KindCopy:
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
		Presence: plan.Seen, Name: e.Name, Resource: side.Set.Resource, UID: a.NewUID(), ResourceVersion: a.NewVersion(), Start: e.After.Start, Fence: e.After.Fence,
		RolledOut: true, Ours: true, Ordered: template.Ordered, MinReady: template.MinReady, Templates: template.Templates,
		Rolls: plan.Rolls{Own: side.Set.Resource == plan.SliceResource, AllAtOnce: template.Rolls.AllAtOnce},
	}
	a.Controllers[e.Side] = Controller{Start: e.After.Start}
	a.observeCap(e.Side)
	return nil
}

// applyName writes the Service of an ordinal's pod, or its export.
func (a apiServer) applyName(side *plan.Side, e plan.Effect) error {
	at := slices.IndexFunc(side.Names, func(n plan.Name) bool { return n.Ordinal == e.Ordinal })
	if at < 0 {
		return ErrConflict
	}
	n, change, service := &side.Names[at], e.Change(), e.On() == volumes.KindService
	found, judged := n.Export.Found, n.Export.UID == e.UID && n.Export.ResourceVersion == e.ResourceVersion
	if service {
		found, judged = n.Service.Found, n.Service.UID == e.UID && n.Service.ResourceVersion == e.ResourceVersion
	}
	switch {
	case change == volumes.Creates && found, change != volumes.Creates && !judged:
		return ErrConflict
	case change == volumes.Creates && service:
		n.Service = plan.PodService{Found: true, UID: a.NewUID(), ResourceVersion: a.NewVersion(), Selects: true, Ours: true, Fence: e.Fence}
	case change == volumes.Creates:
		n.Export = plan.Export{Found: true, UID: a.NewUID(), ResourceVersion: a.NewVersion(), Ours: true, Fence: e.Fence}
	case change == volumes.Deletes && service:
		n.Service = plan.PodService{}
	case change == volumes.Deletes:
		n.Export = plan.Export{}
	case service:
		n.Service.ResourceVersion, n.Service.Fence = a.NewVersion(), e.Fence
	default:
		n.Export.ResourceVersion, n.Export.Fence = a.NewVersion(), e.Fence
	}
	return nil
}

// applySet creates, writes or deletes a StatefulSet.
func (a apiServer) applySet(side *plan.Side, e plan.Effect) error {
	if e.Change() == volumes.Creates {
		return a.createSet(side, e)
	}
	set := &side.Set
	if set.Presence != plan.Seen || set.UID != e.UID || set.ResourceVersion != e.ResourceVersion {
		return ErrConflict
	}
	if e.Change() == volumes.Deletes {
		*set = plan.Set{Presence: plan.Absent, Name: set.Name, Resource: set.Resource}
		return nil
	}
	*set = set.In(e.After)
	if e.Stops() || e.Starts() {
		set.Observed, set.ScalesBy = false, ""
		if e.Side == plan.DestinationSide && a.State.Numbers != nil {
			set.Start = 0
		}
	}
	set.ResourceVersion = a.NewVersion()
	a.observeCap(e.Side)
	return nil
}

func (a apiServer) applyBudget(side *plan.Side, e plan.Effect) error {
	if e.Change() == volumes.Creates {
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
	if e.Change() == volumes.Deletes {
		a.PutBudget(e.Side, nil)
		return nil
	}
	b := side.Budgets[0]
	if !b.Form.Equal(e.Form) { // like an API server: a manager that writes the same value does not own the field
		b.Form, b.Own, b.WrittenBy, b.Observed = e.Form, true, "", false
		b.Generation++
	}
	b.Author, b.Fence, b.Wrote, b.HandedOver, b.Observed = nil, e.Fence, "", false, false
	if e.Fence != "" {
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

// applyHolding writes one side's claim of an ordinal, or its volume.
func (a apiServer) applyHolding(v *plan.OrdinalVolume, e plan.Effect) error {
	h := v.Holding(e.Side)
	uid, version := e.UID, e.ResourceVersion
	if e.Carries() {
		uid, version = e.Volume.UID, e.Volume.ResourceVersion
	}
	claims := h.Claim.UID == uid && h.Claim.ResourceVersion == version
	switch {
	case e.Carries() && v.Copy != nil && !e.Does(volumes.Updates, volumes.KindClaim):
		return a.applyCopying(v, e)
	case e.Change() == volumes.Creates:
		return a.createHolding(v, e)
	case e.On() == volumes.KindClaim && !claims:
		return ErrConflict
	case e.Does(volumes.Deletes, volumes.KindClaim):
		h.Claim.Terminating, h.Claim.ResourceVersion = true, a.NewVersion()
		return nil
	case e.On() == volumes.KindClaim:
		h.Claim.Fence, h.Claim.Calls, h.Claim.ResourceVersion = e.Volume.Fence, e.Volume.Calls, a.NewVersion()
		return nil
	case !h.Volume.Found || h.Volume.UID != uid || h.Volume.ResourceVersion != version:
		return ErrConflict
	}
	volume := h.Volume.In(e.Volume.After)
	if e.Change() == volumes.Deletes {
		volume = h.Volume
		volume.Terminating = true
	}
	a.PutVolume(v, e.Side, volume)
	return nil
}

// createHolding creates an ordinal's claim, or the volume for the other side's disk.
func (a apiServer) createHolding(v *plan.OrdinalVolume, e plan.Effect) error {
	h := v.Holding(e.Side)
	if e.On() == volumes.KindClaim {
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
