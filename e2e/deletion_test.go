package e2e

import (
	"context"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// TestOwnedClaimSurvives: cleanup.source: Delete leaves a claim that the StatefulSet owns and
// no ordinal uses, as an earlier scale-down left it under whenDeleted: Delete (G7). Where
// nothing is owned, no ControllerRevision is left.
func TestOwnedClaimSurvives(t *testing.T) {
	for name, owned := range map[string]bool{"a claim is owned": true, "none is": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := usual(3)
			if owned {
				app.Adapt = func(set *appsv1.StatefulSet) {
					set.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
						WhenDeleted: appsv1.DeletePersistentVolumeClaimRetentionPolicyType, WhenScaled: appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
					}
				}
			}
			v := newMove(t, app, acrossClusters, scaledDownTo(2), withSpec(func(s *api.MigrationSpec) { s.Cleanup.Source = api.CleanupDelete }))
			v.run()
			v.eventually("the source is gone", func(ctx context.Context) (bool, error) {
				_, err := v.source.AppsV1().StatefulSets(v.app.Namespace).Get(ctx, v.app.Name, metav1.GetOptions{})
				return apierrors.IsNotFound(err), ignoreMissing(err)
			})
			if !owned {
				v.eventually("its revisions are gone", func(ctx context.Context) (bool, error) {
					revisions, err := v.source.AppsV1().ControllerRevisions(v.app.Namespace).List(ctx, metav1.ListOptions{})
					return err == nil && len(revisions.Items) == 0, err
				})
			}
			v.outlivesItsOwners("data-web-2")
			v.audit()
		})
	}
}

func ignoreMissing(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// scaledDownTo scales the application down before it is moved: claims are left over.
func scaledDownTo(replicas int32) setting {
	return func(v *move) {
		v.deployed = func() {
			v.t.Helper()
			v.patchSource(fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas))
			v.app.Replicas = replicas
			v.awaitObserved()
			v.must(v.app.AwaitReady(v.ctx, v.source))
		}
	}
}

// outlivesItsOwners checks that the garbage collector has let a claim be: it has seen what
// the claim was to go with being gone, as a witness with the same owner shows.
func (v *move) outlivesItsOwners(name string) {
	v.t.Helper()
	claims := v.source.CoreV1().PersistentVolumeClaims(v.app.Namespace)
	witness := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "witness", OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: v.app.Name, UID: types.UID("gone")}}}}
	_, err := v.source.CoreV1().ConfigMaps(v.app.Namespace).Create(v.ctx, witness, metav1.CreateOptions{})
	v.must(err)
	v.eventually("the garbage collector has worked", func(ctx context.Context) (bool, error) {
		_, err := v.source.CoreV1().ConfigMaps(v.app.Namespace).Get(ctx, witness.Name, metav1.GetOptions{})
		return apierrors.IsNotFound(err), ignoreMissing(err)
	})
	claim, err := claims.Get(v.ctx, name, metav1.GetOptions{})
	v.must(err)
	if claim.DeletionTimestamp != nil || len(claim.OwnerReferences) > 0 || claim.Status.Phase != corev1.ClaimBound {
		v.t.Errorf("claim %s: deleted %v, owners %v, %s", name, claim.DeletionTimestamp, claim.OwnerReferences, claim.Status.Phase)
	}
}
