package world

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/inplace"
	"github.com/sliceshift/sliceshift/migration/pause"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// operatorOf returns what is known about the owner of a set, and reads whether it is paused. It is empty without an owner.
func operatorOf(ctx context.Context, at endpoint.Endpoint, set metav1.Object) (inplace.Operator, error) {
	owner := metav1.GetControllerOf(set)
	if owner == nil {
		return inplace.Operator{}, nil
	}
	kind := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind)
	how, setting := pause.StorageOf(kind.GroupKind()), pause.Of(kind.Group)
	switch {
	case how.Own != "":
		return inplace.Operator{Way: how.Own}, nil
	case how.Field == "" || setting == nil:
		return inplace.Operator{Way: "change the storage in " + owner.Kind + " " + owner.Name + ": it is not known to accept claim templates that another writer has changed"}, nil
	}
	operator := inplace.Operator{Field: how.Field, Way: "pause it: " + at.PauseCommand(*setting, kind.GroupKind(), owner.Name)}
	object, err := readTarget(ctx, at, pause.Target{GroupKind: kind.GroupKind(), Version: kind.Version, Namespace: set.GetNamespace(), Name: owner.Name})
	switch {
	case apierrors.IsForbidden(err):
		operator.Way += "; and " + plan.RemedyWriterRights
	case err != nil:
		return inplace.Operator{}, err
	default:
		operator.Paused = object != nil && object.GetUID() == owner.UID && setting.Read(object) == setting.Text()
	}
	return operator, nil
}
