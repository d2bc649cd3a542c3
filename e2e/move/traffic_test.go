package move

import (
	"context"
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// TestHandoffsAtOnce: of two applications between the same clusters, only one has a handoff at a time. The
// other reports the application that it waits for, also after a restart of the manager. Both moves complete.
func TestHandoffsAtOnce(t *testing.T) {
	n := startTenancy(t, "traffic", "--handoffs-per-link", "1")
	slow := func(s *api.MigrationSpec) { s.Handoff.MinReadySeconds = new(int32(3600)) }
	all := []*move{n.inLine(t, slow), n.inLine(t, slow)}
	under := func(ctx context.Context) (first, second *move, err error) {
		for i, v := range all {
			if err := n.client.Get(ctx, client.ObjectKeyFromObject(v.Migration), v.Migration); err != nil {
				return nil, nil, err
			}
			if v.Migration.Status.Handoff != nil {
				if first != nil {
					return nil, nil, errors.New("two ordinals are on their way")
				}
				first, second = v, all[1-i]
			}
		}
		return first, second, nil
	}
	waits := func(ctx context.Context) (bool, error) {
		first, second, err := under(ctx)
		if err != nil || first == nil {
			return false, err
		}
		progressing := meta.FindStatusCondition(second.Migration.Status.Conditions, api.ConditionProgressing)
		said := progressing != nil && progressing.Reason == api.ReasonTooManyHandoffs && strings.HasSuffix(progressing.Message, ": "+first.App.Namespace+"/"+first.App.Name)
		return said && first.Migration.Status.Handoff.Step == api.StepAwaitReadiness, nil
	}
	all[0].Eventually("one waits for the other", waits)
	n.manager.Kill()
	n.manager.Start()
	driven := all[0].Migration.Status.Fence
	all[0].Eventually("it still does", func(ctx context.Context) (bool, error) {
		said, err := waits(ctx)
		return said && (driven == nil || all[0].Migration.Status.Fence.Epoch != driven.Epoch), err
	})
	for _, v := range all {
		v.patch(n.client, `{"spec":{"handoff":{"minReadySeconds":0}}}`)
	}
	all[0].Eventually("both have arrived, one after the other", func(ctx context.Context) (bool, error) {
		_, _, err := under(ctx)
		done := true
		for _, v := range all {
			done = done && meta.IsStatusConditionTrue(v.Migration.Status.Conditions, api.ConditionCompleted)
		}
		return done, err
	})
	for _, v := range all {
		v.ExpectMovedCleanly()
		v.Audit()
	}
}
