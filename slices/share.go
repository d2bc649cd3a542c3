package slices

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	api "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// answerWithin is how long an API server works on a request at most (--request-timeout of
// kube-apiserver): one that has had no answer may be done until then.
const answerWithin = time.Minute

// unconfirmed is how long a share, or a range that a migration has written, must not be
// confirmed yet: a migration takes it that what was begun under the former one is to be seen
// in the pods by then. A controller that has just begun does not know what the one before it
// has asked for, unless the set is younger.
func (r *Reconciler) unconfirmed(set *api.StatefulSet, known memory) time.Duration {
	until := known.unsettled
	if began := r.began(); set.CreationTimestamp.Time.Before(began.Truncate(time.Second)) && until.Before(began.Add(answerWithin)) {
		until = began.Add(answerWithin)
	}
	return until.Sub(r.now())
}

// withhold leaves in a status what must not be confirmed yet as it was told before, and says
// whether that is anything. The range counts while a migration moves ordinals without volumes:
// one that was given up may get a pod late, and run elsewhere by then. With volumes that pod
// could not start, for its claim has lost its volume.
func withhold(set *api.StatefulSet, status *api.StatefulSetStatus) bool {
	share, generation := status.ObservedMaxUnavailable, status.ObservedGeneration
	status.ObservedMaxUnavailable = set.Status.ObservedMaxUnavailable
	if _, migrating := set.Annotations[api.MigratingAnnotationKey]; migrating && len(set.Spec.VolumeClaimTemplates) == 0 {
		status.ObservedGeneration = set.Status.ObservedGeneration
	}
	return !equality.Semantic.DeepEqual(share, status.ObservedMaxUnavailable) || generation != status.ObservedGeneration
}

// began is when this controller looked at a set for the first time: others may have led
// until then.
func (r *Reconciler) began() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.begun.IsZero() {
		r.begun = r.now()
	}
	return r.begun
}
