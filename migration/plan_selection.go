package migration

import (
	"fmt"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// leavesOut refuses a budget that selects some pods of the slice and not all: how many of the
// slice may be unavailable does not follow from it, so it cannot be shared out.
func (s Side) leavesOut() *Finding {
	if len(s.Budgets) != 1 || s.Budgets[0].LeavesOut == "" {
		return nil
	}
	name := fmt.Sprintf("PodDisruptionBudget %s/%s in cluster %s", s.Namespace, s.Budgets[0].Name, s.Cluster)
	return &Finding{
		Reason: api.ReasonBudgetLeavesOut, Object: name,
		Message: fmt.Sprintf("%s selects pods of %s, but not %s: what it allows for some of them cannot be shared out between two slices", name, s.object(), s.Budgets[0].LeavesOut),
		Remedy:  fmt.Sprintf("let it select the labels of the pod template, which all of the pods have, or delete it: kubectl edit pdb -n %s %s", s.Namespace, s.Budgets[0].Name),
	}
}
