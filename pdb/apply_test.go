package pdb

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
)

func budgetOf(form Form) *policyv1.PodDisruptionBudget {
	always := policyv1.AlwaysAllow
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: form.MinAvailable, MaxUnavailable: form.MaxUnavailable, UnhealthyPodEvictionPolicy: &always,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		},
	}
}

// TestWrite: Write sets the form and the marks, and returns the budget as the API server stored it. Zero marks remove
// both annotations.
func TestWrite(t *testing.T) {
	c := clustertest.New(budgetOf(available("50%")))
	var before policyv1.PodDisruptionBudget
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web"}, &before); err != nil {
		t.Fatal(err)
	}
	target := Target{Namespace: "shop", Name: "web", UID: "u", ResourceVersion: before.ResourceVersion}
	marks := Marks{Mark: Mark("m.2", Unavailable(1)), Author: available("50%")}
	written, err := Write(t.Context(), c, target, Unavailable(1), marks)
	if err != nil {
		t.Fatal(err)
	}
	got := written.(*policyv1.PodDisruptionBudget)
	want := budgetOf(Unavailable(1)).Spec
	if diff := cmp.Diff(want, got.Spec); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	noted := map[string]string{api.BudgetAnnotationKey: "m.2 maxUnavailable 1", api.AuthorBudgetAnnotationKey: "minAvailable 50%"}
	if diff := cmp.Diff(noted, got.Annotations); diff != "" {
		t.Errorf("annotations: -want +got\n%s", diff)
	}
	if fence, form := Unmark(got.Annotations[api.BudgetAnnotationKey]); fence != "m.2" || form != Unavailable(1).String() {
		t.Errorf("the mark is taken apart as %q and %q", fence, form)
	}
	target.ResourceVersion = got.ResourceVersion
	written, err = Write(t.Context(), c, target, available("50%"), Marks{})
	if err != nil || len(written.GetAnnotations()) > 0 {
		t.Errorf("unmarked, it has %v; %v", written.GetAnnotations(), err)
	}
}

// TestWriteThatFails: Write returns the error of the API server.
func TestWriteThatFails(t *testing.T) {
	refused := errors.New("refused")
	c := clustertest.Hooked(clustertest.Failing(refused, "patch"))
	if _, err := Write(t.Context(), c, Target{Namespace: "shop", Name: "web"}, Unavailable(1), Marks{}); !errors.Is(err, refused) {
		t.Errorf("got %v", err)
	}
}

// TestCopy: the budget of the other side selects the same pods and allows no disruption until its share is known.
func TestCopy(t *testing.T) {
	from := budgetOf(available("50%"))
	marks := Marks{Mark: "m.1 maxUnavailable 0", Author: available("50%")}
	got := Copy(from, metav1.ObjectMeta{Namespace: "west", Name: "web"}, marks)
	none := intstr.FromInt32(0)
	want := budgetOf(Form{MaxUnavailable: &none})
	want.ObjectMeta = metav1.ObjectMeta{Namespace: "west", Name: "web", Annotations: map[string]string{
		api.BudgetAnnotationKey: marks.Mark, api.AuthorBudgetAnnotationKey: "minAvailable 50%",
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
