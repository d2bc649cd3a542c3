package move

import (
	"testing"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// nameBy changes the names of ordinals during the move, as a user does.
func (v *move) nameBy(store records.ConfigMap, how api.PerOrdinal) error {
	m, err := store.Load(v.Ctx)
	if err != nil {
		return err
	}
	m.Spec.Services.PerOrdinal = how
	return store.Save(v.Ctx, m)
}

// TestNamesTurnedOffInMidMove: names are disabled while an ordinal is down for its move. The ordinal keeps its
// name, and the next ordinal is not stopped until names are enabled again. At the end the names that the move
// has created are deleted, as requested.
func TestNamesTurnedOffInMidMove(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(2), harness.AcrossClusters, harness.WithSpec(named), harness.WithSpec(func(s *api.MigrationSpec) {
		s.Cleanup.PerOrdinalServices = api.CleanupDelete
	}))
	from, to := v.servingExports()
	mover, held := v.Mover(), false
	v.Drive(mover,
		harness.WroteOn(plan.SourceSide, plan.ScaleDown)(func() error { return v.nameBy(mover.Store, api.PerOrdinalNone) }),
		harness.StalledWith(api.ReasonServicesChanged)(func() error {
			held = true
			if err := v.expectNames("while it is held", from, "web-0"); err != nil {
				return err
			}
			if err := v.expectNames("while it is held", to, "web-1"); err != nil {
				return err
			}
			return v.nameBy(mover.Store, api.PerOrdinalExport)
		}))
	v.ExpectMoved()
	if !held {
		t.Error("the next ordinal was not held back")
	}
	v.Must(v.expectNames("at the end", from))
	v.Must(v.expectNames("at the end", to))
	v.Audit()
}
