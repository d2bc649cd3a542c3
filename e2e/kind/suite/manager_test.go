package suite

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/e2e/kind/setup"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// TestManager moves by a Migration resource that the manager's pod acts upon, with the
// rights that are shipped: an account of the namespace in east, a token of one in west.
func TestManager(t *testing.T) {
	t.Parallel()
	v := deploy(t, usual())
	v.must(setup.Namespace(v.ctx, pair.West, v.app.namespace))
	for _, c := range pair.Both() {
		v.must(setup.MoverIn(v.ctx, c, v.app.namespace))
		t.Cleanup(func() {
			if err := setup.RemoveMover(context.WithoutCancel(v.ctx), c, v.app.namespace); err != nil {
				t.Error(err)
			}
		})
	}
	v.must(setup.Credentials(v.ctx, pair, v.app.namespace))
	v.watch()
	v.m.Spec.ServiceAccountName = setup.Mover
	v.m.Spec.Destination.CreateNamespace = false
	v.m.Spec.Destination.KubeConfigSecretRef = &api.SecretKeyReference{Name: setup.West}
	c, err := setup.Client(pair.East)
	v.must(err)
	v.must(c.Create(v.ctx, v.m))
	err = pollUntil(v.ctx, func(ctx context.Context) (bool, error) {
		if err := c.Get(ctx, client.ObjectKeyFromObject(v.m), v.m); err != nil {
			return false, err
		}
		return meta.IsStatusConditionTrue(v.m.Status.Conditions, api.ConditionCompleted), nil
	})
	if err != nil {
		t.Fatalf("the Migration is not completed: %v: %+v", err, v.m.Status.Conditions)
	}
	v.audit(v.expectMoved(), "by the manager's pod")
}
