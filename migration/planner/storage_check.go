package planner

import (
	"fmt"
	"slices"
	"strings"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/inplace"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/drift"
)

// storageFindings finds reasons why the volumes of a set cannot be replaced under its own name.
func storageFindings(s plan.Snapshot) []plan.Finding {
	p := storagePlanner{viewOf(s)}
	findings := append([]plan.Finding(nil), s.Storage.Objections...)
	if findings == nil {
		findings = p.ofSet()
	}
	for _, asked := range s.Spec.Volumes {
		findings = append(findings, p.ofTemplate(asked)...)
	}
	for _, v := range s.Volumes {
		findings = append(findings, p.ofClaim(v)...)
	}
	return findings
}

// storageBudgets finds reasons in the budgets. A driver changes volumes while their pods run, so that a budget of zero is only
// in the way of copies, and of the restart of a pod whose file system grows only then.
func storageBudgets(s plan.Snapshot) []plan.Finding {
	return ofStops(s, Budgets(s), api.ReasonBudgetZero)
}

// storageSource finds reasons in the state of the set. Nothing is scaled down, so whenScaled deletes no claim, and a driver
// also grows the full volume of a pod that fails.
func storageSource(s plan.Snapshot) []plan.Finding {
	findings := slices.DeleteFunc(Source(s), func(f plan.Finding) bool { return f.Reason == api.ReasonClaimsDeletedOnScale })
	return ofStops(s, findings, api.ReasonSourceNotHealthy)
}

// ofStops makes findings of a reason warnings if no ordinal is stopped for a copy.
func ofStops(s plan.Snapshot, findings []plan.Finding, reason string) []plan.Finding {
	copies := slices.ContainsFunc(s.Volumes, func(v plan.OrdinalVolume) bool { return v.Needs == drift.Copy })
	for i := range findings {
		findings[i].Warning = findings[i].Warning || findings[i].Reason == reason && !copies
	}
	return findings
}

// finding returns a finding about the set.
func (p storagePlanner) finding(reason, message, remedy string) plan.Finding {
	return plan.Finding{Reason: reason, Object: p.Source.Object(), Message: message, Remedy: remedy}
}

// ofSet finds reasons in the StatefulSet.
func (p storagePlanner) ofSet() []plan.Finding {
	var findings []plan.Finding
	set, object := p.Storage.Set, p.Source.Object()
	add := func(reason, message, remedy string) { findings = append(findings, p.finding(reason, message, remedy)) }
	if refusal := set.Refusal(object); refusal != nil && !p.pausesOwner() {
		add(refusal.Reason, refusal.Message, refusal.Remedy)
	}
	if kept := set.Kept(object); kept != nil && !set.Manifest.Equals(p.Storage.Wanted) {
		add(kept.Reason, kept.Message, kept.Remedy)
	}
	if set.Owner != "" && set.Operator.Field != "" {
		findings = append(findings, p.resumes())
	}
	if reserves := p.reserves(); reserves != nil {
		findings = append(findings, *reserves)
	}
	if set.DeletesClaims {
		add(volumes.ReasonClaimOwned, object+" has persistentVolumeClaimRetentionPolicy.whenDeleted: Delete: its claims would be deleted with it",
			p.Source.Kubectl().Do("patch", p.Source.Set.ResourceName(), "-n", p.Source.Namespace, p.Source.Set.Name, "--type=merge", "-p", `{"spec":{"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Retain"}}}`))
	}
	if p.Spec.Count > 0 {
		add(api.ReasonCountTooLarge, "spec.ordinals.count is for a move: the claim templates are those of all ordinals", "create the Migration again without it")
	}
	if in := p.observed(); set.Manifest.Equals(in.Wanted) && len(in.Behind()) == 0 {
		add(api.ReasonNothingToMove, "the claims of "+object+" have what spec.volumes asks for", "name the change in spec.volumes: storageClassName, size, volumeAttributesClassName or accessModes")
	}
	return findings
}

// pausesOwner reports whether the migration pauses the owner of the set before it writes anything else.
func (p storagePlanner) pausesOwner() bool {
	set := p.Storage.Set
	return p.Spec.PauseWriters && set.Locked == "" && set.Operator.Field != ""
}

// resumes warns that the owner of the set writes its own claim templates after its pause.
func (p storagePlanner) resumes() plan.Finding {
	set := p.Storage.Set
	warning := p.finding(api.ReasonOwnedByOperator, p.Source.Object()+" is controlled by "+set.Owner+": when that is resumed, it writes the storage of its "+set.Operator.Field,
		"leave it paused until the end, and write the new class and size into its "+set.Operator.Field+" before it is resumed")
	warning.Warning = true
	return warning
}

// reserves returns a finding for a set that skips ordinals: the ordinals of its range are then not those of its claims.
func (p storagePlanner) reserves() *plan.Finding {
	if !p.Source.Set.Reserves {
		return nil
	}
	return new(p.finding(api.ReasonKindUnsupported, p.Source.Object()+" has reserveOrdinals: its range has gaps, and the ordinals of the change would not be those of the set",
		p.Source.Kubectl().Do("patch", p.Source.Set.ResourceName(), "-n", p.Source.Namespace, p.Source.Set.Name, "--type=merge", "-p", `{"spec":{"reserveOrdinals":null}}`)))
}

// ofTemplate finds reasons in an entry of spec.volumes.
func (p storagePlanner) ofTemplate(asked api.VolumeSpec) []plan.Finding {
	switch method := api.AskedOf(p.Spec.Volumes, asked.ClaimTemplate).Method; {
	case method == api.MethodEmpty:
		return []plan.Finding{p.finding(volumes.ReasonUnknownMethod,
			fmt.Sprintf("method %s of claim template %s cannot change storage in place", method, asked.ClaimTemplate), "use method Copy or Snapshot, which fill a new volume, or Rebind, by which the driver changes the present one")}
	case asked.Copy.Verify == api.CopyVerifyLater:
		return []plan.Finding{p.finding(volumes.ReasonCopyProvesLater,
			"copy.verify Later of claim template "+asked.ClaimTemplate+" is for a move: a volume that is replaced in place is compared before its ordinal starts", "set copy.verify to Full or Changed, or leave it out")}
	}
	return nil
}

// ofClaim finds reasons in a claim that is changed or replaced.
func (p storagePlanner) ofClaim(v plan.OrdinalVolume) []plan.Finding {
	claim, ref := v.Source.Claim, v.Source.Ref
	about := func(reason, message, remedy string) []plan.Finding {
		return []plan.Finding{{Reason: reason, Object: fmt.Sprintf("claim %s/%s in cluster %s", ref.Namespace, ref.Name, p.Source.Cluster), Message: message, Remedy: remedy}}
	}
	if claim.Terminating && claim.Held {
		return about(volumes.ReasonClaimNotBound, "claim "+ref.Name+" is being deleted, and the finalizer of another migration keeps it", "let that migration end; if its record is lost, "+inplace.Free(p.Source.Kubectl(), ref, claim.Volume))
	}
	if v.Needs == drift.Nothing || v.Needs == "" {
		return nil
	}
	users := claimInPlace(v.Source, newOf(v)).Users
	switch grows := v.Needs == drift.Expand || v.Needs == drift.Modify; {
	case v.Needs == drift.Refill:
		return about(volumes.ReasonClaimDiverges, "the volume mode of claim "+ref.Name+" differs from its template, and no copy turns files into blocks, or blocks into files", v.Source.Describe())
	case v.Needs == drift.Undecided:
		return about(volumes.ReasonClassMissing, "what claim "+ref.Name+" needs is not known: a class does not exist, or its volume", v.Source.Describe())
	case !claim.Found || claim.Volume == "" || claim.Terminating:
		return about(volumes.ReasonClaimNotBound, "claim "+ref.Name+" is not bound, or is being deleted", v.Source.Describe())
	case v.Source.Volume.Terminating:
		departing := volumes.Departing(v.Source)
		return about(departing.Reason, departing.Message, departing.Remedy)
	case grows:
		return nil // the ordinal runs, and keeps the claim
	case !v.Method.FillsSecond():
		return about(api.ReasonStorageUnfit, p.slot(p.View, nil, v).Unfit(), "use method Copy or Snapshot for claim template "+v.Template)
	case claim.Owned:
		return about(volumes.ReasonClaimOwned, "claim "+ref.Name+" has an owner, with which it would be deleted", v.Source.Describe())
	case claim.OncePod && v.Method == api.MethodCopy:
		return about(volumes.ReasonClaimNotShareable, "claim "+ref.Name+" has access mode ReadWriteOncePod: method Copy reads it by a second pod while its ordinal runs, and no second pod can mount it",
			"use method Snapshot for claim template "+v.Template+", which needs no second pod: --volume "+v.Template+"=method=snapshot; or copy it with the application stopped")
	case stays(v.Source) != nil:
		kept := stays(v.Source)
		return about(kept.Reason, kept.Message, kept.Remedy)
	case len(users) > 0:
		return about(volumes.ReasonForeignPod, fmt.Sprintf("claim %s is used by pod %s, too: it would keep the claim after the stop", ref.Name, strings.Join(users, ", ")), "end that pod, or let it use another claim")
	}
	return nil
}
