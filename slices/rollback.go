package slices

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/slices/decide"
	"github.com/sliceshift/sliceshift/slices/execute"
)

// rollBack sets the template to that of the current revision, so that the failed roll-out is undone by another update. An
// API error is recorded in the progress, so that the next status reports it.
func (r *Reconciler) rollBack(ctx context.Context, c *execute.PodControl, to decide.Revisions) error {
	template := c.Templates[to.Current]
	if template == nil {
		return fmt.Errorf("rolling back to revision %s, which does not exist", to.Current)
	}
	next := c.Set.DeepCopy()
	next.Spec.Template = *template.DeepCopy()
	err := r.Client.Patch(ctx, next, client.MergeFromWithOptions(c.Set, client.MergeFromWithOptimisticLock{}))
	switch {
	case err == nil:
		r.told.Eventf(c.Set, nil, corev1.EventTypeWarning, "RolledBack", "RollBack", "revision %s made no progress: back to %s", to.Update, to.Current)
	case apierrors.IsNotFound(err):
		return nil
	case !apierrors.IsConflict(err):
		known := r.recall(c.Set)
		known.progress.Refused = fmt.Sprintf("back to revision %s: %v", to.Current, err)
		r.memorise(c.Set, known)
		r.told.Eventf(c.Set, nil, corev1.EventTypeWarning, "FailedRollBack", "RollBack", "%s", known.progress.Refused)
	}
	return err
}
