package slices

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/decide"
)

// hold adds the finalizer to a set that needs it, before any of its pods is created.
func (r *Reconciler) hold(ctx context.Context, set *api.StatefulSet, decision decide.Decision) error {
	if !decision.Finalizer || set.DeletionTimestamp != nil || controllerutil.ContainsFinalizer(set, api.Finalizer) {
		return nil
	}
	return r.finalize(ctx, set, controllerutil.AddFinalizer)
}

// letGo removes the finalizer from a set that no longer needs it.
func (r *Reconciler) letGo(ctx context.Context, set *api.StatefulSet, decision decide.Decision) error {
	if decision.Finalizer || !controllerutil.ContainsFinalizer(set, api.Finalizer) {
		return nil
	}
	return r.finalize(ctx, set, controllerutil.RemoveFinalizer)
}

// finalize patches the finalizer of a set.
func (r *Reconciler) finalize(ctx context.Context, set *api.StatefulSet, change func(client.Object, string) bool) error {
	before := set.DeepCopy()
	change(set, api.Finalizer)
	if err := r.Client.Patch(ctx, set, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return client.IgnoreNotFound(err)
	}
	known := r.recall(set)
	known.wrote(set.DeepCopy(), r.now())
	r.memorise(set, known)
	return nil
}
