package move

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/child"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

var errEnough = errors.New("enough")

// loseRecord moves until a moment, deletes the record, and returns the UID of the lost migration.
func (v *move) loseRecord(moment harness.Moment) types.UID {
	v.T.Helper()
	mover := v.Mover()
	m, err := mover.Store.Load(v.Ctx)
	v.Must(err)
	if err := harness.Follow(v.Ctx, v.T, mover, moment(func() error { return errEnough })); !errors.Is(err, errEnough) {
		v.T.Fatalf("the run ended with %v", err)
	}
	v.Must(v.Source.CoreV1().ConfigMaps(v.App.Namespace).Delete(v.Ctx, mover.Store.ObjectName(), metav1.DeleteOptions{}))
	return m.UID
}

// takeFencesOff removes the fences from both StatefulSets, as a user might.
func (v *move) takeFencesOff() {
	v.T.Helper()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{api.FenceAnnotationKey: nil}}})
	v.Must(err)
	for _, at := range []harness.Endpoint{v.Here(), v.There()} {
		_, err := at.Client.AppsV1().StatefulSets(at.Namespace).Patch(v.Ctx, at.Set, types.MergePatchType, patch, metav1.PatchOptions{})
		v.Must(err)
	}
}

// TestH1RecordIsLost: the record of a move is deleted while an ordinal is down. No later move leaves that
// ordinal out: the next run refuses and names it, and the remedy rebuilds the record.
func TestH1RecordIsLost(t *testing.T) {
	noClaims := fixture.App{Replicas: 3, MaxUnavailable: harness.IntOrString("1")}
	for name, tc := range map[string]struct {
		app    fixture.App
		moment harness.Moment
		// unfenced means that a user has removed the fences meanwhile.
		unfenced bool
		flags    []string
	}{
		"parked":                      {harness.Usual(3), carried(plan.SourceSide, 2, volumes.Park), false, nil},
		"parked, and without fences":  {harness.Usual(3), carried(plan.SourceSide, 2, volumes.Park), true, nil},
		"stopped, without fences":     {harness.Usual(3), harness.WroteOn(plan.SourceSide, plan.ScaleDown), true, nil},
		"carried over, unfenced":      {harness.Usual(3), carried(plan.DestinationSide, 2, volumes.CreateClaim), true, nil},
		"without claims":              {noClaims, harness.WroteOn(plan.SourceSide, plan.ScaleDown), true, nil},
		"lowest first, unfenced":      {harness.Usual(3), carried(plan.SourceSide, 0, volumes.Park), true, []string{"--order", "lowest-first"}},
		"one has moved, next is down": {harness.Usual(3), carried(plan.SourceSide, 1, volumes.Park), true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			setting := harness.WithSpec(func(s *api.MigrationSpec) {
				if len(tc.flags) > 0 {
					s.Ordinals.Order = api.LowestFirst
				}
			})
			v := newMove(t, tc.app, harness.AcrossClusters, setting)
			uid := v.loseRecord(tc.moment)
			if tc.unfenced {
				v.takeFencesOff()
			}
			v.Auditor.Blame(0)
			v.Auditor.Blame(1)
			v.Auditor.Blame(2)
			before := v.fingerprint()
			out := v.exits(v.cli("run", append(tc.flags, "--exit-on-stall", "--timeout", "60s")...), 3)
			if !strings.Contains(out, "--resume-uid "+string(uid)) || strings.Contains(out, "fence-") {
				t.Errorf("its remedy does not rebuild the record:\n%s", out)
			}
			v.expectUnchanged(before)
			out = v.exits(v.cli("run", append(tc.flags, "--resume-uid", string(uid), "--timeout", "120s")...), 0)
			if !strings.Contains(out, "continuing where it was") {
				t.Errorf("it does not say that it goes on:\n%s", out)
			}
			v.ExpectMoved()
		})
	}
}

// TestH1RebuiltRecordGoesBack: a move whose record was rebuilt can be rolled back.
func TestH1RebuiltRecordGoesBack(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(3), harness.AcrossClusters)
	uid := v.loseRecord(carried(plan.SourceSide, 1, volumes.Park))
	v.keepPodsOut(v.There())
	cmd := v.cli("run", "--resume-uid", string(uid), "--timeout", "120s")
	v.Must(child.Start(cmd))
	v.Eventually("the record is there again", func(ctx context.Context) (bool, error) {
		_, err := v.Source.CoreV1().ConfigMaps(v.App.Namespace).Get(ctx, "sliceshift-"+v.App.Name, metav1.GetOptions{})
		return err == nil, client.IgnoreNotFound(err)
	})
	v.exits(v.cli("rollback"), 0)
	if code := codeOf(cmd.Wait()); code != 1 {
		t.Errorf("it ended with %d", code)
	}
	v.ExpectBack()
}
