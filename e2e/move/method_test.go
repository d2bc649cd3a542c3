package move

import (
	"testing"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/internal/treetest"
	"github.com/sliceshift/sliceshift/migration/engine"
)

// downByCopy is the moment at which an ordinal is down and its copy has begun.
var downByCopy = harness.When(func(m *api.Migration, _ engine.Outcome) bool {
	handoff := m.Status.Handoff
	return handoff != nil && handoff.Step == api.StepCarryVolumes && handoff.Volume("data").Copy.Number > 0
})

// asks returns a function by which the user changes the method for the volumes of claim template data.
func (v *move) asks(store records.ConfigMap, how api.VolumeSpec) func() error {
	return func() error { return store.Change(v.Ctx, records.Change{Volumes: []api.VolumeSpec{how}}) }
}

// TestMethodChangedInMidCopy: the user changes the method to Rebind while an ordinal is down for its copy. That
// copy completes nevertheless. The next ordinal is not stopped until the original method is restored, and in
// the end all volumes are copies.
func TestMethodChangedInMidCopy(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(2), harness.AcrossClusters, byCopy)
	before, mover := v.filled(), v.Mover()
	again, held, arrived := v.asks(mover.Store, v.Migration.Spec.Volumes[0]), false, int32(0)
	v.Drive(mover,
		downByCopy(v.asks(mover.Store, api.VolumeSpec{ClaimTemplate: "data", Method: api.MethodRebind})),
		func(m *api.Migration, _ engine.Outcome) error { arrived = m.Status.Moved; return nil },
		harness.StalledWith(api.ReasonVolumesChanged)(func() error {
			held = true
			if arrived != 1 {
				t.Errorf("%d ordinals have arrived when it is held, want the one that was on its way", arrived)
			}
			return again()
		}))
	v.ExpectMoved()
	if !held {
		t.Error("the next ordinal was not held back")
	}
	v.expectCopies(v.There(), before)
	v.expectSeals()
	v.expectNoMovers()
	v.Audit()
}

// TestMethodChangedBeforeRollback: an ordinal has moved by a copy, and the rollback requests Rebind. The
// ordinal is copied back with all data that it has written, instead of returning to its old disk.
func TestMethodChangedBeforeRollback(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(2), harness.AcrossClusters, byCopy)
	before, mover := v.filled(), v.Mover()
	v.Drive(mover, harness.Arrival(1)(func() error {
		return mover.Store.Change(v.Ctx, records.Change{Mode: api.ModeRollback, Volumes: []api.VolumeSpec{{ClaimTemplate: "data", Method: api.MethodRebind}}})
	}))
	v.expectHome()
	now := v.folders(v.Here())
	if now[1] == before[1] || now[0] != before[0] {
		t.Errorf("the ordinals are on %v, and were on %v: the one that had moved comes back by a copy", now, before)
	}
	treetest.Equal(t, before[1], now[1])
	v.expectNoMovers()
	v.Audit()
}
