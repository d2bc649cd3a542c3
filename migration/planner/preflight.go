package planner

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// accept starts a migration: it checks everything that can be checked before the first write, and records the
// baseline. If it refuses, nothing has been changed.
func (p wholePlanner) accept() *plan.Decision {
	if p.Record.Baseline != nil {
		return nil
	}
	findings := Preflight(p.Snapshot)
	for _, finding := range findings {
		if !finding.Warning {
			return &plan.Decision{Findings: findings, Hold: finding.Hold()}
		}
	}
	if p.Spec.Mode != api.ModeRun {
		return &plan.Decision{Findings: findings, Hold: &plan.Hold{Reason: api.ReasonPaused, Message: "nothing has been changed: mode is " + string(p.Spec.Mode)}}
	}
	if p.Queued != nil {
		return &plan.Decision{Findings: findings, Hold: p.Queued}
	}
	d, _ := Allowance(p.Snapshot)
	start, replicas := p.Extent()
	baseline := &api.Baseline{
		Start: start, Replicas: replicas, DestinationReplicas: replicas - p.Source.Set.Replicas,
		Budget: d, SourceUID: p.Source.Set.UID, StartTime: metav1.NewTime(p.Now),
		SourceCluster: p.Source.ClusterID, DestinationCluster: p.Destination.ClusterID,
	}
	for _, template := range p.Source.Set.Templates {
		baseline.Volumes = append(baseline.Volumes, api.AskedOf(p.Spec.Volumes, template))
	}
	services := p.Spec.Services()
	baseline.Services = &services
	if p.Storage != nil {
		baseline.DefaultStorageClass = p.Storage.Standard
	}
	if baseline.DestinationReplicas > 0 {
		baseline.DestinationUID = p.Destination.Set.UID
	}
	if len(p.Source.Budgets) == 1 {
		b := p.Source.Budgets[0]
		author := b.AuthorForm()
		baseline.DisruptionBudget = &api.DisruptionBudget{Name: b.Name, MinAvailable: author.MinAvailable, MaxUnavailable: author.MaxUnavailable}
		baseline.SourceBudget = versionOf(b)
	}
	if len(p.Destination.Budgets) == 1 && !p.Spec.SameNamespace {
		baseline.DestinationBudget = versionOf(p.Destination.Budgets[0])
	}
	next := p.Record
	next.Baseline, next.Accepted, next.Handoff = baseline, true, nil
	return &plan.Decision{Findings: findings, Record: &next}
}

// Preflight returns all findings that prevent a migration from beginning, and warnings for its user.
func Preflight(s plan.Snapshot) []plan.Finding {
	var findings []plan.Finding
	for _, finding := range s.Preflight {
		if !finding.Warning {
			findings = append(findings, finding)
		}
	}
	if s.Source.Reach != plan.Seen || s.Destination.Reach != plan.Seen {
		return findings
	}
	if finding := s.Unbounded(); finding != nil {
		return append(findings, plan.OfCheck(plan.CheckOrdinals, *finding)...)
	}
	if s.Source.Set.Presence != plan.Seen {
		return append(findings, plan.Finding{
			Check: plan.CheckSource, Reason: api.ReasonSourceMissing, Object: s.Source.Object(),
			Message: s.Source.Object() + " does not exist",
			Remedy:  s.Source.Kubectl().Do("get", s.Source.Set.ResourceName(), "-n", s.Source.Namespace),
		})
	}
	for _, look := range looksAt(s) {
		findings = append(findings, plan.OfCheck(look.check, look.at(s)...)...)
	}
	for _, finding := range s.Preflight {
		if finding.Warning {
			findings = append(findings, finding)
		}
	}
	return findings
}

// look is a check of a snapshot.
type look struct {
	check string
	at    func(plan.Snapshot) []plan.Finding
}

// looksAt returns the checks of a snapshot, in order.
func looksAt(s plan.Snapshot) []look {
	if s.Storage != nil {
		return []look{{plan.CheckSchedule, scheduleFindings}, {plan.CheckStorage, storageFindings}, {plan.CheckSource, storageSource}, {plan.CheckBudget, storageBudgets}, {plan.CheckInFlight, inFlightFindings}, {plan.CheckWriters, writerFindings}}
	}
	return []look{
		{plan.CheckSplit, LeftOut},
		{plan.CheckSchedule, scheduleFindings},
		{plan.CheckSource, Source},
		{plan.CheckBudget, Budgets},
		{plan.CheckForm, Forms},
		{plan.CheckInFlight, inFlightFindings},
		{plan.CheckDestination, Destination},
		{plan.CheckSplit, Split},
		{plan.CheckVolumes, Volumes},
		{plan.CheckServices, Names},
		{plan.CheckCopies, dependencyFindings},
		{plan.CheckWriters, writerFindings},
	}
}
