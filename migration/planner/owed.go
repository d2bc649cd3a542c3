package planner

import (
	"slices"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// replace deletes a copy that cannot be changed into the new one, so that it can be recreated. Pods that start in
// between find none, so it happens only while no ordinal is down. The owed copy is recorded first.
func (p dependencyPlanner) replace(d plan.Dependency) *plan.Decision {
	switch {
	case p.downInFlight() > 0:
		return &plan.Decision{Hold: &plan.Hold{
			Reason:  api.ReasonNeighborFirst,
			Message: "waiting until no ordinal is down: " + p.there(d) + " is then deleted and created again, because it cannot be updated",
		}}
	case p.owes(d) < 0:
		next := p.Record
		next.Owed = append(slices.Clone(next.Owed), api.OwedCopy{Kind: d.Kind, Name: d.Name, UID: d.Copy.UID})
		return &plan.Decision{Record: &next}
	default:
		return p.write(plan.DeleteCopy, d, 0)
	}
}

// owes returns the index of the record that this copy is being replaced; -1: there is none.
func (p dependencyPlanner) owes(d plan.Dependency) int {
	return slices.IndexFunc(p.Record.Owed, func(o api.OwedCopy) bool { return o.Kind == d.Kind && o.Name == d.Name && o.UID == d.Copy.UID })
}

// owed recreates a deleted copy, whatever the migration does by then: the moved pods need it as long as they
// exist. The record is removed once a copy with another UID exists.
func (p dependencyPlanner) owed() *plan.Decision {
	if !p.Dependencies.Read || p.Spec.SameNamespace || !p.Destination.NamespaceFound || p.Destination.Lost {
		return nil
	}
	for i, owed := range p.Record.Owed {
		at := slices.IndexFunc(p.Dependencies.List, func(d plan.Dependency) bool { return d.Kind == owed.Kind && d.Name == owed.Name })
		if at < 0 {
			continue // nothing needs it now
		}
		switch d := p.Dependencies.List[at]; {
		case d.Copy.Found && d.Copy.UID != owed.UID:
			next := p.Record
			next.Owed = slices.Delete(slices.Clone(next.Owed), i, i+1)
			return &plan.Decision{Record: &next}
		case !d.Copy.Found && d.Origin != "" && !d.Unserved && d.Barred.Reason == "":
			return p.write(plan.CreateCopy, d, 0)
		}
	}
	return nil
}
