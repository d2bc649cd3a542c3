package move

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/migration/plan"
)

func TestPartOfTheOrdinals(t *testing.T) {
	for _, order := range []api.Order{api.HighestFirst, api.LowestFirst} {
		t.Run("S-012 "+string(order), func(t *testing.T) {
			t.Parallel()
			v := newMove(t, harness.Usual(4), harness.AcrossClusters, attached, harness.WithSpec(func(s *api.MigrationSpec) {
				s.Ordinals = api.OrdinalsSpec{Order: order, Count: ptr.To[int32](2)}
			}))
			v.Run()
			low, high := [2]int32{0, 2}, [2]int32{2, 2}
			if order == api.LowestFirst {
				low, high = high, low
			}
			v.ExpectSlice(v.Here(), low[0], low[1])
			v.ExpectSlice(v.There(), high[0], high[1])
			v.ExpectVolumes(v.There(), 2)
			v.Audit()
		})
	}
}

// TestRollback rolls the migration back after each write of the first two handoffs. All ordinals return, and
// nothing remains at the destination.
func TestRollback(t *testing.T) {
	for _, where := range []struct {
		name string
		set  harness.Setting
		step int
	}{{"clusters", harness.AcrossClusters, 1}, {"namespaces", harness.AcrossNamespaces, 2}, {"names", harness.AcrossNames, 3}} {
		for n := 1; n <= 15; n += where.step {
			t.Run(fmt.Sprintf("%s after write %d", where.name, n), func(t *testing.T) {
				t.Parallel()
				v := newMove(t, harness.Usual(2), where.set, attached)
				mover := v.Mover()
				v.Drive(mover, harness.OnWrite(n, func() error { return mover.Store.SetMode(v.Ctx, api.ModeRollback) }))
				v.ExpectBack()
				v.Audit()
			})
		}
	}
}

func TestMigrateRollBackMigrateAgain(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(3), harness.AcrossClusters, attached, harness.WithSpec(lowestFirst))
	mover := v.Mover()
	v.Drive(mover, harness.Arrival(1)(func() error { return mover.Store.SetMode(v.Ctx, api.ModeRollback) }))
	v.ExpectBack()
	v.Must(mover.Store.SetMode(v.Ctx, api.ModeRun))
	v.Drive(mover)
	v.ExpectMovedCleanly()
}

// paused is the duration of a pause.
const paused = 2 * time.Second

// TestPause pauses after each kind of write of a handoff. A replica that is down is started before the pause
// holds, and nothing is written during the pause.
func TestPause(t *testing.T) {
	for _, verb := range []plan.Verb{plan.SetBudget, plan.ScaleDown, plan.CarryVolume, plan.ScaleUp} {
		t.Run(string(verb), func(t *testing.T) {
			t.Parallel()
			v := newMove(t, harness.Usual(3), harness.AcrossClusters, attached)
			mover := v.Mover()
			var since time.Time
			resumed := false
			v.Drive(mover, harness.OnVerb(verb, func() error { return mover.Store.SetMode(v.Ctx, api.ModePause) }),
				func(m *api.Migration, outcome engine.Outcome) error {
					hold := outcome.Decision.Hold
					holds := hold != nil && hold.Reason == api.ReasonPaused
					switch {
					case resumed:
					case holds && since.IsZero():
						since = time.Now()
						if down := v.App.Replicas - m.Status.Source.Available - m.Status.Destination.Available; down != 0 {
							t.Errorf("%d replicas are down while it is paused", down)
						}
						go func() {
							harness.Sleep(v.Ctx, paused)
							_ = mover.Store.SetMode(v.Ctx, api.ModeRun) // on an error the move does not end
						}()
					case outcome.Wrote && !since.IsZero() && time.Since(since) < paused:
						return fmt.Errorf("while it is paused: %s", outcome.Decision.Effect)
					case !since.IsZero() && !holds:
						resumed = true
					}
					return nil
				})
			if !resumed {
				t.Error("it never paused, or never went on")
			}
			v.ExpectMovedCleanly()
		})
	}
}

// TestSourcePodStaysTerminating: the migration waits for a Terminating pod without limit and never deletes it
// by force.
func TestSourcePodStaysTerminating(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(2), harness.AcrossClusters, harness.WithSpec(func(s *api.MigrationSpec) { s.Handoff.ProgressDeadlineSeconds = ptr.To[int32](1) }))
	v.Must(v.finalize(v.Here(), "web-1", `["example.com/hold"]`))
	v.stallsOnce(api.ReasonPodTerminating, func() error {
		if _, err := v.Destination.CoreV1().Pods(v.ToNamespace).Get(v.Ctx, "web-1", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("web-1 was started while it was Terminating: %w", err)
		}
		return v.finalize(v.Here(), "web-1", `null`)
	})
}

// stallsOnce moves the application. The move stalls with this reason, and completes after mend.
func (v *move) stallsOnce(reason string, mend func() error) {
	v.T.Helper()
	stalled := false
	v.Run(harness.StalledWith(reason)(func() error {
		stalled = true
		return mend()
	}))
	if !stalled {
		v.T.Error("it did not stall")
	}
	v.ExpectMovedCleanly()
}

// finalize sets the finalizers of a pod. A pod with a finalizer remains Terminating.
func (v *move) finalize(at harness.Endpoint, pod, finalizers string) error {
	patch := fmt.Sprintf(`{"metadata":{"finalizers":%s}}`, finalizers)
	_, err := at.Client.CoreV1().Pods(at.Namespace).Patch(v.Ctx, pod, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

// TestPodNeverCreated: the migration stalls and names the pod when the destination cannot create it. It
// continues on its own when the cause is removed.
func TestPodNeverCreated(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(2), harness.AcrossNamespaces, harness.WithSpec(func(s *api.MigrationSpec) { s.Handoff.ProgressDeadlineSeconds = ptr.To[int32](2) }))
	v.Must(v.makeNamespace())
	v.keepPodsOut(v.There())
	v.stallsOnce(api.ReasonPodMissing, func() error { return v.letPodsIn(v.There()) })
}

func (v *move) makeNamespace() error {
	_, err := v.Destination.CoreV1().Namespaces().Create(v.Ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v.ToNamespace}}, metav1.CreateOptions{})
	return err
}

// TestAttachmentHoldsTheVolume: the migration waits until the VolumeAttachment is deleted. An attachment to
// another node than the pod's prevents even the stop of the pod, because the volume could not move.
func TestAttachmentHoldsTheVolume(t *testing.T) {
	t.Parallel()
	t.Run("of the pod's node", func(t *testing.T) {
		t.Parallel()
		v := newMove(t, harness.Usual(1), harness.AcrossClusters, harness.WithSpec(func(s *api.MigrationSpec) { s.Handoff.ProgressDeadlineSeconds = ptr.To[int32](1) }))
		v.holdsAttached(v.sourcePod("web-0").Spec.NodeName, func(hold plan.Hold) (bool, error) { return hold.Stalled, nil })
	})
	t.Run("of another node", func(t *testing.T) {
		t.Parallel()
		v := newMove(t, harness.Usual(1), harness.AcrossClusters)
		before := v.sourcePod("web-0")
		v.holdsAttached("elsewhere", func(plan.Hold) (bool, error) {
			if now := v.sourcePod("web-0"); now.UID != before.UID || now.DeletionTimestamp != nil {
				return true, errors.New("web-0 was stopped though its volume is attached to another node")
			}
			return true, nil
		})
	})
}

func (v *move) sourcePod(name string) *corev1.Pod {
	v.T.Helper()
	pod, err := v.Source.CoreV1().Pods(v.App.Namespace).Get(v.Ctx, name, metav1.GetOptions{})
	v.Must(err)
	return pod
}

func (v *move) sourcePods() []corev1.Pod {
	v.T.Helper()
	pods, err := v.Source.CoreV1().Pods(v.App.Namespace).List(v.Ctx, metav1.ListOptions{})
	v.Must(err)
	return pods.Items
}

// holdsAttached moves the application while its volume is attached to a node. It deletes the attachment when
// enough returns true.
func (v *move) holdsAttached(node string, enough func(plan.Hold) (bool, error)) {
	v.T.Helper()
	claim, err := v.Source.CoreV1().PersistentVolumeClaims(v.App.Namespace).Get(v.Ctx, "data-web-0", metav1.GetOptions{})
	v.Must(err)
	name := "attach-" + v.App.Namespace
	v.Must(v.attach(name, claim.Spec.VolumeName, node))
	released := false
	v.Run(func(_ *api.Migration, outcome engine.Outcome) error {
		hold := outcome.Decision.Hold
		if released || hold == nil || hold.Reason != api.ReasonVolumeAttached {
			return nil
		}
		if done, err := enough(*hold); err != nil || !done {
			return err
		}
		released = true
		if _, err := v.Destination.CoreV1().PersistentVolumes().Get(v.Ctx, claim.Spec.VolumeName, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the destination's volume was made while it was attached at the source: %w", err)
		}
		return v.Source.StorageV1().VolumeAttachments().Delete(v.Ctx, name, metav1.DeleteOptions{})
	})
	if !released {
		v.T.Error("it did not wait for the attachment")
	}
	v.ExpectMovedCleanly()
}

// TestForeignWriter: the migration stalls when another writer scales the source during the move, names the
// writer, and continues when the replicas are restored.
func TestForeignWriter(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(3), harness.AcrossClusters)
	mover := v.Mover()
	scale := func(replicas int32) error {
		patch := fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas)
		_, err := v.Source.AppsV1().StatefulSets(v.App.Namespace).Patch(v.Ctx, v.App.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "somebody"})
		return err
	}
	var before int32
	stalled := false
	v.Drive(mover, func(m *api.Migration, outcome engine.Outcome) error {
		hold := outcome.Decision.Hold
		switch {
		case outcome.Finished != nil && outcome.Finished.Ordinal == 2 && before == 0:
			before = m.Status.Source.Replicas
			v.Auditor.Blame(0)
			v.Auditor.Blame(1)
			return scale(0)
		case hold != nil && hold.Stalled && !stalled:
			stalled = true
			if hold.Reason != api.ReasonForeignScale || !strings.Contains(hold.Message, `"somebody"`) {
				return fmt.Errorf("stalled with %s: %s", hold.Reason, hold.Message)
			}
			return scale(2)
		}
		return nil
	})
	if !stalled {
		t.Error("it did not notice")
	}
	v.ExpectMovedCleanly()
}

// TestNothingIsWrittenWhenSettled: a second run of a completed migration writes nothing.
func TestNothingIsWrittenWhenSettled(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(2), harness.AcrossClusters)
	mover := v.Run()
	v.Drive(mover, func(_ *api.Migration, outcome engine.Outcome) error {
		if outcome.Wrote || outcome.Saved {
			return fmt.Errorf("a finished migration wrote: %s", harness.Narrate(outcome))
		}
		return nil
	})
	v.Audit()
}

// attach creates a VolumeAttachment of a source volume to a node.
func (v *move) attach(name, volume, node string) error {
	attachment := &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       storagev1.VolumeAttachmentSpec{Attacher: "example.com", NodeName: node, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &volume}},
	}
	_, err := v.Source.StorageV1().VolumeAttachments().Create(v.Ctx, attachment, metav1.CreateOptions{})
	return err
}
