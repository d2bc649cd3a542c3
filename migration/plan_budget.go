package migration

import (
	"k8s.io/apimachinery/pkg/api/equality"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/pdb"
)

// share brings both PodDisruptionBudgets to what they may allow together while so
// many replicas are in flight (I4). It returns nil when they say so and the
// disruption controllers have confirmed it, or when there is no budget.
func (p *planner) share(inFlight int32) *Decision {
	base := p.Record.Baseline
	if base.DisruptionBudget == nil {
		return nil
	}
	want := pdb.Share{Source: max(0, base.Budget-inFlight)}
	size := pdb.Share{Source: p.Source.Set.Replicas, Destination: p.Destination.Set.Replicas}
	source, destination := pdb.Applied{}, pdb.Applied{Exact: true, Confirmed: true}
	if p.Spec.SameNamespace {
		// One PodDisruptionBudget selects both slices.
		source = p.applied(p.Source, size.Source+size.Destination, want.Source)
	} else {
		want = pdb.Split(base.Budget, inFlight, size)
		source = p.applied(p.Source, size.Source, want.Source)
		destination = p.applied(p.Destination, size.Destination, want.Destination)
	}
	switch pdb.Next(source, destination, want) {
	case pdb.SetSource:
		return p.setBudget(SourceSide, want.Source)
	case pdb.SetDestination:
		return p.setBudget(DestinationSide, want.Destination)
	case pdb.AwaitConfirmation:
		return &Decision{Hold: &Hold{Reason: api.ReasonBudgetUnconfirmed, Message: "waiting until the disruption controller has observed the PodDisruptionBudgets"}}
	case pdb.Reached:
	}
	return nil
}

// applied is what a side's PodDisruptionBudget says now of a slice of so many
// replicas. A side without replicas and without a budget allows nothing. The
// author's own form is left alone while no ordinal is on its way and it allows
// what is wanted, or nothing is left to move.
func (p *planner) applied(side Side, replicas, want int32) pdb.Applied {
	if len(side.Budgets) == 0 {
		return pdb.Applied{Exact: replicas == 0, Confirmed: true}
	}
	b := side.Budgets[0]
	allows, err := pdb.Budget(b.Form, replicas)
	if err != nil {
		allows = replicas
	}
	_, more := p.next()
	if !b.Claimed && p.Record.Handoff == nil && p.original(b) && (allows == want || !more) {
		return pdb.Applied{Allows: want, Exact: true, Confirmed: b.Observed}
	}
	exact := b.Claimed && b.Form.MinAvailable == nil && b.Form.MaxUnavailable != nil && b.Form.MaxUnavailable.StrVal == ""
	if exact {
		// An integer speaks of the slice as it was when it was written: the slice
		// may have been larger.
		allows = b.Form.MaxUnavailable.IntVal
	}
	return pdb.Applied{Allows: allows, Exact: exact, Confirmed: b.Observed}
}

// original says whether a budget has its author's form.
func (p *planner) original(b Budget) bool {
	original := p.Record.Baseline.DisruptionBudget
	return equality.Semantic.DeepEqual(pdb.Form{MinAvailable: original.MinAvailable, MaxUnavailable: original.MaxUnavailable}, b.Form)
}

func (p *planner) setBudget(name SideName, allows int32) *Decision {
	side := p.side(name)
	if len(side.Budgets) == 0 {
		return stalled(api.ReasonForeignBudget,
			"PodDisruptionBudget "+p.Record.Baseline.DisruptionBudget.Name+" does not exist any more in cluster "+side.Cluster,
			"create it again as it was")
	}
	b := side.Budgets[0]
	return effect(Effect{Verb: SetBudget, Side: name, Name: b.Name, UID: b.UID, ResourceVersion: b.ResourceVersion, MaxUnavailable: allows})
}

// restoreBudget writes the author's form on a side, once.
func (p *planner) restoreBudget(name SideName) *Decision {
	original := p.Record.Baseline.DisruptionBudget
	side := p.side(name)
	if original == nil || len(side.Budgets) == 0 {
		return nil
	}
	form := pdb.Form{MinAvailable: original.MinAvailable, MaxUnavailable: original.MaxUnavailable}
	b := side.Budgets[0]
	if p.original(b) && !b.Claimed {
		return nil
	}
	return effect(Effect{Verb: RestoreBudget, Side: name, Name: b.Name, UID: b.UID, ResourceVersion: b.ResourceVersion, Form: form})
}
