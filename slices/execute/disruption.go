package execute

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/slices/decide"
)

// mostDisrupted is the number of disrupted pods above which the API server evicts no further one (MaxDisruptedPodSize in
// pkg/registry/core/pod/storage/eviction.go).
const mostDisrupted = 2000

// errBudget is an eviction or a charge that a PodDisruptionBudget refuses. It is an input of the next decision, not a
// failure.
type errBudget struct {
	message string
	err     error
}

// Error returns the reason of the budget.
func (e *errBudget) Error() string { return e.message }

// Unwrap returns the error of the API server.
func (e *errBudget) Unwrap() error { return e.err }

// byBudget returns the error of an eviction as an *errBudget if a PodDisruptionBudget has refused it. The API server reports
// a pod that several budgets select with code 500 and no reason.
func byBudget(err error) error {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return err
	}
	status := answer.Status()
	if status.Code == http.StatusInternalServerError && strings.Contains(status.Message, "more than one PodDisruptionBudget") {
		return &errBudget{status.Message, err}
	}
	if !apierrors.IsTooManyRequests(err) || status.Details == nil {
		return err
	}
	for _, cause := range status.Details.Causes {
		if cause.Type == policyv1.DisruptionBudgetCause {
			return &errBudget{cause.Message, err}
		}
	}
	return err
}

// isByBudget returns the reason of a PodDisruptionBudget, and whether it has refused a write.
func isByBudget(err error) (reason string, is bool) {
	if refused, is := errors.AsType[*errBudget](err); is {
		return refused.message, true
	}
	return "", false
}

// evictWithin evicts a pod within its PodDisruptionBudget. A pod that is Ready is evicted with its UID as the only
// precondition: the API server charges the budget before it compares the resourceVersion, and a conflict would leave the
// budget charged for two minutes.
func (c *PodControl) evictWithin(ctx context.Context, action decide.Action, pod *corev1.Pod) error {
	err := byBudget(c.evict(ctx, pod, c.preconditions(action, pod)))
	if _, refused := isByBudget(err); refused {
		c.refused.Store(true)
		return err
	}
	if apierrors.IsTooManyRequests(err) { // the API server has too much to do
		c.refused.Store(true)
		return nil
	}
	return c.removed(action, pod, "evicted", err)
}

// budgetControl writes the status of PodDisruptionBudgets.
type budgetControl struct{ *PodControl }

// count charges the budget of a pod, or ends the charge.
func (c budgetControl) count(ctx context.Context, verb decide.Verb, pod *corev1.Pod) error {
	if verb == decide.ReleaseBudget {
		return c.release(ctx, pod)
	}
	return c.charge(ctx, pod)
}

// charge counts a pod as disrupted in the status of its budget, as the API server does before an eviction. The disruption
// controller keeps the entry for two minutes, or until release.
func (c budgetControl) charge(ctx context.Context, pod *corev1.Pod) error {
	budget, err := c.budgetOf(pod)
	if err != nil || budget == nil {
		return err
	}
	if status := budget.Status; status.ObservedGeneration < budget.Generation || status.DisruptionsAllowed <= 0 || len(status.DisruptedPods) > mostDisrupted {
		c.refused.Store(true)
		return &errBudget{message: fmt.Sprintf("PodDisruptionBudget %s allows no disruption now", budget.Name)}
	}
	now := c.Now().UTC().Truncate(time.Second) // the API has no fractions of a second
	err = c.patchBudget(ctx, budget, map[string]any{
		"disruptionsAllowed": budget.Status.DisruptionsAllowed - 1, "disruptedPods": map[string]any{pod.Name: now.Format(time.RFC3339)},
	})
	if err == nil {
		c.charges.Store(pod.UID, now)
	}
	return err
}

// Charges returns the times at which budgets were charged for the pods of the set, given those of former passes.
func (c *PodControl) Charges(before map[types.UID]time.Time) map[types.UID]time.Time {
	after := map[types.UID]time.Time{}
	for _, pod := range c.pods {
		at, known := before[pod.UID]
		if now, is := c.charges.Load(pod.UID); is {
			at, known = now.(time.Time)
		}
		if known {
			after[pod.UID] = at
		}
	}
	return after
}

// release removes a pod from the disrupted pods of its budget. The entry is the one that charge has written: an eviction
// would have replaced its time.
func (c budgetControl) release(ctx context.Context, pod *corev1.Pod) error {
	budget, err := c.budgetOf(pod)
	if err != nil || budget == nil {
		return err
	}
	return client.IgnoreNotFound(c.patchBudget(ctx, budget, map[string]any{"disruptedPods": map[string]any{pod.Name: nil}}))
}

// budgetOf returns the budget of a pod, or nil if none selects it.
func (c budgetControl) budgetOf(pod *corev1.Pod) (*policyv1.PodDisruptionBudget, error) {
	switch budgets := c.Budgets.Of(pod); len(budgets) {
	case 0:
		return nil, nil
	case 1:
		return budgets[0], nil
	default:
		return nil, fmt.Errorf("%d PodDisruptionBudgets select it", len(budgets))
	}
}

// patchBudget patches the status of the observed budget. The API server refuses the patch if the budget has changed, so that
// two writers never use the same disruption.
func (c budgetControl) patchBudget(ctx context.Context, budget *policyv1.PodDisruptionBudget, status map[string]any) error {
	data, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": budget.UID, "resourceVersion": budget.ResourceVersion}, "status": status,
	})
	if err != nil {
		return err
	}
	return c.Client.Status().Patch(ctx, budget.DeepCopy(), client.RawPatch(types.MergePatchType, data))
}
