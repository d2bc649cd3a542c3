package move

import (
	"maps"
	"math"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/migration"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// soon has a step called a stall after seconds.
func soon(s *api.MigrationSpec) { s.Handoff.ProgressDeadlineSeconds = new(int32(3)) }

// stalling is when a snapshot has kept an ordinal for too long, and the message says so; it tells whether that has been.
func stalling(says string, do func() error) (look harness.Report, seen func() bool) {
	stalled := false
	look = harness.When(func(_ *api.Migration, outcome migration.Outcome) bool {
		hold := outcome.Decision.Hold
		return hold != nil && hold.Stalled && hold.Reason == api.ReasonSnapshotting && strings.Contains(hold.Message, says)
	})(func() error {
		stalled = true
		return do()
	})
	return look, func() bool { return stalled }
}

// TestSnapshotStalls: where the storage takes no snapshot, never says that one is ready, or has no room for the volume that
// is made of it, the move stalls and says what it waits for; it goes on by itself once that is mended.
func TestSnapshotStalls(t *testing.T) {
	d := startSnapshots(t)
	const full = "no space left in the pool"
	for name, tc := range map[string]struct {
		fail func() (mend func())
		says string
	}{
		"not taken": {func() func() { return d.sites[0].Driver.Break("CreateSnapshot", codes.ResourceExhausted, full) }, full},
		"never ready": {func() func() {
			d.folder.Unready(math.MaxInt)
			return func() { d.folder.Unready(0) }
		}, "is ready, with a handle and a size"},
		"not restored": {func() func() { return d.sites[1].Driver.Break("CreateVolume", codes.ResourceExhausted, full) }, "kubectl describe pvc"},
	} {
		t.Run(name, func(t *testing.T) {
			v := newMove(t, harness.Usual(1), d.app(1), bySnapshot(lateClass), harness.WithSpec(soon))
			data, handles := v.write("before", v.mounted(v.Here(), d.sites[0])), v.handles(v.Here())
			mend := tc.fail()
			defer mend()
			look, stalled := stalling(tc.says, func() error {
				mend()
				return nil
			})
			v.Run(look)
			if !stalled() {
				t.Errorf("it did not stall with %q", tc.says)
			}
			v.ExpectMoved()
			v.same(data, v.mounted(v.There(), d.sites[1]))
			v.expectLeft(handles)
			v.expectNoMovers()
			v.expectNoSnapshots(d)
			v.Audit()
		})
	}
}

// TestSnapshotStallTurnsBack: an ordinal goes back to its disk while the storage still takes no snapshot, or restores none:
// that waits for nothing of it. What was asked of the storage goes away once it answers again.
func TestSnapshotStallTurnsBack(t *testing.T) {
	d := startSnapshots(t)
	for name, tc := range map[string]struct {
		site   int
		method string
		says   string
	}{
		"not taken":    {0, "CreateSnapshot", "it is broken"},
		"not restored": {1, "CreateVolume", "kubectl describe pvc"},
	} {
		t.Run(name, func(t *testing.T) {
			v := newMove(t, harness.Usual(1), d.app(1), bySnapshot(lateClass), harness.WithSpec(soon))
			data := v.write("before", v.mounted(v.Here(), d.sites[0]))
			before, mover := v.disks(), v.Mover()
			mend := d.sites[tc.site].Driver.Break(tc.method, codes.Internal, "it is broken")
			defer mend()
			look, stalled := stalling(tc.says, func() error { return mover.Store.SetMode(v.Ctx, api.ModeRollback) })
			v.Drive(mover, look)
			if !stalled() {
				t.Errorf("it did not stall with %q", tc.says)
			}
			v.expectHome()
			v.same(data, v.mounted(v.Here(), d.sites[0]))
			if after := v.disks(); !maps.Equal(after, before) {
				t.Errorf("the disks are %v, and were %v", after, before)
			}
			mend()
			v.expectNoSnapshots(d)
			v.Audit()
		})
	}
}
