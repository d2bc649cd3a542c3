package world

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint/endpointtest"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// TestH12TimesAreOurs: times of a cluster are converted to our clock, however large the difference of the clocks.
func TestH12TimesAreOurs(t *testing.T) {
	for _, ahead := range []time.Duration{0, 5 * time.Minute, -5 * time.Minute} {
		at := endpointtest.Source(nil)
		at.Skew = func() time.Duration { return ahead }
		ours := time.Unix(1_800_000_000, 0)
		theirs := metav1.NewTime(ours.Add(ahead))
		leaving := metav1.ObjectMeta{Name: "web-1", DeletionTimestamp: &theirs, Finalizers: []string{"example.com/keep"}}
		f := &observed{endpoint: at, exports: map[string]plan.Export{"web-1": exportOf("", leaving, nil)}, services: map[string]*corev1.Service{"web-1": {ObjectMeta: leaving}}}
		names := f.names(&api.Migration{}, []int32{1})[0]
		for what, got := range map[string]int64{
			"claim":         f.viewClaim(&corev1.PersistentVolumeClaim{ObjectMeta: leaving}, "").DeletedAt,
			"volume":        f.viewVolume(&corev1.PersistentVolume{ObjectMeta: leaving}, "").DeletedAt,
			"Service":       names.Service.DeletedAt,
			"ServiceExport": names.Export.DeletedAt,
			"Job of a hook": hookJobOf(plan.Snapshot{}, at, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: theirs}}).Since.Unix(),
			"mover":         f.moverOf(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: theirs}}, "").Made.Unix(),
		} {
			if got != ours.Unix() {
				t.Errorf("a cluster %s ahead: the %s is seen at %s, want %s", ahead, what, time.Unix(got, 0), ours)
			}
		}
		if got := f.viewClaim(&corev1.PersistentVolumeClaim{}, "").DeletedAt; got != 0 {
			t.Errorf("a claim that is not being deleted is seen to be since %d", got)
		}
	}
}
