package planner

import (
	"fmt"

	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/pdb"
)

// lowered holds while spec.maxUnavailable allows less than the budget with which the migration was accepted, and which it
// has shared out (I4, I5): what the user does not want down any more is not taken down. Back it is not asked (I8), and a
// larger one changes nothing.
func (p gatePlanner) lowered() *plan.Hold {
	base, asked := p.Record.Baseline, p.Spec.MaxUnavailable
	if asked == nil || p.direction() == api.Back {
		return nil
	}
	allowed, err := pdb.Budget(pdb.Form{MaxUnavailable: asked}, base.Replicas)
	if err == nil && allowed >= base.Budget {
		return nil
	}
	return &plan.Hold{
		Reason: api.ReasonBudgetLowered, Stalled: true,
		Message: fmt.Sprintf("spec.maxUnavailable was changed to %s in mid-move, and the migration was accepted with a budget of %d of %d replicas, which its PodDisruptionBudgets share: the next stop could take down more than is asked for",
			asked.String(), base.Budget, base.Replicas),
		Remedy: fmt.Sprintf("write spec.maxUnavailable: %d again; to move by a smaller budget, take the move back first: %s, and when it is back run it again",
			base.Budget, p.command("rollback")),
	}
}
