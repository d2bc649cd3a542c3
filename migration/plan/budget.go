package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sliceshift/sliceshift/pdb"
)

// Budget is what matters of a PodDisruptionBudget.
type Budget struct {
	Name            string
	UID             types.UID
	ResourceVersion string
	Form            pdb.Form
	// Unhealthy is spec.unhealthyPodEvictionPolicy; empty: IfHealthyBudget.
	Unhealthy string
	// Observed is true when the disruption controller has seen this generation.
	Observed bool
	// Covers names a pod that it selects and that is of neither slice; empty: there is
	// none.
	Covers string
	// LeavesOut names pods of the slice that it does not select, although it selects others;
	// empty: it selects all of them.
	LeavesOut string
	// Evictions is how many evictions the API server would grant now: what the
	// disruption controller has computed from the pods as it knew them.
	Evictions int32
	// Disrupted are the pods whose eviction was granted and not yet seen.
	Disrupted []string
	// Generation is counted up by the API server with each change of the spec.
	Generation int64
	// WrittenBy is the manager that wrote the form and is no migration; empty: it is not known, or a migration did.
	WrittenBy string
	// Own is true when a migration wrote the form. With WrittenBy, that manager has applied the same one since.
	Own bool
	// Fence is the fence under which the migration wrote it; empty as long as it has
	// not taken the budget over.
	Fence string
	// Wrote is the form that the migration noted together with its fence; empty: it noted none.
	Wrote string
	// HandedOver is true when a person has given the budget back to the migration.
	HandedOver bool
	// Ours is true when this migration created it.
	Ours bool
	// Author is the form in which its author wrote it, as a migration has noted it before it
	// wrote its own; nil: no migration has.
	Author *pdb.Form
}

// AuthorForm is the form in which the budget was written by its author.
func (b Budget) AuthorForm() pdb.Form {
	if b.Author != nil {
		return *b.Author
	}
	return b.Form
}

// BudgetNamed is how messages call a PodDisruptionBudget of the side.
func (s Side) BudgetNamed(name string) string {
	return fmt.Sprintf("PodDisruptionBudget %s/%s in cluster %s", s.Namespace, name, s.Cluster)
}

// Allowed is how many of the slice's replicas its PodDisruptionBudget lets be
// unavailable; nil without one, and as long as it has its author's form.
func Allowed(s Snapshot, side Side) *int32 {
	if len(side.Budgets) != 1 || side.Budgets[0].Fence == "" {
		return nil
	}
	replicas := side.Set.Replicas
	if s.Spec.SameNamespace {
		replicas = s.Source.Set.Replicas + s.Destination.Set.Replicas
	}
	allows, err := pdb.Budget(side.Budgets[0].Form, replicas)
	if err != nil {
		return nil
	}
	return &allows
}
