package decide

import (
	"fmt"
	"slices"
	"strings"
	"time"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// RetryEviction is the time after which an eviction is tried again that the API server has refused although the
// PodDisruptionBudget seemed to allow it.
const RetryEviction = 5 * time.Second

// A budget that allows no disruption is read again, from the cache, after a tenth of the time for which it has allowed none,
// within these bounds. After latestRead it is read if that time is unknown.
const (
	soonestRead = time.Second
	latestRead  = 5 * time.Second
)

// Budgets are the PodDisruptionBudgets that select pods of a slice.
type Budgets struct {
	All []Budget
	// Unread is the error with which they could not be read, or empty.
	Unread string
}

// Budget is the state of a PodDisruptionBudget.
type Budget struct {
	Name string
	// Observed is true when the disruption controller has computed the status for the present spec.
	Observed bool
	// Allowed, Healthy, Desired and Expected are the counts of the status: disruptionsAllowed, currentHealthy,
	// desiredHealthy and expectedPods.
	Allowed, Healthy, Desired, Expected int32
	// AlwaysAllow is true for unhealthyPodEvictionPolicy AlwaysAllow.
	AlwaysAllow bool
	// Since is the time since which it allows no disruption. It is zero if it allows any, or if the time is unknown.
	Since time.Time
	// Fault is the error of the disruption controller, which then allows no disruption, or empty.
	Fault string
}

// evicts reports whether a pod that leaves for this reason is evicted instead of deleted. During a migration the
// PodDisruptionBudget is the slice's share, which may be 0 for long: a pod that is not Ready is deleted.
func (d *decider) evicts(pod *Pod, reason api.TerminationReason) bool {
	forUpdate := reason == api.TerminationUpdate || reason == api.TerminationDeletion
	return d.Spec.Evicts && forUpdate && (ready(pod) || !d.Spec.Migrating)
}

// disrupts reports whether the PodDisruptionBudgets of a pod allow its disruption now, and charges them for the rest of
// this pass. Otherwise it holds the pod. The rules are those of the eviction subresource (pkg/registry/core/pod/storage/
// eviction.go of Kubernetes 1.36).
func (d *decider) disrupts(pod *Pod) bool {
	message, again := d.refuses(pod)
	if message == "" {
		return true
	}
	d.hold(pod.Ordinal, HeldDisruption, message)
	d.lookAgain(again)
	return false
}

// refuses returns why the disruption of a pod is not allowed, and when to look again, or an empty message.
func (d *decider) refuses(pod *Pod) (message string, again time.Duration) {
	if pod.Phase == Pending {
		return "", 0 // the API server evicts it without a budget
	}
	if last, found := d.lastEviction(pod); found {
		return fmt.Sprintf("the API server has not evicted ordinal %d: %s", last.Ordinal, last.Message), RetryEviction - d.Now.Sub(last.At)
	}
	switch len(pod.Budgets) {
	case 0:
		return "", 0
	case 1:
		return d.budgetRefuses(pod, pod.Budgets[0])
	default:
		return fmt.Sprintf("PodDisruptionBudgets %s select it, and the API server evicts no pod that several select: change their selectors so that one selects it",
			strings.Join(pod.Budgets, " and ")), latestRead
	}
}

// recentEvictions returns the refused evictions that are not tried again yet.
func (d *facts) recentEvictions() []Refusal {
	var out []Refusal
	for _, r := range d.Refused {
		pod := d.at[r.Ordinal]
		if pod != nil && pod.UID == r.UID && d.Now.Sub(r.At) < RetryEviction {
			out = append(out, r)
		}
	}
	return out
}

// lastEviction returns the latest refused eviction of a pod under the same budget that is not tried again yet. found is
// false if there is none.
func (d *decider) lastEviction(pod *Pod) (last Refusal, found bool) {
	for _, r := range d.evictions {
		if slices.Equal(pod.Budgets, d.at[r.Ordinal].Budgets) && r.At.After(last.At) {
			last, found = r, true
		}
	}
	return last, found
}

// budgetRefuses is refuses for a pod that one budget selects.
func (d *decider) budgetRefuses(pod *Pod, name string) (message string, again time.Duration) {
	at := slices.IndexFunc(d.Budgets.All, func(b Budget) bool { return b.Name == name })
	if at < 0 {
		return fmt.Sprintf("PodDisruptionBudget %s has not been read yet", name), soonestRead
	}
	b := d.Budgets.All[at]
	sick := !ready(pod)
	switch {
	case sick && (b.AlwaysAllow || b.Healthy >= b.Desired && b.Desired > 0):
		return "", 0
	case !b.Observed:
		return fmt.Sprintf("the disruption controller has not computed PodDisruptionBudget %s yet", name), soonestRead
	case b.Allowed > d.charged[name]:
		d.charged[name]++
		return "", 0
	case b.Allowed > 0:
		return fmt.Sprintf("PodDisruptionBudget %s allows %d at a time", name, b.Allowed), soonestRead
	default:
		return b.none(sick), d.readAgain(b)
	}
}

// none returns why the budget allows no disruption, and what to do. sick reports whether the pod is not Ready.
func (b Budget) none(sick bool) string {
	message := fmt.Sprintf("PodDisruptionBudget %s allows 0 disruptions", b.Name)
	if !b.Since.IsZero() {
		message += " since " + b.Since.UTC().Format(time.RFC3339)
	}
	switch {
	case b.Fault != "":
		return message + ", because the disruption controller fails: " + b.Fault
	case b.Expected > 0 && b.Desired >= b.Expected:
		message += fmt.Sprintf(": it needs %d healthy pods of %d, so it never allows one; raise its maxUnavailable or lower its minAvailable, or set updateStrategy.rollingUpdate.budget: %s",
			b.Desired, b.Expected, api.BudgetNone)
	default:
		message += fmt.Sprintf(": it needs %d healthy pods and has %d", b.Desired, b.Healthy)
	}
	if sick {
		message += "; to let it replace a pod that is not Ready, set its unhealthyPodEvictionPolicy: " + string(api.AlwaysAllow)
	}
	return message
}

// readAgain returns when a budget that allows no disruption is read again.
func (d *decider) readAgain(b Budget) time.Duration {
	if b.Since.IsZero() {
		return latestRead
	}
	return min(max(d.Now.Sub(b.Since)/10, soonestRead), latestRead)
}

// chargeFor reports whether an update in place of a pod may begin. A Ready pod is charged to its PodDisruptionBudget first,
// in its status, because no eviction does it.
func (d *decider) chargeFor(pod *Pod) bool {
	switch {
	case pod.Charged || changing(pod):
		return true
	case d.Budgets.Unread != "":
		d.hold(pod.Ordinal, HeldDisruption, "PodDisruptionBudgets cannot be read, which the manager must be allowed to list and watch: "+d.Budgets.Unread)
		d.lookAgain(latestRead)
		return false
	case !d.disrupts(pod):
		return false
	}
	if ready(pod) && len(pod.Budgets) == 1 {
		d.act(ChargeBudget, pod, d.target, "")
	}
	return true
}

// releaseBudgets ends the charges of this process for pods that serve again, or whose update does not begin. The budget
// counts such a pod as healthy, whichever of its states the disruption controller has seen. Without that, the charge would
// outlast a short update.
func (d *decider) releaseBudgets() {
	for _, pod := range d.pods {
		acted := func(a Action) bool { return a.Ordinal == pod.Ordinal }
		if pod.OwnCharge && pod.InPlace == nil && !pod.Terminating && ready(pod) && !slices.ContainsFunc(d.actions, acted) {
			d.act(ReleaseBudget, pod, pod.Revision, "")
		}
	}
}
