package execute

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/decide"
	"github.com/sliceshift/sliceshift/slices/observe"
)

// claimControl executes actions on the claims of the pods.
type claimControl struct{ *PodControl }

// one executes an action on the claims of a pod.
func (c claimControl) one(ctx context.Context, action decide.Action, pod *corev1.Pod) error {
	switch action.Verb {
	case decide.CreateClaims:
		return c.makeClaims(ctx, action.Ordinal, pod)
	case decide.OwnClaims:
		return c.ownClaims(ctx, action.Ordinal, pod)
	default:
		return c.growClaims(ctx, action.Ordinal)
	}
}

// createClaims creates the missing claims of a new pod. It fails while a claim is being deleted: a pod that mounts it would
// delay the deletion and lose the data afterwards.
func (c claimControl) createClaims(ctx context.Context, ordinal int32) error {
	for _, template := range c.Set.Spec.VolumeClaimTemplates {
		if have := c.Claims[observe.ClaimName(template.Name, c.Set.Name, ordinal)]; have != nil && have.DeletionTimestamp != nil {
			return fmt.Errorf("claim %s is being deleted", have.Name)
		}
	}
	return c.createMissing(ctx, ordinal)
}

func (c claimControl) createMissing(ctx context.Context, ordinal int32) error {
	for _, claim := range c.missingClaims(ordinal) {
		observe.SetOwners(claim, observe.OwnersOf(c.Set, false), c.Set, &corev1.Pod{})
		if err := c.Client.Create(ctx, claim); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating claim %s: %w", claim.Name, err)
		}
	}
	return nil
}

// missingClaims returns the claims that an ordinal needs and that do not exist.
func (c claimControl) missingClaims(ordinal int32) (missing []*corev1.PersistentVolumeClaim) {
	for i := range c.Set.Spec.VolumeClaimTemplates {
		if claim := observe.NewClaim(c.Set, &c.Set.Spec.VolumeClaimTemplates[i], ordinal); c.Claims[claim.Name] == nil {
			missing = append(missing, claim)
		}
	}
	return missing
}

// tellOfClaims sends a warning for each claim that the retention policy would delete with its pod, but that has another
// controller.
func (c claimControl) tellOfClaims(action decide.Action, pod *corev1.Pod) {
	spec, err := decide.SpecOf(c.Set)
	if err != nil || !observe.OwnersOf(c.Set, !spec.Owns(action.Ordinal)).Pod {
		return
	}
	for _, template := range c.Set.Spec.VolumeClaimTemplates {
		claim := c.Claims[observe.ClaimName(template.Name, c.Set.Name, action.Ordinal)]
		if claim == nil {
			continue
		}
		if owner := observe.ForeignController(claim, c.Set, pod); owner != nil {
			c.event(claim, corev1.EventTypeWarning, "ConflictingController", "Delete", "claim %s stays: %s %s controls it", claim.Name, owner.Kind, owner.Name)
		}
	}
}

// ownClaims sets the owners of a pod's claims. It skips claims that are being deleted.
func (c claimControl) ownClaims(ctx context.Context, ordinal int32, pod *corev1.Pod) error {
	spec, err := decide.SpecOf(c.Set)
	if err != nil {
		return err
	}
	owned := spec.Owns(ordinal)
	for _, template := range c.Set.Spec.VolumeClaimTemplates {
		claim := c.Claims[observe.ClaimName(template.Name, c.Set.Name, ordinal)]
		if claim == nil || observe.ClaimMatches(c.Set, claim, pod, owned) {
			continue
		}
		next := claim.DeepCopy()
		observe.SetOwners(next, observe.WantedOwners(c.Set, claim, owned), c.Set, pod)
		if owned {
			delete(next.Annotations, api.SurgeAnnotationKey)
		}
		if err := c.Client.Patch(ctx, next, client.MergeFromWithOptions(claim, client.MergeFromWithOptimisticLock{})); err != nil {
			return fmt.Errorf("owners of claim %s: %w", claim.Name, err)
		}
	}
	return nil
}

// makeClaims creates the claims that a pod waits for: those of its ordinal, or those of a surge pod, which are deleted with
// the pod.
func (c claimControl) makeClaims(ctx context.Context, ordinal int32, pod *corev1.Pod) error {
	spec, err := decide.SpecOf(c.Set)
	switch {
	case err != nil:
		return err
	case spec.Owns(ordinal):
		return c.createMissing(ctx, ordinal)
	default:
		return c.createTemporary(ctx, ordinal, pod)
	}
}

// growClaims raises the storage requests of bound claims to those of their templates.
func (c claimControl) growClaims(ctx context.Context, ordinal int32) error {
	for i := range c.Set.Spec.VolumeClaimTemplates {
		template := &c.Set.Spec.VolumeClaimTemplates[i]
		claim := c.Claims[observe.ClaimName(template.Name, c.Set.Name, ordinal)]
		if claim == nil || claim.DeletionTimestamp != nil {
			continue
		}
		if observe.GrowthState(template, claim) != decide.ToGrow {
			continue
		}
		next := claim.DeepCopy()
		next.Spec.Resources.Requests = *observe.Shortfall(template, claim)
		if err := c.Client.Patch(ctx, next, client.MergeFromWithOptions(claim, client.MergeFromWithOptimisticLock{})); err != nil {
			c.event(claim, corev1.EventTypeWarning, "FailedUpdatePVC", "Grow", "claim %s: %v", claim.Name, err)
			return fmt.Errorf("growing claim %s: %w; does its StorageClass allow volume expansion? Set allowVolumeExpansion: true on it, or spec.volumeClaimUpdateStrategy.type: %s to continue with unchanged claims", claim.Name, err, api.OnClaimDelete)
		}
	}
	return nil
}
