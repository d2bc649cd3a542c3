package inplace

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// afterStop brings the ordinal up again, on its new volumes, or on the old ones if it was turned back.
//
// An old volume is reserved before its pod has ended: it is current whatever the pod still writes, and its claim may no
// longer be held.
func (f flight) afterStop() *Decision {
	return first(f.fitting, f.reserved, f.stopped, f.filled, f.halted, f.each(f.available), f.each(f.release), f.each(f.ends), f.start)
}

// halted ends the pods of the filler that have a volume mounted on which the ordinal starts, and those that name its claim,
// which would stay as long as they do.
func (f flight) halted() *Decision {
	return f.each(func(h Handed, s Slot) *Decision {
		if !f.former(h) {
			return nil
		}
		return f.fills(f.ordinal, s, volumes.Halted)
	})()
}

// filled makes the last pass, and records its seal.
func (f flight) filled() *Decision {
	if f.Turned || f.Sealed {
		return nil
	}
	return first(f.towards(volumes.Filled), f.each(f.proven), f.each(f.secureNew), f.seal)
}

// reserved reserves all volumes for the names of the claims. There is nothing to reserve before the seal.
func (f flight) reserved() *Decision {
	switch {
	case f.Turned:
		return first(f.each(f.clear), f.each(f.reserve), f.each(f.available))
	case f.Sealed:
		return first(f.each(f.clear), f.each(f.reserve))
	}
	return nil
}

// stopped deletes the claims that are left, evicts the pod if no other one uses them, and waits until nothing uses the old
// volumes. It has nothing to do once a claim was replaced.
func (f flight) stopped() *Decision {
	if f.arrived() {
		return nil
	}
	if !f.Turned {
		if decision := f.each(f.deleted)(); decision != nil {
			return decision
		}
	}
	switch pod := f.ordinal.Pod; {
	case pod.Found && pod.Node == "":
		// It names Terminating claims, so it is not scheduled. It starts when the next claims are bound.
	case pod.Found && pod.Terminating:
		return waits(api.ReasonPodTerminating, fmt.Sprintf("waiting until the pod of ordinal %d has ended", f.Ordinal))
	case pod.Found:
		return first(f.each(f.alone), f.evict)
	}
	return f.each(f.unmounted)()
}

// evict asks for the eviction of the pod, unless a gate or its PodDisruptionBudget holds.
func (f flight) evict() *Decision {
	if held := cmp.Or(f.gate(f.Ordinal), f.evictions()); held != nil {
		return held
	}
	return act(Action{Verb: Evict, Name: f.podName(f.Ordinal), UID: f.ordinal.Pod.UID})
}

// unmounted waits until no pod but the filler's may use the old volume. A sender of the filler that keeps it attached is
// deleted.
func (f flight) unmounted(h Handed, s Slot) *Decision {
	switch {
	case !f.former(h):
		return nil
	case !f.Turned && s.Old.Ref.Names(s.Ref) && s.Old.Attached != "":
		return cmp.Or(f.fills(f.ordinal, s, volumes.Withdrawn), &Decision{Hold: &volumes.Reason{
			Reason: api.ReasonVolumeAttached, Message: fmt.Sprintf("waiting until volume %s is not attached to node %s any more", s.Old.Name, s.Old.Attached), Remedy: f.Kubectl.Do("get", "volumeattachments"),
		}})
	}
	return f.alone(h, s)
}

// alone stalls while another pod names a claim of the ordinal. It keeps the claim, and may write to the volume. A pod that was
// created between the last look and the deletion of the claim is found before the ordinal is stopped.
func (f flight) alone(h Handed, s Slot) *Decision {
	if !f.former(h) || len(s.Claim.Users) == 0 {
		return nil
	}
	users := strings.Join(s.Claim.Users, ", ")
	return stalls(api.ReasonClaimInUse, fmt.Sprintf("claim %s is used by pod %s: it may write to the volume", s.Ref.Name, users), "end that pod; the migration then continues: "+f.Kubectl.Do("describe", "pod", "-n", s.Ref.Namespace, s.Claim.Users[0]))
}

// arrived reports whether a claim of the ordinal was replaced, or its name is free.
func (f flight) arrived() bool {
	for _, h := range f.Slots {
		if !f.former(h) {
			return true
		}
	}
	return false
}

// proven stalls if a new volume has no seal.
func (f flight) proven(_ Handed, s Slot) *Decision {
	if s.Seal == "" || !s.New.Found {
		return stalls(volumes.ReasonCopyNotSealed, fmt.Sprintf("the copy of claim %s has no seal", s.Ref.Name), "set spec.mode to Rollback: the ordinal then starts on its old volume")
	}
	return nil
}

// secureNew sets the new volume to Retain, before it loses its claim.
func (f flight) secureNew(_ Handed, s Slot) *Decision {
	if s.New.Retain {
		return nil
	}
	return onVolume(Secure, s.New, s.New.Ref)
}

// chosen returns the volume on which the ordinal starts.
func (f flight) chosen(s Slot) Volume {
	if f.Turned {
		return s.Old
	}
	return s.New
}

// seal records that the new volumes equal the old ones. From now on the ordinal uses them.
func (f flight) seal() *Decision {
	return f.recorded(func(r *Record) {
		r.Handoff.Sealed = true
		for i := range r.Handoff.Slots {
			s := f.slot(r.Handoff.Slots[i])
			r.Handoff.Slots[i].New, r.Handoff.Slots[i].Seal = s.New.Name, s.Seal
		}
	})
}

// fitting makes sure that the binder accepts the volumes for claims of the present templates. For an ordinal that is turned
// back the set gets the templates of its old volumes first, unless it cannot be recreated and they fit anyway.
func (f flight) fitting() *Decision {
	if f.arrived() || !f.Turned && !f.Sealed {
		return nil
	}
	fits := f.fitsNew
	if f.Turned {
		fits = f.fitsOld
	}
	switch {
	case f.Record.Replace != nil:
		return f.recreate(f.current(f.Record.Replace.Next))
	case !f.Set.Found, f.Set.Terminating:
		return stalls(api.ReasonSourceMissing, fmt.Sprintf("%s does not exist, or is being deleted, and ordinal %d is stopped", f.title(), f.Ordinal), "create it again; the migration then continues")
	case f.Turned && f.before().Text != "" && !f.Set.Manifest.Equals(f.before()):
		return f.takeBack(fits())
	case fits():
		return nil
	default:
		return stalls(api.ReasonTemplatesReverted, fmt.Sprintf("the volumes of ordinal %d do not fit the claim templates of %s: an empty volume would be provisioned", f.Ordinal, f.title()), "change the templates where their author has them, such as in Git; the migration then continues")
	}
}

// takeBack begins to give the set the templates of the old volumes.
func (f flight) takeBack(fits bool) *Decision {
	held := cmp.Or(f.reverted(f.before()), f.recreatable())
	switch {
	case held == nil && f.Set.Updates:
		return f.rewrite(f.before())
	case held == nil:
		return f.recorded(func(r *Record) { r.Replace, r.Reached = &Replace{UID: f.Set.UID, Next: f.before()}, "" })
	case fits:
		return nil
	}
	return held
}

// before returns the templates of the old volumes.
func (f flight) before() Manifest {
	if f.Return {
		return f.Wanted
	}
	return f.Record.Former
}

// clear takes the reservation from the other volume. The binder ignores one that was deleted.
func (f flight) clear(h Handed, s Slot) *Decision {
	other := s.New
	if !f.Turned {
		other = s.Old
	}
	if !f.former(h) || !other.Found || !other.reservedFor(s.Ref) || other.Departing != nil {
		return nil
	}
	return onVolume(Park, other, volumes.Parked(s.Ref))
}

// lapsed returns a reference to a claim that cannot exist, with a uid. The volume controller sets a volume with it to
// Released. A volume without a uid in its reference is Available already, and would not show that the controller has seen
// the next reference.
func lapsed(ref volumes.Ref, v Volume) volumes.Ref {
	parked := volumes.Parked(ref)
	parked.UID = v.UID
	return parked
}

// reserve points the volume at the name of the ordinal's claim, while a Terminating claim has that name. If the claim is
// not held any more, the name may become free at any time, and the reservation is all that protects it.
func (f flight) reserve(h Handed, s Slot) *Decision {
	v := f.chosen(s)
	switch {
	case f.untouched(h, s), s.Claim.Found && !f.former(h), v.reservedFor(s.Ref), takenOver(h, s, v):
		return nil
	case !v.Found:
		return stalls(volumes.ReasonVolumeLost, fmt.Sprintf("the volume for claim %s does not exist", s.Ref.Name), "restore the PersistentVolume object")
	case v.Available && v.Ref != lapsed(s.Ref, v):
		return onVolume(Park, v, lapsed(s.Ref, v))
	case v.Available:
		return looks(api.ReasonVolumeUnbound, fmt.Sprintf("waiting until volume %s is not Available", v.Name), f.Kubectl.Do("describe", "pv", v.Name))
	}
	return onVolume(Reserve, v, volumes.Ref{Namespace: s.Ref.Namespace, Name: s.Ref.Name})
}

// takenOver reports whether the next claim is bound to the volume. That claim can be created after the claims were read, and
// before the volumes were.
func takenOver(h Handed, s Slot, v Volume) bool {
	return v.Ref.Names(s.Ref) && v.Ref.UID != "" && v.Ref.UID != h.Claim
}

// untouched reports whether a claim was not deleted before its ordinal was turned back. It keeps its volume.
func (f flight) untouched(h Handed, s Slot) bool {
	return f.Turned && f.former(h) && !s.Claim.Terminating
}

// available waits until the volume controller has seen the reservation.
func (f flight) available(h Handed, s Slot) *Decision {
	if v := f.chosen(s); f.untouched(h, s) || s.Claim.Found && !f.former(h) || v.Available {
		return nil
	}
	name := f.chosen(s).Name
	return looks(api.ReasonVolumeUnbound, fmt.Sprintf("waiting until volume %s is Available for claim %s", name, s.Ref.Name), f.Kubectl.Do("describe", "pv", name))
}

// release removes the finalizer. All volumes are reserved. No other finalizer keeps the claim then, so that its name is free
// at once, and the next claim is created before the controller of the set creates it together with the pod.
func (f flight) release(h Handed, s Slot) *Decision {
	switch {
	case !f.former(h) || !s.Claim.Held:
		return nil
	case s.Claim.Terminating && s.Claim.Kept:
		return f.awaitsEnd(s)
	}
	return onClaim(ReleaseClaim, s)
}

// ends waits until the deleted claim no longer exists.
func (f flight) ends(h Handed, s Slot) *Decision {
	if !f.former(h) || f.untouched(h, s) {
		return nil
	}
	return f.awaitsEnd(s)
}

func (f flight) awaitsEnd(s Slot) *Decision {
	return looks(api.ReasonAwaitingDeletion, fmt.Sprintf("waiting until claim %s is deleted", s.Ref.Name), "see its finalizers, and the pods that name it: "+f.describe(s))
}

// pokeAgain is the time after which the set is poked again. A controller whose cache still has the deleted claim refuses
// the pod once more, and then returns after a backoff of up to 1,000 s.
const pokeAgain = 5 * time.Second

// start brings the pod up on its volumes.
func (f flight) start() *Decision {
	return first(f.each(f.create), f.each(f.bound), f.poke, f.each(f.park), f.towards(volumes.Dropped), f.forget)
}

// create creates the claim of a volume that is reserved for it. The controller of the set creates it, too, but together with
// the pod. A scheduler that finds a pod's claim unbound looks at it again only a second later (kubernetes
// volumebinding/binder.go, BindPodVolumes). The claim names its volume, so that nothing is provisioned for it, however late
// it is created.
func (f flight) create(_ Handed, s Slot) *Decision {
	switch {
	case s.Claim.Found:
		return nil
	case !f.Set.Found:
		return f.setMissing()
	}
	return act(Action{Verb: CreateClaim, Name: s.Ref.Name, Template: s.Template, Volume: f.chosen(s).Name})
}

func (f flight) setMissing() *Decision {
	return stalls(api.ReasonSourceMissing, f.title()+" does not exist, and its ordinal is stopped", "create it again; the migration then continues")
}

// bound waits until a new claim is bound to the volume that was reserved for it, and stalls if it has another one. A claim
// of this migration that was created too late, for another volume, is deleted.
func (f flight) bound(h Handed, s Slot) *Decision {
	late := s.Claim.Volume != "" && s.Claim.Volume != f.chosen(s).Name
	switch {
	case f.former(h), s.Claim.Bound && !late:
		return nil
	case late && s.Claim.Ours && !s.Claim.Bound && !s.Claim.Terminating:
		return onClaim(DropClaim, s)
	case late && !s.Claim.Terminating:
		return stalls(volumes.ReasonForeignVolume, fmt.Sprintf("claim %s is on volume %s instead of %s, which has the data of the ordinal", s.Ref.Name, s.Claim.Volume, f.chosen(s).Name),
			"find the writer that created the claim; both volumes have the policy Retain, and nothing was deleted")
	}
	return looks(api.ReasonVolumeUnbound, fmt.Sprintf("waiting until claim %s is bound to volume %s", s.Ref.Name, f.chosen(s).Name), f.describe(s))
}

// poke waits until the pod is Ready, and pokes the set as long as there is none.
func (f flight) poke() *Decision {
	pod := f.ordinal.Pod
	switch poke := f.Set.Poked; {
	case f.givesUp():
		return nil
	case !pod.Found && !f.Set.Found:
		return f.setMissing()
	case !pod.Found && (poke.For != f.Slots[0].Claim || f.Now.Sub(poke.At) >= pokeAgain):
		decision := f.onSet(PokeSet)
		decision.Action.Poke = Poke{For: f.Slots[0].Claim, At: f.Now}
		return decision
	case !pod.Found:
		return &Decision{Hold: &volumes.Reason{Reason: api.ReasonPodMissing, Message: fmt.Sprintf("waiting for the pod of ordinal %d", f.Ordinal)}, Wait: pokeAgain - f.Now.Sub(poke.At)}
	case !pod.Available || pod.Terminating:
		decision := waits(api.ReasonPodNotReady, fmt.Sprintf("waiting until the pod of ordinal %d is Ready", f.Ordinal))
		if f.turning() {
			decision.Wait = startsWithin - f.Starts
		}
		return decision
	}
	return nil
}

// startsWithin is the time in which a pod becomes Ready whose ordinal is to go the other way. After that its volumes are
// copied although it is down. A pod that is Ready goes back with a shorter stop.
const startsWithin = time.Minute

// turning reports whether the ordinal is on its new volumes, and its user wants it on others.
func (f flight) turning() bool {
	return f.Sealed && !f.Turned && f.Mode != api.ModePause && f.back() != f.Return
}

// givesUp reports whether the handoff ends with a pod that is not Ready. Its application may never be on these volumes, and
// the ordinal goes back by the next handoff (I8).
func (f flight) givesUp() bool {
	return f.turning() && f.ordinal.Pod.down() && f.Starts >= startsWithin
}

// park parks the volume that the ordinal has left.
func (f flight) park(_ Handed, s Slot) *Decision {
	if f.Turned || !s.Old.Found || s.Old.Name == s.Claim.Volume || s.Old.Ref == volumes.Parked(s.Ref) {
		return nil
	}
	return onVolume(Park, s.Old, volumes.Parked(s.Ref))
}
