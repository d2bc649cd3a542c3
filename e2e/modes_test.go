package e2e

import (
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/migration"
	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// usual is the application that most tests move.
func usual(replicas int32) fixture.App {
	return fixture.App{Replicas: replicas, Claims: []string{"data"}, MaxUnavailable: intOrString("1")}
}

// onWrite calls do once, after the n-th write to a cluster.
func onWrite(n int, do func() error) report {
	count := 0
	return func(_ *api.Migration, outcome migration.Outcome) error {
		if !outcome.Wrote {
			return nil
		}
		if count++; count == n {
			return do()
		}
		return nil
	}
}

// onVerb calls do once, after the first write of that kind.
func onVerb(verb plan.Verb, do func() error) report {
	done := false
	return func(_ *api.Migration, outcome migration.Outcome) error {
		if done || !outcome.Wrote || outcome.Decision.Effect.Verb != verb {
			return nil
		}
		done = true
		return do()
	}
}

func TestPartOfTheOrdinals(t *testing.T) {
	for _, order := range []api.Order{api.HighestFirst, api.LowestFirst} {
		t.Run("S-012 "+string(order), func(t *testing.T) {
			t.Parallel()
			v := newMove(t, usual(4), acrossClusters, withSpec(func(s *api.MigrationSpec) {
				s.Ordinals = api.OrdinalsSpec{Order: order, Count: ptr.To[int32](2)}
			}))
			v.run()
			low, high := [2]int32{0, 2}, [2]int32{2, 2}
			if order == api.LowestFirst {
				low, high = high, low
			}
			v.expectSlice(v.here(), low[0], low[1])
			v.expectSlice(v.there(), high[0], high[1])
			v.expectVolumes(v.there(), 2)
			v.audit()
		})
	}
}

// TestRollback turns the migration round after each write of the first two
// handoffs: everything comes back, and nothing is left at the destination.
func TestRollback(t *testing.T) {
	for _, where := range []struct {
		name string
		set  setting
		step int
	}{{"clusters", acrossClusters, 1}, {"namespaces", acrossNamespaces, 2}, {"names", acrossNames, 3}} {
		for n := 1; n <= 15; n += where.step {
			t.Run(fmt.Sprintf("%s after write %d", where.name, n), func(t *testing.T) {
				t.Parallel()
				v := newMove(t, usual(2), where.set)
				mover := v.mover()
				v.drive(mover, onWrite(n, func() error { return mover.Store.SetMode(v.ctx, api.ModeRollback) }))
				v.expectBack()
				v.audit()
			})
		}
	}
}

func TestMigrateRollBackMigrateAgain(t *testing.T) {
	t.Parallel()
	v := newMove(t, usual(3), acrossClusters, withSpec(lowestFirst))
	mover := v.mover()
	arrived := 0
	v.drive(mover, func(_ *api.Migration, outcome migration.Outcome) error {
		if outcome.Finished == nil {
			return nil
		}
		if arrived++; arrived == 2 {
			return mover.Store.SetMode(v.ctx, api.ModeRollback)
		}
		return nil
	})
	v.expectBack()
	v.must(mover.Store.SetMode(v.ctx, api.ModeRun))
	v.drive(mover)
	v.expectMoved()
	v.audit()
}

// paused is how long a pause lasts.
const paused = 2 * time.Second

// TestPause pauses after each kind of write of a handoff. A replica that was down is brought up
// before the pause holds, and as long as it lasts nothing is written.
func TestPause(t *testing.T) {
	for _, verb := range []plan.Verb{plan.SetBudget, plan.ScaleDown, plan.CarryVolume, plan.ScaleUp} {
		t.Run(string(verb), func(t *testing.T) {
			t.Parallel()
			v := newMove(t, usual(3), acrossClusters)
			mover := v.mover()
			var since time.Time
			resumed := false
			v.drive(mover, onVerb(verb, func() error { return mover.Store.SetMode(v.ctx, api.ModePause) }),
				func(m *api.Migration, outcome migration.Outcome) error {
					hold := outcome.Decision.Hold
					holds := hold != nil && hold.Reason == api.ReasonPaused
					switch {
					case resumed:
					case holds && since.IsZero():
						since = time.Now()
						if down := v.app.Replicas - m.Status.Source.Available - m.Status.Destination.Available; down != 0 {
							t.Errorf("%d replicas are down while it is paused", down)
						}
						go func() {
							pass(v.ctx, paused)
							_ = mover.Store.SetMode(v.ctx, api.ModeRun) // where it fails, the move does not end
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
			v.expectMoved()
			v.audit()
		})
	}
}

// TestSourcePodStaysTerminating waits, however long, and never forces.
func TestSourcePodStaysTerminating(t *testing.T) {
	t.Parallel()
	v := newMove(t, usual(2), acrossClusters, withSpec(func(s *api.MigrationSpec) { s.Handoff.ProgressDeadlineSeconds = ptr.To[int32](1) }))
	v.must(v.finalize(v.here(), "web-1", `["example.com/hold"]`))
	stalled := false
	v.run(func(_ *api.Migration, outcome migration.Outcome) error {
		hold := outcome.Decision.Hold
		if stalled || hold == nil || !hold.Stalled || hold.Reason != api.ReasonPodTerminating {
			return nil
		}
		stalled = true
		if _, err := v.destination.CoreV1().Pods(v.toNamespace).Get(v.ctx, "web-1", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("web-1 was started while it was Terminating: %w", err)
		}
		return v.finalize(v.here(), "web-1", `null`)
	})
	if !stalled {
		t.Error("it did not stall")
	}
	v.expectMoved()
	v.audit()
}

// finalize gives a pod finalizers: as long as it has one, it stays Terminating.
func (v *move) finalize(at end, pod, finalizers string) error {
	patch := fmt.Sprintf(`{"metadata":{"finalizers":%s}}`, finalizers)
	_, err := at.client.CoreV1().Pods(at.namespace).Patch(v.ctx, pod, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

// TestPodNeverCreated stalls when the destination cannot make the pod, and names it.
// It goes on by itself when the cause is gone.
func TestPodNeverCreated(t *testing.T) {
	t.Parallel()
	v := newMove(t, usual(2), acrossNamespaces, withSpec(func(s *api.MigrationSpec) { s.Handoff.ProgressDeadlineSeconds = ptr.To[int32](2) }))
	v.must(v.makeNamespace())
	v.keepPodsOut(v.there())
	stalled := false
	v.run(func(_ *api.Migration, outcome migration.Outcome) error {
		hold := outcome.Decision.Hold
		if stalled || hold == nil || !hold.Stalled || hold.Reason != api.ReasonPodMissing {
			return nil
		}
		stalled = true
		return v.letPodsIn(v.there())
	})
	if !stalled {
		t.Error("it did not stall")
	}
	v.expectMoved()
	v.audit()
}

func (v *move) makeNamespace() error {
	_, err := v.destination.CoreV1().Namespaces().Create(v.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v.toNamespace}}, metav1.CreateOptions{})
	return err
}

// TestAttachmentHoldsTheVolume waits until the VolumeAttachment is gone. One of another node
// than the pod's holds the pod up as well, for its volume could go nowhere.
func TestAttachmentHoldsTheVolume(t *testing.T) {
	t.Parallel()
	t.Run("of the pod's node", func(t *testing.T) {
		t.Parallel()
		v := newMove(t, usual(1), acrossClusters, withSpec(func(s *api.MigrationSpec) { s.Handoff.ProgressDeadlineSeconds = ptr.To[int32](1) }))
		v.holdsAttached(v.sourcePod("web-0").Spec.NodeName, func(hold plan.Hold) (bool, error) { return hold.Stalled, nil })
	})
	t.Run("of another node", func(t *testing.T) {
		t.Parallel()
		v := newMove(t, usual(1), acrossClusters)
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
	v.t.Helper()
	pod, err := v.source.CoreV1().Pods(v.app.Namespace).Get(v.ctx, name, metav1.GetOptions{})
	v.must(err)
	return pod
}

// holdsAttached moves the application while its volume is attached to a node, until enough
// was seen of the hold, and then without the attachment.
func (v *move) holdsAttached(node string, enough func(plan.Hold) (bool, error)) {
	v.t.Helper()
	claim, err := v.source.CoreV1().PersistentVolumeClaims(v.app.Namespace).Get(v.ctx, "data-web-0", metav1.GetOptions{})
	v.must(err)
	name := "attach-" + v.app.Namespace
	v.must(v.attach(name, claim.Spec.VolumeName, node))
	released := false
	v.run(func(_ *api.Migration, outcome migration.Outcome) error {
		hold := outcome.Decision.Hold
		if released || hold == nil || hold.Reason != api.ReasonVolumeAttached {
			return nil
		}
		if done, err := enough(*hold); err != nil || !done {
			return err
		}
		released = true
		if _, err := v.destination.CoreV1().PersistentVolumes().Get(v.ctx, claim.Spec.VolumeName, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the destination's volume was made while it was attached at the source: %w", err)
		}
		return v.source.StorageV1().VolumeAttachments().Delete(v.ctx, name, metav1.DeleteOptions{})
	})
	if !released {
		v.t.Error("it did not wait for the attachment")
	}
	v.expectMoved()
	v.audit()
}

// TestForeignWriter stalls when somebody scales the source in mid-move, names the
// writer, and goes on when the number is back.
func TestForeignWriter(t *testing.T) {
	t.Parallel()
	v := newMove(t, usual(3), acrossClusters)
	mover := v.mover()
	scale := func(replicas int32) error {
		patch := fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas)
		_, err := v.source.AppsV1().StatefulSets(v.app.Namespace).Patch(v.ctx, v.app.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "somebody"})
		return err
	}
	var before int32
	stalled := false
	v.drive(mover, func(m *api.Migration, outcome migration.Outcome) error {
		hold := outcome.Decision.Hold
		switch {
		case outcome.Finished != nil && outcome.Finished.Ordinal == 2 && before == 0:
			before = m.Status.Source.Replicas
			v.auditor.Blame(0)
			v.auditor.Blame(1)
			return scale(0)
		case hold != nil && hold.Stalled && !stalled:
			stalled = true
			if hold.Reason != api.ReasonForeignScale || !contains(hold.Message, `"somebody"`) {
				return fmt.Errorf("stalled with %s: %s", hold.Reason, hold.Message)
			}
			return scale(2)
		}
		return nil
	})
	if !stalled {
		t.Error("it did not notice")
	}
	v.expectMoved()
	v.audit()
}

// TestNothingIsWrittenWhenSettled runs a finished migration again: no write.
func TestNothingIsWrittenWhenSettled(t *testing.T) {
	t.Parallel()
	v := newMove(t, usual(2), acrossClusters)
	mover := v.run()
	v.drive(mover, func(_ *api.Migration, outcome migration.Outcome) error {
		if outcome.Wrote || outcome.Saved {
			return fmt.Errorf("a finished migration wrote: %s", narrate(outcome))
		}
		return nil
	})
	v.audit()
}
