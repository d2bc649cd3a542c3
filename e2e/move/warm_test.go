package move

import (
	"encoding/json"
	"fmt"
	"maps"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/internal/treetest"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

const (
	much   = 16 << 20 // bytes that exist from the beginning
	little = 100_000  // bytes that are written later
)

// copyOf holds the last recorded copy attempt of ordinal 0.
type copyOf struct{ last api.CopyAttempt }

func (c *copyOf) report(m *api.Migration, _ engine.Outcome) error {
	if handoff := m.Status.Handoff; handoff != nil && handoff.Volume("data").Copy.Number > 0 {
		c.last = handoff.Volume("data").Copy
	}
	return nil
}

// large gives ordinal 0 so much data that a complete copy is distinguishable from a partial one.
func (v *move) large() []string {
	folders := v.filled()
	treetest.In(v.T, folders[0]).File("much", treetest.Bytes(7, much))
	return folders
}

// TestCopyWarm: the data of an ordinal are copied while it runs. While it is down, only the data written since
// are copied.
func TestCopyWarm(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(1), harness.AcrossClusters, byCopy)
	before := v.large()
	seen, running := &copyOf{}, false
	warmed := harness.CopyStep(volumes.DeleteMover, volumes.RoleWarm)(func() error {
		running = seen.last.Seal.Root == ""
		treetest.In(t, before[0]).File("little", treetest.Bytes(8, little))
		return nil
	})
	v.Drive(v.Mover(), seen.report, warmed)
	v.ExpectMoved()
	v.expectCopies(v.There(), before)
	v.expectNoMovers()
	v.expectSeals()
	warm, seal := seen.last.Warm, seen.last.Seal
	if warm.Passes < 1 || warm.Bytes < much || warm.Files < 2 || !running {
		t.Errorf("while it ran: %+v", warm)
	}
	if seal.Written < little || seal.Written > much/4 || seal.Bytes < much {
		t.Errorf("while it was down %d bytes of %d were written, and %d had changed", seal.Written, seal.Bytes, little)
	}
	v.Audit()
}

// slowly makes a pass over all data take some seconds.
func slowly(v *harness.Move) {
	v.Migration.Spec.Volumes[0].Copy.Bandwidth = new(resource.MustParse("4Mi"))
}

// finalizer keeps an ordinal's pod Terminating.
const finalizer = "sliceshift.io/test"

// finalizers sets the finalizers of ordinal 0's pod.
func (v *move) finalizers(names ...string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"finalizers": names}})
	if err != nil {
		return err
	}
	at := v.Here()
	_, err = at.Client.CoreV1().Pods(at.Namespace).Patch(v.Ctx, at.Set+"-0", types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// TestCopyWarmPodMoves: the warm sender is deleted as soon as the ordinal's own pod is deleted, even if it has
// more to read. The next node may need the volume. No ordinal is stopped before a pass has completed.
func TestCopyWarmPodMoves(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(1), harness.AcrossClusters, byCopy, slowly)
	before := v.large()
	at, seen, early := v.Here(), &copyOf{}, false
	reading := harness.CopyStep(volumes.TellMover, volumes.RoleWarm)(func() error {
		if err := v.finalizers(finalizer); err != nil {
			return err
		}
		return at.Client.CoreV1().Pods(at.Namespace).Delete(v.Ctx, at.Set+"-0", metav1.DeleteOptions{})
	})
	deleted := harness.CopyStep(volumes.DeleteMover, volumes.RoleWarm)(func() error {
		early = seen.last.Warm.Passes == 0
		return v.finalizers()
	})
	stopped := harness.Wrote(func(e *plan.Effect) bool { return e.Verb == plan.ScaleDown })(func() error {
		if seen.last.Warm.Passes == 0 {
			t.Error("it is stopped before a warm pass has ended")
		}
		return nil
	})
	v.Drive(v.Mover(), seen.report, reading, deleted, stopped)
	v.ExpectMoved()
	v.expectCopies(v.There(), before)
	v.expectNoMovers()
	if !early {
		t.Error("the warm sender stayed until its pass had ended")
	}
	v.Audit()
}

// TestCopyWarmPause: no mover reads a running ordinal's volume during a pause. The copy continues afterwards.
func TestCopyWarmPause(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(1), harness.AcrossClusters, byCopy, slowly)
	before := v.large()
	mover, seen := v.Mover(), &copyOf{}
	var paused api.CopyAttempt
	reading := harness.CopyStep(volumes.TellMover, volumes.RoleWarm)(func() error { return mover.Store.SetMode(v.Ctx, api.ModePause) })
	rests := harness.HeldWith(api.ReasonPaused)(func() error {
		paused = seen.last
		if err := v.movers(); err != nil {
			return err
		}
		return mover.Store.SetMode(v.Ctx, api.ModeRun)
	})
	v.Drive(mover, seen.report, reading, rests)
	v.ExpectMoved()
	v.expectCopies(v.There(), before)
	if paused.Number == 0 || paused.Number != seen.last.Number {
		t.Errorf("paused in attempt %d, and ended in %d", paused.Number, seen.last.Number)
	}
	v.Audit()
}

// movers returns an error that names a mover that is not Terminating.
func (v *move) movers() error {
	for _, at := range []harness.Endpoint{v.Here(), v.There()} {
		pods, err := at.Client.CoreV1().Pods(at.Namespace).List(v.Ctx, metav1.ListOptions{LabelSelector: api.MigrationLabelKey})
		if err != nil {
			return err
		}
		for i := range pods.Items {
			if pods.Items[i].DeletionTimestamp == nil {
				return fmt.Errorf("pod %s is there in a pause", pods.Items[i].Name)
			}
		}
	}
	return nil
}

// TestCopyLimit: an ordinal whose copy exceeds its downtime limit is automatically rolled back to its original
// disk. It runs there until the user raises the limit.
func TestCopyLimit(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(1), harness.AcrossClusters, byCopy, func(v *harness.Move) {
		asked := &v.Migration.Spec.Volumes[0].Copy
		asked.Warm, asked.Bandwidth, asked.DowntimeLimit = api.CopyWarmNone, new(resource.MustParse("512Ki")), &metav1.Duration{Duration: 5 * time.Second}
	})
	before := v.large()
	disks, stalled, seen := v.disks(), 0, &copyOf{}
	mover := v.Mover()
	word := harness.StalledWith(api.ReasonCopyTurnedBack)(func() error {
		stalled++
		if after := v.disks(); !maps.Equal(after, disks) {
			t.Errorf("the disks are %v, and were %v", after, disks)
		}
		now := v.Migration.Spec.Volumes[0]
		now.Copy.Bandwidth, now.Copy.DowntimeLimit = nil, &metav1.Duration{Duration: 10 * time.Minute}
		return mover.Store.Change(v.Ctx, records.Change{Volumes: []api.VolumeSpec{now}})
	})
	v.Drive(mover, seen.report, word)
	v.ExpectMoved()
	v.expectCopies(v.There(), before)
	v.expectSeals()
	if stalled != 1 {
		t.Errorf("it has stalled %d times", stalled)
	}
	v.Audit()
}

// TestCopyWaitsForItsTime: a copy is kept warm until the requested time, when the ordinal is stopped.
func TestCopyWaitsForItsTime(t *testing.T) {
	t.Parallel()
	var at time.Time
	v := newMove(t, harness.Usual(1), harness.AcrossClusters, byCopy, func(v *harness.Move) {
		at = time.Now().Add(20 * time.Second).Truncate(time.Second)
		asked := &v.Migration.Spec.Volumes[0].Copy
		asked.Cutover, asked.CutoverAt, asked.DowntimeBudget = api.CutoverAt, new(metav1.NewTime(at)), &metav1.Duration{Duration: time.Second}
	})
	before, seen := v.filled(), &copyOf{}
	stopped := harness.Wrote(func(e *plan.Effect) bool { return e.Verb == plan.ScaleDown })(func() error {
		if time.Now().Before(at) || seen.last.Warm.Passes == 0 {
			t.Errorf("it is stopped %s before its time, after %d warm passes", time.Until(at), seen.last.Warm.Passes)
		}
		return nil
	})
	v.Drive(v.Mover(), seen.report, stopped)
	v.ExpectMoved()
	v.expectCopies(v.There(), before)
	v.Audit()
}

// TestCopyWaitsForAWord: with manual cutover, or when the expected downtime exceeds its budget, the ordinal
// continues to run. Its copy is kept warm until the user requests the cutover.
func TestCopyWaitsForAWord(t *testing.T) {
	for reason, asked := range map[string]func(*api.CopySpec){
		volumes.ReasonCopyAwaitsWord: func(c *api.CopySpec) { c.Cutover = api.CutoverManual },
		volumes.ReasonCopyOverBudget: func(c *api.CopySpec) { c.DowntimeBudget = &metav1.Duration{Duration: time.Second} },
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			v := newMove(t, harness.Usual(1), harness.AcrossClusters, byCopy, func(v *harness.Move) { asked(&v.Migration.Spec.Volumes[0].Copy) })
			before := v.filled()
			mover, seen, said := v.Mover(), &copyOf{}, false
			word := harness.StalledWith(reason)(func() error {
				said = true
				now := v.Migration.Spec.Volumes[0]
				now.Copy.Cutover = api.CutoverNow
				return mover.Store.Change(v.Ctx, records.Change{Volumes: []api.VolumeSpec{now}})
			})
			stopped := harness.Wrote(func(e *plan.Effect) bool { return e.Verb == plan.ScaleDown })(func() error {
				if !said || seen.last.Warm.Passes == 0 {
					t.Errorf("it is stopped unasked, after %d warm passes", seen.last.Warm.Passes)
				}
				return nil
			})
			v.Drive(mover, seen.report, word, stopped)
			v.ExpectMoved()
			v.expectCopies(v.There(), before)
			v.expectNoMovers()
			v.Audit()
		})
	}
}
