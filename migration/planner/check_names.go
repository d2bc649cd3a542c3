package planner

import (
	"fmt"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// Names finds Services of other owners that have the names of ordinals.
func Names(s plan.Snapshot) []plan.Finding {
	var findings []plan.Finding
	for _, side := range []plan.Side{s.Source, s.Destination} {
		for _, n := range side.Names {
			if n.Service.Found && !n.Service.Selects {
				findings = append(findings, ServiceTaken(side, n.Ordinal))
			}
		}
	}
	return findings
}

// ServiceTaken refuses a Service of another owner that has the name of an ordinal's Service.
func ServiceTaken(side plan.Side, ordinal int32) plan.Finding {
	return plan.Finding{
		Reason: api.ReasonServiceTaken, Object: side.ServiceOf(ordinal),
		Message: fmt.Sprintf("%s does not select only pod %s: its name would lead to another one", side.ServiceOf(ordinal), side.PodName(ordinal)),
		Remedy:  "rename that Service, or set spec.services.perOrdinal to None; " + side.Kubectl().Do("get", "svc", "-n", side.Namespace, side.PodName(ordinal), "-o", "yaml"),
	}
}
