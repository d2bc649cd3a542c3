package execute

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/observe"
)

// createStandIn creates a surge pod, and then its claims, which the pod owns from their creation. The garbage collector
// deletes them even if this process stops. Existing claims hold data, and a surge pod must not use them.
func (c *PodControl) createStandIn(ctx context.Context, ordinal int32, pod *corev1.Pod) error {
	for _, template := range c.Set.Spec.VolumeClaimTemplates {
		name := observe.ClaimName(template.Name, c.Set.Name, ordinal)
		err := c.Live.Get(ctx, client.ObjectKey{Namespace: c.Set.Namespace, Name: name}, &corev1.PersistentVolumeClaim{})
		if err == nil {
			return takenClaim(name)
		}
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("looking for claim %s: %w", name, err)
		}
	}
	if err := c.createPod(ctx, pod); err != nil {
		return err
	}
	return claimControl{c}.createTemporary(ctx, ordinal, pod)
}

// createTemporary creates the missing claims of a surge pod. The pod owns them.
func (c claimControl) createTemporary(ctx context.Context, ordinal int32, pod *corev1.Pod) error {
	for _, claim := range c.missingClaims(ordinal) {
		if claim.Annotations == nil {
			claim.Annotations = map[string]string{}
		}
		claim.Annotations[api.SurgeAnnotationKey] = "true"
		observe.SetOwners(claim, observe.Owners{Pod: true}, c.Set, pod)
		err := c.Client.Create(ctx, claim)
		if apierrors.IsAlreadyExists(err) {
			return takenClaim(claim.Name)
		}
		if err != nil {
			c.event(pod, corev1.EventTypeWarning, "FailedCreate", "Create", "claims of pod %s: %v", pod.Name, err)
			return fmt.Errorf("creating claim %s: %w", claim.Name, err)
		}
	}
	return nil
}

// takenClaim returns a conflict. The cache will show the claim, and the next pass decides with it.
func takenClaim(name string) error {
	return apierrors.NewConflict(corev1.Resource("persistentvolumeclaims"), name, errors.New("it is there already"))
}
