package decide

import (
	"fmt"
	"time"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// onlineGrowth is the time that a kubelet gets to grow a mounted file system, which usually takes seconds. After that, the
// file system grows only at the next mount.
const onlineGrowth = time.Minute

// toGrow reports whether the growth of its claims is all that the update has left to do for a pod.
func (d *facts) toGrow(pod *Pod) bool {
	return d.inScope(pod.Ordinal) && !pod.Terminating && !ended(pod) && !d.outdated(pod) && pod.Growth.State != Grown
}

// unfinished reports whether the update has anything left to do for a pod.
func (d *facts) unfinished(pod *Pod) bool { return d.toUpdate(pod) || d.toGrow(pod) }

// fileSystemLeft returns the time that the kubelet has left to grow a file system.
func (d *facts) fileSystemLeft(pod *Pod) time.Duration {
	return onlineGrowth - d.Now.Sub(pod.Growth.Since)
}

// remounts reports whether a claim of a pod needs to be mounted again. It is tried once: if the first time does not help,
// the pod would be recreated again and again.
func (d *facts) remounts(pod *Pod) bool {
	return pod.Growth.State == AwaitsFileSystem && !pod.Growth.Anew && pod.Phase == Running && d.fileSystemLeft(pod) <= 0
}

// claimsFirst returns what the claims of a pod need before the pod is updated, or Grown. A pod that does not serve loses
// nothing, so it is updated first and its claims grow later (D4). A pod that is recreated anyway does not wait for its file
// system.
func (d *facts) claimsFirst(pod *Pod) GrowthState {
	state, anew := pod.Growth.State, d.outdated(pod) && !d.inPlace(pod)
	switch {
	case d.outdated(pod) && (down(pod) || state == Unbound), state == AwaitsFileSystem && (anew || d.remounts(pod)):
		return Grown
	default:
		return state
	}
}

// begun reports whether the claims of a pod have begun to grow, so that the budget is charged for them already. That a pod
// has the revision is no begin: an adopted pod may have it together with claims that are too small.
func (d *facts) begun(pod *Pod) bool {
	switch d.claimsFirst(pod) {
	case Growing, AwaitsFileSystem, Infeasible, Unbound:
		return true
	case ToGrow:
		return pod.Growth.InProgress
	default:
		return false
	}
}

// advance takes the next step for a pod. First its claims grow. Then it is updated in place, or its images are pulled and it
// is deleted. A pod that is up to date is recreated if its claims need a new mount.
func (d *decider) advance(pod *Pod) {
	switch d.claimsFirst(pod) {
	case ToGrow:
		d.act(GrowClaims, pod, d.target, "")
		d.hold(pod.Ordinal, HeldClaims, "its claims grow")
	case Growing:
		d.hold(pod.Ordinal, HeldClaims, fmt.Sprintf("its claims grow: claim %s has not grown yet", pod.Growth.Claim))
	case AwaitsFileSystem:
		if pod.Growth.Anew {
			d.hold(pod.Ordinal, HeldClaims, fmt.Sprintf("the file system of claim %s has not grown yet, although the pod was recreated for it: if that lasts, see the events of the claim", pod.Growth.Claim))
			return
		}
		d.hold(pod.Ordinal, HeldClaims, fmt.Sprintf("its claims grow: the file system of claim %s has not grown yet", pod.Growth.Claim))
		d.lookAgain(d.fileSystemLeft(pod))
	case Unbound:
		d.hold(pod.Ordinal, HeldClaims, fmt.Sprintf("its claims grow: claim %s does when it is bound", pod.Growth.Claim))
	case Infeasible:
		d.hold(pod.Ordinal, HeldInfeasible, infeasibleMessage(pod))
	case Grown:
		switch {
		case d.inPlace(pod):
			d.changeInPlace(pod)
		case !d.awaitsImages(pod):
			d.remove(pod, api.TerminationUpdate)
		}
	}
}

func infeasibleMessage(pod *Pod) string {
	return fmt.Sprintf("claim %s cannot grow to the size in its template, its driver reports: fix that, or set spec.volumeClaimUpdateStrategy.type: %s to continue with unchanged claims", pod.Growth.Claim, api.OnClaimDelete)
}
