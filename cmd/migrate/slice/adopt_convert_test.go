package slice

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

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
