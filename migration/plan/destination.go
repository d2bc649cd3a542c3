package plan

import (
	"cmp"
	"fmt"
	"slices"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// destinationPlanner makes what the destination needs before the first handoff.
type destinationPlanner struct{ *View }

// prepare makes what the destination needs before the first ordinal comes. On the way
// back, and in a pause, nothing is made but a budget for the replicas that are there.
func (p destinationPlanner) prepare() *Decision {
	if p.direction() == api.Back || p.resting() && p.Record.Handoff == nil {
		if p.Destination.Set.Replicas > 0 {
			return p.protect()
		}
		return nil
	}
	side := &p.Destination
	on := func(verb Verb, name string) *Decision {
		return effect(Effect{Verb: verb, Side: DestinationSide, Name: name, Fence: p.fence()})
	}
	switch {
	case !side.NamespaceFound && !p.Spec.CreateNamespace:
		finding := namespaceMissing(*side)
		return Stalled(finding.Reason, finding.Message, finding.Remedy)
	case !side.NamespaceFound:
		return on(CreateNamespace, side.Namespace)
	}
	if decision := dependencyPlanner(p).copies(); decision != nil {
		return decision
	}
	if side.Service.Needed && !side.Service.Found {
		return on(CreateService, side.Service.Name)
	}
	if decision := cmp.Or(p.protect(), p.exports(), namePlanner(p).names()); decision != nil {
		return decision
	}
	if side.Set.Presence == Absent {
		return effect(Effect{
			Verb: CreateSet, Side: DestinationSide, Name: side.Set.Name,
			Start: p.layout.emptyStart(), Fence: p.fence(),
		})
	}
	return nil
}

// protect makes the destination's PodDisruptionBudget when it has none.
func (p destinationPlanner) protect() *Decision {
	if p.Record.Baseline.DisruptionBudget == nil || len(p.Destination.Budgets) > 0 || p.Spec.SameNamespace {
		return nil
	}
	if decision := p.createBudget(p.Record.Baseline.DisruptionBudget.Name); decision.Effect != nil || !p.stopped() {
		return decision
	}
	return nil
}

// createBudget copies the source's PodDisruptionBudget to the destination.
func (p destinationPlanner) createBudget(name string) *Decision {
	switch {
	case len(p.Source.Budgets) == 0 || p.Source.Budgets[0].Name != name:
		return budgetPlanner(p).lostBudget(p.Source)
	case slices.Contains(p.Destination.OtherBudgets, name):
		message, remedy := takenBudget(p.Destination, name)
		return Stalled(api.ReasonForeignBudget, message, remedy)
	}
	return effect(Effect{Verb: CreateBudget, Side: DestinationSide, Name: name, Fence: p.fence(), Author: budgetPlanner(p).author()})
}

// exports makes the ServiceExports of both sides, the destination's first, and
// reads their conditions: a Conflict stalls (KEP-1645). The source has one for as
// long as it owns an ordinal: after that it is withdrawn, and not made again.
func (p destinationPlanner) exports() *Decision {
	if !p.Spec.Export || !p.Source.Service.Needed || p.stopped() {
		return nil
	}
	for _, name := range []SideName{DestinationSide, SourceSide} {
		side := p.Side(name)
		if !side.Export.Found {
			if name == SourceSide && p.whole() {
				continue
			}
			return effect(Effect{Verb: CreateExport, Side: name, Name: side.Service.Name})
		}
		object := fmt.Sprintf("ServiceExport %s/%s in cluster %s", side.Namespace, side.Service.Name, side.Cluster)
		if decision := side.Export.refused(object); decision != nil {
			return decision
		}
	}
	return nil
}

// refused stalls when who implements the exports has refused this one.
func (e Export) refused(object string) *Decision {
	switch {
	case e.Conflict != "":
		return Stalled(api.ReasonExportConflict, object+" is in conflict: "+e.Conflict,
			"make both Services agree in type and ports; the oldest export wins")
	case e.Invalid != "":
		return Stalled(api.ReasonExportInvalid, object+" is not valid: "+e.Invalid, "kubectl describe serviceexport of that name")
	}
	return nil
}
