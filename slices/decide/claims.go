package decide

import (
	"fmt"
	"time"

	api "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// onlineGrowth is how long a kubelet has to make a mounted file system larger, which takes it
// seconds. What has not grown by then grows when it is mounted anew.
const onlineGrowth = time.Minute

// toGrow says whether all that the update has to do with a pod is to have its claims grow.
func (d *facts) toGrow(pod *Pod) bool {
	return d.inScope(pod.Ordinal) && !pod.Terminating && !ended(pod) && !d.outdated(pod) && pod.Growth.State != Grown
}

// unfinished says whether the update has anything to do with a pod.
func (d *facts) unfinished(pod *Pod) bool { return d.toUpdate(pod) || d.toGrow(pod) }

// fileSystemLeft is how long a kubelet has yet to make a file system larger.
func (d *facts) fileSystemLeft(pod *Pod) time.Duration {
	return onlineGrowth - d.Now.Sub(pod.Growth.Since)
}

// remounts says whether a claim of a pod waits for being mounted anew. Once is enough: what does
// not help the first time would take the pod down for ever.
func (d *facts) remounts(pod *Pod) bool {
	return pod.Growth.State == AwaitsFileSystem && !pod.Growth.Anew && pod.Phase == Running && d.fileSystemLeft(pod) <= 0
}

// grows says whether a pod's claims are on their way, and nothing need be done for it.
func (d *facts) grows(pod *Pod) bool {
	return pod.Growth.State == Growing || pod.Growth.State == AwaitsFileSystem && !pod.Growth.Anew && d.fileSystemLeft(pod) > 0
}

// claimsFirst is what the claims of a pod have to do before it is updated itself; Grown:
// nothing. One that does not serve loses nothing, and its claims grow after it (D4). To be
// made anew is what a file system waits for in the end.
func (d *facts) claimsFirst(pod *Pod) GrowthState {
	state, anew := pod.Growth.State, d.outdated(pod) && !d.inPlace(pod)
	switch {
	case d.outdated(pod) && (down(pod) || state == Unbound), state == AwaitsFileSystem && (anew || d.remounts(pod)):
		return Grown
	default:
		return state
	}
}

// begun says whether the claims of a pod have begun to grow, or are to because it has the
// revision already.
func (d *facts) begun(pod *Pod) bool {
	switch d.claimsFirst(pod) {
	case Growing, AwaitsFileSystem, Infeasible, Unbound:
		return true
	case ToGrow:
		return pod.Revision == d.Revisions.Update
	default:
		return false
	}
}

// advance takes a pod one step on: its claims grow, and then it is updated in place, or its
// images are pulled and it is deleted. One that lacks nothing else is made anew when its claims cannot do without.
func (d *decider) advance(pod *Pod) {
	switch d.claimsFirst(pod) {
	case ToGrow:
		d.act(GrowClaims, pod, d.Revisions.Update, "")
		d.hold(pod.Ordinal, HeldClaims, "its claims grow")
	case Growing:
		d.hold(pod.Ordinal, HeldClaims, fmt.Sprintf("its claims grow: claim %s has not grown yet", pod.Growth.Claim))
	case AwaitsFileSystem:
		if pod.Growth.Anew {
			d.hold(pod.Ordinal, HeldClaims, fmt.Sprintf("the file system of claim %s has not grown yet, and the pod was made anew for it: if that lasts, the events of the claim say why", pod.Growth.Claim))
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
	return fmt.Sprintf("claim %s cannot grow to what its template asks for, says its driver: mend that, or set spec.volumeClaimUpdateStrategy.type: %s to go on with the claims as they are", pod.Growth.Claim, api.OnClaimDelete)
}
