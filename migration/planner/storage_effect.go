package planner

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/inplace"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// inPlaceVerbs maps the writes of package inplace to the verbs of effects. Those on volumes are actions of package volumes.
var inPlaceVerbs = map[inplace.Verb]plan.Verb{
	inplace.DeleteSet: plan.OrphanSet, inplace.CreateSet: plan.RecreateSet, inplace.UpdateSet: plan.UpdateSet, inplace.PokeSet: plan.PokeSet,
	inplace.ChangeClaim: plan.ChangeClaim, inplace.HoldClaim: plan.HoldClaim, inplace.DeleteClaim: plan.EndClaim, inplace.ReleaseClaim: plan.FreeClaim, inplace.Evict: plan.EvictPod,
}

// effect returns the write of an action.
func (p storagePlanner) effect(s inplace.Snapshot, decision inplace.Decision) *plan.Decision {
	a := *decision.Action
	switch a.Verb {
	case inplace.Fill:
		return p.filling(s, decision.Template, *a.Fill)
	case inplace.Secure, inplace.Restore, inplace.Reserve, inplace.Park:
		return p.onVolume(s, a)
	case inplace.CreateClaim, inplace.DropClaim:
		return p.onClaim(s, a)
	default:
	}
	e := plan.Effect{Verb: inPlaceVerbs[a.Verb], Side: plan.SourceSide, Name: a.Name, UID: a.UID, ResourceVersion: a.ResourceVersion, Fence: p.fence(), Manifest: a.Manifest.Text, Request: a.Request, Ordinal: plan.NoOrdinal}
	switch a.Verb {
	case inplace.DeleteSet:
		e.Propagation = metav1.DeletePropagationOrphan
	case inplace.PokeSet:
		e.Poke = PokeValue(a.Poke)
	default:
	}
	if e.OfOrdinal() {
		e.Ordinal = ordinalOf(s, a)
	}
	step := api.StepScaleDown
	switch a.Verb {
	case inplace.ReleaseClaim, inplace.PokeSet:
		step = api.StepScaleUp
	default:
	}
	decided := effect(e)
	if s.Record.Handoff != nil {
		decided.Step = step
	}
	return decided
}

// ordinalOf returns the ordinal that an action is about: that of its claim, or the one in flight.
func ordinalOf(s inplace.Snapshot, a inplace.Action) int32 {
	for _, o := range s.Ordinals {
		if slices.ContainsFunc(o.Slots, func(slot inplace.Slot) bool {
			return slices.Contains([]string{slot.Ref.Name, slot.Old.Name, slot.New.Name}, a.Name)
		}) {
			return o.Ordinal
		}
	}
	if s.Record.Handoff != nil {
		return s.Record.Handoff.Ordinal
	}
	return plan.NoOrdinal
}

// filling returns a write of the method that fills the new volume.
func (p storagePlanner) filling(s inplace.Snapshot, template string, action volumes.Action) *plan.Decision {
	view := p.facing(s.Record.Handoff)
	v, found := view.volumeOf(s.Record.Handoff.Ordinal, template)
	if !found {
		return plan.Stalled(api.ReasonVolumeUnbound, "claim template "+template+" was not read", "the read is repeated")
	}
	step := api.StepCarryVolumes
	if s.Where() == inplace.Before {
		step = api.StepCopyAhead
	}
	decided := effect(plan.Effect{
		Verb: plan.CarryVolume, Side: carryPlanner{view}.sideOf(action), Ordinal: v.Ordinal, Name: cmp.Or(action.Volume, action.Copy.Pod, action.Ref.Name), Template: template, Volume: action,
		Carriage: plan.Carriage{Method: v.Method, Giver: view.giverName, Pair: p.pairOf(view, s, v)},
	})
	decided.Step = step
	return decided
}

// onVolume returns a write of a volume: its reclaim policy, or its claimRef.
func (p storagePlanner) onVolume(s inplace.Snapshot, a inplace.Action) *plan.Decision {
	h := s.Record.Handoff
	view := p.facing(h)
	k := ordinalOf(s, a)
	for _, v := range view.claimsOf(k) {
		pair := p.pairOf(view, s, v)
		for _, volume := range []volumes.Volume{view.oldOf(v).Volume, newOf(v).Volume} {
			if volume.Name != a.Name {
				continue
			}
			action := pair.Written(verbOf(a.Verb), volume, p.edit(a, h, v.Template, volume))
			if a.Verb == inplace.Restore {
				return restorePolicy(plan.SourceSide, k, action)
			}
			decided := effect(plan.Effect{
				Verb: plan.CarryVolume, Side: view.giverName, Ordinal: k, Name: a.Name, Template: v.Template, Volume: action,
				Carriage: plan.Carriage{Method: v.Method, Giver: view.giverName, Pair: pair},
			})
			if decided.Step = api.StepCarryVolumes; a.Verb == inplace.Secure {
				decided.Step = api.StepSecureVolumes
			}
			return decided
		}
	}
	return plan.Stalled(volumes.ReasonVolumeLost, "volume "+a.Name+" was not read", "restore the PersistentVolume object")
}

// onClaim returns a write of the claim that follows the one that was deleted. It has the form of the present template, as
// the controller of the set would create it.
func (p storagePlanner) onClaim(s inplace.Snapshot, a inplace.Action) *plan.Decision {
	for _, v := range p.facing(s.Record.Handoff).claimsOf(s.Record.Handoff.Ordinal) {
		if ref := v.Holding(giverOf(s.Record.Handoff)).Ref; ref.Name == a.Name {
			action := volumes.Action{Verb: volumes.DeleteLost, AtGiver: true, Ref: ref, UID: a.UID, ResourceVersion: a.ResourceVersion, Fence: p.fence()}
			if a.Verb == inplace.CreateClaim {
				action.Verb, action.Volume, action.Copy.Like = volumes.CreateClaim, a.Volume, s.Set.Manifest.Claim(a.Template)
			}
			decided := p.filling(s, v.Template, action)
			decided.Step = api.StepScaleUp
			return decided
		}
	}
	return plan.Stalled(api.ReasonVolumeUnbound, "claim "+a.Name+" was not read", "the read is repeated")
}

func verbOf(verb inplace.Verb) volumes.Verb {
	return map[inplace.Verb]volumes.Verb{inplace.Secure: volumes.Secure, inplace.Restore: volumes.Restore, inplace.Reserve: volumes.Point, inplace.Park: volumes.Park}[verb]
}

// edit returns the change of a volume. A volume that is reserved for its ordinal has no release mark any more, because its
// pod may write; the new one gets the seal as its proof.
func (p storagePlanner) edit(a inplace.Action, h *inplace.Handoff, template string, volume volumes.Volume) func(*volumes.State) {
	switch a.Verb {
	case inplace.Secure:
		return volume.Secured(p.UID)
	case inplace.Restore:
		return volume.Restored(p.UID)
	default:
	}
	return func(state *volumes.State) {
		state.ClaimRef, state.Released = a.Ref, ""
		if a.Verb != inplace.Reserve || h == nil {
			return
		}
		for _, handed := range h.Slots {
			if handed.Template == template && handed.New == volume.Name {
				state.Seal = volumes.SealBy(handed.Seal, p.UID)
			}
		}
	}
}

// PokeValue returns the value of the annotation that makes the controller of a set reconcile it.
func PokeValue(poke inplace.Poke) string {
	return string(poke.For) + " " + poke.At.UTC().Format(time.RFC3339Nano)
}
