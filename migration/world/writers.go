package world

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/pause"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
)

// writersSeenFor is how long reads of the source's other writers are valid if nothing is written based on them. They
// are not watched.
const writersSeenFor = 5 * time.Second

// seenWriters holds the writers that were read last.
type seenWriters struct {
	at   time.Time
	list []plan.Writer
}

// writers reads the other writers of the source, if they must be paused, and those that were paused.
func (e *Observer) writers(ctx context.Context, m *api.Migration, set *appsv1.StatefulSet, sc planner.Reads) plan.Writers {
	if sc.Ordinal != nil || !m.Spec.Writers.Pause && len(m.Status.PausedWriters) == 0 {
		return plan.Writers{}
	}
	now := e.Clock.Now()
	if sc.Live || e.seenWriters.at.IsZero() || now.Sub(e.seenWriters.at) >= writersSeenFor {
		list, err := WritersOf(ctx, e.Source, m, set)
		if err != nil {
			e.seenWriters = seenWriters{}
			return plan.Writers{Trouble: endpoint.OneLine(err), LacksRight: endpoint.LacksRight(err)}
		}
		e.seenWriters = seenWriters{now, list}
	}
	return plan.Writers{Read: true, List: slices.Clone(e.seenWriters.list)}
}

// WritersOf reads the writers of a StatefulSet that can be paused, and those that are recorded as paused.
func WritersOf(ctx context.Context, at endpoint.Endpoint, m *api.Migration, set *appsv1.StatefulSet) ([]plan.Writer, error) {
	var list []plan.Writer
	for _, entry := range m.Status.PausedWriters {
		target := pause.Target{Version: entry.Version, Namespace: entry.Namespace, Name: entry.Name}
		target.Group, target.Kind = entry.Group, entry.Kind
		object, err := readTarget(ctx, at, target)
		if err != nil {
			return nil, err
		}
		w := plan.Writer{WriterReference: entry.WriterReference}
		if object != nil && object.GetUID() == entry.UID {
			w = viewWriter(object)
		}
		list = append(list, w)
	}
	if set == nil || !m.Spec.Writers.Pause {
		return list, nil
	}
	targets, err := targetsOf(ctx, at, set)
	if err != nil {
		return nil, err
	}
	for _, target := range targets {
		object, err := readTarget(ctx, at, target)
		if err != nil {
			return nil, err
		}
		if object == nil {
			list = leadsNowhere(list, target)
			continue
		}
		known := slices.IndexFunc(list, func(w plan.Writer) bool { return w.UID == object.GetUID() })
		if known < 0 {
			known, list = len(list), append(list, viewWriter(object))
		}
		list[known].Writes = true
		list[known].Unconfirmed = pause.Unconfirmed(object, set, at.APIVersion)
	}
	return list, scalersOf(ctx, at, list)
}

// leadsNowhere adds a writer that a mark refers to and that does not exist in this cluster: it may be in another one.
// A recorded writer that was deleted is not added.
func leadsNowhere(list []plan.Writer, target pause.Target) []plan.Writer {
	reference := api.WriterReference{Group: target.Group, Version: target.Version, Kind: target.Kind, Namespace: target.Namespace, Name: target.Name}
	known := func(w plan.Writer) bool { return w.Group == reference.Group && w.Path() == reference.Path() }
	if slices.ContainsFunc(list, known) {
		return list
	}
	return append(list, plan.Writer{WriterReference: reference, Writes: true})
}

// scalersOf finds the autoscalers that paused ScaledObjects still have over a StatefulSet.
func scalersOf(ctx context.Context, at endpoint.Endpoint, list []plan.Writer) error {
	scales := func(w plan.Writer) bool {
		return w.Writes && w.Group == pause.ScaledObject.Group && w.Kind == pause.ScaledObject.Kind
	}
	if !slices.ContainsFunc(list, scales) {
		return nil
	}
	var all autoscalingv2.HorizontalPodAutoscalerList
	if err := at.Live.List(ctx, &all, client.InNamespace(at.Namespace)); err != nil {
		return fmt.Errorf("listing HorizontalPodAutoscalers in namespace %s of cluster %s: %w", at.Namespace, at.Cluster, err)
	}
	for i := range all.Items {
		target, owner := all.Items[i].Spec.ScaleTargetRef, metav1.GetControllerOf(&all.Items[i])
		if owner == nil || target.Kind != "StatefulSet" || target.Name != at.Set || target.APIVersion != at.APIVersion {
			continue
		}
		if known := slices.IndexFunc(list, func(w plan.Writer) bool { return scales(w) && w.UID == owner.UID }); known >= 0 {
			list[known].Scaler = all.Items[i].Name
		}
	}
	return nil
}

// targetsOf returns the writers that a StatefulSet refers to, and the ScaledObjects over it.
func targetsOf(ctx context.Context, at endpoint.Endpoint, set *appsv1.StatefulSet) ([]pause.Target, error) {
	targets := pause.Targets(set)
	mapping, err := at.Live.RESTMapper().RESTMapping(pause.ScaledObject)
	switch {
	case meta.IsNoMatchError(err):
		return targets, nil
	case err != nil:
		return nil, fmt.Errorf("finding out whether %s is served: %w", pause.ScaledObject, err)
	}
	all := &unstructured.UnstructuredList{}
	all.SetGroupVersionKind(mapping.GroupVersionKind.GroupVersion().WithKind(pause.ScaledObject.Kind + "List"))
	if err := at.Live.List(ctx, all, client.InNamespace(at.Namespace)); err != nil {
		return nil, fmt.Errorf("listing ScaledObjects in namespace %s of cluster %s: %w", at.Namespace, at.Cluster, err)
	}
	for i := range all.Items {
		if object := &all.Items[i]; pause.Scales(object, at.APIVersion, at.Set) {
			targets = append(targets, pause.Target{GroupKind: pause.ScaledObject, Namespace: at.Namespace, Name: object.GetName()})
		}
	}
	return targets, nil
}

// readTarget reads a writer. It returns nil without an error if the API server reports that the object does not
// exist, or does not serve the kind.
func readTarget(ctx context.Context, at endpoint.Endpoint, target pause.Target) (*unstructured.Unstructured, error) {
	var named []string
	if target.Version != "" {
		named = append(named, target.Version)
	}
	mapping, err := at.Live.RESTMapper().RESTMapping(target.GroupKind, named...)
	if meta.IsNoMatchError(err) { // the object exists even if the version of the reference is no longer served
		mapping, err = at.Live.RESTMapper().RESTMapping(target.GroupKind)
	}
	switch {
	case meta.IsNoMatchError(err):
		return nil, nil //nolint:nilnil // nil is the answer that it does not exist
	case err != nil:
		return nil, fmt.Errorf("finding out whether %s is served: %w", target.GroupKind, err)
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(mapping.GroupVersionKind)
	err = at.Live.Get(ctx, client.ObjectKey{Namespace: target.Namespace, Name: target.Name}, object)
	switch {
	case apierrors.IsNotFound(err) && !apierrors.IsUnexpectedServerError(err):
		return nil, nil //nolint:nilnil // nil is the answer that it does not exist
	case err != nil:
		return nil, fmt.Errorf("reading %s %s/%s in cluster %s: %w", target.Kind, target.Namespace, target.Name, at.Cluster, err)
	}
	return object, nil
}

// viewWriter returns the view of a writer that decisions need.
func viewWriter(object *unstructured.Unstructured) plan.Writer {
	kind := object.GroupVersionKind()
	w := plan.Writer{
		WriterReference: api.WriterReference{
			Group: kind.Group, Version: kind.Version, Kind: kind.Kind, Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID(),
		},
		Found: true, ResourceVersion: object.GetResourceVersion(), Mark: object.GetAnnotations()[api.WriterAnnotationKey],
	}
	if setting := pause.Of(kind.Group); setting != nil {
		w.Value, w.Pause = setting.Read(object), setting.Text()
	}
	return w
}

// rollbackWritten reports whether spec.mode was set to Rollback for the recorded automatic rollback.
func rollbackWritten(m *api.Migration) bool {
	turn := m.Status.AutomaticRollback
	return turn != nil && m.Annotations[api.AutomaticRollbackAnnotationKey] == turn.Mark()
}

// modeWriter returns the last writer of spec.mode, if that was not the migration. It is used only after an automatic
// rollback. Only the top level of the spec is compared, because it has a field of the same name further down.
func modeWriter(m *api.Migration) string {
	if m.Status.AutomaticRollback == nil {
		return ""
	}
	var writer string
	var last time.Time
	for _, entry := range m.ManagedFields {
		if entry.Manager == api.FieldManager || entry.FieldsV1 == nil || entry.Subresource != "" {
			continue
		}
		var fields struct {
			Spec map[string]json.RawMessage `json:"f:spec"`
		}
		if err := json.Unmarshal([]byte(entry.FieldsV1.GetRawString()), &fields); err != nil {
			continue
		}
		var at time.Time
		if entry.Time != nil {
			at = entry.Time.Time
		}
		if _, writes := fields.Spec["f:mode"]; writes && !at.Before(last) {
			writer, last = entry.Manager, at
		}
	}
	return writer
}
