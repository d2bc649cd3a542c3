package move

import (
	"context"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
)

// TestOwnedClaimSurvives: cleanup.source: Delete keeps a claim that the StatefulSet owns and no ordinal uses.
// An earlier scale-down under whenDeleted: Delete leaves such a claim (G7). If no claim is owned, no
// ControllerRevision remains.
func TestOwnedClaimSurvives(t *testing.T) {
	for name, owned := range map[string]bool{"a claim is owned": true, "none is": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := harness.Usual(3)
			if owned {
				app.Adapt = func(set *appsv1.StatefulSet) {
					set.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
						WhenDeleted: appsv1.DeletePersistentVolumeClaimRetentionPolicyType, WhenScaled: appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
					}
				}
			}
			v := newMove(t, app, harness.AcrossClusters, scaledDownTo(2), harness.WithSpec(func(s *api.MigrationSpec) { s.Cleanup.Source = api.CleanupDelete }))
			v.Run()
			v.Eventually("the source is gone", func(ctx context.Context) (bool, error) {
				_, err := v.Source.AppsV1().StatefulSets(v.App.Namespace).Get(ctx, v.App.Name, metav1.GetOptions{})
				return apierrors.IsNotFound(err), ignoreMissing(err)
			})
			if !owned {
				v.Eventually("its revisions are gone", func(ctx context.Context) (bool, error) {
					revisions, err := v.Source.AppsV1().ControllerRevisions(v.App.Namespace).List(ctx, metav1.ListOptions{})
					return err == nil && len(revisions.Items) == 0, err
				})
			}
			v.outlivesItsOwners("data-web-2")
			v.Audit()
		})
	}
}

func ignoreMissing(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// scaledDownTo scales the application down before it moves, so that unused claims remain.
func scaledDownTo(replicas int32) harness.Setting {
	return by(func(v *move) {
		v.Deployed = func() {
			v.T.Helper()
			v.patchSource(fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas))
			v.App.Replicas = replicas
			v.awaitObserved()
			v.Must(v.App.AwaitReady(v.Ctx, v.Source))
		}
	})
}

// outlivesItsOwners checks that the garbage collector has kept a claim. A witness object whose owner is missing
// shows that the collector has run.
func (v *move) outlivesItsOwners(name string) {
	v.T.Helper()
	claims := v.Source.CoreV1().PersistentVolumeClaims(v.App.Namespace)
	witness := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "witness", OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: v.App.Name, UID: types.UID("gone")}}}}
	_, err := v.Source.CoreV1().ConfigMaps(v.App.Namespace).Create(v.Ctx, witness, metav1.CreateOptions{})
	v.Must(err)
	v.Eventually("the garbage collector has worked", func(ctx context.Context) (bool, error) {
		_, err := v.Source.CoreV1().ConfigMaps(v.App.Namespace).Get(ctx, witness.Name, metav1.GetOptions{})
		return apierrors.IsNotFound(err), ignoreMissing(err)
	})
	claim, err := claims.Get(v.Ctx, name, metav1.GetOptions{})
	v.Must(err)
	if claim.DeletionTimestamp != nil || len(claim.OwnerReferences) > 0 || claim.Status.Phase != corev1.ClaimBound {
		v.T.Errorf("claim %s: deleted %v, owners %v, %s", name, claim.DeletionTimestamp, claim.OwnerReferences, claim.Status.Phase)
	}
}
