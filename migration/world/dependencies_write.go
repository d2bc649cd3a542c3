package world

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/dependencies"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// errAnother is why a copy is not written: the object is not the one that the decision was based on.
var errAnother = errors.New("it has changed since it was looked at")

// createCopy creates a copy of a dependency.
func (e *Executor) createCopy(ctx context.Context, at endpoint.Endpoint, effect plan.Effect) (client.Object, error) {
	copied, _, err := e.CopyOf(ctx, effect)
	if err != nil {
		return nil, err
	}
	if err := e.mayMake(ctx, at, copied); err != nil {
		return nil, err
	}
	return copied, at.Live.Create(ctx, copied)
}

// updateCopy updates a copy of a dependency.
func (e *Executor) updateCopy(ctx context.Context, at endpoint.Endpoint, effect plan.Effect) (client.Object, error) {
	copied, way, err := e.CopyOf(ctx, effect)
	if err != nil {
		return nil, err
	}
	kind, _ := dependencies.KindOf(effect.Kind)
	there, err := at.Dependency(ctx, kind, effect.Name, copied.GroupVersionKind().Version)
	if err != nil {
		return nil, err
	}
	if there == nil || there.GetUID() != effect.UID || there.GetResourceVersion() != effect.ResourceVersion {
		return nil, conflict(kind, effect.Name)
	}
	if kind.Storage {
		return there, disown(ctx, at.Live, there)
	}
	owner := there.GetLabels()[api.OwnerLabelKey]
	merged := dependencies.Merge(there, copied, way)
	if owner != "" && dependencies.Hash(dependencies.Clean(there, way.Home())) == effect.Copied.Origin {
		merged = there.DeepCopy() // its content is already that of the source
	}
	if owner != string(e.Owner) { // it belonged to another owner, so the cleanup must not delete it
		labels := merged.GetLabels()
		delete(labels, api.OwnerLabelKey)
		merged.SetLabels(labels)
	}
	return merged, at.Live.Update(ctx, merged)
}

// mayMake refuses the volume of a claim that all ordinals share if it may not be created any more, because another
// volume of the disk may have appeared since the decision.
func (e *Executor) mayMake(ctx context.Context, at endpoint.Endpoint, copied *unstructured.Unstructured) error {
	if copied.GetKind() != dependencies.PersistentVolume {
		return nil
	}
	var volume corev1.PersistentVolume
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(copied.Object, &volume); err != nil {
		return fmt.Errorf("volume %s: %w", copied.GetName(), err)
	}
	twin, err := e.Policy.TwinIn(ctx, at.Live, &volume)
	if err != nil {
		return err
	}
	bars := e.Policy.Bars(&volume, volumes.Use{Namespace: at.Namespace})
	if twin != "" {
		bars = *volumes.TwinOf(volume.Name, twin, volumes.Holding{Kubectl: at.Kubectl()})
	}
	if bars != (volumes.Reason{}) {
		return apierrors.NewConflict(corev1.Resource("persistentvolumes"), volume.Name, errors.New(bars.Message))
	}
	return nil
}

// disown removes the owner label from a copy that represents storage, so that its migration's cleanup keeps it for
// the others that need it. It writes nothing else.
func disown(ctx context.Context, c client.Client, there *unstructured.Unstructured) error {
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": there.GetUID(), "resourceVersion": there.GetResourceVersion(), "labels": map[string]any{api.OwnerLabelKey: nil},
	}})
	if err != nil {
		return err
	}
	return c.Patch(ctx, there, client.RawPatch(types.MergePatchType, data))
}

// CopyOf returns the copy of a dependency from its current state at the source, and its way. It fails if the source's
// object is not the one that the decision was based on.
func (e *Executor) CopyOf(ctx context.Context, effect plan.Effect) (*unstructured.Unstructured, dependencies.Way, error) {
	kind, _ := dependencies.KindOf(effect.Kind)
	version, err := e.CommonVersion(kind)
	if err != nil {
		return nil, dependencies.Way{}, err
	}
	if version == "" {
		return nil, dependencies.Way{}, conflict(kind, effect.Name)
	}
	origin, err := e.Source.Dependency(ctx, kind, effect.Name, version)
	if err != nil {
		return nil, dependencies.Way{}, err
	}
	if origin == nil {
		return nil, dependencies.Way{}, conflict(kind, effect.Name)
	}
	way := WayOf(e.Pair, "")
	if effect.Kind == dependencies.RoleBinding { // only the copy of this kind depends on the account
		set, err := e.Source.GetSet(ctx, e.Source.Live)
		if err != nil {
			return nil, way, err
		}
		if set == nil {
			return nil, way, conflict(kind, effect.Name)
		}
		way.Account = dependencies.AccountOf(set.Spec.Template.Spec)
	}
	copied := dependencies.Clean(origin, way)
	hash := dependencies.Hash(copied)
	if hash != effect.Copied.Origin {
		return nil, way, conflict(kind, effect.Name)
	}
	mark := dependencies.Mark{
		Cluster: e.Source.ID, Namespace: origin.GetNamespace(), Name: origin.GetName(), UID: origin.GetUID(), Hash: hash, PutBack: effect.Copied.PutBack,
	}
	copied.SetAnnotations(with(copied.GetAnnotations(), api.OriginAnnotationKey, mark.String()))
	copied.SetLabels(with(copied.GetLabels(), api.OwnerLabelKey, string(e.Owner)))
	return copied, way, nil
}

func with(all map[string]string, key, value string) map[string]string {
	if all == nil {
		all = map[string]string{}
	}
	all[key] = value
	return all
}

func conflict(kind dependencies.Kind, name string) error {
	return apierrors.NewConflict(schema.GroupResource{Group: kind.Group, Resource: kind.Resource}, name, errAnother)
}

// replaceCopy deletes the copy that the decision was based on so that another one can replace it. Before that it
// dry-runs the replacement, under a generated name. An exceeded quota is ignored, because the deletion frees it.
func (e *Executor) replaceCopy(ctx context.Context, at endpoint.Endpoint, effect plan.Effect) error {
	if kind, _ := dependencies.KindOf(effect.Kind); kind.Storage || effect.Copied.Origin == "" {
		return removeCopy(ctx, at, effect) // it is not replaced
	}
	copied, _, err := e.CopyOf(ctx, effect)
	if err != nil {
		return err
	}
	const longest = 40
	name := copied.GetName()
	copied.SetName("")
	copied.SetGenerateName(strings.TrimRight(name[:min(len(name), longest)], "-.") + "-")
	if err := at.Live.Create(ctx, copied, client.DryRunAll); err != nil && !endpoint.OverQuota(err) {
		return fmt.Errorf("the copy that replaces it would be refused: %w", err)
	}
	return removeCopy(ctx, at, effect)
}

// removeCopy deletes the copy that the decision was based on.
func removeCopy(ctx context.Context, at endpoint.Endpoint, effect plan.Effect) error {
	kind, _ := dependencies.KindOf(effect.Kind)
	if effect.Kind == dependencies.PersistentVolumeClaim {
		if err := keepsStorage(ctx, at, effect.Name); err != nil {
			return err
		}
	}
	served, err := at.Serves(kind, kind.Versions...)
	if err != nil {
		return err
	}
	if served == nil {
		return conflict(kind, effect.Name)
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(*served)
	if !kind.Cluster {
		object.SetNamespace(at.Namespace)
	}
	object.SetName(effect.Name)
	return at.Live.Delete(ctx, object, client.Preconditions{UID: &effect.UID, ResourceVersion: &effect.ResourceVersion})
}

// keepsStorage refuses to delete a claim whose volume would be deleted with it. The policy is read now, because a
// change of it does not change the claim's resourceVersion.
func keepsStorage(ctx context.Context, at endpoint.Endpoint, name string) error {
	claim, err := endpoint.Get[corev1.PersistentVolumeClaim](ctx, at.Live, at.Key(name))
	if claim == nil || claim.Spec.VolumeName == "" || err != nil {
		return err
	}
	volume, err := endpoint.Get[corev1.PersistentVolume](ctx, at.Live, client.ObjectKey{Name: claim.Spec.VolumeName})
	if volume == nil || err != nil {
		return err
	}
	if volume.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimRetain {
		kind, _ := dependencies.KindOf(dependencies.PersistentVolumeClaim)
		return conflict(kind, name)
	}
	return nil
}
