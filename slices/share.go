package slices

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// answerWithin is the longest time that an API server processes a request (--request-timeout of kube-apiserver). A request
// without a response may still take effect until then.
const answerWithin = time.Minute

// unconfirmed returns for how long a share, or a range that a migration wrote, must not be confirmed in the status. A
// migration relies on the confirmation: the pods must then show everything that began under the former value. A controller
// that has just started does not know the requests of its predecessor, unless the set is younger.
func (r *Reconciler) unconfirmed(set *api.StatefulSet, known memory) time.Duration {
	until := known.unsettled
	if began := r.began(); set.CreationTimestamp.Time.Before(began.Truncate(time.Second)) && until.Before(began.Add(answerWithin)) {
		until = began.Add(answerWithin)
	}
	return until.Sub(r.now())
}

// withhold keeps the former value of the status fields that must not be confirmed yet, and reports whether any differs. It
// includes the range while a migration moves ordinals without volumes: a late request may still create the pod of an ordinal
// that runs elsewhere by then. With volumes, such a pod could not start, because its claim has lost its volume.
func withhold(set *api.StatefulSet, status *api.StatefulSetStatus) bool {
	share, generation := status.ObservedMaxUnavailable, status.ObservedGeneration
	status.ObservedMaxUnavailable = set.Status.ObservedMaxUnavailable
	if _, migrating := set.Annotations[api.MigratingAnnotationKey]; migrating && len(set.Spec.VolumeClaimTemplates) == 0 {
		status.ObservedGeneration = set.Status.ObservedGeneration
	}
	return !equality.Semantic.DeepEqual(share, status.ObservedMaxUnavailable) || generation != status.ObservedGeneration
}

// began returns the time at which this controller first saw a set. Another instance may have been the leader until then.
func (r *Reconciler) began() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.begun.IsZero() {
		r.begun = r.now()
	}
	return r.begun
}
