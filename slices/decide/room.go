package decide

import (
	"fmt"
	"slices"
)

// room limits the pods that are deleted to make room while the API server refuses new pods, for example because the pods that
// the slice does not own use up a quota (D7). Otherwise new pods are created first.
type room struct {
	// is is true while new pods are refused, with this message.
	is      bool
	message string
	// most is maxUnavailable. left is how many more available pods may be deleted.
	most int32
	left int64
}

// room returns the room that pods can make. Each available pod counts, whichever ordinal it has.
func (d scaling) room(condemned []*Pod) room {
	r := room{most: d.Spec.MostUnavailable()}
	for _, refused := range d.Refused {
		if refused.Verb == Create && d.Spec.Owns(refused.Ordinal) && d.at[refused.Ordinal] == nil {
			r.is, r.message = true, refused.Message
			break
		}
	}
	r.left = int64(r.most) - int64(d.size)
	for _, pod := range d.pods {
		r.left += int64(one(d.ours[pod.Ordinal] && d.serving(pod)))
	}
	for _, pod := range condemned {
		r.left += int64(one(d.serving(pod)))
	}
	return r
}

// takes reports whether a pod may be deleted to make room, and charges it if it serves.
func (r *room) takes(serves bool) bool {
	if !r.is || serves && r.left <= 0 {
		return false
	}
	if serves {
		r.left--
	}
	return true
}

// makesRoom returns the highest pod that may be deleted to make room, one after the other, or nil.
func (d scaling) makesRoom(r *room, condemned []*Pod) *Pod {
	if slices.ContainsFunc(condemned, func(pod *Pod) bool { return pod.Terminating }) {
		return nil
	}
	for _, pod := range condemned {
		if r.takes(d.serving(pod)) {
			return pod
		}
	}
	return nil
}

// refused returns why a pod that could make room stays, as the end of a message, or an empty string.
func (r *room) refused() string {
	if !r.is {
		return ""
	}
	return fmt.Sprintf(", or sooner, when fewer than maxUnavailable (%d) pods are unavailable, because new pods are refused: %s", r.most, r.message)
}
