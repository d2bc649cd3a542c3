package world

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/jsontree"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/inplace"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/slices/history"
)

// writeInPlace performs a write that only a migration in place makes.
func (e *Executor) writeInPlace(ctx context.Context, at endpoint.Endpoint, effect plan.Effect) (client.Object, error) {
	switch effect.Verb {
	case plan.OrphanSet:
		return nil, e.orphan(ctx, at, effect)
	case plan.RecreateSet:
		return e.recreate(ctx, at, effect)
	case plan.UpdateSet:
		return e.updateTemplates(ctx, at, effect)
	case plan.PokeSet:
		return patch(ctx, at, at.NewSet(named(at, effect)), effect, annotations(api.PokeAnnotationKey, effect.Poke))
	case plan.ChangeClaim:
		return patch(ctx, at, &corev1.PersistentVolumeClaim{ObjectMeta: named(at, effect)}, effect, requested(effect.Request))
	case plan.HoldClaim:
		return e.holdClaim(ctx, at, effect)
	case plan.FreeClaim:
		_, err := e.holdClaim(ctx, at, effect)
		return nil, err // the claim ends with its last finalizer, so that no cache ever shows this write
	case plan.EvictPod:
		return nil, evict(ctx, at, effect)
	default:
		return nil, e.remove(ctx, at, effect)
	}
}

// requested returns the patch by which a claim asks for a size and a class of attributes.
func requested(to inplace.Request) map[string]any {
	spec := map[string]any{"resources": map[string]any{"requests": map[string]any{string(corev1.ResourceStorage): to.Quantity()}}}
	if to.Attributes != "" {
		spec["volumeAttributesClassName"] = to.Attributes
	}
	return map[string]any{"spec": spec}
}

func annotations(key, value string) map[string]any {
	return map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: value}}}
}

// updateTemplates writes the claim templates of the StatefulSet. A merge patch replaces the whole list.
func (e *Executor) updateTemplates(ctx context.Context, at endpoint.Endpoint, effect plan.Effect) (client.Object, error) {
	live, err := inplace.ReadManifest(inplace.Manifest{Text: effect.Manifest})
	if err != nil {
		return nil, err
	}
	spec, _ := live["spec"].(map[string]any)
	return patch(ctx, at, at.NewSet(named(at, effect)), effect, map[string]any{"spec": map[string]any{"volumeClaimTemplates": spec["volumeClaimTemplates"]}})
}

// orphan deletes the StatefulSet, and leaves its pods and claims. Its pods have no controller if the next one is refused, and
// are restarted if it is another one, so its creation is dry-run before.
func (e *Executor) orphan(ctx context.Context, at endpoint.Endpoint, effect plan.Effect) error {
	next, err := RecreatedSet(effect)
	if err != nil {
		return err
	}
	if err := Admits(ctx, at, next); err != nil {
		return fmt.Errorf("it is not deleted, because the StatefulSet with the next claim templates would be refused or changed: %w", err)
	}
	return e.remove(ctx, at, effect)
}

// Admits returns why an API server would not create the set that follows the present one, or not as it is sent; nil if it
// would. It writes nothing.
//
// That the name is taken is the last thing that an API server finds, but the answer then does not show what admission has
// changed. So a set with a generated name is dry-run, too.
func Admits(ctx context.Context, at endpoint.Endpoint, next *unstructured.Unstructured) error {
	if err := at.Live.Create(ctx, next.DeepCopy(), client.DryRunAll); refusesNext(err) {
		return err
	}
	kept := next.DeepCopy()
	kept.SetName("")
	kept.SetGenerateName(next.GetName() + "-")
	switch err := at.Live.Create(ctx, kept, client.DryRunAll); {
	case refusesNext(err):
		return err
	case err != nil:
		return nil //nolint:nilerr // it hides the answer, and the own name was admitted
	}
	fields, err := otherFields(next, kept)
	if err != nil || len(fields) == 0 {
		return err
	}
	return apierrors.NewForbidden(schema.GroupResource{Group: next.GroupVersionKind().Group, Resource: "statefulsets"}, next.GetName(), fmt.Errorf(
		"cluster %s would create it with another %s than it has: a webhook or an admission policy changes that, or the API server does not keep it", at.Cluster, plan.Listed(fields)))
}

// otherFields returns the fields of the spec in which a set differs from the one that was sent. Defaults do not count, and of
// claim templates only what decides about volumes.
func otherFields(sent, kept *unstructured.Unstructured) ([]string, error) {
	var specs [2]appsv1.StatefulSetSpec
	var manifests [2]inplace.Manifest
	for i, object := range []*unstructured.Unstructured{sent, kept} {
		set, err := endpoint.Convert[appsv1.StatefulSet](object)
		if err != nil {
			return nil, err
		}
		if manifests[i], err = inplace.Live(object.Object).Manifest(""); err != nil {
			return nil, err
		}
		specs[i] = set.Spec
		specs[i].Template = *history.Canonical(&set.Spec.Template)
	}
	if manifests[0].Equals(manifests[1]) {
		specs[1].VolumeClaimTemplates = specs[0].VolumeClaimTemplates
	}
	return jsontree.Differ("spec", jsontree.Of(specs[0]), jsontree.Of(specs[1])), nil
}

// refusesNext reports whether the answer to the dry run of the set that follows means that its creation would fail. It says
// nothing about a quota, which the present set uses, and a webhook may not answer dry runs.
func refusesNext(err error) bool {
	switch {
	case err == nil, apierrors.IsAlreadyExists(err):
		return false
	case endpoint.OverQuota(err), apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "dry run"):
		return false
	}
	return true
}

// recreate creates the StatefulSet again, with the fence, so that no process of an older epoch writes it.
func (e *Executor) recreate(ctx context.Context, at endpoint.Endpoint, effect plan.Effect) (client.Object, error) {
	object, err := RecreatedSet(effect)
	if err != nil {
		return nil, err
	}
	if err := at.Live.Create(ctx, object); err != nil {
		return nil, err
	}
	set := at.NewSet(metav1.ObjectMeta{})
	return set, endpoint.ConvertTo(set, object)
}

// RecreatedSet returns the StatefulSet that an effect creates.
func RecreatedSet(effect plan.Effect) (*unstructured.Unstructured, error) {
	live, err := inplace.ReadManifest(inplace.Manifest{Text: effect.Manifest})
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{Object: live}
	marks := object.GetAnnotations()
	if marks == nil {
		marks = map[string]string{}
	}
	object.SetManagedFields(nil)
	marks[api.FenceAnnotationKey] = effect.Fence
	object.SetAnnotations(marks)
	return object, nil
}

// RecreatedFrom returns a recorded StatefulSet, with the owners of its fields.
func RecreatedFrom(recorded string) (*unstructured.Unstructured, error) {
	live, err := inplace.ReadManifest(inplace.Manifest{Text: recorded})
	return &unstructured.Unstructured{Object: live}, err
}

// recordedTemplate returns the pod template of a recorded StatefulSet.
func recordedTemplate(recorded string) (*corev1.PodTemplateSpec, error) {
	object, err := RecreatedFrom(recorded)
	if err != nil {
		return nil, err
	}
	set, err := endpoint.Convert[appsv1.StatefulSet](object)
	if err != nil {
		return nil, err
	}
	return &set.Spec.Template, nil
}

// unpoke adds to the patch that releases a set the removal of the annotation that makes its controller reconcile it.
func unpoke(change map[string]any) {
	metadata, _ := change["metadata"].(map[string]any)
	if annotations, is := metadata["annotations"].(map[string]any); is {
		annotations[api.PokeAnnotationKey] = nil
	}
}

// holdClaim adds the migration's finalizer to a claim, or removes it. A patch replaces the whole list, so the claim is read
// in the version that was judged.
func (e *Executor) holdClaim(ctx context.Context, at endpoint.Endpoint, effect plan.Effect) (client.Object, error) {
	claim, err := must[corev1.PersistentVolumeClaim](ctx, at, effect.Name)
	if err != nil {
		return nil, err
	}
	if claim.UID != effect.UID || claim.ResourceVersion != effect.ResourceVersion {
		return nil, apierrors.NewConflict(corev1.Resource("persistentvolumeclaims"), effect.Name, errors.New("it was changed since"))
	}
	finalizers := slices.DeleteFunc(slices.Clone(claim.Finalizers), func(name string) bool { return name == api.ClaimFinalizer })
	if effect.Verb == plan.HoldClaim {
		finalizers = append(finalizers, api.ClaimFinalizer)
	}
	return patch(ctx, at, &corev1.PersistentVolumeClaim{ObjectMeta: named(at, effect)}, effect, map[string]any{"metadata": map[string]any{"finalizers": finalizers}})
}

// Evict asks the eviction API to delete a pod, which consults the PodDisruptionBudgets. A UID is a precondition, unless it is
// nil.
func Evict(ctx context.Context, at endpoint.Endpoint, name string, uid *types.UID, options ...client.SubResourceCreateOption) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: at.Namespace, Name: name}}
	eviction := &policyv1.Eviction{ObjectMeta: pod.ObjectMeta, DeleteOptions: &metav1.DeleteOptions{}}
	if uid != nil {
		eviction.DeleteOptions.Preconditions = &metav1.Preconditions{UID: uid}
	}
	return at.Live.SubResource("eviction").Create(ctx, pod, eviction, options...)
}

// evict evicts the pod that was judged. A PodDisruptionBudget that does not allow it is a conflict: nothing was written.
func evict(ctx context.Context, at endpoint.Endpoint, effect plan.Effect) error {
	err := Evict(ctx, at, effect.Name, &effect.UID)
	if apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause) {
		return apierrors.NewConflict(corev1.Resource("pods"), effect.Name, err)
	}
	return err
}
