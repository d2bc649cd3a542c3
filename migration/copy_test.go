package migration

import (
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/pdb"
)

// TestCopiesAreNotTracked: a copy does not bear the marks by which a GitOps tool would
// take it for its own and prune it, nor those of a migration of the original.
func TestCopiesAreNotTracked(t *testing.T) {
	marks := map[string]string{"team": "shop", api.FenceAnnotationKey: "m.1", api.TemplateAnnotationKey: "h"}
	for _, key := range trackers {
		marks[key] = "shop:web"
	}
	from := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: marks, Annotations: marks}}
	budget := pdb.Copy(from, copyMeta(from.ObjectMeta, "store", "web", "owner"), pdb.Marks{Mark: pdb.Mark("m.2", pdb.Unavailable(0)), Author: pdb.Available(2)})
	for _, key := range trackers {
		if budget.Labels[key] != "" || budget.Annotations[key] != "" {
			t.Errorf("the copy bears %s", key)
		}
	}
	if budget.Namespace != "store" || budget.Name != "web" || budget.Annotations["team"] != "shop" || budget.Annotations[api.FenceAnnotationKey] != "" {
		t.Errorf("got %+v", budget.ObjectMeta)
	}
	if fence, form := pdb.Unmark(budget.Annotations[api.BudgetAnnotationKey]); fence != "m.2" || form != "maxUnavailable 0" || budget.Annotations[api.OwnerAnnotationKey] != "owner" || budget.Annotations[api.AuthorBudgetAnnotationKey] != "minAvailable 2" {
		t.Errorf("got %+v", budget.Annotations)
	}
}
