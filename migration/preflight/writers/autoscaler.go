package writers

import (
	"context"
	"fmt"
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// Autoscalers finds autoscalers of the StatefulSet of a side: a KEDA ScaledObject, or a HorizontalPodAutoscaler. An
// autoscaler that the migration pauses is a warning.
func Autoscalers(ctx context.Context, at endpoint.Endpoint, pauses bool) ([]plan.Finding, error) {
	found, err := scaledObjects(ctx, at, pauses)
	if err != nil || slices.ContainsFunc(found, func(f plan.Finding) bool { return !f.Warning }) {
		return found, err
	}
	if len(found) > 0 && pauses {
		return found, nil // KEDA deletes its HorizontalPodAutoscaler when it is paused
	}
	more, err := horizontal(ctx, at)
	return append(found, more...), err
}

// horizontal finds a HorizontalPodAutoscaler, created by a user or by a KEDA ScaledObject.
func horizontal(ctx context.Context, at endpoint.Endpoint) ([]plan.Finding, error) {
	var scalers autoscalingv2.HorizontalPodAutoscalerList
	err := at.Live.List(ctx, &scalers, client.InNamespace(at.Namespace))
	if apierrors.IsForbidden(err) {
		return []plan.Finding{{
			Reason: api.ReasonPermissionMissing, Object: at.Object(), Warning: true,
			Message: fmt.Sprintf("HorizontalPodAutoscalers in namespace %s of cluster %s may not be listed, so none could be looked for", at.Namespace, at.Cluster),
			Remedy:  plan.RemedyRights,
		}}, nil
	}
	if err != nil {
		return nil, err
	}
	for i := range scalers.Items {
		if finding := scaled(at, &scalers.Items[i]); finding != nil {
			return []plan.Finding{*finding}, nil
		}
	}
	return nil, nil
}

// scaled finds a HorizontalPodAutoscaler over the StatefulSet, and its owner.
func scaled(at endpoint.Endpoint, scaler *autoscalingv2.HorizontalPodAutoscaler) *plan.Finding {
	target := scaler.Spec.ScaleTargetRef
	if target.Kind != "StatefulSet" || target.Name != at.Set || target.APIVersion != at.APIVersion {
		return nil
	}
	if owner := metav1.GetControllerOf(scaler); owner != nil && owner.Kind == "ScaledObject" {
		return new(byKEDA(at, owner.Name))
	}
	return &plan.Finding{
		Reason: api.ReasonAutoscaled, Object: at.Object(),
		Message: fmt.Sprintf("HorizontalPodAutoscaler %s/%s in cluster %s scales %s: it would add and remove ordinals during the move", at.Namespace, scaler.Name, at.Cluster, at.Object()),
		Remedy:  "keep its manifest, and create it at the destination after the move: " + at.Kubectl().Remove("hpa", at.Namespace, scaler.Name),
	}
}
