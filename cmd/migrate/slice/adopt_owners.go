package slice

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/ownership"
)

// heirOf describes the new object of an adoption.
func heirOf(object *unstructured.Unstructured) ownership.Heir {
	return ownership.Heir{
		APIVersion: object.GetAPIVersion(), Namespace: object.GetNamespace(), Name: object.GetName(),
		Creator: api.FieldManager, Former: []string{slicesapi.FieldManager},
	}
}

// withManagers returns the new object with the field managers of the old one, for the file. If this process ends before
// handOver, kubectl patch can write them.
func (a *adoption) withManagers() *unstructured.Unstructured {
	object := a.new.DeepCopy()
	if fields := heirOf(a.new).ManagedFields(nil, a.old.GetManagedFields()); len(fields) > 0 {
		object.SetManagedFields(fields)
	}
	return object
}

// handOver gives the fields of the new object to the field managers of the old one. Otherwise this command would own each
// field as well: a field that its repository removes would stay, and a server-side apply of another value would conflict.
func (a *adoption) handOver(ctx context.Context, created types.UID) error {
	former := a.old.GetManagedFields()
	if len(heirOf(a.new).ManagedFields(nil, former)) == 0 {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	// The controller writes the new object at the same time.
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		found, err := a.get(ctx, a.into)
		if err != nil {
			return err
		}
		if found == nil || found.GetUID() != created {
			return errors.New("another client deleted it")
		}
		data, err := json.Marshal(map[string]any{"metadata": map[string]any{
			"uid": found.GetUID(), "resourceVersion": found.GetResourceVersion(),
			"managedFields": heirOf(a.new).ManagedFields(found.GetManagedFields(), former),
		}})
		if err != nil {
			return err
		}
		return a.live.Patch(ctx, found, client.RawPatch(types.MergePatchType, data))
	})
}

// patchManagers returns the command that does what handOver does, with the saved manifest.
func (a *adoption) patchManagers() string {
	return a.kubectl().Do("patch", "statefulsets."+a.into.Group, a.name, "-n", a.namespace, "--type", "merge", "--patch-file", a.manifest)
}

// warnOwned warns that the fields do not belong to their former managers.
func (a *adoption) warnOwned(err error) {
	fmt.Fprintf(a.ErrOut, "warning: the fields of %s belong to the field manager %s, so what its repository removes stays, and an apply may conflict: %v\nGive them to their former managers, then delete the file: %s\n",
		a.title(a.into), api.FieldManager, err, a.patchManagers())
}
