package observe

import (
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/slices/decide"
)

// chargedFor is the time for which a charge is relied on: half of the time after which the disruption controller forgets a
// disrupted pod that still exists (DeletionTimeout in pkg/controller/disruption/disruption.go).
const chargedFor = time.Minute

// Budgets are PodDisruptionBudgets with their parsed selectors.
type Budgets []selecting

type selecting struct {
	*policyv1.PodDisruptionBudget
	labels.Selector
}

// BudgetsFrom parses the selectors of PodDisruptionBudgets. As for the eviction subresource, a selector that cannot be parsed
// selects nothing.
func BudgetsFrom(items []policyv1.PodDisruptionBudget) Budgets {
	var out Budgets
	for i := range items {
		if selector, err := metav1.LabelSelectorAsSelector(items[i].Spec.Selector); err == nil {
			out = append(out, selecting{&items[i], selector})
		}
	}
	slices.SortFunc(out, func(a, b selecting) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Of returns the PodDisruptionBudgets that select a pod, by name.
func (b Budgets) Of(pod *corev1.Pod) []*policyv1.PodDisruptionBudget {
	var out []*policyv1.PodDisruptionBudget
	for _, each := range b {
		if each.Matches(labels.Set(pod.Labels)) {
			out = append(out, each.PodDisruptionBudget)
		}
	}
	return out
}

// readBudgets reads the PodDisruptionBudgets of the namespace, if the set keeps them. An error becomes part of the input,
// because the eviction subresource does without.
func (r Reader) readBudgets(ctx context.Context, in *decide.Input, s *Seen) {
	if !r.Spec.Evicts {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	var list policyv1.PodDisruptionBudgetList
	if err := r.Client.List(ctx, &list, client.InNamespace(r.Set.Namespace)); err != nil {
		in.Budgets.Unread = err.Error()
		return
	}
	s.Budgets = BudgetsFrom(list.Items)
	read := map[string]bool{}
	for i := range in.Pods {
		pod := r.Pods[in.Pods[i].Ordinal]
		for _, budget := range s.Budgets.Of(pod) {
			in.Pods[i].Budgets = append(in.Pods[i].Budgets, budget.Name)
			since, is := budget.Status.DisruptedPods[pod.Name]
			in.Pods[i].Charged = in.Pods[i].Charged || is && r.Now.Sub(since.Time) < chargedFor
			in.Pods[i].OwnCharge = in.Pods[i].OwnCharge || is && r.Charges[pod.UID].Equal(since.Time)
			if !read[budget.Name] {
				in.Budgets.All = append(in.Budgets.All, viewBudget(budget))
			}
			read[budget.Name] = true
		}
	}
	slices.SortFunc(in.Budgets.All, func(a, b decide.Budget) int { return strings.Compare(a.Name, b.Name) })
}

// viewBudget returns the properties of a PodDisruptionBudget that decisions need.
func viewBudget(budget *policyv1.PodDisruptionBudget) decide.Budget {
	status, policy := budget.Status, budget.Spec.UnhealthyPodEvictionPolicy
	view := decide.Budget{
		Name: budget.Name, Observed: status.ObservedGeneration >= budget.Generation,
		Allowed: status.DisruptionsAllowed, Healthy: status.CurrentHealthy, Desired: status.DesiredHealthy, Expected: status.ExpectedPods,
		AlwaysAllow: policy != nil && *policy == policyv1.AlwaysAllow,
	}
	if c := meta.FindStatusCondition(status.Conditions, policyv1.DisruptionAllowedCondition); c != nil && c.Status == metav1.ConditionFalse && view.Allowed == 0 {
		view.Since = c.LastTransitionTime.Time
		if c.Reason == policyv1.SyncFailedReason {
			view.Fault = c.Message
		}
	}
	return view
}
