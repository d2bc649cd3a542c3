package move

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// The tests of this file break clusters that all tests share, so none of them is parallel.

// outage is the time for which an API server is stopped.
const outage = 4 * time.Second

// TestAPIServerAway stops the API server of one side during a handoff. The migration writes to neither side
// until it runs again.
func TestAPIServerAway(t *testing.T) {
	for _, tc := range []struct {
		name string
		of   func(*move) harness.Cluster
		verb plan.Verb
	}{
		{"source after the stop", func(v *move) harness.Cluster { return v.From }, plan.ScaleDown},
		{"destination before the start", func(v *move) harness.Cluster { return v.To }, plan.CarryVolume},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := newMove(t, harness.Usual(2), harness.AcrossClusters)
			mover := v.Mover()
			var gone atomic.Bool
			away := make(chan struct{})
			v.Drive(mover, func(_ *api.Migration, outcome engine.Outcome) error {
				if outcome.Wrote && gone.Load() {
					return fmt.Errorf("while one side was away: %s", outcome.Decision.Effect)
				}
				return nil
			}, harness.OnVerb(tc.verb, func() error {
				if err := harness.PartsOf(tc.of(v)).Kill(cluster.APIServer); err != nil {
					return err
				}
				gone.Store(true)
				go func() {
					defer close(away)
					harness.Sleep(v.Ctx, outage)
					gone.Store(false)
					if err := harness.PartsOf(tc.of(v)).StartRole(v.Ctx, cluster.APIServer); err != nil {
						t.Error(err)
					}
				}()
				return nil
			}))
			<-away
			v.ExpectMovedCleanly()
		})
	}
}

// TestFrozenSource freezes the source's API server: its connections stay open, but no request is answered.
func TestFrozenSource(t *testing.T) {
	v := newMove(t, harness.Usual(2), harness.AcrossClusters)
	mover := v.Mover()
	v.Drive(mover, harness.OnVerb(plan.ScaleDown, func() error {
		if err := harness.PartsOf(v.From).Freeze(cluster.APIServer); err != nil {
			return err
		}
		go func() {
			harness.Sleep(v.Ctx, outage)
			if err := harness.PartsOf(v.From).Thaw(cluster.APIServer); err != nil {
				t.Error(err)
			}
		}()
		return nil
	}))
	v.ExpectMovedCleanly()
}

// TestBinderBehind freezes the destination's controller-manager, and with it the binder, while each volume is
// bound to its claim. The binder may then see the claim before the volume, and retries on its own only every 15
// s.
func TestBinderBehind(t *testing.T) {
	v := newMove(t, harness.Usual(4), harness.AcrossClusters)
	var frozen []time.Duration
	v.Run(func(_ *api.Migration, outcome engine.Outcome) error {
		if finished := outcome.Finished; finished != nil {
			frozen = append(frozen, outcome.Snapshot.Now.Sub(finished.StartTime.Time))
		}
		if !outcome.Wrote || outcome.Decision.Effect.Verb != plan.CarryVolume {
			return nil
		}
		if verb := outcome.Decision.Effect.Volume.Verb; verb == volumes.Point {
			return harness.PartsOf(v.To).Freeze(cluster.ControllerManager)
		} else if verb == volumes.CreateClaim {
			return harness.PartsOf(v.To).Thaw(cluster.ControllerManager)
		}
		return nil
	})
	for i, took := range frozen {
		if took > 10*time.Second {
			t.Errorf("handoff %d took %s: the binder was not called", i, took)
		}
	}
	v.ExpectMovedCleanly()
}

// TestPodNeverReady: after the first ordinal is stopped, the destination's nodes are cordoned. The migration
// stalls and names the pod. It continues when the nodes are uncordoned or, in the second case, is rolled back.
func TestPodNeverReady(t *testing.T) {
	for name, cure := range map[string]func(*move, func(api.Mode) error) error{
		"cured": func(v *move, _ func(api.Mode) error) error { return v.cordon(v.Destination, false) },
		"rolled back": func(_ *move, setMode func(api.Mode) error) error {
			return setMode(api.ModeRollback)
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := newMove(t, harness.Usual(2), harness.AcrossClusters, harness.WithSpec(func(s *api.MigrationSpec) { s.Handoff.ProgressDeadlineSeconds = ptr.To[int32](2) }))
			defer func() { v.Must(v.cordon(v.Destination, false)) }()
			mover := v.Mover()
			stalled := false
			cordon := harness.WroteOn(plan.SourceSide, plan.ScaleDown)(func() error { return v.cordon(v.Destination, true) })
			v.Drive(mover, cordon, func(_ *api.Migration, outcome engine.Outcome) error {
				hold := outcome.Decision.Hold
				if stalled || hold == nil || !hold.Stalled || hold.Reason != api.ReasonPodNotReady {
					return nil
				}
				stalled = true
				if !strings.Contains(hold.Message, "web-1") {
					return fmt.Errorf("it does not name the pod: %s", hold.Message)
				}
				return cure(v, func(mode api.Mode) error { return mover.Store.SetMode(v.Ctx, mode) })
			})
			if !stalled {
				t.Error("it did not stall")
			}
			if name == "cured" {
				v.ExpectMoved()
			} else {
				v.ExpectBack()
			}
			v.Audit()
		})
	}
}

// cordon cordons or uncordons the nodes of a cluster.
func (v *move) cordon(client kubernetes.Interface, off bool) error {
	nodes, err := client.CoreV1().Nodes().List(v.Ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, node := range nodes.Items {
		patch := fmt.Sprintf(`{"spec":{"unschedulable":%t}}`, off)
		if _, err := client.CoreV1().Nodes().Patch(v.Ctx, node.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	return nil
}
