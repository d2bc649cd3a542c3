package decide

import (
	"time"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// PullLimit is the maximum time that a deletion for an update waits for images. An update to an image that cannot be pulled
// then fails like any other.
const PullLimit = 5 * time.Minute

// awaitsImages pulls the images of the update on the node of a pod, and reports whether the pod waits for them. Only a pod
// that serves waits.
func (d *decider) awaitsImages(pod *Pod) bool {
	if !d.Spec.PrePull || d.Spec.Migrating || !pod.NewImages || down(pod) || pod.Reason == api.TerminationUpdate {
		return false
	}
	left := PullLimit
	switch {
	case pod.Pull == nil:
		d.act(PrePull, pod, d.target, "")
	case pod.Pull.Ended:
		return false
	default:
		left -= d.Now.Sub(pod.Pull.Since)
	}
	if left <= 0 {
		return false
	}
	d.hold(pod.Ordinal, HeldPrePull, "the images that its new revision brings are pulled on its node")
	d.lookAgain(left)
	return true
}
