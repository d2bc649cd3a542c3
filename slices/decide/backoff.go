package decide

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// A pod that has ended is replaced at once, but a repeated failure waits. On a node that rejects every pod, pods would
// otherwise be created and end several times a second. The kubelet's backoff for a container has the same length.
const (
	firstBackoff   = time.Second
	longestBackoff = 5 * time.Minute
)

// Failure records the pods of an ordinal that ended and were replaced.
type Failure struct {
	Ordinal int32
	// Revision of all these pods. UID is that of the last one, which was deleted At.
	Revision string
	UID      types.UID
	At       time.Time
	// Count is the number of these pods.
	Count int32
}

// backoff returns the minimum time between a replacement and the next one.
func (f Failure) backoff() time.Duration {
	wait := firstBackoff
	for range f.Count - 1 {
		if wait *= 2; wait >= longestBackoff {
			return longestBackoff
		}
	}
	return wait
}

// recentFailures returns the failures that still count: those of ordinals in use, within twice longestBackoff.
func (d *decider) recentFailures() []Failure {
	return slices.DeleteFunc(slices.Clone(d.Failures), func(f Failure) bool {
		return !d.Spec.Owns(f.Ordinal) && !d.stands[f.Ordinal] || d.Now.Sub(f.At) > 2*longestBackoff
	})
}

// replaceEnded deletes a pod that has ended, so that it is recreated. A pod that will differ in its revision does not wait,
// because the former revision may have been the cause.
func (d *decider) replaceEnded(pod *Pod) {
	at := slices.IndexFunc(d.failures, func(f Failure) bool { return f.Ordinal == pod.Ordinal })
	if at < 0 {
		at, d.failures = len(d.failures), append(d.failures, Failure{Ordinal: pod.Ordinal})
	}
	last := &d.failures[at]
	again := last.Revision == pod.Revision && d.revisionOfNew(pod.Ordinal) == pod.Revision
	if last.UID == pod.UID {
		d.remove(pod, "") // its deletion was already decided
		return
	}
	if !again {
		*last = Failure{Ordinal: pod.Ordinal}
	} else if left := last.backoff() - d.Now.Sub(last.At); left > 0 && !pod.AskedToGo && d.wanted(pod.Ordinal) {
		d.hold(pod.Ordinal, HeldBackoff, fmt.Sprintf("it has ended, as have %d before it: the next one is created after a backoff", last.Count))
		d.lookAgain(left)
		return
	}
	*last = Failure{Ordinal: pod.Ordinal, Revision: pod.Revision, UID: pod.UID, At: d.Now, Count: last.Count + 1}
	d.remove(pod, "")
}

// wanted reports whether the ordinal gets another pod.
func (d *decider) wanted(ordinal int32) bool { return d.ours[ordinal] || d.standInsWanted() }
