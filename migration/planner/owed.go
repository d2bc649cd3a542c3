package planner

import (
	"slices"

	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// replace has a copy make way for a new one that it cannot be changed into. Pods that start meanwhile find none: so that is done while
// no ordinal is on its way, and what is owed is recorded before.
func (p dependencyPlanner) replace(d plan.Dependency) *plan.Decision {
	switch {
	case p.stopped():
		return nil
	case p.owes(d) < 0:
		next := p.Record
		next.Owed = append(slices.Clone(next.Owed), api.OwedCopy{Kind: d.Kind, Name: d.Name, UID: d.Copy.UID})
		return &plan.Decision{Record: &next}
	default:
		return p.write(plan.DeleteCopy, d, 0)
	}
}

// owes is where it is recorded that this very copy makes way; -1: it is not.
func (p dependencyPlanner) owes(d plan.Dependency) int {
	return slices.IndexFunc(p.Record.Owed, func(o api.OwedCopy) bool { return o.Kind == d.Kind && o.Name == d.Name && o.UID == d.Copy.UID })
}

// owed creates what has made way, whatever the migration does by now: the pods that have moved need it as long as they are there. A
// debt is paid once another copy is there than the one that has made way.
func (p dependencyPlanner) owed() *plan.Decision {
	if !p.Dependencies.Read || p.Spec.SameNamespace || !p.Destination.NamespaceFound || p.Destination.Lost {
		return nil
	}
	for i, owed := range p.Record.Owed {
		at := slices.IndexFunc(p.Dependencies.List, func(d plan.Dependency) bool { return d.Kind == owed.Kind && d.Name == owed.Name })
		if at < 0 {
			continue // nobody needs it now
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
