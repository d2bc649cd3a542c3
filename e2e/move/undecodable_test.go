package move

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/config"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/internal/records"
)

// TestK0Tenants: a tenant's object does not decode, or was stored under an older resource definition. Pauses
// and rollbacks of other tenants still work, and a manager can start. The status names the field.
func TestK0Tenants(t *testing.T) {
	n := startTenancy(t, "undecodable")
	a := newMove(t, harness.Usual(8), n.toNewNamespace)
	c := a.Managed()
	a.Must(c.Create(a.Ctx, a.Migration))
	m := &api.Migration{}
	seen := func(what string, holds func() bool) {
		t.Helper()
		a.Eventually(what, func(ctx context.Context) (bool, error) {
			return holds(), c.Get(ctx, client.ObjectKeyFromObject(a.Migration), m)
		})
	}
	seen("an ordinal has moved", func() bool { return m.Status.Moved > 0 })
	hook := n.badHook(t)
	old := n.olderDuration(t)
	a.patch(c, `{"spec":{"mode":"Pause"}}`)
	seen("it is paused", func() bool { return records.AtRest(m) })
	n.manager.Kill()
	n.manager.Start()
	a.patch(c, `{"spec":{"mode":"Rollback"}}`)
	seen("it was rolled back", func() bool { return records.Completed(m) == api.ReasonRolledBack })
	a.ExpectBack()
	n.says(t, hook, api.ReasonHookInvalid, "job.spec.template.spec.containers[0].env[0].value holds 5432")
	n.says(t, old, api.ReasonFieldUnreadable, `spec.volumes[0].copy.downtimeBudget holds "1d"`)
	// The Migration continues once the field is corrected.
	patch := `{"spec":{"volumes":[{"claimTemplate":"data","method":"Copy","copy":{"image":"mover","downtimeBudget":"24h"}}]}}`
	if err := n.client.Patch(t.Context(), old, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
	n.says(t, old, api.ReasonPermissionMissing, "") // its account has no rights
	if said := n.manager.Said(); strings.Contains(said, "cannot unmarshal") && strings.Contains(said, "Failed to watch") {
		t.Error("an informer could not list")
	}
}

// badHook creates a Migration whose hook is not a valid Job.
func (n *tenancy) badHook(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	b := newMove(t, harness.Usual(1), n.toNewNamespace)
	b.Managed()
	b.Must(b.makeNamespace())
	for _, namespace := range []string{b.App.Namespace, b.ToNamespace} {
		b.mayRunJobs(b.Source, namespace, rbacv1.Subject{Kind: "ServiceAccount", Namespace: b.App.Namespace, Name: "default"})
	}
	object := asObject(t, b.Migration)
	container := map[string]any{"name": "tool", "image": "tool", "env": []any{map[string]any{"name": "PORT", "value": int64(5432)}}}
	spec := map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{container}}}}
	hooks := []any{map[string]any{"name": "tell", "point": "BeforeMigration", "job": map[string]any{"spec": spec}}}
	if err := unstructured.SetNestedSlice(object.Object, hooks, "spec", "hooks"); err != nil {
		t.Fatal(err)
	}
	if err := n.client.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	return object
}

func asObject(t *testing.T, m *api.Migration) *unstructured.Unstructured {
	t.Helper()
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal(data, &object.Object); err != nil {
		t.Fatal(err)
	}
	object.SetGroupVersionKind(api.GroupVersion.WithKind("Migration"))
	unstructured.RemoveNestedField(object.Object, "status")
	return object
}

// olderDuration creates a Migration with a duration that today's resource definition refuses, but an older one
// accepted.
func (n *tenancy) olderDuration(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "older-"}}
	if err := n.client.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	of := func() *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": api.GroupVersion.String(), "kind": "Migration", "metadata": map[string]any{"namespace": namespace.Name, "name": "web"},
			"spec": map[string]any{
				"source": map[string]any{"name": "web"}, "destination": map[string]any{"name": "other"},
				"volumes": []any{map[string]any{"claimTemplate": "data", "method": "Copy", "copy": map[string]any{"image": "mover", "downtimeBudget": "1d"}}},
			},
		}}
	}
	if err := n.client.Create(t.Context(), of()); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "downtimeBudget") {
		t.Errorf("a duration that does not decode: %v", err)
	}
	crds, err := config.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range crds {
		older := crd.DeepCopy()
		loosen(older.Spec.Versions[0].Schema.OpenAPIV3Schema)
		if err := fixture.Define(t.Context(), n.client, older); err != nil {
			t.Fatal(err)
		}
	}
	object := of()
	for deadline := time.Now().Add(time.Minute); ; {
		if err = n.client.Create(t.Context(), object); err == nil || time.Now().After(deadline) {
			break
		}
		harness.Sleep(t.Context(), 200*time.Millisecond)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range crds {
		if err := fixture.Define(t.Context(), n.client, crd); err != nil {
			t.Fatal(err)
		}
	}
	return object
}

// loosen removes the patterns from a schema.
func loosen(of *apiextensionsv1.JSONSchemaProps) {
	of.Pattern = ""
	for name, child := range of.Properties {
		loosen(&child)
		of.Properties[name] = child
	}
	if of.Items != nil {
		loosen(of.Items.Schema)
	}
}

// says waits until a Migration is stalled with this reason and text.
func (n *tenancy) says(t *testing.T, object *unstructured.Unstructured, reason, words string) {
	t.Helper()
	var told []metav1.Condition
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		m := &api.Migration{}
		if err := n.client.Get(t.Context(), client.ObjectKeyFromObject(object), m); err != nil {
			t.Fatal(err)
		}
		told = m.Status.Conditions
		if found := meta.FindStatusCondition(told, api.ConditionStalled); found != nil && found.Reason == reason && strings.Contains(found.Message, words) {
			return
		}
		harness.Sleep(t.Context(), 100*time.Millisecond)
	}
	t.Errorf("%s does not say %s with %q: %+v", object.GetName(), reason, words, told)
}
