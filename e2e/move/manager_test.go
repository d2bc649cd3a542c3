package move

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
)

func TestManagerMoves(t *testing.T) {
	for name, where := range map[string]harness.Setting{"clusters": harness.AcrossClusters, "namespaces": harness.AcrossNamespaces} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newMove(t, harness.Usual(3), where, attached)
			c := v.Managed()
			harness.StartManager(t, v.App.Namespace)
			v.Must(c.Create(v.Ctx, v.Migration))
			v.awaitMoved(c)
			v.Must(c.Delete(v.Ctx, v.Migration))
			v.Eventually("the Migration is gone", harness.Gone(c, v.Migration))
		})
	}
}

// TestDeletedAfterTheEnd: a completed Migration can be deleted even if neither cluster is reachable with its
// identity any more, as during the deletion of its namespace.
func TestDeletedAfterTheEnd(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(1), harness.AcrossClusters)
	c := v.Managed()
	harness.StartManager(t, v.App.Namespace)
	v.Must(c.Create(v.Ctx, v.Migration))
	v.Await(c, api.ConditionCompleted, metav1.ConditionTrue)
	v.Eventually("nothing holds the Migration", func(ctx context.Context) (bool, error) {
		err := c.Get(ctx, client.ObjectKeyFromObject(v.Migration), v.Migration)
		return len(v.Migration.Finalizers) == 0, err
	})
	v.Must(v.Source.CoreV1().Secrets(v.App.Namespace).Delete(v.Ctx, "west", metav1.DeleteOptions{}))
	for _, role := range []string{"sliceshift-mover", "sliceshift-mover-cluster"} {
		v.Must(v.Source.RbacV1().ClusterRoleBindings().Delete(v.Ctx, role+"-"+v.App.Namespace, metav1.DeleteOptions{}))
	}
	v.Must(c.Delete(v.Ctx, v.Migration))
	v.Eventually("the Migration is gone", harness.Gone(c, v.Migration))
}

// TestAccountCorrected: a Migration that was refused because of its account, or of the kubeconfig in its
// Secret, continues when that is replaced.
func TestAccountCorrected(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil, mend func(v *move, c client.Client)
	}{
		"the account": {
			func(v *move, _ client.Client) { v.Migration.Spec.ServiceAccountName = "weak" },
			func(v *move, c client.Client) {
				v.Must(c.Patch(v.Ctx, v.Migration, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"serviceAccountName":"default"}}`))))
			},
		},
		"the kubeconfig": {
			func(v *move, _ client.Client) { v.useKubeconfig(v.KubeconfigOf("nobody")) },
			func(v *move, _ client.Client) { v.useKubeconfig(v.KubeconfigOf("mover")) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newMove(t, harness.Usual(1), harness.AcrossClusters)
			c := v.Managed()
			tc.spoil(v, c)
			harness.StartManager(t, v.App.Namespace)
			v.Must(c.Create(v.Ctx, v.Migration))
			if refused := v.Await(c, api.ConditionAccepted, metav1.ConditionFalse); refused.Reason != api.ReasonPermissionMissing {
				t.Errorf("refused with %s", refused.Reason)
			}
			tc.mend(v, c)
			v.awaitMoved(c)
		})
	}
}

// TestManagerKilled kills the manager during several handoffs. Each time another manager takes over the current
// state with a new epoch.
func TestManagerKilled(t *testing.T) {
	t.Parallel()
	harness.Program(t, "manager") // the time to build it is not the move's
	v := newMove(t, harness.Usual(4), harness.AcrossClusters, attached)
	c := v.Managed()
	process := harness.StartManager(t, v.App.Namespace, harness.Hasty...)
	v.Must(c.Create(v.Ctx, v.Migration))
	m := &api.Migration{}
	look := func() { v.Must(c.Get(v.Ctx, client.ObjectKeyFromObject(v.Migration), m)) }
	inMidMove := 0
	for moved, step := range []api.Step{api.StepAwaitRelease, api.StepCarryVolumes, api.StepAwaitReadiness} {
		v.Eventually("the migration gets on", func(ctx context.Context) (bool, error) {
			if err := c.Get(ctx, client.ObjectKeyFromObject(v.Migration), m); err != nil {
				return false, err
			}
			handoff, at := m.Status.Handoff, m.Status.Moved
			return at > int32(moved) || at == int32(moved) && handoff != nil && handoff.Step == step || meta.IsStatusConditionTrue(m.Status.Conditions, api.ConditionCompleted), nil
		})
		process.Kill()
		look()
		killed, epoch := m.Status.Handoff, m.Status.Fence.Epoch
		process.Start()
		if killed == nil {
			continue
		}
		inMidMove++
		v.Eventually("another one takes over", func(ctx context.Context) (bool, error) {
			err := c.Get(ctx, client.ObjectKeyFromObject(v.Migration), m)
			return err == nil && m.Status.Fence.Epoch > epoch, err
		})
		if next := m.Status.Handoff; next != nil && m.Status.Moved == int32(moved) && next.Ordinal != killed.Ordinal {
			t.Errorf("ordinal %d was on its way, and then ordinal %d", killed.Ordinal, next.Ordinal)
		}
	}
	v.awaitMoved(c)
	if inMidMove == 0 {
		t.Error("it was never killed while an ordinal was on its way")
	}
}

// awaitMoved waits until the Migration has completed with all ordinals at the destination.
func (v *move) awaitMoved(c client.Client) {
	v.T.Helper()
	if condition := v.Await(c, api.ConditionCompleted, metav1.ConditionTrue); condition.Reason != api.ReasonMoved {
		v.T.Errorf("completed with %s", condition.Reason)
	}
	v.ExpectMovedCleanly()
}

// deletedInMidMove returns a move of four ordinals whose Migration was deleted while an ordinal moved.
func deletedInMidMove(t *testing.T) (*move, client.Client) {
	t.Helper()
	t.Parallel()
	v := newMove(t, harness.Usual(4), harness.AcrossClusters)
	c := v.Managed()
	harness.StartManager(t, v.App.Namespace)
	v.Must(c.Create(v.Ctx, v.Migration))
	v.awaitFewer(3)
	v.Must(c.Delete(v.Ctx, v.Migration))
	v.Eventually("the Migration is gone", harness.Gone(c, v.Migration))
	return v, c
}

// TestDeletedInMidMove deletes the Migration while an ordinal moves. The ordinal is started, both sides are
// released, and no other ordinal moves.
func TestDeletedInMidMove(t *testing.T) {
	v, _ := deletedInMidMove(t)
	set, err := v.Destination.AppsV1().StatefulSets(v.ToNamespace).Get(v.Ctx, v.App.Name, metav1.GetOptions{})
	v.Must(err)
	moved := *set.Spec.Replicas
	if moved < 1 || moved > 3 {
		t.Errorf("%d ordinals are at the destination", moved)
	}
	v.ExpectSlice(v.Here(), 0, 4-moved)
	v.ExpectSlice(v.There(), 4-moved, moved)
	v.Audit()
}

// TestCleanup: the cleanup deletes the objects at the source that are no longer needed.
func TestCleanup(t *testing.T) {
	for name, where := range map[string]harness.Setting{"clusters": harness.AcrossClusters, "namespaces": harness.AcrossNamespaces} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newMove(t, harness.Usual(2), where, harness.WithSpec(func(s *api.MigrationSpec) { s.Cleanup.Source = api.CleanupDelete }))
			v.Run()
			v.ExpectSlice(v.There(), 0, 2)
			v.ExpectVolumes(v.There(), 2)
			_, err := v.Source.AppsV1().StatefulSets(v.App.Namespace).Get(v.Ctx, v.App.Name, metav1.GetOptions{})
			if !apierrors.IsNotFound(err) {
				t.Errorf("the source StatefulSet is still there: %v", err)
			}
			claims, err := v.Source.CoreV1().PersistentVolumeClaims(v.App.Namespace).List(v.Ctx, metav1.ListOptions{})
			v.Must(err)
			if len(claims.Items) > 0 {
				t.Errorf("%d claims are still there", len(claims.Items))
			}
			v.Audit()
		})
	}
}
