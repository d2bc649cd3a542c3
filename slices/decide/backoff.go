package decide

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// A pod that has ended is replaced at once, and at once again only if that has not happened
// for a while: on a machine that takes no pod, pods would be made and end several times a
// second. Of the same length is the kubelet's backoff for a container.
const (
	firstBackoff   = time.Second
	longestBackoff = 5 * time.Minute
)

// Failure is what is known of the pods of an ordinal that have ended and were replaced.
type Failure struct {
	Ordinal int32
	// Revision that all of them had; UID is that of the last one, which was to be deleted At.
	Revision string
	UID      types.UID
	At       time.Time
	// Count is how many there were.
	Count int32
}

// backoff is how long after a replacement the next one has to wait.
func (f Failure) backoff() time.Duration {
	wait := firstBackoff
	for range f.Count - 1 {
		if wait *= 2; wait >= longestBackoff {
			return longestBackoff
		}
	}
	return wait
}

// recentFailures are those that still count: of ordinals that have pods, and not from long ago.
func (d *decider) recentFailures() []Failure {
	return slices.DeleteFunc(slices.Clone(d.Failures), func(f Failure) bool {
		return !d.ours[f.Ordinal] && !d.stands[f.Ordinal] || d.Now.Sub(f.At) > 2*longestBackoff
	})
}

// replaceEnded deletes a pod that has ended, so that another one is made. What is to be
// another pod than the last one does not wait: it may be what was wrong with it.
func (d *decider) replaceEnded(pod *Pod) {
	at := slices.IndexFunc(d.failures, func(f Failure) bool { return f.Ordinal == pod.Ordinal })
	if at < 0 {
		at, d.failures = len(d.failures), append(d.failures, Failure{Ordinal: pod.Ordinal})
	}
	last := &d.failures[at]
	again := last.Revision == pod.Revision && d.revisionOfNew(pod.Ordinal) == pod.Revision
	if last.UID == pod.UID {
		d.remove(pod, "") // it was to be deleted already
		return
	}
	if !again {
		*last = Failure{Ordinal: pod.Ordinal}
	} else if left := last.backoff() - d.Now.Sub(last.At); left > 0 && !pod.AskedToGo && d.wanted(pod.Ordinal) {
		d.hold(pod.Ordinal, HeldBackoff, fmt.Sprintf("it has ended, as %d have before it: another one is made after a while", last.Count))
		d.lookAgain(left)
		return
	}
	*last = Failure{Ordinal: pod.Ordinal, Revision: pod.Revision, UID: pod.UID, At: d.Now, Count: last.Count + 1}
	d.remove(pod, "")
}

// wanted says whether another pod will be made for an ordinal.
func (d *decider) wanted(ordinal int32) bool { return d.ours[ordinal] || d.standInsWanted() }
