package simulate

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/volumes"
)

// lastClaim is the index of claim wal of ordinal 1 in twoVolumes.
const lastClaim = 3

// twoVolumes has two ordinals at the source with two claims each. The lastClaim volume was secured.
func twoVolumes(sameCluster bool) plan.Snapshot {
	s := plantest.Scenario{Replicas: 2, Templates: []string{"data", "wal"}, Spec: plan.Spec{SameCluster: sameCluster}}.Build()
	v := &s.Volumes[lastClaim].Source.Volume
	v.Policy, v.Note, v.Fence = corev1.PersistentVolumeReclaimRetain, volumes.Note{Policy: corev1.PersistentVolumeReclaimDelete, By: s.UID}, "m.1"
	if sameCluster {
		s.Volumes[lastClaim].Destination.Volume = *v
	}
	return s
}

// onVolume returns a write to the last volume, carry one of package volumes.
func onVolume(verb plan.Verb) plan.Effect {
	return plan.Effect{Verb: verb, Side: plan.SourceSide, Ordinal: 1, Name: "pv-wal-web-1", UID: "pv-wal-web-1", ResourceVersion: "1"}
}

func carry(side plan.SideName, a volumes.Action) plan.Effect {
	a.Fence = "m.2"
	return plan.Effect{Verb: plan.CarryVolume, Side: side, Ordinal: 1, Template: "wal", Volume: a}
}

// atLast changes the last claim and volume of a side.
func atLast(side plan.SideName, change func(*volumes.Holding)) func(*plan.Snapshot) {
	return func(s *plan.Snapshot) { change(s.Volumes[lastClaim].Holding(side)) }
}

// TestWorldApplyVolume: a claim or a volume is written if it is the judged one and has not changed since (I3). An
// object that is being deleted remains until it is no longer used.
func TestWorldApplyVolume(t *testing.T) {
	volume := onVolume(plan.DeleteVolume)
	claim := plan.Effect{Verb: plan.DeleteClaim, Side: plan.SourceSide, Ordinal: 1, Name: "wal-web-1", UID: "claim-wal-web-1", ResourceVersion: "1"}
	otherClaim, olderClaim, otherVolume, olderVolume := claim, claim, volume, volume
	otherClaim.UID, olderClaim.ResourceVersion, otherVolume.UID, olderVolume.ResourceVersion = "another", "0", "another", "0"
	nobodys, ofThree, ofNone, missing := claim, claim, claim, volume
	nobodys.Name, ofThree.Ordinal, ofNone.Template = "other", 3, "other"
	missing.Side, missing.UID, missing.ResourceVersion, missing.Name = plan.DestinationSide, "", "", "wal-web-1"
	restores := onVolume(plan.RestorePolicy)
	restores.Volume = volumes.Pair{Owner: "migration"}.Restore(twoVolumes(false).Volumes[lastClaim].Source.Volume)
	restored := atLast(plan.SourceSide, func(h *volumes.Holding) {
		h.Volume.Policy, h.Volume.Note, h.Volume.Fence, h.Volume.ResourceVersion = corev1.PersistentVolumeReclaimDelete, volumes.Note{}, "", "v1"
	})
	for name, tc := range map[string]worldWrite{
		"a claim is deleted": {effect: claim, change: atLast(plan.SourceSide, func(h *volumes.Holding) {
			h.Claim.Terminating, h.Claim.ResourceVersion = true, "v1"
		})},
		"a volume is deleted": {effect: volume, change: atLast(plan.SourceSide, func(h *volumes.Holding) {
			h.Volume.Terminating, h.Volume.ResourceVersion = true, "v1"
		})},
		"its policy is restored":     {effect: restores, change: restored},
		"another claim":              {effect: otherClaim},
		"a claim that has changed":   {effect: olderClaim},
		"another volume":             {effect: otherVolume},
		"a volume that has changed":  {effect: olderVolume},
		"a volume that is not there": {effect: missing},
		"the name of another claim":  {effect: nobodys},
		"another ordinal":            {effect: ofThree},
		"another claim template":     {effect: ofNone},
	} {
		t.Run(name, func(t *testing.T) { tc.check(t, twoVolumes(false)) })
	}
}

// TestWorldApplyCarry: one step of package volumes makes its change, if the volume or the claim is in the judged
// version. In one cluster both sides share the volume (I2).
func TestWorldApplyCarry(t *testing.T) {
	to, note := volumes.Ref{Namespace: "shop", Name: "to"}, volumes.Note{Policy: "Recycle", By: "migration"}
	is := func(verb volumes.Verb) volumes.Action {
		after := twoVolumes(false).Volumes[lastClaim].Source.Volume.State()
		switch verb {
		case volumes.Secure:
			after.Policy, after.Note = corev1.PersistentVolumeReclaimRetain, note
		case volumes.Point:
			after.ClaimRef, after.Note = to, note
		default:
			after.ClaimRef = to
		}
		after.Fence = "m.2"
		return volumes.Action{Verb: verb, UID: "pv-wal-web-1", ResourceVersion: "1", After: after, Calls: 2}
	}
	other, older, claim := is(volumes.Park), is(volumes.Park), is(volumes.MarkClaim)
	other.UID, older.ResourceVersion, claim.UID = "another", "0", "claim-wal-web-1"
	otherClaim, olderClaim := claim, claim
	otherClaim.UID, olderClaim.ResourceVersion = "another", "0"
	volume := func(change func(*volumes.Volume)) func(*plan.Snapshot) {
		return atLast(plan.SourceSide, func(h *volumes.Holding) {
			h.Volume.ResourceVersion, h.Volume.Fence = "v1", "m.2"
			change(&h.Volume)
		})
	}
	deletes := atLast(plan.SourceSide, func(h *volumes.Holding) { h.Volume.Policy = corev1.PersistentVolumeReclaimDelete })
	parked := volume(func(v *volumes.Volume) { v.ClaimRef = to })
	for name, tc := range map[string]worldWrite{
		"it is secured": {
			effect: carry(plan.SourceSide, is(volumes.Secure)), before: deletes,
			change: volume(func(v *volumes.Volume) { v.Policy, v.Note = corev1.PersistentVolumeReclaimRetain, note }),
		},
		"it is parked":             {effect: carry(plan.SourceSide, is(volumes.Park)), change: parked},
		"it is pointed at a claim": {effect: carry(plan.SourceSide, is(volumes.Point)), change: volume(func(v *volumes.Volume) { v.ClaimRef, v.Note = to, note })},
		"its claim is marked": {effect: carry(plan.SourceSide, claim), change: atLast(plan.SourceSide, func(h *volumes.Holding) {
			h.Claim.Fence, h.Claim.Calls, h.Claim.ResourceVersion = "m.2", 2, "v1"
		})},
		"another volume":           {effect: carry(plan.SourceSide, other)},
		"a volume that changed":    {effect: carry(plan.SourceSide, older)},
		"another claim":            {effect: carry(plan.SourceSide, otherClaim)},
		"a claim that has changed": {effect: carry(plan.SourceSide, olderClaim)},
	} {
		t.Run(name, func(t *testing.T) { tc.check(t, twoVolumes(false)) })
	}
	t.Run("in one cluster", func(t *testing.T) {
		worldWrite{effect: carry(plan.SourceSide, is(volumes.Park)), change: func(s *plan.Snapshot) {
			parked(s)
			s.Volumes[lastClaim].Destination.Volume = s.Volumes[lastClaim].Source.Volume
		}}.check(t, twoVolumes(true))
	})
}

// TestWorldApplyCreatesHolding: a volume is created for the disk of the other side's, unused and with policy
// Retain (I3). An existing one is not created again.
func TestWorldApplyCreatesHolding(t *testing.T) {
	to := volumes.Ref{Namespace: "shop", Name: "to"}
	volume, claim := volumes.Action{Verb: volumes.CreateVolume, Ref: to}, volumes.Action{Verb: volumes.CreateClaim, Volume: "pv"}
	inUse := func(h *volumes.Holding) {
		h.Volume.Attachments, h.Volume.Terminating, h.Volume.Policy = []volumes.Attachment{{Name: "a"}}, true, corev1.PersistentVolumeReclaimDelete
	}
	made := func(from volumes.Volume) volumes.Volume {
		return volumes.Volume{
			Found: true, Name: from.Name, Handle: from.Handle, Note: from.Note, UID: "u1", ResourceVersion: "v2", Policy: corev1.PersistentVolumeReclaimRetain,
			ClaimRef: to, Ours: true, Fence: "m.2",
		}
	}
	exchanged := func(s *plan.Snapshot) {
		v := &s.Volumes[lastClaim]
		v.Source.Volume, v.Destination.Volume = volumes.Volume{}, v.Source.Volume
		inUse(&v.Destination)
	}
	for name, tc := range map[string]worldWrite{
		"a volume at the destination": {effect: carry(plan.DestinationSide, volume), before: atLast(plan.SourceSide, inUse), change: func(s *plan.Snapshot) {
			s.Volumes[lastClaim].Destination.Volume = made(s.Volumes[lastClaim].Source.Volume)
		}},
		"a volume at the source": {effect: carry(plan.SourceSide, volume), before: exchanged, change: func(s *plan.Snapshot) {
			s.Volumes[lastClaim].Source.Volume = made(s.Volumes[lastClaim].Destination.Volume)
		}},
		"a claim": {effect: carry(plan.DestinationSide, claim), change: atLast(plan.DestinationSide, func(h *volumes.Holding) {
			h.Claim = volumes.Claim{Found: true, UID: "u1", ResourceVersion: "v2", Phase: corev1.ClaimPending, Volume: "pv", Ours: true, Fence: "m.2"}
		})},
		"a volume that is there": {effect: carry(plan.SourceSide, volume)},
		"a claim that is there":  {effect: carry(plan.SourceSide, claim)},
	} {
		t.Run(name, func(t *testing.T) { tc.check(t, twoVolumes(false)) })
	}
}
