package preflight

import (
	"context"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
	"github.com/sliceshift/sliceshift/migration/endpoint/endpointtest"
)

// TestRecreationIsAdmitted: a set that admission would change as it is recreated is found before the migration begins.
func TestRecreationIsAdmitted(t *testing.T) {
	for name, tc := range map[string]struct {
		image, want string
	}{
		"as it is":      {"web:1", ""},
		"another image": {"web:2", "spec.template.spec.containers[0].image"},
	} {
		t.Run(name, func(t *testing.T) {
			at := clustertest.Hooked(clustertest.Hooks{Create: func(_ context.Context, _ client.WithWatch, o client.Object, options ...client.CreateOption) error {
				if dry := (&client.CreateOptions{}).ApplyOptions(options).DryRun; len(dry) == 0 {
					t.Errorf("%s is created", o.GetName())
				}
				if o.GetName() != "" {
					return apierrors.NewAlreadyExists(schema.GroupResource{}, o.GetName())
				}
				return unstructured.SetNestedSlice(o.(*unstructured.Unstructured).Object, []any{map[string]any{"name": "web", "image": tc.image}}, "spec", "template", "spec", "containers")
			}})
			set := &appsv1.StatefulSet{
				TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"},
				ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
				Spec: appsv1.StatefulSetSpec{
					Template:             corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}}},
					VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}},
				},
			}
			m := &api.Migration{Spec: api.MigrationSpec{Storage: &api.StorageSpec{}, Volumes: []api.VolumeSpec{{ClaimTemplate: "data", StorageClassName: new("fast")}}}}
			found, err := (&Inspector{Pair: endpointtest.Pair(at, at)}).recreation(t.Context(), m, set)
			if err != nil || len(found) > 1 || (len(found) == 1) != (tc.want != "") {
				t.Fatalf("found %+v, %v", found, err)
			}
			if len(found) == 1 && (found[0].Reason != api.ReasonWriteRefused || found[0].Warning || found[0].Remedy == "" || !strings.Contains(found[0].Message, tc.want)) {
				t.Errorf("found %+v", found[0])
			}
		})
	}
}
