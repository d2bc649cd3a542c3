package slices

import (
	"context"

	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	api "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// hold puts the finalizer on a set that is to have it before any of its pods is made.
func (r *Reconciler) hold(ctx context.Context, set *api.StatefulSet, decision Decision) error {
	if !decision.Finalizer || set.DeletionTimestamp != nil || controllerutil.ContainsFinalizer(set, api.Finalizer) {
		return nil
	}
	return r.finalize(ctx, set, controllerutil.AddFinalizer)
}

// letGo takes the finalizer off a set that is to have none.
func (r *Reconciler) letGo(ctx context.Context, set *api.StatefulSet, decision Decision) error {
	if decision.Finalizer || !controllerutil.ContainsFinalizer(set, api.Finalizer) {
		return nil
	}
	return r.finalize(ctx, set, controllerutil.RemoveFinalizer)
}

// finalize changes the finalizer of a set, once: the cache may not show it yet when the set is
// looked at again.
func (r *Reconciler) finalize(ctx context.Context, set *api.StatefulSet, change func(client.Object, string) bool) error {
	known := r.recall(set)
	if order, err := resourceversion.CompareResourceVersion(set.ResourceVersion, known.kept); err == nil && order < 0 {
		return nil
	}
	before := set.DeepCopy()
	change(set, api.Finalizer)
	if err := r.Client.Patch(ctx, set, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return client.IgnoreNotFound(err)
	}
	known.kept = set.ResourceVersion
	r.memorise(set, known)
	return nil
}
