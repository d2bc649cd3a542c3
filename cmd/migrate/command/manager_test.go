package command

import (
	"context"
	"errors"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/sliceshift/sliceshift/internal/clusters"
)

// TestUnattended: a manager that leads, or has an available replica, is found. Without permission to look, none is
// missed.
func TestUnattended(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	lease := func(holder string, ago time.Duration, name string) client.Object {
		l := &unstructured.Unstructured{}
		l.SetGroupVersionKind(coordinationv1.SchemeGroupVersion.WithKind("Lease"))
		l.SetNamespace("anywhere")
		l.SetName(name)
		l.Object["spec"] = map[string]any{"holderIdentity": holder, "renewTime": noon.Add(-ago).Format("2006-01-02T15:04:05.000000Z07:00")}
		return l
	}
	deployment := func(available int32) client.Object {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "tools", Name: "mover", Labels: map[string]string{"app.kubernetes.io/name": "sliceshift", "app.kubernetes.io/component": "manager"}}}
		d.Status.AvailableReplicas = available
		return d
	}
	other := deployment(1)
	other.SetLabels(nil)
	refuses := func(kind string) interceptor.Funcs {
		return interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if gvk, err := c.GroupVersionKindFor(list); err == nil && gvk.Kind == kind {
				return apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no right"))
			}
			return c.List(ctx, list, options...)
		}}
	}
	for name, tc := range map[string]struct {
		hooks interceptor.Funcs
		there []client.Object
		want  string
	}{
		"nothing is there":            {interceptor.Funcs{}, nil, "no manager was found in cluster east"},
		"one leads":                   {interceptor.Funcs{}, []client.Object{lease("a", time.Second, "sliceshift")}, ""},
		"one has led":                 {interceptor.Funcs{}, []client.Object{lease("a", time.Hour, "sliceshift")}, "no manager was found in cluster east"},
		"it was given up":             {interceptor.Funcs{}, []client.Object{lease("", time.Second, "sliceshift")}, "no manager was found in cluster east"},
		"somebody else leads":         {interceptor.Funcs{}, []client.Object{lease("a", time.Second, "another")}, "no manager was found in cluster east"},
		"one is available":            {interceptor.Funcs{}, []client.Object{deployment(1)}, ""},
		"none is available":           {interceptor.Funcs{}, []client.Object{deployment(0)}, "the manager of cluster east, Deployment tools/mover, has no available replica"},
		"another Deployment":          {interceptor.Funcs{}, []client.Object{other}, "no manager was found in cluster east"},
		"Leases may not be read":      {refuses("LeaseList"), nil, ""},
		"Deployments may not be read": {refuses("DeploymentList"), nil, ""},
	} {
		c := fake.NewClientBuilder().WithScheme(clusters.NewScheme()).WithObjects(tc.there...).WithInterceptorFuncs(tc.hooks).Build()
		if got := Unattended(t.Context(), c, "east", noon); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
