package decide

import (
	"time"

	api "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// PullLimit is how long a pod that is to be deleted for an update waits for images: an
// update to one that cannot be pulled fails like any other.
const PullLimit = 5 * time.Minute

// awaitsImages has the images that the update brings pulled on the node of a pod, and says
// whether the pod waits for them. Only one that serves has a reason to.
func (d *decider) awaitsImages(pod *Pod) bool {
	if !d.Spec.PrePull || d.Spec.Migrating || !pod.NewImages || down(pod) || pod.Reason == api.TerminationUpdate {
		return false
	}
	left := PullLimit
	switch {
	case pod.Pull == nil:
		d.act(PrePull, pod, d.Revisions.Update, "")
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
