// Package execute performs one effect of a plan: one write, to the object that the decision was based on. It decides
// nothing.
package execute

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/pdb"
	slicesapi "github.com/sliceshift/sliceshift/slices/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/methods"
)

// Executor performs effects.
type Executor struct {
	*endpoint.Pair
	// Owner is the UID of the Migration.
	Owner  types.UID
	Policy volumes.Policy
	// Volumes holds the settings of each claim template, by its name.
	Volumes map[string]api.VolumeSpec
	// OwnSecrets lists the Secrets of the destination's namespace that the Migration itself uses.
	OwnSecrets []string
	// Parked is the volume that this process parked last, as the API server of side ParkedAt returned it; nil if
	// there is none.
	Parked   *corev1.PersistentVolume
	ParkedAt plan.SideName
}

// New returns the executor of a migration.
func New(m *api.Migration, sides *endpoint.Pair, policy volumes.Policy) *Executor {
	asked := map[string]api.VolumeSpec{}
	for _, v := range m.VolumesAsAccepted() {
		asked[v.ClaimTemplate] = v
	}
	own := m.OwnSecrets(sides.Destination.Namespace, m.Spec.Destination.KubeConfigSecretRef)
	return &Executor{Pair: sides, Owner: m.UID, Policy: policy, Volumes: asked, OwnSecrets: own}
}

// Do performs one effect: one write, with the uid and resourceVersion of the object that the decision was based on.
// It returns the written object; nil after a deletion.
func (e *Executor) Do(ctx context.Context, effect plan.Effect) (client.Object, error) {
	at := e.At(effect.Side)
	switch effect.Verb {
	case plan.WriteFence:
		return patchSet(ctx, at, effect, map[string]any{"metadata": map[string]any{"annotations": fenceMarks(at, effect.Fence)}})
	case plan.ReleaseFence:
		return patchSet(ctx, at, effect, map[string]any{"metadata": map[string]any{"annotations": noFenceMarks(at, effect.Split)}})
	case plan.SetShare:
		return patchSet(ctx, at, effect, shareOf(strconv.Itoa(int(effect.MaxUnavailable))))
	case plan.LiftShare:
		return patchSet(ctx, at, effect, shareOf(nil))
	case plan.ScaleDown, plan.ScaleUp:
		return patchSet(ctx, at, effect, map[string]any{"spec": map[string]any{
			"replicas": effect.Replicas, "ordinals": map[string]any{"start": effect.Start},
		}})
	case plan.CreateNamespace, plan.CreateService, plan.CreateSet, plan.CreateBudget, plan.CreateExport, plan.CreatePodService, plan.CreatePodExport:
		object, err := e.Created(ctx, at, effect)
		if err != nil {
			return nil, err
		}
		return object, at.Live.Create(ctx, object)
	case plan.RunHook:
		job := HookJob(e.Pair, e.Owner, *effect.Hook)
		return job, at.Live.Create(ctx, job)
	case plan.StartHook:
		return startHook(ctx, at, effect)
	case plan.MarkPodService, plan.MarkPodExport:
		return markName(ctx, at, effect)
	case plan.SetBudget:
		return pdb.Write(ctx, at.Live, budgetTarget(at, effect), effect.Form, pdb.Marks{Mark: pdb.Mark(effect.Fence, effect.Form), Author: effect.Author})
	case plan.RestoreBudget:
		return pdb.Write(ctx, at.Live, budgetTarget(at, effect), effect.Form, pdb.Marks{})
	case plan.CarryVolume:
		if effect.Volume.Verb == volumes.MarkClaim {
			return volumes.Mark(ctx, at.Live, effect.Volume)
		}
		return e.carryVolume(ctx, effect)
	case plan.RestorePolicy:
		return volumes.RestorePolicy(ctx, at.Live, effect.Volume)
	case plan.CreateCopy, plan.UpdateCopy:
		return e.writeCopy(ctx, at, effect)
	case plan.PauseWriter, plan.ReleaseWriter, plan.UnmarkWriter:
		return writeWriter(ctx, at, effect)
	case plan.DeleteCopy:
		return nil, e.replaceCopy(ctx, at, effect)
	case plan.DeleteClaim, plan.DeleteVolume, plan.DeleteBudget, plan.DeleteExport, plan.DeleteSet, plan.DeletePodExport, plan.DeletePodService:
		return nil, e.remove(ctx, at, effect)
	}
	return nil, fmt.Errorf("unknown effect %q", effect.Verb)
}

// fenceMarks returns the annotations of a StatefulSet with a fence.
func fenceMarks(p endpoint.Endpoint, value string) map[string]any {
	annotations := map[string]any{api.FenceAnnotationKey: value}
	maps.Copy(annotations, p.Kind().Fenced())
	return annotations
}

// noFenceMarks returns the annotations of a released StatefulSet.
func noFenceMarks(p endpoint.Endpoint, split bool) map[string]any {
	annotations := map[string]any{api.FenceAnnotationKey: nil, api.TemplateAnnotationKey: nil}
	maps.Copy(annotations, p.Kind().Released(split))
	return annotations
}

// shareOf returns the metadata of a StatefulSet of our own kind with a share of the budget, or without one.
func shareOf(value any) map[string]any {
	return map[string]any{"metadata": map[string]any{"annotations": map[string]any{slicesapi.MaxUnavailableAnnotationKey: value}}}
}

func patchSet(ctx context.Context, at endpoint.Endpoint, effect plan.Effect, change map[string]any) (client.Object, error) {
	metadata, _ := change["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
		change["metadata"] = metadata
	}
	metadata["uid"], metadata["resourceVersion"] = effect.UID, effect.ResourceVersion
	data, err := json.Marshal(change)
	if err != nil {
		return nil, err
	}
	set := at.NewSet(metav1.ObjectMeta{Namespace: at.Namespace, Name: effect.Name})
	return set, at.Live.Patch(ctx, set, client.RawPatch(types.MergePatchType, data))
}

// markName writes the fence on the Service or the export of an ordinal.
func markName(ctx context.Context, at endpoint.Endpoint, effect plan.Effect) (client.Object, error) {
	meta := metav1.ObjectMeta{Namespace: at.Namespace, Name: effect.Name}
	var object client.Object = &corev1.Service{ObjectMeta: meta}
	if effect.Verb == plan.MarkPodExport {
		object = methods.NewServiceExport(at.ExportVersion, meta)
	}
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": effect.UID, "resourceVersion": effect.ResourceVersion, "annotations": map[string]any{api.FenceAnnotationKey: effect.Fence},
	}})
	if err != nil {
		return nil, err
	}
	return object, at.Live.Patch(ctx, object, client.RawPatch(types.MergePatchType, data))
}

func budgetTarget(at endpoint.Endpoint, effect plan.Effect) pdb.Target {
	return pdb.Target{Namespace: at.Namespace, Name: effect.Name, UID: effect.UID, ResourceVersion: effect.ResourceVersion}
}

// Created returns the object of a create effect, copied from the current state of the source.
func (e *Executor) Created(ctx context.Context, at endpoint.Endpoint, effect plan.Effect) (client.Object, error) {
	owned := metav1.ObjectMeta{Namespace: at.Namespace, Name: effect.Name, Annotations: map[string]string{api.OwnerAnnotationKey: string(e.Owner)}}
	if effect.Verb == plan.CreatePodService || effect.Verb == plan.CreatePodExport {
		owned.Annotations[api.FenceAnnotationKey] = effect.Fence
	}
	switch effect.Verb {
	case plan.CreateNamespace:
		return e.createdNamespace(ctx, owned)
	case plan.CreateExport, plan.CreatePodExport:
		return methods.NewServiceExport(at.ExportVersion, owned), nil
	case plan.CreatePodService:
		return e.createdPodService(ctx, owned)
	case plan.CreateService:
		from, err := must[corev1.Service](ctx, e.Source, effect.Name)
		if err != nil {
			return nil, err
		}
		return copyService(from, copyMeta(from.ObjectMeta, at.Namespace, effect.Name, e.Owner)), nil
	case plan.CreateBudget:
		from, err := must[policyv1.PodDisruptionBudget](ctx, e.Source, effect.Name)
		if err != nil {
			return nil, err
		}
		return pdb.Copy(from, copyMeta(from.ObjectMeta, at.Namespace, effect.Name, e.Owner), pdb.Marks{Mark: pdb.Mark(effect.Fence, pdb.Unavailable(0)), Author: effect.Author}), nil
	default:
		return e.copiedSet(ctx, func(from metav1.ObjectMeta) metav1.ObjectMeta {
			meta := copyMeta(from, at.Namespace, effect.Name, e.Owner)
			meta.Annotations[api.FenceAnnotationKey] = effect.Fence
			for key, value := range at.Kind().Fenced() {
				meta.Annotations[key] = fmt.Sprint(value)
			}
			return meta
		}, effect.Start, e.forms())
	}
}

// createdPodService copies the ports of the source's governing Service, if there is one.
func (e *Executor) createdPodService(ctx context.Context, meta metav1.ObjectMeta) (client.Object, error) {
	set, err := e.Source.GetSet(ctx, e.Source.Live)
	if err != nil || set == nil || set.Spec.ServiceName == "" {
		return podService(nil, meta), err
	}
	governing, err := endpoint.Get[corev1.Service](ctx, e.Source.Live, e.Source.Key(set.Spec.ServiceName))
	return podService(governing, meta), err
}

// must reads an object that existed a moment ago.
func must[T any, P endpoint.Object[T]](ctx context.Context, at endpoint.Endpoint, name string) (*T, error) {
	value := P(new(T))
	if err := at.Live.Get(ctx, at.Key(name), value); err != nil {
		return nil, err
	}
	return (*T)(value), nil
}

func (e *Executor) carryVolume(ctx context.Context, effect plan.Effect) (client.Object, error) {
	to := e.Volumes[effect.Template]
	carrier := volumes.Carrier{
		Giver: e.Source.Live, Taker: e.Destination.Live, Owner: e.Owner, Form: volumes.FormOf(to), Policy: e.Policy,
		Use:  volumes.Use{Namespace: e.Destination.Namespace, ClaimTemplate: effect.Template, Shared: to.Shared},
		Copy: to.Copy, Template: e.template,
	}
	if e.ParkedAt == effect.Carriage.Giver {
		carrier.Parked = e.Parked
	}
	if effect.Carriage.Giver == plan.DestinationSide {
		carrier.Giver, carrier.Taker, carrier.Form = carrier.Taker, carrier.Giver, volumes.Form{}
		carrier.Use.Namespace = e.Source.Namespace
	}
	return methods.Of(effect.Carriage.Method).Apply(ctx, carrier, effect.Volume, effect.Carriage.Pair)
}

// template returns the pod template of the source, or that of the destination if the source was deleted.
func (e *Executor) template(ctx context.Context) (*corev1.PodTemplateSpec, error) {
	for _, at := range []endpoint.Endpoint{e.Source, e.Destination} {
		set, err := at.GetSet(ctx, at.Live)
		if err != nil {
			return nil, err
		}
		if set != nil {
			return &set.Spec.Template, nil
		}
	}
	return nil, fmt.Errorf("neither cluster %s nor %s has the StatefulSet, whose template says where pods may run", e.Source.Cluster, e.Destination.Cluster)
}

// remove deletes the object that the decision was based on.
func (e *Executor) remove(ctx context.Context, at endpoint.Endpoint, effect plan.Effect) error {
	meta := metav1.ObjectMeta{Namespace: at.Namespace, Name: effect.Name}
	var object client.Object
	switch effect.Verb {
	case plan.DeleteClaim:
		object = &corev1.PersistentVolumeClaim{ObjectMeta: meta}
	case plan.DeleteVolume:
		meta.Namespace = ""
		object = &corev1.PersistentVolume{ObjectMeta: meta}
	case plan.DeleteBudget:
		object = &policyv1.PodDisruptionBudget{ObjectMeta: meta}
	case plan.DeleteExport, plan.DeletePodExport:
		object = methods.NewServiceExport(at.ExportVersion, meta)
	case plan.DeletePodService:
		object = &corev1.Service{ObjectMeta: meta}
	default:
		object = at.NewSet(meta)
	}
	return at.Live.Delete(ctx, object, client.Preconditions{UID: &effect.UID, ResourceVersion: &effect.ResourceVersion}, client.PropagationPolicy(cmp.Or(effect.Propagation, metav1.DeletePropagationBackground)))
}
