package slices

import (
	"k8s.io/apimachinery/pkg/util/resourceversion"

	api "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// newest is a set as this controller wrote it last, while the cache still shows what it was
// before. Judged by that, a status that goes there and back would look as if it were written
// already, and a finalizer as if it were missing.
func (r *Reconciler) newest(set *api.StatefulSet) *api.StatefulSet {
	known := r.recall(set)
	if known.written == nil {
		return set
	}
	if order, err := resourceversion.CompareResourceVersion(set.ResourceVersion, known.written.ResourceVersion); err == nil && order < 0 {
		return known.written.DeepCopy()
	}
	known.written = nil
	r.memorise(set, known)
	return set
}
