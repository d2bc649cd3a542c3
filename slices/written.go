package slices

import (
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	api "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// wrote keeps a set as it was written at a time, without what the cache leaves out as well.
func (m *memory) wrote(set *api.StatefulSet, at time.Time) {
	set.ManagedFields = nil
	m.written, m.writtenAt = set, at
}

// newest is a set as this controller wrote it last, while the cache still shows what it was
// before. Judged by that, a status that goes there and back would look as if it were written
// already, and a finalizer as if it were missing. A cache that does not show the write within
// answerWithin is believed all the same: an API server whose data was restored has lost it.
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
