package slices

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestSameManifestAgain: writing the same spec again, without the defaults, changes nothing, and does not count as a
// change of the claim templates. A status exists: the first write stores its default.
func TestSameManifestAgain(t *testing.T) {
	t.Run("K-030: without the defaults", func(t *testing.T) {
		sent := manifest(t, quiet(t), newNamespace(t), claimed)
		stored := sent.DeepCopy()
		mustCreate(t, stored)
		if err := put("status", "{replicas: 0}")(stored.Object); err != nil {
			t.Fatal(err)
		}
		if err := api.Status().Update(bounded(t), stored); err != nil {
			t.Fatal(err)
		}
		sent.SetResourceVersion(stored.GetResourceVersion())
		if err := api.Update(bounded(t), sent); err != nil {
			t.Fatal(err)
		}
		if sent.GetGeneration() != 1 || sent.GetResourceVersion() != stored.GetResourceVersion() {
			t.Errorf("generation %d, resourceVersion %s after %s", sent.GetGeneration(), sent.GetResourceVersion(), stored.GetResourceVersion())
		}
	})
}

// TestCollection: many sets are listed, patched and deleted by their label.
func TestCollection(t *testing.T) {
	t.Run("K-148: of three, two have the label", func(t *testing.T) {
		namespace := newNamespace(t)
		for i := range 3 {
			mustCreate(t, manifest(t, quiet(t), namespace, put("metadata.name", fmt.Sprint("web-", i)), put("metadata.labels.part", strconv.Quote(strconv.Itoa(i%2)))))
		}
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"part":"1"}},"spec":{"minReadySeconds":3}}`))
		one := manifest(t, quiet(t), namespace, put("metadata.name", "web-0"))
		if err := api.Patch(bounded(t), one, patch); err != nil {
			t.Fatal(err)
		}
		if got := at(one, "spec.minReadySeconds"); got != int64(3) {
			t.Errorf("patched to %v", got)
		}
		if got := list(t, namespace); len(got) != 2 {
			t.Errorf("%d have the label, want 2", len(got))
		}
		if err := api.DeleteAllOf(bounded(t), one, client.InNamespace(namespace), client.MatchingLabels{"part": "1"}); err != nil {
			t.Fatal(err)
		}
		if got := list(t, namespace); len(got) != 0 {
			t.Errorf("%d are left", len(got))
		}
	})
}

// list returns the sets of part 1.
func list(t *testing.T, namespace string) []unstructured.Unstructured {
	t.Helper()
	sets := &unstructured.UnstructuredList{}
	sets.SetAPIVersion(quiet(t))
	sets.SetKind("StatefulSetList")
	if err := api.List(bounded(t), sets, client.InNamespace(namespace), client.MatchingLabels{"part": "1"}); err != nil {
		t.Fatal(err)
	}
	return sets.Items
}

// TestStatusIsWritten: a condition that is written by update or by patch is read back.
func TestStatusIsWritten(t *testing.T) {
	t.Run("K-149: a condition by update, and one by patch", func(t *testing.T) {
		object := manifest(t, quiet(t), newNamespace(t))
		mustCreate(t, object)
		const condition = `{type: %s, status: "True", reason: Test, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}`
		updated := changed(t, object, put("status.conditions", "["+fmt.Sprintf(condition, "StatusUpdate")+"]"))
		if err := api.Status().Update(bounded(t), updated); err != nil {
			t.Fatal(err)
		}
		if err := api.Get(bounded(t), client.ObjectKeyFromObject(object), object); err != nil {
			t.Fatal(err)
		}
		if got := typed(t, object).Status.Conditions; len(got) != 1 || got[0].Type != "StatusUpdate" {
			t.Errorf("conditions %v", got)
		}
		before := updated.DeepCopy()
		patched := changed(t, updated, put("status.conditions.0.type", "StatusPatched"))
		if err := api.Status().Patch(bounded(t), patched, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
		if err := api.Get(bounded(t), client.ObjectKeyFromObject(object), object); err != nil {
			t.Fatal(err)
		}
		if got := typed(t, object).Status.Conditions; len(got) != 1 || got[0].Type != "StatusPatched" {
			t.Errorf("conditions %v", got)
		}
	})
}

// TestBudgetCountsByScale: the disruption controller of Kubernetes takes the number of expected pods from the scale of
// our kind, not from the existing pods.
func TestBudgetCountsByScale(t *testing.T) {
	t.Parallel()
	t.Run("K-264: ten, of which four exist", func(t *testing.T) {
		namespace := newNamespace(t)
		set := manifest(t, quiet(t), namespace, put("spec.replicas", "10"))
		mustCreate(t, set)
		budget := &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: namespace},
			Spec: policyv1.PodDisruptionBudgetSpec{
				MaxUnavailable: new(intstr.FromInt32(5)),
				Selector:       &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			},
		}
		mustCreate(t, budget)
		awaitAccount(t, namespace)
		for i := range 4 {
			mustCreate(t, podOf(set, i))
		}
		// The controller reconciles when a budget changes: before, it may not know the kind yet.
		err := wait.PollUntilContextCancel(bounded(t), 20*lookAgain, true, func(ctx context.Context) (bool, error) {
			if err := api.Get(ctx, client.ObjectKeyFromObject(budget), budget); err != nil {
				return false, err
			}
			if budget.Status.ExpectedPods == 10 && budget.Status.DesiredHealthy == 5 {
				return true, nil
			}
			patch := client.MergeFrom(budget.DeepCopy())
			metav1.SetMetaDataAnnotation(&budget.ObjectMeta, "look", budget.ResourceVersion)
			return false, api.Patch(ctx, budget, patch)
		})
		if err != nil {
			t.Errorf("status %+v: %v", budget.Status, err)
		}
	})
}

func podOf(set *unstructured.Unstructured, ordinal int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("%s-%d", set.GetName(), ordinal), Namespace: set.GetNamespace(), Labels: map[string]string{"app": "web"},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, set.GroupVersionKind())},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}},
	}
}

// awaitAccount waits for the service account that every pod needs.
func awaitAccount(t *testing.T, namespace string) {
	t.Helper()
	err := wait.PollUntilContextCancel(bounded(t), lookAgain, true, func(ctx context.Context) (bool, error) {
		err := api.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "default"}, &corev1.ServiceAccount{})
		return err == nil, client.IgnoreNotFound(err)
	})
	if err != nil {
		t.Fatalf("no default ServiceAccount in %s: %v", namespace, err)
	}
}
