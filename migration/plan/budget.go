package plan

import (
	"fmt"
	"time"

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
	// EditedBy is who changed the budget after the migration had taken it over.
	EditedBy string
	// Fence is the fence under which the migration wrote it; empty as long as it has
	// not taken the budget over.
	Fence string
	// WrittenTime is when a migration wrote it last, by the clock of its API server; zero: that is not known.
	WrittenTime time.Time
	// Ours is true when this migration created it.
	Ours bool
	// Author is the form in which its author wrote it, as a migration has noted it before it
	// wrote its own; nil: no migration has.
	Author *pdb.Form
	// RevertedBy is who has written it since the migration began to write it, and has not
	// left the migration's mark on it.
	RevertedBy string
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
