package move

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
)

// gitOps is the field manager of a tool that keeps a Migration in Git, with mode Run.
const gitOps = "kustomize-controller"

// sync writes spec.mode as a GitOps tool does.
func (v *move) sync(ctx context.Context, c client.Client) error {
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"mode": string(api.ModeRun)}}}
	object.SetGroupVersionKind(api.GroupVersion.WithKind("Migration"))
	object.SetNamespace(v.Migration.Namespace)
	object.SetName(v.Migration.Name)
	return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(gitOps), client.ForceOwnership)
}

// reverts reports whether a Migration stalls because its mode was reverted.
func reverts(m *api.Migration) bool {
	stalled := meta.FindStatusCondition(m.Status.Conditions, api.ConditionStalled)
	return stalled != nil && stalled.Status == metav1.ConditionTrue && stalled.Reason == api.ReasonRollbackReverted && strings.Contains(stalled.Message, gitOps)
}

// TestModeIsWrittenBack: a gate rolls a Migration back, and a tool repeatedly overwrites the mode with Run. The
// Migration is rolled back automatically once, and no other ordinal is stopped. It names the writer of the
// mode, even after its end, until the user pauses it.
func TestModeIsWrittenBack(t *testing.T) {
	t.Parallel()
	gate := allRun(api.GateAfterStart)
	gate.CEL.Expression, gate.OnFailure = "objects.size() > 100", api.GateFailureRollback
	v := newMove(t, harness.Usual(3), harness.AcrossClusters, withGates(gate))
	c := v.Managed()
	harness.StartManager(t, v.App.Namespace)
	v.Must(c.Create(v.Ctx, v.Migration))
	key := client.ObjectKeyFromObject(v.Migration)
	until := func(what string, is func(*api.Migration) bool) {
		t.Helper()
		v.Eventually(what, func(ctx context.Context) (bool, error) {
			m := &api.Migration{}
			err := c.Get(ctx, key, m)
			return err == nil && is(m), err
		})
	}
	set := func(mode api.Mode) {
		t.Helper()
		v.Must(c.Patch(v.Ctx, v.Migration, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"mode":"`+string(mode)+`"}}`))))
	}

	ctx, stop := context.WithCancel(v.Ctx)
	defer stop()
	var tool sync.WaitGroup
	turns, syncs := 0, 0
	tool.Go(func() {
		for again := time.NewTicker(300 * time.Millisecond); ctx.Err() == nil; <-again.C {
			m := &api.Migration{}
			if err := c.Get(ctx, key, m); err != nil || m.Status.AutomaticRollback == nil {
				continue
			}
			if m.Spec.Mode == api.ModeRollback {
				turns++
			}
			if err := v.sync(ctx, c); err != nil && !apierrors.IsConflict(err) && ctx.Err() == nil {
				t.Errorf("the tool cannot write: %v", err)
			}
			if reverts(m) {
				syncs++
			}
			if syncs == 20 {
				return
			}
		}
	})
	until("the mode is written back", reverts)
	tool.Wait()
	until("it is still so", reverts)
	v.Must(c.Get(v.Ctx, key, v.Migration))
	if there := v.Migration.Status.Destination; turns > 1 || there == nil || there.Replicas > 1 || v.Migration.Status.AutomaticRollback.By != "gate pods" {
		t.Errorf("it was turned back %d times, the destination is %+v, and it says %+v", turns, there, v.Migration.Status.AutomaticRollback)
	}
	set(api.ModeRollback)
	v.Await(c, api.ConditionCompleted, metav1.ConditionTrue)
	v.ExpectBack()
	v.Must(v.sync(v.Ctx, c))
	until("it does not begin anew", func(m *api.Migration) bool {
		return reverts(m) && meta.IsStatusConditionTrue(m.Status.Conditions, api.ConditionCompleted)
	})
	set(api.ModePause)
	until("a pause is the word of a person", func(m *api.Migration) bool {
		return m.Status.AutomaticRollback == nil && meta.IsStatusConditionTrue(m.Status.Conditions, api.ConditionCompleted)
	})
	v.Audit()
}
