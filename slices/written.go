package slices

import (
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// wrote records a written set and the time, without the managed fields, which the cache omits too.
func (m *memory) wrote(set *api.StatefulSet, at time.Time) {
	set.ManagedFields = nil
	m.written, m.writtenAt = set, at
}

// newest returns the last version that this controller wrote while the cache still shows an older one. With the older one, a
// status that changes back would look as already written, and a finalizer as missing. If the cache does not show the write
// within answerWithin, the cache is used: an API server whose data was restored has lost the write.
func (r *Reconciler) newest(set *api.StatefulSet) *api.StatefulSet {
	known := r.recall(set)
	if known.written == nil {
		return set
	}
	order, err := resourceversion.CompareResourceVersion(set.ResourceVersion, known.written.ResourceVersion)
	if err == nil && order < 0 && r.now().Sub(known.writtenAt) < answerWithin {
		return known.written.DeepCopy()
	}
	known.written = nil
	r.memorise(set, known)
	return set
}
