package move

import (
	"maps"
	"math"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/migration/engine"
)

// soon makes a step stall after three seconds.
func soon(s *api.MigrationSpec) { s.Handoff.ProgressDeadlineSeconds = new(int32(3)) }

// stalling returns a report that calls do when a snapshot stalls an ordinal with this text in the message. seen
// reports whether that has happened.
func stalling(says string, do func() error) (look harness.Report, seen func() bool) {
	stalled := false
	look = harness.When(func(_ *api.Migration, outcome engine.Outcome) bool {
		hold := outcome.Decision.Hold
		return hold != nil && hold.Stalled && hold.Reason == api.ReasonSnapshotting && strings.Contains(hold.Message, says)
	})(func() error {
		stalled = true
		return do()
	})
	return look, func() bool { return stalled }
}

// TestSnapshotStalls: the storage takes no snapshot, never reports it as ready, or has no room for the restored
// volume. The move stalls with the cause and continues on its own when the storage works.
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

// TestSnapshotStallTurnsBack: a rollback returns the ordinal to its disk while the storage still fails, because
// it does not wait for the snapshot. The snapshot is deleted once the storage works again.
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
