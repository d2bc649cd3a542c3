package inplace

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// Decision is the next step. Exactly one of Record, Attempt, Action, Hold and Done is set.
type Decision struct {
	// Record must be stored before anything else is done.
	Record *Record
	// Attempt is the attempt of a filler to store, for the claim of Template.
	Attempt  *api.CopyAttempt
	Template string
	// Action is the next write.
	Action *Action
	// Hold is the reason to wait. Wait is the time until the next look if nothing changes; 0 if it is not known.
	Hold *volumes.Reason
	Wait time.Duration
	// Done is true if no ordinal is behind.
	Done bool
}

// Verb names a write.
type Verb string

// The verbs. None of them deletes a volume, and DeleteClaim deletes only claims that our finalizer keeps.
const (
	// DeleteSet deletes the StatefulSet and orphans its pods and claims. CreateSet creates it again.
	DeleteSet Verb = "DeleteSet"
	CreateSet Verb = "CreateSet"
	// UpdateSet writes the claim templates of a set whose kind lets them change.
	UpdateSet Verb = "UpdateSet"
	// Secure sets a volume to Retain and notes its policy, and Restore sets it back to that policy.
	Secure  Verb = "Secure"
	Restore Verb = "Restore"
	// ChangeClaim writes the size and the attributes that a claim requests. The driver then changes the volume.
	ChangeClaim Verb = "ChangeClaim"
	// HoldClaim adds our finalizer to a claim, DeleteClaim deletes that claim, and ReleaseClaim removes the finalizer.
	HoldClaim    Verb = "HoldClaim"
	DeleteClaim  Verb = "DeleteClaim"
	ReleaseClaim Verb = "ReleaseClaim"
	// CreateClaim creates the next claim of that name, which names the volume that is reserved for it. DropClaim deletes such
	// a claim that was created too late: it names another volume, to which it was never bound.
	CreateClaim Verb = "CreateClaim"
	DropClaim   Verb = "DropClaim"
	// Evict asks the eviction API to delete the pod.
	Evict Verb = "Evict"
	// Reserve sets the claimRef of a volume to the name of the ordinal's claim, without a uid.
	Reserve Verb = "Reserve"
	// Park sets the claimRef of a volume to a claim that cannot exist.
	Park Verb = "Park"
	// PokeSet writes the annotation on the set that makes its controller reconcile it.
	PokeSet Verb = "PokeSet"
	// Fill is a write of the filler.
	Fill Verb = "Fill"
)

// Action is one write. UID and ResourceVersion are those of the object that was judged, and the API server refuses the
// write if they have changed.
type Action struct {
	Verb            Verb
	Name            string
	UID             types.UID
	ResourceVersion string
	// Ref is the new claimRef of a volume.
	Ref volumes.Ref
	// Template and Volume are for CreateClaim: its claim template, and the volume that it names.
	Template, Volume string
	// Request is for ChangeClaim, Poke for PokeSet, and Fill for Fill. Manifest is for CreateSet, UpdateSet, and DeleteSet,
	// after which the set is created from it.
	Request  Request
	Manifest Manifest
	Poke     Poke
	Fill     *volumes.Action
}

func act(a Action) *Decision { return &Decision{Action: &a} }

func onClaim(verb Verb, slot Slot) *Decision {
	return act(Action{Verb: verb, Name: slot.Ref.Name, UID: slot.Claim.UID, ResourceVersion: slot.Claim.ResourceVersion})
}

// onVolume returns a write of a volume. A volume that was deleted would disappear with a change of its claimRef. So would one
// without Retain that becomes Released: another writer may have set its policy back.
func onVolume(verb Verb, v Volume, ref volumes.Ref) *Decision {
	switch points := verb == Reserve || verb == Park; {
	case points && v.Departing != nil:
		return &Decision{Hold: v.Departing}
	case points && !v.Retain:
		verb, ref = Secure, v.Ref
	}
	return act(Action{Verb: verb, Name: v.Name, UID: v.UID, ResourceVersion: v.ResourceVersion, Ref: ref})
}

func (p *planner) onSet(verb Verb) *Decision {
	return act(Action{Verb: verb, Name: p.Set.Name, UID: p.Set.UID, ResourceVersion: p.Set.ResourceVersion})
}

func waits(reason, message string) *Decision {
	return &Decision{Hold: &volumes.Reason{Reason: reason, Message: message}}
}

// looks returns a decision to wait for what no watch reports.
func looks(reason, message, remedy string) *Decision {
	return &Decision{Hold: &volumes.Reason{Reason: reason, Message: message, Remedy: remedy}, Wait: time.Second}
}

func stalls(reason, message, remedy string) *Decision {
	return &Decision{Hold: volumes.Stalled(reason, message, remedy)}
}

// fills returns the decision for the verdict of a filler; nil if it is done.
func (p *planner) fills(o Ordinal, slot Slot, goal volumes.Goal) *Decision {
	switch v := p.filler.Ahead(o.Ordinal, slot, goal); {
	case v.Attempt != nil:
		return &Decision{Attempt: v.Attempt, Template: slot.Template}
	case v.Action != nil:
		return &Decision{Action: &Action{Verb: Fill, Name: v.Action.Object(), UID: v.Action.UID, ResourceVersion: v.Action.ResourceVersion, Fill: v.Action}, Template: slot.Template}
	case v.Hold != nil:
		return &Decision{Hold: v.Hold, Wait: v.Look}
	case v.Waits != "":
		return &Decision{Hold: &volumes.Reason{Reason: api.ReasonCopying, Message: v.Waits}, Wait: v.Look}
	}
	return nil
}
