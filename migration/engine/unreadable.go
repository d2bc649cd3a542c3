package engine

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/printable"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
)

// unreadable reports a Migration of which a part could not be decoded. Nothing else is done for it: the missing
// part may be a request of the user, or a record that the move must not lose.
func (r *Reconciler) unreadable(ctx context.Context, m *api.Migration, why error) (ctrl.Result, error) {
	r.drop(client.ObjectKeyFromObject(m))
	decision := plan.Stalled(api.ReasonFieldUnreadable,
		fmt.Sprintf("Migration %s/%s: %v. Nothing is done for this Migration until all of it can be read", m.Namespace, m.Name, why),
		fmt.Sprintf("write the field as the resource definition has it: %s; it was stored under an older definition, so install that of this version, too: %s",
			plan.Kubectl(localName, "").Do("edit", "migration", "-n", m.Namespace, m.Name), plan.Kubectl(localName, "").Migrate("install", "--crds-only")))
	before := m.DeepCopy()
	hold := decision.Hold
	condition(m, api.ConditionStalled, metav1.ConditionTrue, hold.Reason, records.WithRemedy(printable.Fit(hold.Message, longestMessage/2), hold.Remedy))
	condition(m, api.ConditionProgressing, metav1.ConditionFalse, hold.Reason, hold.Message)
	m.Status.ObservedGeneration = m.Generation
	renderReady(m)
	if !changed(before, m) {
		return ctrl.Result{RequeueAfter: planner.RequeueAtLatest}, nil
	}
	// Only the conditions and the display fields are written. A field that could not be decoded remains as
	// stored.
	err := r.Client.Status().Patch(ctx, m, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if err != nil && !apierrors.IsInvalid(err) { // an API server may refuse the object because of its stored fields
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	outcome := Outcome{Decision: *decision}
	outcome.saved(before, m)
	r.announce(m, outcome, &arrivals{})
	return ctrl.Result{RequeueAfter: planner.RequeueAtLatest}, nil
}
