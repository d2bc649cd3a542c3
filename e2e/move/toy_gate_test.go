package move

import (
	"slices"
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
)

// freeze is the name of a PodDisruptionBudget that selects no pods and represents a change freeze.
const freeze = "change-freeze"

// toyGate stops no ordinal while there is a change freeze on either side.
var toyGate = planner.Gate{Name: "change freeze", Blocks: func(v *planner.View, _ int32) *plan.Hold {
	if !slices.Contains(slices.Concat(v.Source.OtherBudgets, v.Destination.OtherBudgets), freeze) {
		return nil
	}
	return &plan.Hold{Reason: "ChangeFreeze", Message: "waiting until the change freeze is over", Remedy: "kubectl delete pdb " + freeze}
}}

func init() { planner.RegisterGate(toyGate) } //nolint:gochecknoinits // as a program that adds a gate does it

// TestToyGate: a gate is one file, and holds a real migration between two ordinals.
func TestToyGate(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(3), harness.AcrossClusters)
	budgets := v.Source.PolicyV1().PodDisruptionBudgets(v.App.Namespace)
	v.Run(
		harness.Arrival(2)(func() error {
			none := &metav1.LabelSelector{MatchLabels: map[string]string{"app": freeze}}
			_, err := budgets.Create(v.Ctx, &policyv1.PodDisruptionBudget{
				ObjectMeta: metav1.ObjectMeta{Name: freeze}, Spec: policyv1.PodDisruptionBudgetSpec{Selector: none},
			}, metav1.CreateOptions{})
			return err
		}),
		harness.HeldWith("ChangeFreeze")(func() error {
			set, err := v.Source.AppsV1().StatefulSets(v.App.Namespace).Get(v.Ctx, v.App.Name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if *set.Spec.Replicas != 2 {
				t.Errorf("%d replicas are left in mid-freeze", *set.Spec.Replicas)
			}
			return budgets.Delete(v.Ctx, freeze, metav1.DeleteOptions{})
		}),
	)
	v.ExpectMovedCleanly()
	if pdbs, err := budgets.List(v.Ctx, metav1.ListOptions{}); err != nil || len(pdbs.Items) != 1 {
		t.Errorf("the freeze was never met: %v, %v", pdbs, err)
	}
	v.Audit()
}
