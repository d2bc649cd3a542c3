package suite

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/kind"
	"github.com/sliceshift/sliceshift/e2e/kind/setup"
)

// TestManager moves by a Migration resource that a manager's pod handles with the shipped rights. In its own cluster,
// the manager uses an account of the namespace. For another cluster it has a token.
func TestManager(t *testing.T) {
	t.Parallel()
	for from, at := range map[string]*kind.Cluster{"the source": pair.East, "the destination": pair.West, "a third cluster": pair.Hub} {
		t.Run("from "+from, func(t *testing.T) {
			if at == nil {
				t.Skip("name a third cluster in E2E_KUBECONFIGS to try this")
			}
			t.Parallel()
			v := deploy(t, usual())
			v.grant()
			v.watch()
			v.must(v.reachFrom(at))
			v.starts(at)
			v.completes()
			v.audit(v.expectMoved(), "by the manager's pod in "+at.Name)
		})
	}
}

// grant creates the mover's rights in both clusters.
func (v *move) grant() {
	v.t.Helper()
	v.must(setup.Namespace(v.ctx, pair.West, v.app.namespace))
	for _, c := range pair.Both() {
		v.must(setup.MoverIn(v.ctx, c, v.app.namespace))
		v.t.Cleanup(func() {
			if err := setup.RemoveMover(context.WithoutCancel(v.ctx), c, v.app.namespace); err != nil {
				v.t.Error(err)
			}
		})
	}
}

// reachFrom gives the Migration credentials for each cluster other than its own.
func (v *move) reachFrom(at *kind.Cluster) error {
	err := setup.Namespace(v.ctx, at, v.app.namespace)
	if err == nil && at != pair.East {
		v.m.Spec.Source.KubeConfigSecretRef, err = setup.Credentials(v.ctx, pair.East, at, v.app.namespace)
	}
	if err == nil && at != pair.West {
		v.m.Spec.Destination.KubeConfigSecretRef, err = setup.Credentials(v.ctx, pair.West, at, v.app.namespace)
	}
	if at != pair.Hub {
		v.m.Spec.ServiceAccountName = setup.Mover
	}
	v.m.Spec.Destination.CreateNamespace = false
	return err
}

// starts creates the Migration.
func (v *move) starts(at *kind.Cluster) {
	v.t.Helper()
	c, err := setup.Client(at)
	v.must(err)
	v.must(c.Create(v.ctx, v.m))
	v.at = c
}

// completes waits until the Migration is completed.
func (v *move) completes() {
	v.t.Helper()
	v.awaitMigration("it is completed", func() bool { return meta.IsStatusConditionTrue(v.m.Status.Conditions, api.ConditionCompleted) })
}

// awaitMigration reads the Migration until a condition holds.
func (v *move) awaitMigration(what string, holds func() bool) {
	v.t.Helper()
	err := pollUntil(v.ctx, func(ctx context.Context) (bool, error) {
		if err := v.at.Get(ctx, client.ObjectKeyFromObject(v.m), v.m); err != nil {
			return false, err
		}
		return holds(), nil
	})
	if err != nil {
		v.t.Fatalf("of the Migration it does not come to be that %s: %v: %+v", what, err, v.m.Status.Conditions)
	}
}
