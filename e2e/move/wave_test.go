package move

import (
	"context"
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
)

// TestWaves: of two applications in one namespace, the one in the later wave does not begin before the other
// has moved. It names the application that it waits for, and begins on its own.
func TestWaves(t *testing.T) {
	n := startTenancy(t, "waves")
	first := n.inLine(t, func(s *api.MigrationSpec) { s.Handoff.MinReadySeconds = new(int32(3600)) })
	app := fixture.App{Namespace: first.App.Namespace, Name: "front", Replicas: 1}
	first.Must(app.Deploy(first.Ctx, n.typed))
	later := fixture.NewMigration(app.Namespace, app.Name)
	later.Spec.Destination.Namespace, later.Spec.Wave = first.ToNamespace, 1
	first.Must(n.client.Create(first.Ctx, later))
	said := func(ctx context.Context) (string, error) {
		if err := n.client.Get(ctx, client.ObjectKeyFromObject(later), later); err != nil {
			return "", err
		}
		found := meta.FindStatusCondition(later.Status.Conditions, api.ConditionProgressing)
		if found == nil {
			return "", nil
		}
		return found.Reason + ": " + found.Message, nil
	}
	first.Eventually("the later one waits for the other", func(ctx context.Context) (bool, error) {
		text, err := said(ctx)
		return strings.HasPrefix(text, api.ReasonQueued) && strings.HasSuffix(text, ": "+first.Migration.Name), err
	})
	first.patch(n.client, `{"spec":{"handoff":{"minReadySeconds":0}}}`)
	first.Eventually("both have moved, one after the other", func(ctx context.Context) (bool, error) {
		if _, err := said(ctx); err != nil {
			return false, err
		}
		if later.Status.Baseline == nil {
			return false, nil
		}
		err := n.client.Get(ctx, client.ObjectKeyFromObject(first.Migration), first.Migration)
		if err == nil && !meta.IsStatusConditionTrue(first.Migration.Status.Conditions, api.ConditionCompleted) {
			err = errors.New("it has begun before the other one had moved")
		}
		return meta.IsStatusConditionTrue(later.Status.Conditions, api.ConditionCompleted), err
	})
	first.ExpectMovedCleanly()
	set, err := n.typed.AppsV1().StatefulSets(first.ToNamespace).Get(first.Ctx, app.Name, metav1.GetOptions{})
	first.Must(err)
	if set.Status.AvailableReplicas != 1 {
		t.Errorf("%d replicas of the later one are available at the destination", set.Status.AvailableReplicas)
	}
}
