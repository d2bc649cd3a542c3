package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sliceshift/sliceshift/pdb"
)

// Budget holds the fields of a PodDisruptionBudget that a plan needs.
type Budget struct {
	Name            string
	UID             types.UID
	ResourceVersion string
	Form            pdb.Form
	// Unhealthy is spec.unhealthyPodEvictionPolicy; empty: IfHealthyBudget.
	Unhealthy string
	// EvictsUnhealthy is true when the API server would evict a pod that is not Ready, whatever Evictions is.
	EvictsUnhealthy bool
	// Observed is true when the disruption controller has observed this generation.
	Observed bool
	// Covers names a pod that the budget selects and that belongs to neither slice; empty: there is none.
	Covers string
	// LeavesOut names the pods of the slice that the budget does not select, although it selects others; empty: it
	// selects all of them.
	LeavesOut string
	// Evictions is how many evictions the API server would grant now: status.disruptionsAllowed, which the
	// disruption controller computed from the pods that it had observed.
	Evictions int32
	// Disrupted lists the pods whose eviction was granted and that the disruption controller has not observed as
	// deleted.
	Disrupted []string
	// Generation is increased by the API server with each change of the spec.
	Generation int64
	// WrittenBy is the field manager that wrote the form, if it is not a migration; empty: a migration wrote it,
	// or it is not known.
	WrittenBy string
	// Own is true when a migration wrote the form. If WrittenBy is set too, that manager has since applied the
	// same form.
	Own bool
	// Fence is the fence under which the migration wrote the budget; empty until the migration takes the budget
	// over.
	Fence string
	// Wrote is the form that the migration recorded together with its fence; empty: it recorded none.
	Wrote string
	// HandedOver is true when a user has returned the budget to the migration.
	HandedOver bool
	// Ours is true when this migration created it.
	Ours bool
	// Author is the author's form, as a migration recorded it before it wrote its own; nil: no migration has.
	Author *pdb.Form
}

// AuthorForm returns the form in which the author wrote the budget.
func (b Budget) AuthorForm() pdb.Form {
	if b.Author != nil {
		return *b.Author
	}
	return b.Form
}

// BudgetNamed returns how messages name a PodDisruptionBudget of the side.
func (s Side) BudgetNamed(name string) string {
	return fmt.Sprintf("PodDisruptionBudget %s/%s in cluster %s", s.Namespace, name, s.Cluster)
}

// Allowed returns how many of the slice's replicas its PodDisruptionBudget allows to be unavailable; nil without a
// budget, and while it has its author's form.
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
