package stage

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/e2e/auditor"
	"github.com/sliceshift/sliceshift/e2e/kind"
	"github.com/sliceshift/sliceshift/e2e/kind/setup"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// template is the claim template of the members' volumes.
const template = "data"

// Audit starts an audit of a move of the members. Where a driver creates the volumes, each side has its own, and the
// auditor does not judge their content: the writers must check it.
func Audit(ctx context.Context, pair *kind.Pair, m Members) (*auditor.Auditor, error) {
	side := func(c *kind.Cluster) auditor.Side {
		return auditor.Side{Name: c.Name, Config: c.Config, Namespace: m.Namespace, Set: m.Name}
	}
	o := auditor.Options{Source: side(pair.East), Destination: side(pair.West), Budget: 1}
	if m.Class != "" {
		o.OwnVolumes = []string{template}
	}
	return auditor.Start(ctx, o)
}

// Completed returns a predicate: the Migration has completed its current spec for this reason.
func Completed(reason string) func(*api.Migration) bool {
	return func(m *api.Migration) bool {
		completed := meta.FindStatusCondition(m.Status.Conditions, api.ConditionCompleted)
		return completed != nil && completed.Reason == reason && m.Status.ObservedGeneration == m.Generation
	}
}

// state describes the progress in one line.
func (m Members) state(migration *api.Migration) string {
	line := fmt.Sprintf("%d of %d members are in west", migration.Status.Moved, migration.Status.Total)
	if h := migration.Status.Handoff; h != nil {
		line += fmt.Sprintf(", %s-%d: %s", m.Name, h.Ordinal, h.Step)
	}
	if stalled := meta.FindStatusCondition(migration.Status.Conditions, api.ConditionStalled); stalled != nil && stalled.Status == "True" {
		line += ", stalled: " + stalled.Message
	}
	return line
}

// Clear removes the objects of the members in both clusters. The folder with their data remains. The Migration is
// deleted first: deleting the namespace would remove the rights that it needs to release the sets.
func Clear(ctx context.Context, pair *kind.Pair, m Members) error {
	c, err := setup.Client(pair.East)
	if err != nil {
		return err
	}
	if err := removed(ctx, c, &api.Migration{ObjectMeta: m.Meta(m.Name)}); err != nil {
		return err
	}
	for _, at := range pair.Both() {
		if err := at.Client.CoreV1().Namespaces().Delete(ctx, m.Namespace, metav1.DeleteOptions{}); err != nil {
			return err
		}
		if err := setup.RemoveMover(ctx, at, m.Namespace); err != nil {
			return err
		}
	}
	for _, at := range pair.Both() {
		err := wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
			_, err := at.Client.CoreV1().Namespaces().Get(ctx, m.Namespace, metav1.GetOptions{})
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		})
		if err != nil {
			return fmt.Errorf("cluster %s: namespace %s does not go: %w", at.Name, m.Namespace, err)
		}
		if err := at.Client.CoreV1().PersistentVolumes().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// removed deletes an object and waits until it no longer exists.
func removed(ctx context.Context, c client.Client, object client.Object) error {
	if err := c.Delete(ctx, object); err != nil {
		return err
	}
	return wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
		err := c.Get(ctx, client.ObjectKeyFromObject(object), object)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}
