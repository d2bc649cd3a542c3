package migration

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/pass"
	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// unreadable tells of a Migration of which not all could be read. Nothing else is done for it: what was left out may be
// what a person wants, or what a move must not forget.
func (r *Reconciler) unreadable(ctx context.Context, m *api.Migration, why error) (ctrl.Result, error) {
	r.drop(client.ObjectKeyFromObject(m))
	decision := plan.Stalled(api.ReasonFieldUnreadable,
		fmt.Sprintf("Migration %s/%s: %v. Nothing is done for this Migration until all of it can be read", m.Namespace, m.Name, why),
		fmt.Sprintf("write the field as the resource definition has it: %s; it was stored under an older definition, so install that of this version, too: %s",
			plan.Kubectl(localName, "").Do("edit", "migration", "-n", m.Namespace, m.Name), plan.Kubectl(localName, "").Migrate("install", "--crds-only")))
	before := m.DeepCopy()
	hold := decision.Hold
	condition(m, api.ConditionStalled, metav1.ConditionTrue, hold.Reason, records.WithRemedy(fitting(hold.Message, longestMessage/2), hold.Remedy))
	condition(m, api.ConditionProgressing, metav1.ConditionFalse, hold.Reason, hold.Message)
	m.Status.ObservedGeneration = m.Generation
	renderReady(m)
	if !changed(before, m) {
		return ctrl.Result{RequeueAfter: pass.RequeueAtLatest}, nil
	}
	// Only the conditions and the fields for people are written. A field that could not be read stays as it is stored.
	err := r.Client.Status().Patch(ctx, m, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if err != nil && !apierrors.IsInvalid(err) { // an API server may refuse the object for what is stored
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	outcome := Outcome{Decision: *decision}
	outcome.saved(before, m)
	r.announce(m, outcome, &arrivals{})
	return ctrl.Result{RequeueAfter: pass.RequeueAtLatest}, nil
}
