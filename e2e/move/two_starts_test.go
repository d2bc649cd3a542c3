package move

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// scaleSource scales the source as another writer.
func (v *move) scaleSource(replicas int32) error {
	patch := fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas)
	_, err := v.Source.AppsV1().StatefulSets(v.App.Namespace).Patch(v.Ctx, v.App.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "somebody"})
	return err
}

// TestH9ScaledUpWithoutClaims: another writer scales up the source of a set without claims, so that an ordinal
// runs on both sides. The migration undoes its own last start at once, stalls, and starts nothing until the
// user intervenes.
func TestH9ScaledUpWithoutClaims(t *testing.T) {
	for name, moment := range map[string]harness.Moment{
		"right after the start": harness.WroteOn(plan.DestinationSide, plan.ScaleUp),
		"after the arrival":     harness.Arrival(2),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newMove(t, fixture.App{Replicas: 3, MaxUnavailable: harness.IntOrString("1")}, harness.AcrossClusters)
			mover, stalled := v.Mover(), false
			v.Drive(mover, moment(func() error {
				v.Auditor.Blame(2)
				return v.scaleSource(3)
			}), func(_ *api.Migration, outcome engine.Outcome) error {
				hold := outcome.Decision.Hold
				if stalled || hold == nil || !hold.Stalled {
					return nil
				}
				if hold.Reason != api.ReasonForeignScale || !strings.Contains(hold.Message, `"somebody"`) || hold.Remedy == "" {
					return fmt.Errorf("stalled with %s: %s", hold.Reason, hold.Message)
				}
				if outcome.Snapshot.Destination.Set.Has(2) {
					return nil
				}
				stalled = true
				v.Eventually("ordinal 2 runs at the source alone", func(ctx context.Context) (bool, error) {
					pods, err := v.Destination.CoreV1().Pods(v.ToNamespace).List(ctx, metav1.ListOptions{})
					if err != nil || len(pods.Items) > 0 {
						return false, err
					}
					return v.isReady(v.Here(), "web-2")
				})
				if err := mover.Store.SetMode(v.Ctx, api.ModePause); err != nil {
					return err
				}
				return mover.Store.SetMode(v.Ctx, api.ModeRun)
			})
			if !stalled {
				t.Error("it did not take its start back")
			}
			v.ExpectMoved()
		})
	}
}
