package pdb

import (
	"context"
	"encoding/json"
	"strings"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Target is the PodDisruptionBudget that was judged: another uid or
// resourceVersion is refused by the API server.
type Target struct {
	Namespace, Name string
	UID             types.UID
	ResourceVersion string
}

// Marks are the annotations of a migration on a PodDisruptionBudget that it writes; the
// zero value takes them away.
type Marks struct {
	// Mark is the value of BudgetAnnotationKey.
	Mark string
	// Author is the form in which its author wrote it.
	Author Form
}

// annotations are the marks as a merge patch has them.
func (m Marks) annotations() map[string]any {
	if m.Mark == "" {
		return map[string]any{api.BudgetAnnotationKey: nil, api.AuthorBudgetAnnotationKey: nil}
	}
	return map[string]any{api.BudgetAnnotationKey: m.Mark, api.AuthorBudgetAnnotationKey: m.Author.String()}
}

// Write gives a PodDisruptionBudget a form, and marks or unmarks it. Its other fields,
// unhealthyPodEvictionPolicy among them, stay as they are.
func Write(ctx context.Context, c client.Client, target Target, form Form, marks Marks) (client.Object, error) {
	data, err := json.Marshal(map[string]any{
		"metadata": map[string]any{
			"uid": target.UID, "resourceVersion": target.ResourceVersion,
			"annotations": marks.annotations(),
		},
		"spec": map[string]any{"minAvailable": form.MinAvailable, "maxUnavailable": form.MaxUnavailable},
	})
	if err != nil {
		return nil, err
	}
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: target.Namespace, Name: target.Name}}
	return budget, c.Patch(ctx, budget, client.RawPatch(types.MergePatchType, data))
}

// Mark is the value of BudgetAnnotationKey: the fence and the form that was written
// under it.
func Mark(fence string, form Form) string { return fence + " " + form.String() }

// Unmark takes a mark apart; both are empty when there is none.
func Unmark(mark string) (fence, form string) {
	fence, form, _ = strings.Cut(mark, " ")
	return fence, form
}

// Copy makes the other side's PodDisruptionBudget, under its metadata: the same selector
// and eviction policy, and maxUnavailable 0.
func Copy(from *policyv1.PodDisruptionBudget, meta metav1.ObjectMeta, marks Marks) *policyv1.PodDisruptionBudget {
	metav1.SetMetaDataAnnotation(&meta, api.BudgetAnnotationKey, marks.Mark)
	metav1.SetMetaDataAnnotation(&meta, api.AuthorBudgetAnnotationKey, marks.Author.String())
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: meta,
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: Unavailable(0).MaxUnavailable, Selector: from.Spec.Selector.DeepCopy(),
			UnhealthyPodEvictionPolicy: from.Spec.UnhealthyPodEvictionPolicy,
		},
	}
}
