package pdb

import (
	"context"
	"encoding/json"
	"strings"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// Target identifies the PodDisruptionBudget that was evaluated. The API server rejects the write when the uid or
// resourceVersion has changed.
type Target struct {
	Namespace, Name string
	UID             types.UID
	ResourceVersion string
}

// Marks holds the annotations that a migration puts on a PodDisruptionBudget. The zero value removes them.
type Marks struct {
	// Mark is the value of BudgetAnnotationKey.
	Mark string
	// Author is the budget as its author wrote it.
	Author Form
}

// annotations returns the marks in the form of a merge patch.
func (m Marks) annotations() map[string]any {
	if m.Mark == "" {
		return map[string]any{api.BudgetAnnotationKey: nil, api.AuthorBudgetAnnotationKey: nil}
	}
	return map[string]any{api.BudgetAnnotationKey: m.Mark, api.AuthorBudgetAnnotationKey: m.Author.String()}
}

// Write patches a PodDisruptionBudget to the given form and sets or removes the marks. Other fields, such as
// unhealthyPodEvictionPolicy, remain unchanged.
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

// Mark returns the value of BudgetAnnotationKey: the fence and the form that was written under it.
func Mark(fence string, form Form) string { return fence + " " + form.String() }

// Unmark splits a mark into fence and form. Both are empty when mark is empty.
func Unmark(mark string) (fence, form string) {
	fence, form, _ = strings.Cut(mark, " ")
	return fence, form
}

// Copy returns the PodDisruptionBudget of the other side with the given metadata. It has the same selector and eviction
// policy, and maxUnavailable 0.
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
