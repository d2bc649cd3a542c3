package decide

import (
	"fmt"
	"slices"
)

// late returns why the revision of the roll-out may be at fault if the roll-out makes no progress (D8), and the late pod: it is
// not available, or cannot become one of the revision, or is nil, because it cannot be created. It returns an empty string if
// there is no such pod. Whatever else a roll-out waits for is held: a pod of another revision, a pod that leaves or whose node
// is lost, a migration.
func (d rollout) late() (why string, late *Pod) {
	if d.Spec.Share != nil && *d.Spec.Share == 0 {
		return "", nil // it waits for a migration
	}
	standIns := d.standInsWanted()
	for _, pod := range d.pods {
		tries := d.inScope(pod.Ordinal) || standIns && d.stands[pod.Ordinal] || d.lingers(pod)
		if why := d.latePod(pod); tries && why != "" {
			return fmt.Sprintf("the pod of ordinal %d %s", pod.Ordinal, why), pod
		}
	}
	ordinal, lacks := d.lacksPod()
	refusal := d.refusal(ordinal, Create)
	switch {
	case !lacks:
		return "", nil
	case refusal != "":
		return fmt.Sprintf("the pod of ordinal %d cannot be created: %s", ordinal, refusal), nil
	default:
		return fmt.Sprintf("the pod of ordinal %d does not exist", ordinal), nil
	}
}

// lingers reports whether a pod that the slice no longer owns still exists. If it never becomes available, it may keep others
// from their removal.
func (d rollout) lingers(pod *Pod) bool {
	return !d.ours[pod.Ordinal] && !d.stands[pod.Ordinal] && pod.Ordinal >= d.partition()
}

// leaves reports whether a pod is being removed: it is Terminating, or a hook or the grace period of its termination reason
// delays its deletion.
func (d rollout) leaves(pod *Pod) bool {
	return pod.Terminating || pod.Reason != "" && (pod.HeldForDelete || d.Now.Sub(pod.ReasonSince) < d.Spec.TerminationGrace)
}

// latePod returns why a pod is late, or an empty string.
func (d rollout) latePod(pod *Pod) string {
	refusal := d.refusal(pod.Ordinal, PatchInPlace, GrowClaims)
	switch {
	case d.leaves(pod) || !pod.LostSince.IsZero():
		return ""
	case d.infeasible(pod):
		return "cannot be resized: " + pod.InPlace.Waits
	case d.unfinished(pod) && pod.Growth.State == Infeasible:
		return "cannot be updated: " + infeasibleMessage(pod)
	case d.unfinished(pod) && refusal != "":
		return "cannot be updated: " + refusal
	case pod.Revision != d.Revisions.Update || d.outdated(pod):
		return ""
	case ended(pod):
		return "has ended"
	case !ready(pod):
		return "is not Ready"
	case !d.available(pod):
		return "is not available"
	case d.toGrow(pod) && pod.Growth.State == AwaitsFileSystem && pod.Growth.Anew:
		return "waits for the file system of claim " + pod.Growth.Claim
	default:
		return ""
	}
}

// refusal returns the API server's error for the first refused write of an ordinal that has one of these verbs, or an empty
// string.
func (d *facts) refusal(ordinal int32, verbs ...Verb) string {
	for _, r := range d.Refused {
		if r.Ordinal == ordinal && slices.Contains(verbs, r.Verb) {
			return r.Message
		}
	}
	return ""
}

// lacksPod returns the lowest ordinal that lacks a pod of the update, if neither another pod nor a claim delays its creation.
func (d rollout) lacksPod() (ordinal int32, lacks bool) {
	missing := d.wantedMissing()
	unavailable := func(pod *Pod) bool { return d.ours[pod.Ordinal] && !d.serving(pod) }
	switch {
	case len(missing) == 0, d.strategy.together && d.oldRemain(), d.Spec.ScaleMaxUnavailable > 0 && slices.ContainsFunc(d.pods, unavailable):
		return ordinal, false
	case !d.Spec.Parallel:
		// Only the first one is created now.
		if missing = missing[:1]; d.waitsFor(missing[0]) != nil {
			return ordinal, false
		}
	}
	for _, ordinal := range missing {
		if !d.stale[ordinal] && ordinal >= d.partition() {
			return ordinal, true
		}
	}
	return ordinal, false
}
