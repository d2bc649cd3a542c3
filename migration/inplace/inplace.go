// Package inplace decides how the volumes of a running StatefulSet are changed under its own name, one ordinal at a time.
//
// The claims follow the claim templates. The set is recreated once with other templates, while its pods run; a set of a kind
// whose templates can change is updated instead. An ordinal whose claims differ from the templates is then behind. A size or
// a class of attributes that the driver can change is written to the claim, and the driver changes the volume while the pod
// runs (change.go). An ordinal whose claims need new volumes is taken through these steps:
//
//	warm      the filler copies the volumes into incoming claims, while the ordinal runs
//	secure    the old volumes get the policy Retain, which is read back
//	standby   the filler prepares its last pass: its pods wait for the stop, as far as they can start before it
//	hold      the claims get a finalizer, and are deleted: they stay, Terminating
//	evict     the pod is evicted, as far as its PodDisruptionBudget allows. While a claim of the ordinal is Terminating, no
//	          controller creates a pod that starts: the StatefulSet controller refuses, and so do scheduler and kubelet
//	fill      the filler points the old volumes at outgoing claims, makes the last pass, and seals
//	reserve   the new volumes are pointed at the names of the ordinal's claims, without a uid, until they are Available:
//	          then the volume controller has seen it, and binds any claim of that name to them
//	release   the finalizers are removed, and the next claims are created on the sealed volumes
//	start     when they are bound, the set is poked: its controller creates the pod. What the filler needs no more is
//	          deleted when the pod is Ready
//
// Nobody wins a race, because at any time the ordinal's name is either taken by a Terminating claim, or reserved by a
// volume. A volume is reserved only if it fits the present templates of the set: the binder ignores a volume that is
// smaller than the claim, or of another volume mode or attributes class, and an empty one would be provisioned.
//
// One moment is left to other writers: between the release of a claim and its successor. If the set gets templates in it
// that the reserved volume does not fit, and its controller creates the claim, an empty volume is provisioned. The ordinal
// is then held, and both volumes are kept.
//
// The way back is open until the seal is recorded: the old volumes are reserved instead of the new ones. After that an
// ordinal returns by the same steps, into new volumes of the former templates.
//
// Plan is a function of small values. The caller observes, decides, and does one thing: it stores the record, or makes one
// write, which the API server refuses if the object has changed since.
package inplace

import (
	"cmp"
	"fmt"
	"slices"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/drift"
)

// Filler fills the new volume of a claim from the old one, in claims of its own. The methods of package volumes that fill
// a second volume are fillers.
type Filler interface {
	// Ahead returns the next step towards a goal; see volumes.Method. Standby is done without a step if the ordinal is not to
	// be stopped now. Filled and Halted are done when no process of the filler has one of the two volumes mounted, and none
	// of its pods names the claim.
	Ahead(ordinal int32, slot Slot, goal volumes.Goal) volumes.Verdict
}

// Plan returns the next step. Same input, same output.
func Plan(s Snapshot, filler Filler) Decision {
	p := &planner{Snapshot: s, filler: filler}
	for _, stage := range []func() *Decision{p.handoff, p.leftovers, p.turnedBack, p.paused, p.present, p.templates, p.next} {
		if decision := stage(); decision != nil {
			return *decision
		}
	}
	return Decision{Done: true}
}

// planner is a snapshot and the filler.
type planner struct {
	Snapshot
	filler Filler
}

// back reports whether the claims return to the former templates.
func (p *planner) back() bool { return p.Mode == api.ModeRollback }

// target returns the templates that the claims follow. Before the set was recreated there is nothing to return to.
func (p *planner) target() Manifest {
	switch {
	case !p.back():
		return p.Wanted
	case p.Record.Former.Text == "":
		return p.Set.Manifest
	}
	return p.Record.Former
}

// needs returns the work that a claim needs to have its target.
func (p *planner) needs(slot Slot) drift.Need {
	if p.back() {
		return slot.Returns
	}
	return slot.Needs
}

// copies reports whether an ordinal needs new volumes.
func (p *planner) copies(o Ordinal) bool {
	return slices.ContainsFunc(o.Slots, func(slot Slot) bool { return p.needs(slot) == drift.Copy })
}

// behind reports whether a claim of an ordinal is not as its target.
func (p *planner) behind(o Ordinal) bool {
	return p.copies(o) || slices.ContainsFunc(o.Slots, func(slot Slot) bool { return p.asks(slot) || p.awaits(slot) })
}

// leftovers removes finalizers, and restores policies, where no ordinal is in flight. A late write can have set them after
// its handoff has ended.
func (p *planner) leftovers() *Decision {
	for _, o := range p.Ordinals {
		for _, slot := range o.Slots {
			switch {
			case slot.Claim.Held && slot.Claim.Terminating:
				return stalls(api.ReasonAwaitingDeletion, fmt.Sprintf("claim %s was deleted by another writer, or by a migration whose record is lost, and our finalizer keeps it", slot.Ref.Name), Free(p.Kubectl, slot.Ref, slot.Claim.Volume))
			case slot.Claim.Held:
				return onClaim(ReleaseClaim, slot)
			case slot.Old.Secured && slot.Claim.Bound && slot.Old.Name == slot.Claim.Volume:
				return onVolume(Restore, slot.Old, slot.Old.Ref)
			}
		}
	}
	return nil
}

// paused holds if no ordinal may begin. A set that is being recreated is finished first.
func (p *planner) paused() *Decision {
	if p.Mode != api.ModePause {
		return nil
	}
	if r := p.Record.Replace; r != nil && (!p.Set.Found || p.Set.Terminating) {
		return p.recreate(r.Next)
	}
	return waits(api.ReasonPaused, "no ordinal begins: spec.mode is Pause")
}

// next takes the next ordinal that is behind further. Without a former manifest there is nothing to return to.
func (p *planner) next() *Decision {
	if p.back() && p.Record.Former.Text == "" {
		return nil
	}
	for _, o := range p.inOrder() {
		for _, slot := range o.Slots {
			if held := p.impossible(slot); held != nil {
				return held
			}
		}
		if held := p.changed(o); held != nil {
			return held
		}
		if p.copies(o) {
			return p.begin(o)
		}
	}
	return nil
}

// impossible stalls if a claim cannot become as its target.
func (p *planner) impossible(slot Slot) *Decision {
	switch need := p.needs(slot); {
	case need == drift.Refill || need == drift.Undecided:
		return stalls(volumes.ReasonClassMissing, fmt.Sprintf("claim %s cannot get a new volume by a copy (%s)", slot.Ref.Name, need), p.Kubectl.Migrate("storage", p.Set.Name, "-n", p.Set.Namespace, "-o", "wide"))
	case need == drift.Copy && slot.Keeps:
		return stalls(api.ReasonStorageUnfit, slot.Unfit(), "ask for a size or a class that the driver can give; or set spec.mode to Rollback, and copy into new volumes: "+
			p.Kubectl.Migrate("storage", p.Set.Name, "-n", p.Set.Namespace, "--volume", slot.Template+"=method=copy,image=IMAGE"))
	}
	return nil
}

// inOrder returns the ordinals in the order in which they are changed. They return in the opposite order.
func (p *planner) inOrder() []Ordinal {
	ordinals := slices.Clone(p.Ordinals)
	if p.LowestFirst == p.back() {
		slices.Reverse(ordinals)
	}
	return ordinals
}

// turnedBack stalls after an ordinal has returned to its old volumes, until its user has set another mode: the ordinal
// would be stopped again for the same cause.
func (p *planner) turnedBack() *Decision {
	switch {
	case p.Record.Back == "":
		return nil
	case p.Mode != p.Record.BackIn:
		return p.recorded(func(r *Record) { r.Back, r.BackIn = "", "" })
	}
	return stalls(api.ReasonCopyTurnedBack, "an ordinal of "+p.title()+" returned to its old volumes: "+p.Record.Back, "remove the cause, then set spec.mode to Pause, and back")
}

// begin records the handoff of an ordinal.
func (p *planner) begin(o Ordinal) *Decision {
	if held := cmp.Or(p.permitted(), p.gate(o.Ordinal)); held != nil {
		return held
	}
	h := Handoff{Ordinal: o.Ordinal, Return: p.back()}
	for _, slot := range o.Slots {
		if p.needs(slot) != drift.Copy {
			continue
		}
		if held := p.replaceable(slot); held != nil {
			return held
		}
		h.Slots = append(h.Slots, Handed{Template: slot.Template, Claim: slot.Claim.UID, Old: slot.Claim.Volume})
	}
	return p.recorded(func(r *Record) { r.Handoff = &h })
}

// replaceable holds if the claim of a slot cannot be replaced.
func (p *planner) replaceable(slot Slot) *Decision {
	switch {
	case !slot.Claim.Found || !slot.Claim.Bound || slot.Claim.Terminating:
		return stalls(volumes.ReasonClaimNotBound, fmt.Sprintf("claim %s is not bound, or is being deleted", slot.Ref.Name), p.Kubectl.Do("describe", "pvc", "-n", slot.Ref.Namespace, slot.Ref.Name))
	case slot.Claim.Owned:
		return stalls(volumes.ReasonClaimOwned, fmt.Sprintf("claim %s has an owner, and would be deleted with it", slot.Ref.Name), "set persistentVolumeClaimRetentionPolicy to Retain and wait until the ownerReference is removed")
	case slot.Claim.Stays != nil:
		return &Decision{Hold: slot.Claim.Stays}
	}
	return nil
}

// recorded returns the decision to store a changed record.
func (p *planner) recorded(change func(*Record)) *Decision {
	next := p.Record.clone()
	change(&next)
	return &Decision{Record: &next}
}
