package drift

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// noon is when conditions of the tests have changed.
var noon = metav1.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// shows adds a condition to the status of a claim.
func shows(kind corev1.PersistentVolumeClaimConditionType, message string) change {
	return func(c *corev1.PersistentVolumeClaim) {
		c.Status.Conditions = append(c.Status.Conditions, corev1.PersistentVolumeClaimCondition{Type: kind, Status: corev1.ConditionTrue, Message: message, LastTransitionTime: noon})
	}
}

// writtenBy adds a write to the managed fields of a claim.
func writtenBy(manager, subresource string) change {
	return func(c *corev1.PersistentVolumeClaim) {
		c.ManagedFields = append(c.ManagedFields, metav1.ManagedFieldsEntry{Manager: manager, Subresource: subresource, Time: &noon})
	}
}

// TestChangeOf: the status of a claim shows what its driver has left to do, and why it does not. A condition that is no
// longer true, or is about the other change, does not count.
func TestChangeOf(t *testing.T) {
	large, gold := sized("2Gi"), attributes("gold")
	past := func(c *corev1.PersistentVolumeClaim) { c.Status.Conditions[0].Status = corev1.ConditionFalse }
	for name, tc := range map[string]struct {
		claim *corev1.PersistentVolumeClaim
		want  Change
	}{
		"none":                           {claim(), Change{}},
		"none, with a former error":      {claim(shows(corev1.PersistentVolumeClaimControllerResizeError, "full")), Change{}},
		"without a volume":               {claim(large, gold, unbound), Change{}},
		"it grows":                       {claim(large), Change{Grows: true}},
		"for a migration":                {claim(large, writtenBy(api.FieldManager, "")), Change{Grows: true, Since: noon.Time}},
		"for a user":                     {claim(large, writtenBy("kubectl", ""), writtenBy(api.FieldManager, "status")), Change{Grows: true}},
		"its node grows it":              {claim(large, shows(corev1.PersistentVolumeClaimFileSystemResizePending, "")), Change{Grows: true, FileSystem: noon.Time}},
		"its node has":                   {claim(large, shows(corev1.PersistentVolumeClaimFileSystemResizePending, ""), past), Change{Grows: true}},
		"the driver fails":               {claim(large, shows(corev1.PersistentVolumeClaimControllerResizeError, "full")), Change{Grows: true, Trouble: "full"}},
		"the node fails":                 {claim(large, shows(corev1.PersistentVolumeClaimNodeResizeError, "busy")), Change{Grows: true, Trouble: "busy"}},
		"the driver refuses":             {claim(large, has("1Gi", corev1.PersistentVolumeClaimControllerResizeInfeasible)), Change{Grows: true, GrowsNot: true}},
		"it is modified":                 {claim(gold), Change{Modifies: true}},
		"it was modified":                {claim(gold, modified("gold")), Change{}},
		"it keeps a class":               {claim(attributes(""), modified("gold")), Change{}},
		"the modification fails":         {claim(gold, shows(corev1.PersistentVolumeClaimVolumeModifyVolumeError, "busy")), Change{Modifies: true, Trouble: "busy"}},
		"the modification is refused":    {claim(gold, modifying(corev1.PersistentVolumeClaimModifyVolumeInfeasible)), Change{Modifies: true, ModifiesNot: true}},
		"the growth alone fails":         {claim(gold, shows(corev1.PersistentVolumeClaimControllerResizeError, "full")), Change{Modifies: true}},
		"both":                           {claim(large, gold, modified("tape")), Change{Grows: true, Modifies: true}},
		"a refusal of an earlier growth": {claim(has("2Gi", corev1.PersistentVolumeClaimControllerResizeInfeasible)), Change{}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, ChangeOf(tc.claim)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
