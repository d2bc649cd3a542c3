// The files check*.go find reasons against a migration in a snapshot: in the StatefulSets, their PodDisruptionBudgets,
// volumes and names. It reads no cluster; package preflight performs the checks that do. A migration does not start
// while there is a finding. Findings that may occur during a move also block the next stop.

package planner

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// Source finds reasons why the source is not stable, is being deleted, or lacks the ordinals to move.
func Source(s plan.Snapshot) []plan.Finding {
	var findings []plan.Finding
	side, set, object := s.Source, s.Source.Set, s.Source.Object()
	add := func(reason, message, remedy string) {
		findings = append(findings, plan.Finding{Reason: reason, Object: object, Message: message, Remedy: remedy})
	}
	if set.Terminating {
		add(api.ReasonSourceBeingDeleted, object+" is being deleted: its pods may all go at any moment", side.WhatKeepsIt())
	}
	if set.Replicas == 0 && len(StrandedOrdinals(s)) == 0 { // an ordinal that was left down must not be started here
		add(api.ReasonNothingToMove, object+" has no replicas", side.Kubectl().Do("scale", set.ResourceName(), "-n", side.Namespace, set.Name, "--replicas=1"))
	}
	if s.Spec.Count > set.Replicas {
		add(api.ReasonCountTooLarge, fmt.Sprintf("%s has %d replicas; %d were asked to move", object, set.Replicas, s.Spec.Count), "create the Migration again with a smaller count, or without one to move all")
	}
	if owner := api.FenceOwner(set.Fence); owner != "" && owner != s.UID {
		findings = append(findings, HeldByAnother(side, side))
	}
	if finding := DeletesClaims(side); finding != nil {
		findings = append(findings, *finding)
	}
	return append(findings, healthFindings(s, side)...)
}

// healthFindings checks that a slice is stable and available when a migration starts.
func healthFindings(s plan.Snapshot, side plan.Side) []plan.Finding {
	var findings []plan.Finding
	set, object := side.Set, side.Object()
	add := func(reason, message, remedy string) {
		findings = append(findings, plan.Finding{Reason: reason, Object: object, Message: message, Remedy: remedy})
	}
	switch {
	case !set.Observed:
		add(api.ReasonRolloutInProgress, object+" has a change that its controller has not observed yet", "wait for it, or look why kube-controller-manager is not running")
	case !set.RolledOut && set.Rolls.Stays != "":
		findings = append(findings, StaysBehind(side))
	case !set.RolledOut:
		add(api.ReasonRolloutInProgress, object+" is in the middle of a roll-out: which revision an ordinal gets would change as the slice moves",
			side.RolloutStatus())
	}
	if names := unavailable(s, side); len(names) > 0 {
		add(api.ReasonSourceNotHealthy, fmt.Sprintf("%s has replicas that are not available: %s; moving another one would take the application below its budget", object, plan.Listed(names)),
			side.Kubectl().Do("get", "pods", "-n", side.Namespace))
	}
	return findings
}

// unavailable returns the names of the unavailable pods of a slice.
func unavailable(s plan.Snapshot, side plan.Side) []string {
	return plan.PodNames(side, plan.Down(s, side), nil)
}

// DeletesClaims refuses a slice whose claims are deleted on scale-down.
func DeletesClaims(s plan.Side) *plan.Finding {
	if !s.Set.DeletesClaims {
		return nil
	}
	return &plan.Finding{
		Reason: api.ReasonClaimsDeletedOnScale, Object: s.Object(),
		Message: s.Object() + " has persistentVolumeClaimRetentionPolicy.whenScaled: Delete: each scale-down of a handoff would delete the ordinal's claim and its data",
		Remedy:  s.Kubectl().Do("patch", s.Set.ResourceName(), "-n", s.Namespace, s.Set.Name, "--type=merge", "-p", `{"spec":{"persistentVolumeClaimRetentionPolicy":{"whenScaled":"Retain"}}}`),
	}
}

// HeldByAnother refuses a StatefulSet that another migration moves (I1).
func HeldByAnother(side, source plan.Side) plan.Finding {
	return plan.Finding{
		Reason: api.ReasonHeldByAnother,
		Object: side.Object(),
		Message: fmt.Sprintf("%s belongs to the Migration with UID %s: two of them would start the same ordinal twice",
			side.Object(), api.FenceOwner(side.Set.Fence)),
		Remedy: "finish or delete that Migration; if it does not exist any more, an ordinal may be down: rebuild its record at the source, and let it end: " + Rebuilds(source, types.UID(api.FenceOwner(side.Set.Fence))),
	}
}
