package slice

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// TestConvertPartition: the same pods remain below the partition, in both directions.
func TestConvertPartition(t *testing.T) {
	for name, tc := range map[string]struct{ start, replicas, native, ours, back int64 }{
		"none":             {5, 3, 0, 0, 0},
		"from the first":   {0, 3, 2, 2, 2},
		"from an ordinal":  {5, 3, 2, 7, 2},
		"beyond the range": {5, 3, 9, 8, 3},
	} {
		t.Run(name, func(t *testing.T) {
			spec := map[string]any{
				"replicas": tc.replicas, "ordinals": map[string]any{"start": tc.start},
				"updateStrategy": map[string]any{"rollingUpdate": map[string]any{"partition": tc.native}},
			}
			partition := func() int64 {
				value, _, _ := unstructured.NestedInt64(spec, "updateStrategy", "rollingUpdate", "partition")
				return value
			}
			if convertPartition(spec, slicesapi.GroupVersion); partition() != tc.ours {
				t.Errorf("ours %d, want %d", partition(), tc.ours)
			}
			if convertPartition(spec, appsv1.SchemeGroupVersion); partition() != tc.back {
				t.Errorf("back %d, want %d", partition(), tc.back)
			}
		})
	}
}

// TestY1AdoptWritesManifests: claim templates are converted to what a manifest has, in either direction.
func TestY1AdoptWritesManifests(t *testing.T) {
	stored := func(status any) map[string]any {
		return map[string]any{
			"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": map[string]any{"name": "data", "creationTimestamp": nil},
			"spec": map[string]any{"accessModes": []any{"ReadWriteOnce"}, "volumeMode": "Filesystem"}, "status": status,
		}
	}
	old := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"volumeClaimTemplates": []any{stored(map[string]any{"phase": "Pending"}), stored(map[string]any{})}}}}
	old.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("StatefulSet"))
	want := map[string]any{"metadata": map[string]any{"name": "data"}, "spec": map[string]any{"accessModes": []any{"ReadWriteOnce"}, "volumeMode": "Filesystem"}}
	for _, into := range []schema.GroupVersion{slicesapi.GroupVersion, appsv1.SchemeGroupVersion} {
		converted, err := convert(old, into)
		if err != nil {
			t.Fatal(err)
		}
		templates, _, _ := unstructured.NestedSlice(converted.Object, "spec", "volumeClaimTemplates")
		if diff := cmp.Diff([]any{want, want}, templates); diff != "" {
			t.Errorf("to %s (-want +got):\n%s", into, diff)
		}
	}
}
