package e2e

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/migration"
	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// The tests of this file break what all tests share, so none of them is parallel.

// outage is how long an API server is away.
const outage = 4 * time.Second

// TestAPIServerAway takes the API server of one side away in mid-handoff: nothing
// is done on either side until it is back.
func TestAPIServerAway(t *testing.T) {
	for _, tc := range []struct {
		name string
		of   func(*move) site
		verb plan.Verb
	}{
		{"source after the stop", func(v *move) site { return v.from }, plan.ScaleDown},
		{"destination before the start", func(v *move) site { return v.to }, plan.CarryVolume},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := newMove(t, usual(2), acrossClusters)
			mover := v.mover()
			var gone atomic.Bool
			away := make(chan struct{})
			v.drive(mover, func(_ *api.Migration, outcome migration.Outcome) error {
				if outcome.Wrote && gone.Load() {
					return fmt.Errorf("while one side was away: %s", outcome.Decision.Effect)
				}
				return nil
			}, onVerb(tc.verb, func() error {
				if err := parts(tc.of(v)).Kill(cluster.APIServer); err != nil {
					return err
				}
				gone.Store(true)
				go func() {
					defer close(away)
					pass(v.ctx, outage)
					gone.Store(false)
					if err := parts(tc.of(v)).StartRole(v.ctx, cluster.APIServer); err != nil {
						t.Error(err)
					}
				}()
				return nil
			}))
			<-away
			v.expectMoved()
			v.audit()
		})
	}
}

// TestFrozenSource freezes the source's API server: its connections stay open and
// nobody answers.
func TestFrozenSource(t *testing.T) {
	v := newMove(t, usual(2), acrossClusters)
	mover := v.mover()
	v.drive(mover, onVerb(plan.ScaleDown, func() error {
		if err := parts(v.from).Freeze(cluster.APIServer); err != nil {
			return err
		}
		go func() {
			pass(v.ctx, outage)
			if err := parts(v.from).Thaw(cluster.APIServer); err != nil {
				t.Error(err)
			}
		}()
		return nil
	}))
	v.expectMoved()
	v.audit()
}

// TestBinderBehind freezes the destination's controller-manager, and with it the
// binder, while each volume is pointed at its claim: the binder may see the claim
// before the volume, and then looks at it again only every 15 s by itself.
func TestBinderBehind(t *testing.T) {
	v := newMove(t, usual(4), acrossClusters)
	var frozen []time.Duration
	v.run(func(_ *api.Migration, outcome migration.Outcome) error {
		if finished := outcome.Finished; finished != nil {
			frozen = append(frozen, outcome.Snapshot.Now.Sub(finished.StartTime.Time))
		}
		if !outcome.Wrote || outcome.Decision.Effect.Verb != plan.CarryVolume {
			return nil
		}
		if verb := outcome.Decision.Effect.Volume.Verb; verb == volumes.Point {
			return parts(v.to).Freeze(cluster.ControllerManager)
		} else if verb == volumes.CreateClaim {
			return parts(v.to).Thaw(cluster.ControllerManager)
		}
		return nil
	})
	for i, took := range frozen {
		if took > 10*time.Second {
			t.Errorf("handoff %d took %s: the binder was not called", i, took)
		}
	}
	v.expectMoved()
	v.audit()
}

// TestPodNeverReady moves to a cluster whose node takes no pods: the migration
// stalls and names the pod, goes on when the node is back, and, in the second case,
// is rolled back.
func TestPodNeverReady(t *testing.T) {
	for name, cure := range map[string]func(*move, func(api.Mode) error) error{
		"cured": func(v *move, _ func(api.Mode) error) error { return v.cordon(v.destination, false) },
		"rolled back": func(_ *move, setMode func(api.Mode) error) error {
			return setMode(api.ModeRollback)
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := newMove(t, usual(2), acrossClusters, withSpec(func(s *api.MigrationSpec) { s.Handoff.ProgressDeadlineSeconds = ptr.To[int32](2) }))
			v.must(v.cordon(v.destination, true))
			defer func() { v.must(v.cordon(v.destination, false)) }()
			mover := v.mover()
			stalled := false
			v.drive(mover, func(_ *api.Migration, outcome migration.Outcome) error {
				hold := outcome.Decision.Hold
				if stalled || hold == nil || !hold.Stalled || hold.Reason != api.ReasonPodNotReady {
					return nil
				}
				stalled = true
				if !contains(hold.Message, "web-1") {
					return fmt.Errorf("it does not name the pod: %s", hold.Message)
				}
				return cure(v, func(mode api.Mode) error { return mover.Store.SetMode(v.ctx, mode) })
			})
			if !stalled {
				t.Error("it did not stall")
			}
			if name == "cured" {
				v.expectMoved()
			} else {
				v.expectBack()
			}
			v.audit()
		})
	}
}

// cordon lets the nodes of a cluster take new pods, or not.
func (v *move) cordon(client kubernetes.Interface, off bool) error {
	nodes, err := client.CoreV1().Nodes().List(v.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, node := range nodes.Items {
		patch := fmt.Sprintf(`{"spec":{"unschedulable":%t}}`, off)
		if _, err := client.CoreV1().Nodes().Patch(v.ctx, node.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// pass waits for a span of the world's time: how long a fault lasts.
func pass(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
