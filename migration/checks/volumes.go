package checks

import (
	"fmt"
	"slices"

	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// Volumes finds why the volumes of the ordinals that are to move cannot be carried, by the methods of these, and what those
// warn of.
func Volumes(s plan.Snapshot) []plan.Finding {
	var findings []plan.Finding
	for _, v := range s.Volumes {
		if !s.ToMove(v.Ordinal) {
			continue
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

// methodWarnings say what the methods mean by which claim templates move.
func methodWarnings(s plan.Snapshot) []plan.Finding {
	var findings []plan.Finding
	for _, v := range s.Volumes {
		object, problem := "claim template "+v.Template, warningOf(s, v)
		if problem == nil || slices.ContainsFunc(findings, func(f plan.Finding) bool { return f.Object == object }) {
			continue
		}
		findings = append(findings, plan.Finding{Reason: problem.Reason, Object: object, Message: problem.Message, Remedy: problem.Remedy, Warning: true})
	}
	return findings
}

// warningOf is what a person should know of a method, or of it for a claim; nil: nothing.
func warningOf(s plan.Snapshot, v plan.OrdinalVolume) *volumes.Problem {
	switch method := v.Way().(type) {
	case volumes.Warner:
		return method.Warn(v.Template)
	case volumes.ClaimWarner:
		return method.WarnOf(volumes.Pair{Owner: s.UID, Giver: v.Source, Taker: v.Destination, Template: v.Template, Copy: v.Copy})
	default:
		return nil
	}
}
