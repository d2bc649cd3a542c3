package move

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/engine"
)

// aheadOf returns the number of volumes that were copied before the turn of their ordinals.
func aheadOf(m *api.Migration) (copied int) {
	for _, ahead := range m.Status.Ahead {
		for _, volume := range ahead.Volumes {
			if volume.Copy.Warm.Passes > 0 {
				copied++
			}
		}
	}
	return copied
}

// copiesAhead makes the first ordinal of a move wait for its manual cutover, and prefetches the next two
// meanwhile.
func copiesAhead(v *harness.Move) {
	asked := &v.Migration.Spec.Volumes[0].Copy
	asked.Cutover, asked.Prefetch = api.CutoverManual, 2
}

// TestCopyAhead: while one ordinal moves, the next ordinals are copied. Each of them later continues from its
// own copied data.
func TestCopyAhead(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(3), harness.AcrossClusters, byCopy, copiesAhead)
	before, mover := v.filled(), v.Mover()
	said, passes := false, map[int32]int32{}
	v.Drive(mover, func(m *api.Migration, _ engine.Outcome) error {
		if handoff := m.Status.Handoff; handoff != nil {
			if _, seen := passes[handoff.Ordinal]; !seen {
				passes[handoff.Ordinal] = handoff.Volume("data").Copy.Warm.Passes
			}
		}
		if said || aheadOf(m) < 2 {
			return nil
		}
		said = true
		now := v.Migration.Spec.Volumes[0]
		now.Copy.Cutover = api.CutoverNow
		return mover.Store.Change(v.Ctx, records.Change{Volumes: []api.VolumeSpec{now}})
	})
	v.ExpectMoved()
	if !said || passes[1] < 1 || passes[0] < 1 {
		t.Errorf("when their turn came, so many passes had been made of the ordinals: %v", passes)
	}
	v.expectCopies(v.There(), before)
	v.expectNoMovers()
	v.Audit()
}

// TestCopyAheadTurnsBack: a rollback deletes the copies of ordinals that have not moved yet.
func TestCopyAheadTurnsBack(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(3), harness.AcrossClusters, byCopy, copiesAhead)
	v.filled()
	disks, mover, turned := v.disks(), v.Mover(), false
	v.Drive(mover, func(m *api.Migration, _ engine.Outcome) error {
		if turned || aheadOf(m) < 2 {
			return nil
		}
		turned = true
		return mover.Store.SetMode(v.Ctx, api.ModeRollback)
	})
	v.expectHome()
	for name, disk := range v.disks() {
		if disks[name] != disk {
			t.Errorf("claim %s is on another disk", name)
		}
	}
	v.expectNothingLeft()
	v.Audit()
}

// TestCopyAheadRefused: when a cluster refuses an object for a later ordinal's copy, the condition AheadHeld
// shows the cluster's message and the remedy. The current ordinal continues meanwhile, and the condition
// disappears once the object is allowed.
func TestCopyAheadRefused(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(3), harness.AcrossClusters, byCopy, copiesAhead, func(v *harness.Move) { v.Migration.Spec.Volumes[0].Copy.Prefetch = 0 })
	before, mover := v.filled(), v.Mover()
	const (
		begun = iota
		bounded
		told
		mended
	)
	done := begun
	change := func(set func(*api.CopySpec)) error {
		set(&v.Migration.Spec.Volumes[0].Copy)
		return mover.Store.Change(v.Ctx, records.Change{Volumes: v.Migration.Spec.Volumes})
	}
	v.Drive(mover, func(m *api.Migration, _ engine.Outcome) error {
		held := meta.FindStatusCondition(m.Status.Conditions, api.ConditionAheadHeld)
		own := int32(0)
		if m.Status.Handoff != nil {
			own = m.Status.Handoff.Volume("data").Copy.Warm.Passes
		}
		switch {
		case done == begun && own > 0:
			v.claimQuota("1")
			done = bounded
			return change(func(c *api.CopySpec) { c.Prefetch = 2 })
		case done == bounded && held != nil:
			done = told
			for _, part := range []string{"to be copied before its turn: cluster destination refused to create claim ", "exceeded quota: few", ". What to do: ", "kubectl describe quota -n " + v.ToNamespace} {
				if held.Reason != api.ReasonWriteRefused || !strings.Contains(held.Message, part) {
					t.Errorf("no %q in %s: %s", part, held.Reason, held.Message)
				}
			}
			if meta.IsStatusConditionTrue(m.Status.Conditions, api.ConditionStalled) && meta.FindStatusCondition(m.Status.Conditions, api.ConditionStalled).Reason == api.ReasonWriteRefused {
				t.Error("the ordinal that is on its way is held up")
			}
			return v.Destination.CoreV1().ResourceQuotas(v.ToNamespace).Delete(v.Ctx, "few", metav1.DeleteOptions{})
		case done == told && held == nil && aheadOf(m) == 2:
			done = mended
			return change(func(c *api.CopySpec) { c.Cutover = api.CutoverNow })
		}
		return nil
	})
	v.ExpectMoved()
	if done != mended {
		t.Errorf("it came to stage %d of %d", done, mended)
	}
	v.expectCopies(v.There(), before)
	v.expectNoMovers()
	v.Audit()
}
