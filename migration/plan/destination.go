package plan

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// destinationPlanner makes what the destination needs before the first handoff.
type destinationPlanner struct{ *View }

// Dependent is an object that the slice needs on its side.
type Dependent struct {
	Needed bool
	Found  bool
	Name   string
	Ours   bool
}

// Export is what matters of a ServiceExport.
type Export struct {
	Found           bool
	UID             types.UID
	ResourceVersion string
	// Conflict is the message of a Conflict condition that is True.
	Conflict string
	// Invalid is the message of a Valid condition that is False.
	Invalid string
	Ours    bool
	// Fence is the fence under which a migration wrote it last.
	Fence string
}

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

// namePlanner gives the ordinals names that both clusters know.
type namePlanner struct{ *View }

// Name is what gives one ordinal a name that clients in both clusters use, as it was
// seen on a side: a headless Service named after the pod, and its ServiceExport.
type Name struct {
	Ordinal int32
	Service PodService
	Export  Export
}

// PodService is what matters of the Service of one pod.
type PodService struct {
	Found           bool
	UID             types.UID
	ResourceVersion string
	// Selects is true when it selects the ordinal's pod and no other one.
	Selects bool
	Ours    bool
	// Fence is the fence under which a migration wrote it last.
	Fence string
}

// names gives each ordinal its name on the side that owns it, before the first one
// moves. One that is on its way gets its name as it is carried over.
func (p namePlanner) names() *Decision {
	if _, more := p.next(); !more || !p.Spec.NameOrdinals || p.stopped() {
		return nil // at the end they may have been removed
	}
	for _, name := range SideNames {
		side := p.Side(name)
		for _, n := range side.Names {
			if !side.Set.Has(n.Ordinal) {
				continue
			}
			if decision := p.nameAt(name, n); decision != nil {
				return decision
			}
			if decision := n.Export.refused(side.podExport(n.Ordinal)); decision != nil {
				return decision
			}
		}
	}
	return nil
}

// rename takes the name of an ordinal that is down over to its taker: there it exists
// before the pod starts, and what was made at the giver goes. The export at the taker
// comes first, so that the ServiceImport that both sides share is never without one.
func (p namePlanner) rename(k int32) *Decision {
	if !p.Spec.NameOrdinals {
		return nil
	}
	to, read := p.taker.NameOf(k)
	from, also := p.giver.NameOf(k)
	also = also || p.giver.Lost
	if !read || !also {
		return &Decision{Hold: &Hold{Reason: api.ReasonNameUnread, Message: fmt.Sprintf("the Services of ordinal %d were not read", k)}}
	}
	if decision := p.nameAt(p.takerName, to); decision != nil {
		return decision
	}
	if decision := p.keepName(p.takerName, to); decision != nil {
		return decision
	}
	return p.unname(p.giverName, from)
}

// keepName writes the present fence on what the migration has made of a name, before the ordinal
// relies on it again: a removal that was judged before the migration was turned round, and comes
// late, carries the resourceVersion from before and is refused.
func (p namePlanner) keepName(name SideName, n Name) *Decision {
	e := Effect{Side: name, Ordinal: n.Ordinal, Name: p.Side(name).podName(n.Ordinal), Fence: p.fence()}
	switch {
	case n.Service.Ours && n.Service.Fence != p.fence():
		e.Verb, e.UID, e.ResourceVersion = MarkPodService, n.Service.UID, n.Service.ResourceVersion
	case n.Export.Ours && n.Export.Fence != p.fence():
		e.Verb, e.UID, e.ResourceVersion = MarkPodExport, n.Export.UID, n.Export.ResourceVersion
	default:
		return nil
	}
	return effect(e)
}

// nameAt makes what the name of an ordinal lacks on a side.
func (p namePlanner) nameAt(name SideName, n Name) *Decision {
	side := p.Side(name)
	object := side.podName(n.Ordinal)
	switch {
	case !n.Service.Found:
		return effect(Effect{Verb: CreatePodService, Side: name, Ordinal: n.Ordinal, Name: object, Fence: p.fence()})
	case !n.Service.Selects:
		return Stalled(api.ReasonServiceTaken, serviceTaken(*side, n.Ordinal), serviceTakenRemedy(*side, n.Ordinal))
	case !n.Export.Found:
		return effect(Effect{Verb: CreatePodExport, Side: name, Ordinal: n.Ordinal, Name: object, Fence: p.fence()})
	}
	return nil
}

// unname removes what the migration has made of an ordinal's name on a side, the
// export first.
func (p namePlanner) unname(name SideName, n Name) *Decision {
	e := Effect{Side: name, Ordinal: n.Ordinal, Name: p.Side(name).podName(n.Ordinal)}
	switch {
	case n.Export.Found && n.Export.Ours:
		e.Verb, e.UID, e.ResourceVersion = DeletePodExport, n.Export.UID, n.Export.ResourceVersion
	case n.Service.Found && n.Service.Ours:
		e.Verb, e.UID, e.ResourceVersion = DeletePodService, n.Service.UID, n.Service.ResourceVersion
	default:
		return nil
	}
	return effect(e)
}

// dropNames removes at the end the names that the migration has made: all of them when
// it was asked to, and always those where the ordinal is not.
func (p namePlanner) dropNames() *Decision {
	if !p.Spec.NameOrdinals {
		return nil
	}
	for _, name := range SideNames {
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

// nameFindings are Services of somebody else that have the names of ordinals.
func nameFindings(s Snapshot) []Finding {
	var findings []Finding
	for _, side := range []Side{s.Source, s.Destination} {
		for _, n := range side.Names {
			if n.Service.Found && !n.Service.Selects {
				findings = append(findings, Finding{
					Reason: api.ReasonServiceTaken, Object: side.podService(n.Ordinal),
					Message: serviceTaken(side, n.Ordinal), Remedy: serviceTakenRemedy(side, n.Ordinal),
				})
			}
		}
	}
	return findings
}

func serviceTaken(side Side, ordinal int32) string {
	return fmt.Sprintf("%s does not select pod %s alone: its name would lead to another one", side.podService(ordinal), side.podName(ordinal))
}

func serviceTakenRemedy(side Side, ordinal int32) string {
	return fmt.Sprintf("rename that Service, or set spec.services.perOrdinal to None; kubectl get svc -n %s %s -o yaml", side.Namespace, side.podName(ordinal))
}

// NameOf returns what was seen of an ordinal's name.
func (s Side) NameOf(ordinal int32) (Name, bool) {
	for _, n := range s.Names {
		if n.Ordinal == ordinal {
			return n, true
		}
	}
	return Name{}, false
}

func (s Side) podName(ordinal int32) string { return PodName(s.Set.Name, ordinal) }

func (s Side) podService(ordinal int32) string {
	return fmt.Sprintf("Service %s/%s in cluster %s", s.Namespace, s.podName(ordinal), s.Cluster)
}

func (s Side) podExport(ordinal int32) string {
	return fmt.Sprintf("ServiceExport %s/%s in cluster %s", s.Namespace, s.podName(ordinal), s.Cluster)
}
