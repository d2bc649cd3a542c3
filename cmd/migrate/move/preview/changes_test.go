package preview

import (
	"bytes"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/sliceshift/sliceshift/cmd/migrate/move/movetest"
	"github.com/sliceshift/sliceshift/internal/golden"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// TestDiff: lasting changes of a move are shown field by field, and temporary ones only by name.
func TestDiff(t *testing.T) {
	for name, app := range map[string]movetest.Application{
		"diff.txt":        {Replicas: 2, Templates: []string{"data"}},
		"diff_delete.txt": {Replicas: 1, Templates: []string{"data"}, Spec: plan.Spec{DeleteSource: true}},
		"diff_count.txt":  {Replicas: 3, Spec: plan.Spec{Count: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := (Printer{Out: &out}).Diff(NewChanges(fresh(), app.Snapshot())); err != nil {
				t.Fatal(err)
			}
			golden.Compare(t, name, out.String())
		})
	}
}

// TestDiffChangesNothing: a diff does not modify its snapshot.
func TestDiffChangesNothing(t *testing.T) {
	s := movetest.Application{Replicas: 1, Templates: []string{"data"}}.Snapshot()
	NewChanges(fresh(), s)
	if policy := s.Volumes[0].Source.Volume.Policy; policy != corev1.PersistentVolumeReclaimDelete {
		t.Errorf("the policy of its volume is %s", policy)
	}
}
