package world

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/pdb"
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
	// InPlace is true for a migration in place. Former is its StatefulSet in JSON before its claim templates were changed;
	// empty if they were not.
	InPlace bool
	Former  string
}

// New returns the executor of a migration.
func New(m *api.Migration, sides *endpoint.Pair, policy volumes.Policy) *Executor {
	asked := map[string]api.VolumeSpec{}
	for _, v := range m.VolumesAsAccepted() {
		asked[v.ClaimTemplate] = v
	}
	own := m.OwnSecrets(sides.Destination.Namespace, m.Target().KubeConfigSecretRef)
	e := &Executor{Pair: sides, Owner: m.UID, Policy: policy, Volumes: asked, OwnSecrets: own, InPlace: m.Spec.Storage != nil}
	if record := m.Status.Storage; record != nil && record.Former != nil {
		e.Former = record.Former.Set
	}
	return e
}

// Do performs one effect: one write, with the uid and resourceVersion of the object that the decision was based on.
// It returns the written object; nil after a deletion.
func (e *Executor) Do(ctx context.Context, effect plan.Effect) (client.Object, error) {
	switch at := e.At(effect.Side); {
	case effect.InPlace():
		return e.writeInPlace(ctx, at, effect)
	case effect.Carries():
		return e.carryVolume(ctx, effect)
	case effect.Change() == volumes.Creates:
		return e.create(ctx, at, effect)
	case effect.Change() == volumes.Updates:
		return e.update(ctx, at, effect)
	case effect.Change() == volumes.Deletes:
		return nil, e.remove(ctx, at, effect)
	default:
		return nil, &volumes.UnsentError{Reason: fmt.Sprintf("unknown effect %q", effect.Verb)}
	}
}

func (e *Executor) create(ctx context.Context, at endpoint.Endpoint, effect plan.Effect) (client.Object, error) {
	if effect.Copies() {
		return e.createCopy(ctx, at, effect)
	}
	object, err := e.Created(ctx, at, effect)
	if err != nil {
		return nil, err
	}
	return object, at.Live.Create(ctx, object)
}

func (e *Executor) update(ctx context.Context, at endpoint.Endpoint, effect plan.Effect) (client.Object, error) {
	switch effect.On() {
	case plan.KindSet:
		change := encodeSet(at, effect.Before, effect.After)
		if e.InPlace && effect.Verb == plan.ReleaseFence {
			unpoke(change)
		}
		if metadata, released := change["metadata"].(map[string]any); released && effect.After.HandOver {
			if err := e.handOver(ctx, at, metadata); err != nil {
				return nil, err
			}
		}
		return patch(ctx, at, at.NewSet(named(at, effect)), effect, change)
	case plan.KindBudget:
		return writeBudget(ctx, at, effect)
	case volumes.KindVolume:
		return volumes.Update(ctx, at.Live, effect.Volume)
	case volumes.KindService, volumes.KindExport:
		return patch(ctx, at, e.empty(at, effect), effect, map[string]any{"metadata": map[string]any{"annotations": map[string]any{api.FenceAnnotationKey: effect.Fence}}})
	case plan.KindCopy:
		return e.updateCopy(ctx, at, effect)
	case plan.KindJob:
		return startHook(ctx, at, effect)
	case plan.KindWriter:
		return writeWriter(ctx, at, effect)
	default:
		return nil, &volumes.UnsentError{Reason: fmt.Sprintf("effect %q updates an object of no known kind", effect.Verb)}
	}
}

// named returns the metadata of the object that an effect writes, with nothing but its name.
func named(at endpoint.Endpoint, effect plan.Effect) metav1.ObjectMeta {
	meta := metav1.ObjectMeta{Namespace: at.Namespace, Name: effect.Name}
	if !effect.Namespaced() {
		meta.Namespace = ""
	}
	return meta
}

// empty returns the object that an effect writes, with nothing but its name.
func (e *Executor) empty(at endpoint.Endpoint, effect plan.Effect) client.Object {
	switch meta := named(at, effect); effect.On() {
	case volumes.KindClaim:
		return &corev1.PersistentVolumeClaim{ObjectMeta: meta}
	case volumes.KindVolume:
		return &corev1.PersistentVolume{ObjectMeta: meta}
	case plan.KindBudget:
		return &policyv1.PodDisruptionBudget{ObjectMeta: meta}
	case volumes.KindExport:
		return methods.NewServiceExport(at.ExportVersion, meta)
	case volumes.KindService:
		return &corev1.Service{ObjectMeta: meta}
	default:
		return at.NewSet(meta)
	}
}

// encodeSet returns the merge patch that turns one state of a StatefulSet into another: only what differs.
func encodeSet(at endpoint.Endpoint, before, after plan.SetState) map[string]any {
	change, annotations := map[string]any{}, map[string]any{}
	if before.Shared != after.Shared || before.Share != after.Share {
		annotations[slicesapi.MaxUnavailableAnnotationKey] = nil
		if after.Shared {
			annotations[slicesapi.MaxUnavailableAnnotationKey] = strconv.Itoa(int(after.Share))
		}
	}
	switch {
	case before.Fence == after.Fence && before.Unmarked == after.Unmarked:
	case after.Fence == "":
		annotations = map[string]any{api.FenceAnnotationKey: nil, api.TemplateAnnotationKey: nil}
		maps.Copy(annotations, at.Kind().Released(after.Split))
	default:
		annotations[api.FenceAnnotationKey] = after.Fence
		maps.Copy(annotations, at.Kind().Fenced())
	}
	if len(annotations) > 0 {
		change["metadata"] = map[string]any{"annotations": annotations}
	}
	if before.Start != after.Start || before.Replicas != after.Replicas {
		change["spec"] = map[string]any{"replicas": after.Replicas, "ordinals": map[string]any{"start": after.Start}}
	}
	return change
}

// patch writes a change, a merge patch, to the object that was judged.
func patch(ctx context.Context, at endpoint.Endpoint, object client.Object, effect plan.Effect, change map[string]any) (client.Object, error) {
	if len(change) == 0 {
		return nil, &volumes.UnsentError{Reason: fmt.Sprintf("effect %q changes nothing", effect.Verb)}
	}
	return volumes.Patch(ctx, at.Live, object, volumes.Action{UID: effect.UID, ResourceVersion: effect.ResourceVersion}, change)
}

// writeBudget writes a form of a PodDisruptionBudget. With the author's form it removes the marks of the migration.
func writeBudget(ctx context.Context, at endpoint.Endpoint, effect plan.Effect) (client.Object, error) {
	target := pdb.Target{Namespace: at.Namespace, Name: effect.Name, UID: effect.UID, ResourceVersion: effect.ResourceVersion}
	marks := pdb.Marks{}
	if effect.Fence != "" {
		marks = pdb.Marks{Mark: pdb.Mark(effect.Fence, effect.Form), Author: effect.Author}
	}
	return pdb.Write(ctx, at.Live, target, effect.Form, marks)
}

// Created returns the object of a create effect, copied from the current state of the source.
func (e *Executor) Created(ctx context.Context, at endpoint.Endpoint, effect plan.Effect) (client.Object, error) {
	owned := metav1.ObjectMeta{Namespace: at.Namespace, Name: effect.Name, Annotations: map[string]string{api.OwnerAnnotationKey: string(e.Owner)}}
	if effect.OfPod() {
		owned.Annotations[api.FenceAnnotationKey] = effect.Fence
	}
	switch kind := effect.On(); {
	case kind == plan.KindNamespace:
		return e.createdNamespace(ctx, owned)
	case kind == plan.KindJob:
		return HookJob(e.Pair, e.Owner, *effect.Hook), nil
	case kind == volumes.KindExport:
		return methods.NewServiceExport(at.ExportVersion, owned), nil
	case kind == volumes.KindService && effect.OfPod():
		return e.createdPodService(ctx, owned)
	case kind == volumes.KindService:
		from, err := must[corev1.Service](ctx, e.Source, effect.Name)
		if err != nil {
			return nil, err
		}
		return copyService(from, copyMeta(from.ObjectMeta, at.Namespace, effect.Name, e.Owner)), nil
	case kind == plan.KindBudget:
		from, err := must[policyv1.PodDisruptionBudget](ctx, e.Source, effect.Name)
		if err != nil {
			return nil, err
		}
		return pdb.Copy(from, copyMeta(from.ObjectMeta, at.Namespace, effect.Name, e.Owner), pdb.Marks{Mark: pdb.Mark(effect.Fence, pdb.Unavailable(0)), Author: effect.Author}), nil
	default:
		return e.copiedSet(ctx, func(from metav1.ObjectMeta) metav1.ObjectMeta {
			meta := copyMeta(from, at.Namespace, effect.Name, e.Owner)
			meta.Annotations[api.FenceAnnotationKey] = effect.After.Fence
			for key, value := range at.Kind().Fenced() {
				meta.Annotations[key] = fmt.Sprint(value)
			}
			return meta
		}, effect.After.Start, e.forms())
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
	return methods.Write(ctx, carrier, effect.Volume, effect.Carriage.Pair)
}

// template returns the pod template of the source, or that of the destination if the source was deleted. In place it is the
// recorded one if the set was deleted.
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
	if e.Former != "" {
		return recordedTemplate(e.Former)
	}
	return nil, fmt.Errorf("neither cluster %s nor %s has the StatefulSet, whose template says where pods may run", e.Source.Cluster, e.Destination.Cluster)
}

// remove deletes the object that the decision was based on.
func (e *Executor) remove(ctx context.Context, at endpoint.Endpoint, effect plan.Effect) error {
	if effect.Copies() {
		return e.replaceCopy(ctx, at, effect)
	}
	return at.Live.Delete(ctx, e.empty(at, effect), client.Preconditions{UID: &effect.UID, ResourceVersion: &effect.ResourceVersion}, client.PropagationPolicy(cmp.Or(effect.Propagation, metav1.DeletePropagationBackground)))
}
