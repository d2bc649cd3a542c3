package planner

import (
	"fmt"
	"slices"

	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// Volumes finds reasons why the volumes of the moving ordinals cannot be moved by their methods, and returns the
// warnings of these methods.
func Volumes(s plan.Snapshot) []plan.Finding {
	var findings []plan.Finding
	for _, v := range s.Volumes {
		if !s.ToMove(v.Ordinal) {
			continue
		}
		for _, finding := range []*plan.Finding{InUse(v.Source), AttachedElsewhere(s.Source, v.Ordinal, v.Source), BeingDeleted(v.Source), BeingDeleted(v.Destination)} {
			if finding != nil {
				findings = append(findings, *finding)
			}
		}
		problem := v.Way().Check(volumes.Pair{Shared: v.Shared(s.Spec), Owner: s.UID, Giver: v.Source, Taker: v.Destination, Template: v.Template, Word: v.Word, Copy: v.Copy})
		if problem != nil {
			findings = append(findings, plan.Finding{
				Reason:  problem.Reason,
				Object:  fmt.Sprintf("claim %s/%s of ordinal %d", v.Source.Ref.Namespace, v.Source.Ref.Name, v.Ordinal),
				Message: fmt.Sprintf("source cluster %s, destination cluster %s: %s", s.Source.Cluster, s.Destination.Cluster, problem.Message),
				Remedy:  problem.Remedy,
			})
		}
	}
	return append(findings, methodWarnings(s)...)
}

// methodWarnings returns the warnings of the methods of the claim templates.
func methodWarnings(s plan.Snapshot) []plan.Finding {
	var findings []plan.Finding
	for _, v := range s.Volumes {
		object := "claim template " + v.Template
		if slices.ContainsFunc(findings, func(f plan.Finding) bool { return f.Object == object }) {
			continue
		}
		for _, problem := range warningsOf(s, v) {
			findings = append(findings, plan.Finding{Reason: problem.Reason, Object: object, Message: problem.Message, Remedy: problem.Remedy, Warning: true})
		}
	}
	return findings
}

// warningsOf returns the warnings of a method, in general and for a claim.
func warningsOf(s plan.Snapshot, v plan.OrdinalVolume) []volumes.Problem {
	switch method := v.Way().(type) {
	case volumes.Warner:
		if problem := method.Warn(v.Template); problem != nil {
			return []volumes.Problem{*problem}
		}
		return nil
	case volumes.ClaimWarner:
		return method.WarnOf(volumes.Pair{Owner: s.UID, Giver: v.Source, Taker: v.Destination, Template: v.Template, Copy: v.Copy})
	default:
		return nil
	}
}
