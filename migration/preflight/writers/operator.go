package writers

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/pause"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// Operator finds a controller that owns the StatefulSet and would revert its replicas. An owner that is paused is a
// warning, because it must remain paused, and so is an owner that the migration pauses.
func Operator(ctx context.Context, at endpoint.Endpoint, set *appsv1.StatefulSet, pauses bool) ([]plan.Finding, error) {
	owner := metav1.GetControllerOf(set)
	if owner == nil {
		return nil, nil
	}
	kinds := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind)
	setting := pause.Of(kinds.Group)
	if setting == nil {
		return []plan.Finding{owned(at, owner, orphan(at))}, nil
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kinds)
	err := at.Live.Get(ctx, at.Key(owner.Name), object)
	switch {
	case err == nil && setting.Read(object) == setting.Text():
		return []plan.Finding{{
			Reason: api.ReasonOwnedByOperator, Object: at.Object(), Warning: true,
			Message: fmt.Sprintf("%s is controlled by %s %s, which is paused: when it is resumed, it restores replicas", at.Object(), owner.Kind, owner.Name),
			Remedy:  "leave it paused until the move has ended, and give the destination to an operator there before that",
		}}, nil
	case err == nil && pauses:
		return []plan.Finding{pausedFor(at, api.ReasonOwnedByOperator, owner.Kind, owner.Name)}, nil
	case err != nil && !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err):
		return nil, fmt.Errorf("cluster %s: reading %s %s: %w", at.Cluster, owner.Kind, at.Key(owner.Name), err)
	}
	remedy := "pause it: " + at.PauseCommand(*setting, kinds.GroupKind(), owner.Name)
	if apierrors.IsForbidden(err) {
		remedy += "; and grant the identity used in cluster " + at.Cluster + " the right to get it, so that the pause is seen; or " + orphan(at)
	}
	return []plan.Finding{owned(at, owner, remedy)}, nil
}

// pausedFor returns the warning for a writer that the migration pauses.
func pausedFor(at endpoint.Endpoint, reason, kind, name string) plan.Finding {
	return plan.Finding{
		Reason: reason, Object: at.Object(), Warning: true,
		Message: fmt.Sprintf("%s is written by %s %s, which is paused for the move and resumed at the end: it then writes its own replicas again", at.Object(), kind, name),
		Remedy:  "before the end, change it so that it no longer runs the ordinals at the source",
	}
}

func owned(at endpoint.Endpoint, owner *metav1.OwnerReference, remedy string) plan.Finding {
	return plan.Finding{
		Reason: api.ReasonOwnedByOperator, Object: at.Object(),
		Message: fmt.Sprintf("%s is controlled by %s %s, which would restore replicas during the move", at.Object(), owner.Kind, owner.Name),
		Remedy:  remedy,
	}
}

func orphan(at endpoint.Endpoint) string {
	return "pause the operator and orphan the StatefulSet: " + at.Kubectl().Do("patch", at.Resource(), "-n", at.Namespace, at.Set, "--type=json", "-p", `[{"op":"remove","path":"/metadata/ownerReferences"}]`)
}
