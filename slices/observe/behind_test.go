package observe

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/slices/internal/slicetest"
)

// TestBehind: a claim is behind if a field that its template names, and that may change, has another value.
func TestBehind(t *testing.T) {
	for name, tc := range map[string]struct {
		template, claim func(*corev1.PersistentVolumeClaim)
		want            bool
	}{
		"equal": {},
		"a larger request": {
			template: func(c *corev1.PersistentVolumeClaim) { c.Spec.Resources.Requests = slicetest.Storage("2Gi") }, want: true,
		},
		"a smaller request": {
			template: func(c *corev1.PersistentVolumeClaim) { c.Spec.Resources.Requests = slicetest.Storage("512Mi") }, want: true,
		},
		"the same request in other words": {
			template: func(c *corev1.PersistentVolumeClaim) { c.Spec.Resources.Requests = slicetest.Storage("1024Mi") },
		},
		"another class": {
			template: func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = new("fast") },
			claim:    func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = new("slow") }, want: true,
		},
		"the default class, which the API server has set": {
			claim: func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = new("slow") },
		},
		"other attributes": {
			template: func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeAttributesClassName = new("gold") }, want: true,
		},
		"no attributes asked for": {
			claim: func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeAttributesClassName = new("gold") },
		},
		"another access mode": {
			template: func(c *corev1.PersistentVolumeClaim) {
				c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
			},
			claim: func(c *corev1.PersistentVolumeClaim) {
				c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
			}, want: true,
		},
		"access modes in another order": {
			template: func(c *corev1.PersistentVolumeClaim) {
				c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce, corev1.ReadOnlyMany}
			},
			claim: func(c *corev1.PersistentVolumeClaim) {
				c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadOnlyMany, corev1.ReadWriteOnce}
			},
		},
		"it is being deleted": {
			template: func(c *corev1.PersistentVolumeClaim) { c.Spec.Resources.Requests = slicetest.Storage("2Gi") },
			claim:    func(c *corev1.PersistentVolumeClaim) { c.DeletionTimestamp = new(metav1.NewTime(slicetest.Noon)) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := Seen{Set: slicetest.WithClaims(), Claims: map[string]*corev1.PersistentVolumeClaim{}}
			for ordinal := range int32(4) {
				for i := range s.Set.Spec.VolumeClaimTemplates {
					claim := NewClaim(s.Set, &s.Set.Spec.VolumeClaimTemplates[i], ordinal)
					if tc.claim != nil && i == 1 && ordinal > 1 {
						tc.claim(claim)
					}
					s.Claims[claim.Name] = claim
				}
			}
			delete(s.Claims, "log-web-3")
			if tc.template != nil {
				tc.template(&s.Set.Spec.VolumeClaimTemplates[1])
			}
			got := s.Behind([]int32{2, 3})
			if is := slices.Equal(got.Ordinals, []int32{2}) && slices.Equal(got.Templates, []string{"log"}); is != tc.want || !is && len(got.Ordinals)+len(got.Templates) > 0 {
				t.Errorf("%+v, want %t", got, tc.want)
			}
		})
	}
}
