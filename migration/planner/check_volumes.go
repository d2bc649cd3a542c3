package planner

import (
	"fmt"
	"slices"

	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// Volumes finds reasons why the volumes of the moving ordinals cannot be moved by their methods, and returns the
// warnings of these methods, once for each claim template.
func Volumes(s plan.Snapshot) []plan.Finding {
	var refusals, warnings []plan.Finding
	for _, v := range s.Volumes {
		refused, warned := v.Way().Check(volumes.Pair{Shared: v.Shared(s.Spec), Owner: s.UID, Giver: v.Source, Taker: v.Destination, Template: v.Template, Word: v.Word, Copy: v.Copy}, volumes.BeforeMove)
		if s.ToMove(v.Ordinal) {
			refusals = append(refusals, refusalsOf(s, v, refused)...)
		}
		template := "claim template " + v.Template
		if slices.ContainsFunc(warnings, func(f plan.Finding) bool { return f.Object == template }) {
			continue
		}
		for _, problem := range warned {
			warnings = append(warnings, plan.FindingOf(template, problem))
		}
	}
	return append(refusals, warnings...)
}

// refusalsOf returns why a volume cannot be moved: its own state, and the refusal of its method.
func refusalsOf(s plan.Snapshot, v plan.OrdinalVolume, refused *volumes.Reason) []plan.Finding {
	var findings []plan.Finding
	for _, finding := range []*plan.Finding{InUse(v.Source), AttachedElsewhere(s.Source, v.Ordinal, v.Source), BeingDeleted(v.Source), BeingDeleted(v.Destination)} {
		if finding != nil {
			findings = append(findings, *finding)
		}
	}
	if refused != nil {
		refused.Message = fmt.Sprintf("source cluster %s, destination cluster %s: %s", s.Source.Cluster, s.Destination.Cluster, refused.Message)
		findings = append(findings, plan.FindingOf(fmt.Sprintf("%s of ordinal %d", claimNamed(v.Source), v.Ordinal), *refused))
	}
	return findings
}
