package preflight

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// unnameable finds reasons why ordinals cannot have a name that survives the move.
func (e *Inspector) unnameable(m *api.Migration) []plan.Finding {
	if !m.AcceptedServices().NamesOrdinals() {
		return nil
	}
	add := func(message string) []plan.Finding {
		return []plan.Finding{{
			Reason: api.ReasonNameImpossible, Object: e.Source.Object(), Message: "spec.services.perOrdinal is Export, and " + message,
			Remedy: "set spec.services.perOrdinal to None, or move the StatefulSet under its name and namespace to another cluster",
		}}
	}
	problems := validation.IsDNS1035Label(plan.PodName(e.Source.Set, 0))
	switch {
	case e.Source.Set != e.Destination.Set || e.Source.Namespace != e.Destination.Namespace:
		return add(fmt.Sprintf("%s becomes %s/%s: the names of its pods would change", e.Source.Object(), e.Destination.Namespace, e.Destination.Set))
	case len(problems) > 0:
		return add(fmt.Sprintf("%s has pods whose names no Service may have: %s", e.Source.Object(), problems[0]))
	}
	return nil
}

// unexportable finds a cluster that does not serve the exports that the migration needs.
func (e *Inspector) unexportable(s Subject) []plan.Finding {
	if e.Source.ExportVersion != "" && e.Destination.ExportVersion != "" {
		return nil
	}
	refused := func(who, instead string) plan.Finding {
		return plan.Finding{
			Reason: api.ReasonExportUnsupported, Object: "ServiceExport",
			Message: who + " asks for exports, and one of the clusters does not serve ServiceExport (multicluster.x-k8s.io)",
			Remedy:  "install the Multi-Cluster Services API in both clusters, or " + instead,
		}
	}
	var findings []plan.Finding
	if s.Migration.AcceptedServices().Exports() {
		findings = append(findings, refused("spec.services", "turn spec.services.export and perOrdinal off"))
	}
	if s.Migration.ExportsReceivers() {
		findings = append(findings, refused("copy.serviceType", "set copy.serviceType to another one, or copy.transport to Relay"))
	}
	return findings
}
