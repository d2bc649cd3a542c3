package slice

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/internal/ownership"
)

// pollEvery is the interval at which objects are read while waiting.
const pollEvery = 200 * time.Millisecond

// awaitGone waits until the garbage collector has orphaned the dependents of the object, and the object is deleted.
func (a *adoption) awaitGone(ctx context.Context, uid types.UID) error {
	var failed, last error
	ended := command.Poll(ctx, a.Clock, pollEvery, a.timeout, func() bool {
		found, err := a.get(ctx, a.from)
		switch last = err; {
		case err == nil && found == nil:
			return true
		case err == nil && found.GetUID() != uid:
			failed = a.unfinished(command.ExitFailure, fmt.Errorf("another client recreated %s in cluster %s: it owns the pods again; stop that client (a repository that is synchronised?), remove %s and repeat the command",
				a.title(a.from), a.connection.Name(), a.manifest), false)
			return true
		case err == nil && a.from == slicesapi.GroupVersion:
			last = a.releaseFinalizer(ctx, found)
		}
		return false
	})
	switch {
	case ended == nil:
		return failed
	case errors.Is(ended, command.ErrLate):
		return a.unfinished(command.ExitTimeout, errors.Join(fmt.Errorf("%s still exists in cluster %s after %s; its finalizers: %s",
			a.title(a.from), a.connection.Name(), a.timeout, a.kubectl().Do("get", "statefulsets."+a.from.Group, a.name, "-n", a.namespace, "-o", "yaml")), last), true)
	}
	return a.unfinished(command.ExitFailure, ended, true)
}

// releaseFinalizer removes our finalizer from a deleted set whose pods remain. They need no termination reason, and the
// controller may not be running.
func (a *adoption) releaseFinalizer(ctx context.Context, found *unstructured.Unstructured) error {
	next := found.DeepCopy()
	if found.GetDeletionTimestamp() == nil || !controllerutil.RemoveFinalizer(next, slicesapi.Finalizer) {
		return nil
	}
	err := a.live.Patch(ctx, next, client.MergeFromWithOptions(found, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsConflict(err) {
		return nil // the next round reads it again
	}
	return client.IgnoreNotFound(err)
}

// awaitAdopted waits until the controller of the new object counts all pods as its own.
func (a *adoption) awaitAdopted(ctx context.Context) error {
	var last error
	ended := command.Poll(ctx, a.Clock, pollEvery, a.timeout, func() (done bool) {
		done, last = a.adopted(ctx)
		return done
	})
	switch {
	case ended == nil:
		return nil
	case errors.Is(ended, command.ErrLate):
		return a.notAdopted(command.ExitTimeout, errors.Join(fmt.Errorf("its controller has not adopted the pods after %s", a.timeout), last))
	}
	return a.notAdopted(command.ExitFailure, ended)
}

// adopted reports whether the controller has written the status of the new object, with all pods.
func (a *adoption) adopted(ctx context.Context) (bool, error) {
	found, err := a.get(ctx, a.into)
	if err != nil || found == nil {
		return false, err
	}
	var s state
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, &s); err != nil {
		return false, err
	}
	return s.Status.ObservedGeneration > 0 && s.Spec.Replicas != nil && s.Status.Replicas >= *s.Spec.Replicas, nil
}

// notAdopted returns an error that states that the object is created, and what to check.
func (a *adoption) notAdopted(code int, err error) error {
	look := a.kubectl().Do("rollout", "status", "statefulset/"+a.name, "-n", a.namespace)
	if a.into == slicesapi.GroupVersion {
		look = a.Again("rollout status", a.name, a.namespace)
	}
	return &command.ExitError{Code: code, Err: fmt.Errorf("%s is created in cluster %s, and the pods run: %w; see whether its controller runs: %s",
		a.title(a.into), a.connection.Name(), err, look)}
}

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
