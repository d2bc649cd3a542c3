package methods

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/volumes"
)

// TestIncoming: the claim that a copy is written to has the size, the mode and the class of what is copied, where nothing
// else is asked for.
func TestIncoming(t *testing.T) {
	for name, tc := range map[string]struct {
		size        string
		class, want string
	}{
		"M-051: as the source's":                    {"", "", "3Gi slow"},
		"M-051: a size and a class that were given": {"5Gi", "fast", "5Gi fast"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSides(t)
			from := &corev1.PersistentVolumeClaim{}
			if err := s.Giver.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "data-web-0"}, from); err != nil {
				t.Fatal(err)
			}
			from.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("3Gi")}
			if err := s.Giver.Status().Update(t.Context(), from); err != nil {
				t.Fatal(err)
			}
			if tc.size != "" {
				s.Copy.Size, s.StorageClass = new(resource.MustParse(tc.size)), &tc.class
			}
			made, err := Copy{}.Apply(t.Context(), s.Carrier, volumes.Action{Verb: volumes.CreateIncoming, Fence: owner + ".1", Ref: volumes.Ref{Namespace: "team", Name: "in"}}, s.pair)
			if err != nil {
				t.Fatal(err)
			}
			spec := made.(*corev1.PersistentVolumeClaim).Spec
			size := spec.Resources.Requests[corev1.ResourceStorage]
			if got := size.String() + " " + *spec.StorageClassName; got != tc.want || *spec.VolumeMode != corev1.PersistentVolumeBlock || spec.VolumeName != "" {
				t.Errorf("%s: %+v", got, spec)
			}
		})
	}
}
