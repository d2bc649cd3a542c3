package slim

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// TestTimesOfOurs: the times of a migration's writes are kept, but not the fields, other writers or status writes.
func TestTimesOfOurs(t *testing.T) {
	at := metav1.NewTime(time.Unix(1, 0))
	got := timesOfOurs([]metav1.ManagedFieldsEntry{
		{Manager: "kubectl", Time: &at},
		{Manager: api.FieldManager, Subresource: "status", Time: &at},
		{Manager: api.FieldManager},
		{Manager: api.FieldManager, Time: &at, FieldsV1: &metav1.FieldsV1{}},
	})
	if len(got) != 1 || got[0].Time != &at || got[0].FieldsV1 != nil {
		t.Errorf("got %+v", got)
	}
}
