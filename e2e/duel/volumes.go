package duel

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// provide makes a volume for each claim that lacks one.
func (s *side) provide(ctx context.Context) error {
	var claims corev1.PersistentVolumeClaimList
	if err := s.cache.List(ctx, &claims, client.InNamespace(s.namespace)); err != nil || s.unbound {
		return err
	}
	for i := range claims.Items {
		claim := &claims.Items[i]
		if claim.Status.Phase == corev1.ClaimBound || claim.DeletionTimestamp != nil {
			continue
		}
		volume := &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: "duel-" + string(claim.UID), Labels: map[string]string{"duel": s.namespace}},
			Spec: corev1.PersistentVolumeSpec{
				Capacity: claim.Spec.Resources.Requests, AccessModes: claim.Spec.AccessModes, StorageClassName: storageClass,
				PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
				ClaimRef:                      &corev1.ObjectReference{Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID},
				PersistentVolumeSource:        corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/tmp/duel"}},
			},
		}
		if err := s.client.Create(ctx, volume); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("a volume for claim %s: %w", claim.Name, err)
		}
	}
	return nil
}
