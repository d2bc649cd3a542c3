package slices

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/shell"
)

// unreadable reports a set that has unreadable fields. Its pods are not changed, because spec.replicas may be one of these
// fields.
func (r *Reconciler) unreadable(ctx context.Context, set *api.StatefulSet, why error) (ctrl.Result, error) {
	message := fmt.Sprintf("%v. Its pods do not change until all of it can be read. To correct it: %s", why, shell.Kubectl{}.Do("edit", "statefulsets.apps.sliceshift.io", "-n", set.Namespace, set.Name))
	before := set.DeepCopy()
	if !meta.SetStatusCondition(&set.Status.Conditions, metav1.Condition{
		Type: api.ConditionStalled, Status: metav1.ConditionTrue, Reason: api.ReasonFieldUnreadable, Message: message, ObservedGeneration: set.Generation,
	}) {
		return ctrl.Result{}, nil
	}
	log.FromContext(ctx).Info("not all of a set can be read", "message", message)
	r.told.Eventf(set, nil, corev1.EventTypeWarning, api.ReasonFieldUnreadable, "Read", "%s", message)
	err := r.Client.Status().Patch(ctx, set, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsInvalid(err) { // an API server may reject the object because of a stored value
		return ctrl.Result{}, nil
	}
	return whenChanged(client.IgnoreNotFound(err))
}
