package copy

import (
	"cmp"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/volumes"
)

const (
	// anew is the time after which a pod that does not start is recreated, so that corrections in the spec take
	// effect.
	anew = 2 * unmounted
	// heard is how long both movers of a warm pass must know each other before they are assumed to be
	// connected. A mover that does not reach its peer exits before that.
	heard = 3 * time.Minute
)

// hindered records why no warm pass is possible, once that has lasted for long, and recreates pods that do not
// start.
func (v view) hindered() volumes.Verdict {
	since, why := v.missing()
	waited := v.Now.Sub(since)
	switch {
	case why == "" || waited < unmounted:
		return volumes.Verdict{}
	case v.Attempt.Warm.TroubleSince.IsZero():
		return v.troubled(since, why)
	case waited >= anew:
		return v.removeAll()
	}
	return volumes.Verdict{}
}

// missing returns what a started warm pass lacks, and since when; empty if no cause is known.
func (v view) missing() (since time.Time, why string) {
	for _, role := range []volumes.Role{volumes.RoleReceiver, volumes.RoleWarm} {
		if m := v.mover(role); v.current(role) && m.Key == "" && !m.Ended && !m.Made.IsZero() {
			return m.Made, fmt.Sprintf("the %s pod %s/%s does not start: %s", role, v.ref(role).Namespace, v.pod(role), cmp.Or(m.Trouble, "no reason is known; see its events"))
		}
	}
	if leaving := v.Entrance.Leaving; !leaving.IsZero() && !v.relays() {
		return leaving, fmt.Sprintf("Service %s/%s is not deleted%s", v.Incoming.Ref.Namespace, v.Incoming.Ref.Name, volumes.KeptBy(v.Entrance.Keeps))
	}
	if r := v.Receiver; v.current(volumes.RoleReceiver) && !r.Made.IsZero() && !v.reached().Done() {
		return r.Made, fmt.Sprintf("Service %s/%s gets no address", v.Incoming.Ref.Namespace, v.Incoming.Ref.Name)
	}
	return since, ""
}

// troubled records what prevents a warm pass. The time that was recorded first is kept.
func (v view) troubled(since time.Time, why string) volumes.Verdict {
	next := v.Attempt
	next.Warm.Trouble = cut(why)
	if next.Warm.TroubleSince.IsZero() {
		next.Warm.TroubleSince = metav1.NewTime(since)
	}
	return volumes.Verdict{Attempt: &next}
}

// untroubled clears the recorded trouble of a provisioning or a pass that is not tried now, so that the next
// pass does not appear late.
func (v view) untroubled() volumes.Verdict {
	if v.Attempt.Warm.TroubleSince.IsZero() {
		return volumes.Verdict{}
	}
	next := v.Attempt
	next.Warm.Trouble, next.Warm.TroubleSince = "", metav1.Time{}
	return volumes.Verdict{Attempt: &next}
}

// told reports to the user that no warm pass was possible for long. It is still retried.
func (v view) told(verdict volumes.Verdict) volumes.Verdict {
	if !v.overdue(verdict) {
		return verdict
	}
	return blocked(volumes.ReasonCopyStuck,
		fmt.Sprintf("for %s claim %s/%s is not copied while its ordinal runs: %s%s. The ordinal is not stopped until it is", v.inTrouble(), v.Giver.Ref.Namespace, v.Giver.Ref.Name, v.trouble(), v.hampered()),
		fmt.Sprintf("see both pods: %s, and on the other side: %s. Correct copy.image, copy.transport, copy.serviceType or copy.address of claim template %s in spec.volumes, or with --volume; the migration then retries with new pods",
			v.describe(volumes.RoleReceiver), v.describe(volumes.RoleWarm), v.Template))
}

// toldUnplaced reports to the user that a volume was not provisioned for which another claim waits.
func (v view) toldUnplaced(verdict volumes.Verdict) volumes.Verdict {
	in := v.Incoming.Ref
	if !v.overdue(verdict) {
		if verdict.Waits != "" {
			verdict.Waits += "; another claim of the ordinal waits for the volume of this one"
		}
		return verdict
	}
	return blocked(volumes.ReasonCopyStuck,
		fmt.Sprintf("for %s claim %s/%s has had no volume: %s. Another claim of the ordinal waits for it, because one node must reach both. The ordinal is not stopped until then", v.inTrouble(), in.Namespace, in.Name, v.trouble()),
		fmt.Sprintf("see the pod that needs the volume: %s, and the claim: %s. The migration retries with a new pod, also after you correct copy.image of claim template %s in spec.volumes, or with --volume", v.describe(volumes.RoleReceiver), v.Incoming.Describe(), v.Template))
}

// overdue reports whether a wait before the stop has had trouble long enough to be reported to the user.
func (v view) overdue(verdict volumes.Verdict) bool {
	since := v.Attempt.Warm.TroubleSince
	return verdict.Waits != "" && !since.IsZero() && v.Now.Sub(since.Time) >= unmounted && !v.underWay() && v.Pod.Runs() && v.Pod.Ready
}

func (v view) inTrouble() time.Duration {
	return rounded(v.Now.Sub(v.Attempt.Warm.TroubleSince.Time))
}

// trouble returns what a warm pass lacks now, or lacked when that was recorded.
func (v view) trouble() string {
	_, why := v.missing()
	return cmp.Or(why, v.Attempt.Warm.Trouble)
}

// underWay reports whether both movers know each other for longer than it takes to notice that they cannot
// connect.
func (v view) underWay() bool {
	r, s := v.Receiver, v.Warm
	if !v.current(volumes.RoleReceiver) || !v.current(volumes.RoleWarm) || r.Ended || s.Ended || r.Peer == "" || s.Peer == "" {
		return false
	}
	return v.Now.Sub(r.Made) >= heard && v.Now.Sub(s.Made) >= heard
}
