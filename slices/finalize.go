package slices

import (
	"context"

	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	api "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// hold puts the finalizer on a set before anything is made for it, once: the cache may
// not show it yet when the set is looked at again.
func (r *Reconciler) hold(ctx context.Context, set *api.StatefulSet) error {
	if set.DeletionTimestamp != nil || controllerutil.ContainsFinalizer(set, api.Finalizer) {
		return nil
	}
	known := r.recall(set)
	if order, err := resourceversion.CompareResourceVersion(set.ResourceVersion, known.kept); err == nil && order < 0 {
		return nil
	}
	if err := r.finalizers(ctx, set, controllerutil.AddFinalizer); err != nil {
		return client.IgnoreNotFound(err)
	}
	known.kept = set.ResourceVersion
	r.memorise(set, known)
	return nil
}

// letGo lets a set that is being deleted go.
func (r *Reconciler) letGo(ctx context.Context, set *api.StatefulSet) error {
	if !controllerutil.ContainsFinalizer(set, api.Finalizer) {
		return nil
	}
	return client.IgnoreNotFound(r.finalizers(ctx, set, controllerutil.RemoveFinalizer))
}

func (r *Reconciler) finalizers(ctx context.Context, set *api.StatefulSet, change func(client.Object, string) bool) error {
	before := set.DeepCopy()
	change(set, api.Finalizer)
	return r.Client.Patch(ctx, set, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}
