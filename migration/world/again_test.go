package world

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/migration/plan"
)

// TestYoungClaim: a claim of an ordinal counts as young if it was created with its StatefulSet, later, or too shortly
// before.
func TestYoungClaim(t *testing.T) {
	made := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		claim string
		ago   time.Duration
		want  string
	}{
		"long before":         {"data-web-1", time.Hour, ""},
		"shortly before":      {"data-web-1", 30 * time.Second, "data-web-1"},
		"since":               {"data-web-1", -time.Second, "data-web-1"},
		"of another ordinal":  {"data-web-2", -time.Second, ""},
		"of another template": {"logs-web-1", -time.Second, ""},
		"of another set":      {"data-web-next-1", -time.Second, ""},
	} {
		set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(made)}}
		set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: tc.claim, CreationTimestamp: metav1.NewTime(made.Add(-tc.ago))}}
		f := &observed{set: set, claims: map[string]*corev1.PersistentVolumeClaim{tc.claim: claim}}
		if got := f.youngClaim(plan.Set{Name: "web", Replicas: 2}); got != tc.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
