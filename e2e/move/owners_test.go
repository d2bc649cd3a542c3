package move

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// TestY1Y9ApplyAfterMove: after a move, the manifest that was applied at the source is applied at the destination: without
// force, in another notation of its claim templates, and without a field and a label that it no longer has.
func TestY1Y9ApplyAfterMove(t *testing.T) {
	for name, kinds := range map[string][2]string{"native": {native, native}, "native to ours": {native, slice}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newKindMove(t, kinds)
			const helm = client.FieldOwner("helm")
			c, source := v.kindClient(v.Here(), kinds[0])
			source.SetLabels(map[string]string{"chart": "one"})
			source.Object["spec"] = map[string]any{"revisionHistoryLimit": int64(7)}
			v.Must(c.Apply(v.Ctx, client.ApplyConfigurationFromUnstructured(source), helm, client.ForceOwnership))
			v.awaitObserved()
			v.Run()
			v.expectKind(v.There(), kinds[1], v.App.Replicas)

			c, there := v.kindClient(v.There(), kinds[1])
			release := there.DeepCopy()
			release.Object["spec"] = map[string]any{"minReadySeconds": int64(1)}
			if err := c.Apply(v.Ctx, client.ApplyConfigurationFromUnstructured(release), helm); err != nil {
				t.Fatalf("helm has a conflict: %v", err)
			}
			v.Must(c.Get(v.Ctx, client.ObjectKeyFromObject(there), there))
			limit, _, _ := unstructured.NestedInt64(there.Object, "spec", "revisionHistoryLimit")
			if _, labelled := there.GetLabels()["chart"]; limit != 10 || labelled {
				t.Errorf("revisionHistoryLimit %d and labels %v are left", limit, there.GetLabels())
			}
			for _, entry := range there.GetManagedFields() {
				if entry.Manager == api.FieldManager && strings.Contains(entry.FieldsV1.GetRawString(), `"f:spec"`) {
					t.Errorf("the migration still manages %s", entry.FieldsV1.GetRawString())
				}
			}
			err := retry.RetryOnConflict(retry.DefaultBackoff, func() error { // its controller writes the status
				v.Must(c.Get(v.Ctx, client.ObjectKeyFromObject(there), there))
				v.Must(inBytes(there))
				return c.Update(v.Ctx, there, client.DryRunAll)
			})
			if err != nil {
				t.Errorf("the same claim templates in another notation: %v", err)
			}
		})
	}
}

// inBytes writes the claim templates of a set as a manifest may have them, with requests in bytes.
func inBytes(set *unstructured.Unstructured) error {
	templates, _, err := unstructured.NestedSlice(set.Object, "spec", "volumeClaimTemplates")
	if err != nil {
		return err
	}
	for _, template := range templates {
		claim := template.(map[string]any)
		for _, field := range []string{"apiVersion", "kind", "status"} {
			delete(claim, field)
		}
		request, _, err := unstructured.NestedString(claim, "spec", "resources", "requests", "storage")
		if err != nil {
			return err
		}
		size, err := resource.ParseQuantity(request)
		if err != nil {
			return err
		}
		if err := unstructured.SetNestedField(claim, size.Value(), "spec", "resources", "requests", "storage"); err != nil {
			return err
		}
	}
	return unstructured.SetNestedSlice(set.Object, templates, "spec", "volumeClaimTemplates")
}
