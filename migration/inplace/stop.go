package inplace

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// flight is the ordinal in flight, as observed and as recorded.
type flight struct {
	*planner
	Handoff
	ordinal Ordinal
}

// handoff takes the next step of the ordinal in flight.
func (p *planner) handoff() *Decision {
	h := p.Record.Handoff
	if h == nil {
		return nil
	}
	at := slices.IndexFunc(p.Ordinals, func(o Ordinal) bool { return o.Ordinal == h.Ordinal })
	if at < 0 {
		return stalls(api.ReasonOrdinalsUnbounded, fmt.Sprintf("ordinal %d is no ordinal of %s any more", h.Ordinal, p.title()), "scale the set so that it has the ordinal; the migration then continues")
	}
	f := flight{p, *h, p.Ordinals[at]}
	if f.onlyRestarts() {
		return f.restarting()
	}
	if why := f.turns(); why != "" {
		return p.recorded(func(r *Record) { r.Handoff.Turned, r.Handoff.Why = true, why })
	}
	if f.runs() {
		return f.beforeStop()
	}
	return f.afterStop()
}

// slot returns the observed slot of a recorded claim.
func (f flight) slot(handed Handed) Slot {
	at := slices.IndexFunc(f.ordinal.Slots, func(s Slot) bool { return s.Template == handed.Template })
	if at < 0 {
		return Slot{Template: handed.Template}
	}
	return f.ordinal.Slots[at]
}

// former reports whether the ordinal's claim is still the one that is replaced.
func (f flight) former(handed Handed) bool {
	claim := f.slot(handed).Claim
	return claim.Found && claim.UID == handed.Claim
}

// runs reports whether no claim has been deleted yet: the ordinal is as before its handoff.
func (f flight) runs() bool {
	return !slices.ContainsFunc(f.Slots, func(h Handed) bool { return !f.former(h) || f.slot(h).Claim.Terminating })
}

// modeChanged is the reason of a return that the user of the migration has asked for.
const modeChanged = "spec.mode was changed"

// turns returns why the ordinal returns to its old volumes; empty if it does not. Once the seal is recorded it goes on,
// unless its new volumes would not be bound.
func (f flight) turns() string {
	switch {
	case f.Turned:
		return ""
	case !f.Sealed && f.Mode != api.ModePause && f.back() != f.Return:
		return modeChanged
	case !f.Sealed && !f.runs() && f.Overdue != "":
		return f.Overdue
	case !f.Sealed && f.unheld():
		return "another writer has removed the finalizer that holds a claim"
	case !f.runs() && !f.arrived() && f.Set.Found && !f.Set.Terminating && !f.fitsNew() && f.fitsOld():
		return "its new volumes would not be bound: the claim templates of the set were changed, or a volume was deleted"
	}
	return ""
}

// unheld reports whether a deleted claim is no longer held. Then its name becomes free when its pod has ended.
func (f flight) unheld() bool {
	return !f.runs() && slices.ContainsFunc(f.Slots, func(h Handed) bool { return !f.former(h) || f.slot(h).Claim.Terminating && !f.slot(h).Claim.Held })
}

// target returns the templates of the new volumes.
func (f flight) target() Manifest {
	if f.Return {
		return f.Record.Former
	}
	return f.Wanted
}

// fitsNew and fitsOld report whether the binder accepts the volumes for claims of the present templates. Before a new
// volume exists, it is assumed to have the form of the wanted template.
func (f flight) fitsNew() bool {
	return f.all(func(h Handed, t Template) bool {
		slot := f.slot(h)
		if !slot.New.Found || !f.Sealed {
			return slices.Contains(f.target().Templates, t)
		}
		return slot.New.fits(t)
	})
}

func (f flight) fitsOld() bool {
	return f.all(func(h Handed, t Template) bool { return f.slot(h).Old.fits(t) })
}

// all reports whether a condition holds for each claim and its present template. It does not hold without a template.
func (f flight) all(holds func(Handed, Template) bool) bool {
	return !slices.ContainsFunc(f.Slots, func(h Handed) bool {
		at := slices.IndexFunc(f.Set.Manifest.Templates, func(t Template) bool { return t.Name == h.Template })
		return at < 0 || !holds(h, f.Set.Manifest.Templates[at])
	})
}

// first returns the first decision of some steps; nil if there is none.
func first(steps ...func() *Decision) *Decision {
	for _, step := range steps {
		if decision := step(); decision != nil {
			return decision
		}
	}
	return nil
}

// each returns the step that is the first decision for a claim; nil if there is none.
func (f flight) each(decide func(Handed, Slot) *Decision) func() *Decision {
	return func() *Decision {
		for _, handed := range f.Slots {
			if decision := decide(handed, f.slot(handed)); decision != nil {
				return decision
			}
		}
		return nil
	}
}

// towards returns the step of the filler towards a goal. The claims do not wait for each other: it waits, preferably for
// what stalls, only if there is nothing to do for any of them.
func (f flight) towards(goal volumes.Goal) func() *Decision {
	return func() *Decision {
		var waits *Decision
		for _, handed := range f.Slots {
			switch decision := f.fills(f.ordinal, f.slot(handed), goal); {
			case decision == nil:
			case decision.Hold == nil:
				return decision
			case waits == nil || decision.Hold.Stalled && !waits.Hold.Stalled:
				waits = decision
			}
		}
		return waits
	}
}

// gate holds while another replica is unavailable beyond the budget (I5), or the set is not at rest. The stop of an ordinal
// that returns and is down takes nothing away (I8).
func (p *planner) gate(ordinal int32) *Decision {
	var down []string
	free := false
	for _, o := range p.Ordinals {
		if o.Ordinal == ordinal {
			free = p.back() && o.Pod.down()
		} else if !o.Pod.Found || !o.Pod.Available || o.Pod.Terminating {
			down = append(down, p.podName(o.Ordinal))
		}
	}
	switch {
	case free:
		return nil
	case len(down) >= p.Budget:
		message := fmt.Sprintf("another replica down would exceed the disruption budget of %d", p.Budget)
		if len(down) > 0 {
			message = "waiting for " + strings.Join(down, ", ") + " to be available: " + message
		}
		return waits(api.ReasonReplicaUnavailable, message)
	case !p.Set.RolledOut:
		return waits(api.ReasonRolloutInProgress, "waiting until the rollout of "+p.title()+" is completed")
	}
	return nil
}

// podName returns the name of the pod of an ordinal.
func (p *planner) podName(ordinal int32) string { return fmt.Sprintf("%s-%d", p.Set.Name, ordinal) }

// beforeStop prepares the stop, and ends with the deletion of the claims. Until then the ordinal runs, and everything can
// be withdrawn.
func (f flight) beforeStop() *Decision {
	if f.Turned {
		return f.withdraw()
	}
	if f.Mode == api.ModePause {
		return first(f.towards(volumes.Withdrawn), f.paused)
	}
	return first(f.towards(volumes.Warm), f.each(f.room), f.each(f.secure), f.letThrough, f.towards(volumes.Standby), f.each(f.hold), f.each(f.deleted))
}

// letThrough waits while the ordinal may not be stopped. None of the filler's pods stands by for that time.
func (f flight) letThrough() *Decision {
	held := first(f.present, f.templates, f.permitted, func() *Decision { return f.gate(f.Ordinal) }, f.evictions, f.each(f.unused))
	if held == nil || held.Hold == nil {
		return held
	}
	return cmp.Or(f.towards(volumes.Withdrawn)(), held)
}

// room stalls if the data do not fit the new volume. Nothing is stopped then. For a smaller volume they must have been
// measured, because a last pass that finds no room keeps its ordinal down. No pass measures those of an ordinal that
// returns and is down, and it stays as it is.
func (f flight) room(h Handed, s Slot) *Decision {
	at := slices.IndexFunc(f.target().Templates, func(t Template) bool { return t.Name == h.Template })
	if at < 0 {
		return stalls(api.ReasonClaimTemplateMissing, "claim template "+h.Template+" does not exist in the new templates", "name it there, or set spec.mode to Rollback")
	}
	size := f.target().Templates[at].Size
	switch {
	case s.Used == 0 && f.back() && f.ordinal.Pod.down():
		return nil
	case s.Used == 0 && size < s.Old.Size:
		return stalls(volumes.ReasonCopyNotWarm, fmt.Sprintf("claim %s gets a smaller volume, of %d instead of %d bytes, and no pass has measured its data while the ordinal runs", s.Ref.Name, size, s.Old.Size),
			"let passes measure them: set copy.warm to Auto, Mount or Snapshot; or request at least the present size")
	case size < s.Old.Size && !Fits(s.Used, size, f.Margin):
		return stalls(volumes.ReasonCopySizeTooSmall, fmt.Sprintf("the data of claim %s need %d bytes, and its new volume has %d, of which %d%% stay free (storage.marginPercent)", s.Ref.Name, s.Used, size, f.Margin),
			"request a larger size, or delete data; the ordinal runs until then")
	}
	return nil
}

// secure sets the old volume to Retain.
func (f flight) secure(h Handed, s Slot) *Decision {
	switch {
	case !s.Old.Found || s.Old.Name != h.Old:
		return stalls(volumes.ReasonVolumeLost, fmt.Sprintf("volume %s of claim %s does not exist", h.Old, s.Ref.Name), "restore the PersistentVolume object")
	case s.Old.Departing != nil:
		return &Decision{Hold: s.Old.Departing}
	case !s.Old.Retain:
		return onVolume(Secure, s.Old, s.Old.Ref)
	}
	return nil
}

// unused holds while the claim cannot be replaced, or another pod names it, which would keep it after the stop.
func (f flight) unused(_ Handed, s Slot) *Decision {
	if held := f.replaceable(s); held != nil || len(s.Claim.Users) == 0 {
		return held
	}
	return stalls(volumes.ReasonForeignPod, fmt.Sprintf("claim %s is used by pod %s, too", s.Ref.Name, strings.Join(s.Claim.Users, ", ")), "end that pod, or let it use another claim")
}

// down reports whether the pod does not exist, is not Ready, or is Terminating.
func (pod Pod) down() bool { return !pod.Found || !pod.Ready || pod.Terminating }

// evictions holds while the eviction API would not evict the pod. It evicts a pod that is Pending whatever the budget is
// (kubernetes pkg/registry/core/pod/storage/eviction.go).
func (f flight) evictions() *Decision {
	pod, may := f.ordinal.Pod, f.Evictions
	switch {
	case may == nil, !pod.Found, pod.Terminating, pod.Pending:
		return nil
	case may.Never != nil:
		return &Decision{Hold: may.Never}
	case may.Allowed > 0, !pod.Ready && may.Unhealthy:
		return nil
	}
	decision := waits(api.ReasonBudgetZero, fmt.Sprintf("the PodDisruptionBudget of %s allows no eviction now: the pod of ordinal %d stays", f.title(), f.Ordinal))
	if !pod.Ready {
		decision.Hold.Remedy = "let it evict pods that are not Ready (unhealthyPodEvictionPolicy): " + may.Unlock
	}
	return decision
}

// hold adds the finalizer to every claim before the first is deleted.
func (f flight) hold(_ Handed, s Slot) *Decision {
	if s.Claim.Held {
		return nil
	}
	return onClaim(HoldClaim, s)
}

// deleted deletes a claim that has the finalizer. Without it, the claim would disappear with its pod, and its name would be
// free before a volume is reserved for it.
func (f flight) deleted(h Handed, s Slot) *Decision {
	switch {
	case !f.former(h) || s.Claim.Terminating:
		return nil
	case !s.Claim.Held:
		return onClaim(HoldClaim, s)
	}
	return onClaim(DeleteClaim, s)
}

// withdraw ends the handoff of an ordinal that still runs.
func (f flight) withdraw() *Decision {
	released := func(_ Handed, s Slot) *Decision {
		if s.Claim.Held {
			return onClaim(ReleaseClaim, s)
		}
		return nil
	}
	return first(f.each(released), f.towards(volumes.Dropped), f.forget)
}

// forget ends the handoff. The reason why it was turned back is kept, unless its user has asked for it.
func (f flight) forget() *Decision {
	return f.recorded(func(r *Record) {
		r.Handoff = nil
		if f.Turned && f.Why != modeChanged {
			r.Back, r.BackIn = f.Why, api.ModeRun
		}
		if r.Back != "" && f.Return {
			r.BackIn = api.ModeRollback
		}
	})
}
