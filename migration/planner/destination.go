package planner

import (
	"cmp"
	"fmt"
	"slices"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// destinationPlanner creates the objects that the destination needs before the first handoff.
type destinationPlanner struct{ *View }

// prepare creates the objects that the destination needs before the first ordinal arrives. During a rollback and
// in a pause, it creates only a budget for the replicas that are there.
func (p destinationPlanner) prepare() *plan.Decision {
	if decision := dependencyPlanner(p).owed(); decision != nil {
		return decision
	}
	if p.direction() == api.Back || p.resting() && p.Record.Idle() {
		if p.Destination.Set.Replicas > 0 {
			return p.protect()
		}
		return nil
	}
	side := &p.Destination
	on := func(verb plan.Verb, name string) *plan.Decision {
		return effect(plan.Effect{Verb: verb, Side: plan.DestinationSide, Name: name, Fence: p.fence()})
	}
	switch {
	case !side.NamespaceFound && !p.Spec.CreateNamespace:
		return stalledBy(NamespaceMissing(*side))
	case !side.NamespaceFound:
		return on(plan.CreateNamespace, side.Namespace)
	}
	if decision := dependencyPlanner(p).copies(); decision != nil {
		return decision
	}
	if side.Service.Needed && !side.Service.Found {
		return on(plan.CreateService, side.Service.Name)
	}
	if decision := cmp.Or(p.protect(), p.exports(), namePlanner(p).names()); decision != nil {
		return decision
	}
	if side.Set.Presence == plan.Absent {
		return effect(plan.Effect{
			Verb: plan.CreateSet, Side: plan.DestinationSide, Name: side.Set.Name,
			After: plan.SetState{Start: p.layout.emptyStart(), Fence: p.fence()},
		})
	}
	return nil
}

// protect creates the destination's PodDisruptionBudget when it has none.
func (p destinationPlanner) protect() *plan.Decision {
	if p.Record.Baseline.DisruptionBudget == nil || len(p.Destination.Budgets) > 0 || p.Spec.SameNamespace || budgetPlanner(p).withdrawn() {
		return nil
	}
	if decision := p.createBudget(p.Record.Baseline.DisruptionBudget.Name); decision.Effect != nil || !p.stopped() {
		return decision
	}
	return nil
}

// createBudget copies the source's PodDisruptionBudget to the destination.
func (p destinationPlanner) createBudget(name string) *plan.Decision {
	switch {
	case len(p.Source.Budgets) == 0 || p.Source.Budgets[0].Name != name:
		return budgetPlanner(p).lostBudget(p.Source)
	case slices.Contains(p.Destination.OtherBudgets, name):
		message, remedy := BudgetTaken(p.Destination, name)
		return plan.Stalled(api.ReasonForeignBudget, message, remedy)
	}
	return effect(plan.Effect{Verb: plan.CreateBudget, Side: plan.DestinationSide, Name: name, Fence: p.fence(), Author: budgetPlanner(p).author()})
}

// exports creates the ServiceExports of both sides, the destination's first, and reads their conditions: a
// Conflict stalls (KEP-1645). The source has an export as long as it owns an ordinal. After that it is withdrawn,
// and not created again.
func (p destinationPlanner) exports() *plan.Decision {
	if !p.Services().Export || !p.Source.Service.Needed || p.stopped() {
		return nil
	}
	for _, name := range []plan.SideName{plan.DestinationSide, plan.SourceSide} {
		side := p.Side(name)
		if !side.Export.Found {
			if name == plan.SourceSide && p.whole() {
				continue
			}
			return effect(plan.Effect{Verb: plan.CreateExport, Side: name, Name: side.Service.Name})
		}
		object := fmt.Sprintf("ServiceExport %s/%s in cluster %s", side.Namespace, side.Service.Name, side.Cluster)
		if decision := refusedExport(side.Export, object, side.Kubectl().Do("describe", "serviceexport", "-n", side.Namespace)); decision != nil {
			return decision
		}
	}
	return nil
}

// refusedExport stalls when the MCS implementation has rejected this export.
func refusedExport(e plan.Export, object, remedy string) *plan.Decision {
	switch {
	case e.Conflict != "":
		return plan.Stalled(api.ReasonExportConflict, object+" is in conflict: "+e.Conflict,
			"make both Services agree in type and ports; the oldest export wins")
	case e.Invalid != "":
		return plan.Stalled(api.ReasonExportInvalid, object+" is not valid: "+e.Invalid, remedy)
	}
	return nil
}

// namePlanner gives the ordinals names that clients in both clusters can use.
type namePlanner struct{ *View }

// names gives each ordinal its name on the side that owns it, before the first ordinal moves. An ordinal in flight
// gets its name while its volumes are carried.
func (p namePlanner) names() *plan.Decision {
	if _, more := p.next(); !more || !p.Services().NamesOrdinals() || p.stopped() {
		return nil // at the end they may have been deleted
	}
	for _, name := range plan.SideNames {
		side := p.Side(name)
		for _, n := range side.Names {
			if !side.Set.Has(n.Ordinal) {
				continue
			}
			if decision := p.nameAt(name, n); decision != nil {
				return decision
			}
			if decision := refusedExport(n.Export, side.ExportOf(n.Ordinal), side.Kubectl().Do("describe", "serviceexport", "-n", side.Namespace, side.PodName(n.Ordinal))); decision != nil {
				return decision
			}
		}
	}
	return nil
}

// rename moves the name of an ordinal that is down to its taker. The name exists there before the pod starts, and
// the migration's objects at the giver are deleted. The export at the taker is created first, so that the shared
// ServiceImport always has one.
func (p namePlanner) rename(k int32) *plan.Decision {
	if !p.Services().NamesOrdinals() {
		return nil
	}
	to, read := p.taker.NameOf(k)
	from, also := p.giver.NameOf(k)
	also = also || p.giver.Lost
	if !read || !also {
		return &plan.Decision{Hold: &plan.Hold{Reason: api.ReasonNameUnread, Message: fmt.Sprintf("the Services of ordinal %d were not read", k)}}
	}
	if decision := p.nameAt(p.takerName, to); decision != nil {
		return decision
	}
	if decision := p.keepName(p.takerName, to); decision != nil {
		return decision
	}
	return p.unname(p.giverName, from)
}

// keepName writes the current fence on the migration's Service and export of a name, before the ordinal uses the
// name again. A late delete that was decided before the direction changed carries the former resourceVersion, and
// is refused.
func (p namePlanner) keepName(name plan.SideName, n plan.Name) *plan.Decision {
	e := plan.Effect{Side: name, Ordinal: n.Ordinal, Name: p.Side(name).PodName(n.Ordinal), Fence: p.fence()}
	switch {
	case n.Service.Ours && n.Service.Fence != p.fence():
		e.Verb, e.UID, e.ResourceVersion = plan.MarkPodService, n.Service.UID, n.Service.ResourceVersion
	case n.Export.Ours && n.Export.Fence != p.fence():
		e.Verb, e.UID, e.ResourceVersion = plan.MarkPodExport, n.Export.UID, n.Export.ResourceVersion
	default:
		return nil
	}
	return effect(e)
}

// nameAt creates the missing objects of an ordinal's name on a side.
func (p namePlanner) nameAt(name plan.SideName, n plan.Name) *plan.Decision {
	side := p.Side(name)
	object := side.PodName(n.Ordinal)
	switch {
	case n.Service.Terminating:
		return p.nameGoes(*side, "svc", object, n.Service.Keeps, n.Service.DeletedAt)
	case n.Export.Terminating:
		return p.nameGoes(*side, "serviceexport", object, n.Export.Keeps, n.Export.DeletedAt)
	case !n.Service.Found:
		return effect(plan.Effect{Verb: plan.CreatePodService, Side: name, Ordinal: n.Ordinal, Name: object, Fence: p.fence()})
	case !n.Service.Selects:
		return p.taken(*side, n.Ordinal)
	case !n.Export.Found:
		return effect(plan.Effect{Verb: plan.CreatePodExport, Side: name, Ordinal: n.Ordinal, Name: object, Fence: p.fence()})
	}
	return nil
}

// nameGoes waits until the former Service or export of an ordinal is deleted.
func (p namePlanner) nameGoes(side plan.Side, kind, object, keeps string, at int64) *plan.Decision {
	going := volumes.Deletion{
		Object: fmt.Sprintf("%s %s/%s in cluster %s", map[string]string{"svc": "Service", "serviceexport": "ServiceExport"}[kind], side.Namespace, object, side.Cluster),
		Look:   side.Kubectl().Do("get", kind, "-n", side.Namespace, object, "-o", "yaml"), At: at,
	}
	if keeps != "" {
		going.Keeps = []string{keeps}
	}
	return &plan.Decision{Hold: p.going(&going)}
}

// taken stalls when a foreign Service has the name of an ordinal during the move. Names cannot be turned off at
// that point, because the names that were created would be left behind. After a rollback, every ordinal has its
// former name.
func (p namePlanner) taken(side plan.Side, k int32) *plan.Decision {
	pod := side.PodName(k)
	remedy := "rename that Service, or make it select only that pod: " + side.Kubectl().Do("edit", "svc", "-n", side.Namespace, pod)
	if p.direction() == api.Forward {
		remedy += fmt.Sprintf("; to move without names, first roll back: %s, then set spec.services.perOrdinal to None and run again", p.command("rollback"))
	}
	return plan.Stalled(api.ReasonServiceTaken, fmt.Sprintf("%s does not select only pod %s: the name of the ordinal would lead to another one", side.ServiceOf(k), pod), remedy)
}

// unname deletes the migration's objects of an ordinal's name on a side, the export first. It does not wait for
// their deletion to complete: no ordinal stays down because of the finalizer of another controller.
func (p namePlanner) unname(name plan.SideName, n plan.Name) *plan.Decision {
	e := plan.Effect{Side: name, Ordinal: n.Ordinal, Name: p.Side(name).PodName(n.Ordinal)}
	switch {
	case n.Export.Found && n.Export.Ours && !n.Export.Terminating:
		e.Verb, e.UID, e.ResourceVersion = plan.DeletePodExport, n.Export.UID, n.Export.ResourceVersion
	case n.Service.Found && n.Service.Ours && !n.Service.Terminating:
		e.Verb, e.UID, e.ResourceVersion = plan.DeletePodService, n.Service.UID, n.Service.ResourceVersion
	default:
		return nil
	}
	return effect(e)
}

// dropNames deletes at the end the names that the migration created. It deletes all of them if the spec requests
// it, and always those on the side where the ordinal is not.
func (p namePlanner) dropNames() *plan.Decision {
	if !p.Services().NamesOrdinals() {
		return nil
	}
	for _, name := range plan.SideNames {
		side := p.Side(name)
		for _, n := range side.Names {
			if side.Set.Has(n.Ordinal) && !p.Spec.DropNames {
				continue
			}
			if decision := p.unname(name, n); decision != nil {
				return decision
			}
		}
	}
	return nil
}
