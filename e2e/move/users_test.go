package move

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/migration"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// TestBackupHoldsTheClaim: another pod uses the claim of the ordinal that is next. It is waited
// for while the ordinal still runs, and not when it has been stopped (G5).
func TestBackupHoldsTheClaim(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(3), harness.AcrossClusters)
	pods := v.Source.CoreV1().Pods(v.App.Namespace)
	held := false
	v.Run(harness.Arrival(2)(func() error { return v.backUp("data-web-1") }), func(_ *api.Migration, outcome migration.Outcome) error {
		hold := outcome.Decision.Hold
		if held || hold == nil || hold.Reason != api.ReasonClaimInUse {
			return nil
		}
		held = true
		if ready, err := v.isReady(v.Here(), "web-1"); !ready || err != nil || !strings.Contains(hold.Message, "backup") {
			return fmt.Errorf("held by %+v, web-1 is Ready: %t (%w)", hold, ready, err)
		}
		return pods.Delete(v.Ctx, "backup", metav1.DeleteOptions{})
	})
	if !held {
		t.Error("it was not held")
	}
	v.ExpectMovedCleanly()
}

// backUp runs a pod of somebody else on a claim of the source.
func (v *move) backUp(claim string) error {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "backup"},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "backup", Image: "backup:1"}},
			Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
			}}},
		},
	}
	_, err := v.Source.CoreV1().Pods(v.App.Namespace).Create(v.Ctx, pod, metav1.CreateOptions{})
	return err
}
