package slice

import (
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/apitest"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/commandtest"
	"github.com/sliceshift/sliceshift/internal/clusters"
)

// helmsSet returns a set of apps/v1 that helm has applied, with minReadySeconds, and kubectl has scaled.
func helmsSet() *appsv1.StatefulSet {
	return nativeSet("web", func(s *appsv1.StatefulSet) {
		s.Spec.MinReadySeconds = 5
		entry := func(manager string, operation metav1.ManagedFieldsOperationType, subresource, fields string) metav1.ManagedFieldsEntry {
			return metav1.ManagedFieldsEntry{Manager: manager, Operation: operation, APIVersion: "apps/v1", Subresource: subresource, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields)}
		}
		s.ManagedFields = []metav1.ManagedFieldsEntry{
			entry("helm", metav1.ManagedFieldsOperationApply, "", `{"f:spec":{"f:minReadySeconds":{},"f:selector":{},"f:serviceName":{},"f:template":{"f:metadata":{"f:labels":{"f:app":{}}},"f:spec":{"f:containers":{}}}}}`),
			entry("kubectl", metav1.ManagedFieldsOperationUpdate, "scale", `{"f:spec":{"f:replicas":{}}}`),
			entry("kube-controller-manager", metav1.ManagedFieldsOperationUpdate, "status", `{"f:status":{"f:replicas":{}}}`),
		}
	})
}

// managedServer returns an API server that tracks field managers.
func managedServer(t *testing.T, objects ...client.Object) *apitest.Server {
	t.Helper()
	s := newServer(t)
	s.Store = fake.NewClientBuilder().WithScheme(clusters.NewScheme()).WithReturnManagedFields().WithObjects(objects...).Build()
	return s
}

// managersOf returns the managers of the fields of shop/web of our kind.
func managersOf(t *testing.T, s *apitest.Server) []string {
	t.Helper()
	var managers []string
	for _, entry := range storedSlice(t, s).ManagedFields {
		managers = append(managers, strings.TrimSpace(string(entry.Operation)+" "+entry.Manager+" "+entry.APIVersion+" "+entry.Subresource))
	}
	slices.Sort(managers)
	return managers
}

// TestY9AdoptGivesFieldsToTheirManagers: after an adoption the fields belong to the managers that they had. The next
// release of helm has no conflict, and removes the field that its chart no longer has.
func TestY9AdoptGivesFieldsToTheirManagers(t *testing.T) {
	files := commandtest.InTemp(t)
	east := managedServer(t, helmsSet())
	patches := 0
	east.Before = func(r *http.Request) error {
		if r.Method != http.MethodPatch {
			return nil
		}
		if patches++; patches == 1 {
			return conflict() // the controller has written the status
		}
		return nil
	}
	c := newConsole(adoptArgs(t, east)...)
	if code := c.Run(t); code != command.ExitDone || c.Stderr.Len() > 0 {
		t.Fatalf("exit code %d, stderr %q", code, c.Stderr)
	}
	if diff := cmp.Diff([]string{"DELETE apps/web", "POST apps.sliceshift.io/web", "PATCH apps.sliceshift.io/web"}, east.Wrote()); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	version := slicesapi.GroupVersion.String()
	if diff := cmp.Diff([]string{"Apply helm " + version, "Update kubectl " + version + " scale"}, managersOf(t, east)); diff != "" {
		t.Errorf("managers (-want +got):\n%s", diff)
	}
	if left := files(); len(left) > 0 {
		t.Errorf("files %v are left", left)
	}
	release := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"serviceName": "web", "selector": map[string]any{"matchLabels": map[string]any{"app": "web"}},
		"template": map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"app": "web"}},
			"spec":     map[string]any{"containers": []any{map[string]any{"name": "web", "image": "web:2"}}},
		},
	}}}
	release.SetGroupVersionKind(slicesapi.GroupVersion.WithKind("StatefulSet"))
	release.SetNamespace("shop")
	release.SetName("web")
	if err := east.Store.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(release), client.FieldOwner("helm")); err != nil {
		t.Fatalf("helm has a conflict: %v", err)
	}
	if s := storedSlice(t, east).Spec; s.MinReadySeconds != 0 || s.Template.Spec.Containers[0].Image != "web:2" || *s.Replicas != 3 {
		t.Errorf("spec %+v", s)
	}
}

// TestY9AdoptKeepsTheManifest: if the managers cannot be written, the set is adopted, and the file has what is missing.
func TestY9AdoptKeepsTheManifest(t *testing.T) {
	files := commandtest.InTemp(t)
	east := managedServer(t, helmsSet())
	east.Before = func(r *http.Request) error {
		if r.Method == http.MethodPatch {
			return forbidden()
		}
		return nil
	}
	c := newConsole(adoptArgs(t, east)...)
	if code := c.Run(t); code != command.ExitDone || c.Stdout.String() != "statefulset.apps.sliceshift.io/web adopted\n" {
		t.Errorf("exit code %d, stdout %q", code, c.Stdout)
	}
	for _, want := range []string{
		"warning: the fields of apps.sliceshift.io/v1alpha1 StatefulSet shop/web belong to the field manager sliceshift", "forbidden",
		"--context east patch statefulsets.apps.sliceshift.io web -n shop --type merge --patch-file shop-web.statefulset.yaml\n",
	} {
		if !strings.Contains(c.Stderr.String(), want) {
			t.Errorf("stderr %q, want %q in it", c.Stderr, want)
		}
	}
	if diff := cmp.Diff([]string{"shop-web.statefulset.yaml"}, files()); diff != "" {
		t.Fatalf("files (-want +got):\n%s", diff)
	}
	data, err := os.ReadFile("shop-web.statefulset.yaml")
	if err != nil || !strings.Contains(string(data), "manager: helm") || strings.Contains(string(data), "apps/v1") {
		t.Errorf("%v, manifest %s", err, data)
	}
}

// TestY9AdoptReplaced: the managers are not written on an object that another client has created.
func TestY9AdoptReplaced(t *testing.T) {
	commandtest.InTemp(t)
	east := managedServer(t, helmsSet())
	east.Before = func(r *http.Request) error {
		if r.Method != http.MethodPatch {
			return nil
		}
		next := storedSlice(t, east)
		if err := east.Store.Delete(r.Context(), next); err != nil {
			return err
		}
		next.UID, next.ResourceVersion, next.ManagedFields = "another", "", nil
		if err := east.Store.Create(r.Context(), next, client.FieldOwner("another")); err != nil {
			return err
		}
		return apierrors.NewConflict(appsv1.Resource("statefulsets"), "web", nil)
	}
	c := newConsole(adoptArgs(t, east)...)
	if code := c.Run(t); code != command.ExitDone || !strings.Contains(c.Stderr.String(), "another client deleted it") {
		t.Errorf("exit code %d, stderr %q", code, c.Stderr)
	}
	if got := managersOf(t, east); len(got) != 1 || !strings.Contains(got[0], "another") {
		t.Errorf("managers %v", got)
	}
}

// TestY9AdoptLastApplied: what kubectl apply has recorded is a manifest of the new kind, so that the next apply removes the
// fields that it no longer has.
func TestY9AdoptLastApplied(t *testing.T) {
	for applied, want := range map[string]string{
		`{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"web","namespace":"shop"},"spec":{"minReadySeconds":5,"replicas":3}}`: `{"apiVersion":"apps.sliceshift.io/v1alpha1","kind":"StatefulSet","metadata":{"name":"web","namespace":"shop"},"spec":{"minReadySeconds":5,"replicas":3}}`,
		"{": "",
	} {
		set := nativeSet("web", func(s *appsv1.StatefulSet) { s.Annotations[corev1.LastAppliedConfigAnnotation] = applied })
		old := &unstructured.Unstructured{}
		old.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("StatefulSet"))
		data, err := json.Marshal(set)
		if err == nil {
			err = json.Unmarshal(data, &old.Object)
		}
		if err != nil {
			t.Fatal(err)
		}
		converted, err := convert(old, slicesapi.GroupVersion)
		if got := converted.GetAnnotations()[corev1.LastAppliedConfigAnnotation]; err != nil || got != want {
			t.Errorf("%v: %s, want %s", err, got, want)
		}
	}
}
