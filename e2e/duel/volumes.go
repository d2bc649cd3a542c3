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

// deleteSet deletes the set, and leaves the rest to the garbage collector.
func (s *side) deleteSet(ctx context.Context) error {
	set := s.object()
	set.SetNamespace(s.namespace)
	set.SetName(s.set)
	if err := s.client.Delete(ctx, set, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		return client.IgnoreNotFound(err)
	}
	s.await(func(ctx context.Context) bool {
		return apierrors.IsNotFound(s.cache.Get(ctx, s.key(s.set), s.object()))
	})
	return nil
}

// clear removes what a script has left.
func (s *side) clear(ctx context.Context) error {
	s.unbound = true
	if err := s.deleteSet(ctx); err != nil {
		return err
	}
	in := client.InNamespace(s.namespace)
	for _, object := range []client.Object{&corev1.Pod{}, &corev1.PersistentVolumeClaim{}} {
		if err := s.client.DeleteAllOf(ctx, object, in); err != nil {
			return err
		}
	}
	return s.client.DeleteAllOf(ctx, &corev1.PersistentVolume{}, client.MatchingLabels{"duel": s.namespace})
}
