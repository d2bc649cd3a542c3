package preflight

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/internal/jsontree"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/migration/world"
)

// patched dry-runs a patch of a StatefulSet to the desired ordinals and pod template. It returns the object that the
// API server would have stored, and a finding if that differs.
func patched(ctx context.Context, at endpoint.Endpoint, want *appsv1.StatefulSet) (client.Object, *plan.Finding, error) {
	spec := map[string]any{}
	if want.Spec.Ordinals != nil {
		spec["ordinals"] = want.Spec.Ordinals
	}
	if len(want.Spec.Template.Spec.Containers) > 0 {
		spec["template"] = want.Spec.Template
	}
	data, err := json.Marshal(map[string]any{"spec": spec})
	if err != nil {
		return nil, nil, err
	}
	answer := at.NewSet(metav1.ObjectMeta{Namespace: at.Namespace, Name: at.Set})
	err = at.Live.Patch(ctx, answer, client.RawPatch(types.MergePatchType, data), client.DryRunAll)
	if apierrors.IsNotFound(err) {
		return nil, nil, fmt.Errorf("%s was seen and is not found when it is asked: %w", at.Object(), err) // not a valid answer
	}
	finding, err := rehearsal(at, answer, err)
	if err != nil || finding != nil {
		return nil, finding, err
	}
	kept, err := endpoint.AsSet(answer)
	if err != nil {
		return nil, nil, err
	}
	return answer, unkept(at, want, kept), nil
}

// keptBeside compares the source's fields outside the pod template with those that the destination's API server has
// stored, if both are of one kind. A destination that the migration created could not be dry-run while its namespace
// did not exist.
func (e *Inspector) keptBeside(ctx context.Context, source *appsv1.StatefulSet, stored client.Object) (*plan.Finding, error) {
	if e.Source.APIVersion != e.Destination.APIVersion {
		return nil, nil
	}
	var from client.Object = source
	if _, native := stored.(*appsv1.StatefulSet); !native {
		from = e.Source.NewSet(metav1.ObjectMeta{})
		if err := e.Source.Live.Get(ctx, e.Source.Key(e.Source.Set), from); err != nil {
			return nil, fmt.Errorf("reading %s: %w", e.Source.Object(), err)
		}
	}
	spec := func(set client.Object) any {
		tree, _ := jsontree.Of(set).(map[string]any)
		return tree["spec"]
	}
	return droppedBeside(e.Destination, spec(from), spec(stored)), nil
}

// probe is an answer of an API server about a StatefulSet, and its time. A nil finding means that nothing was found.
type probe struct {
	of       types.UID
	template string
	finding  *plan.Finding
	at       time.Time
}

// KeepsSlice dry-runs once more, before the first ordinal is stopped, whether the destination's API server keeps
// spec.ordinals and the source's whole pod template. If the migration creates its namespace, this was not possible
// earlier. It returns the finding. A good answer remains valid until a stop depends on it; then it expires like any
// other.
func (e *Inspector) KeepsSlice(ctx context.Context, s plan.Snapshot, source *appsv1.StatefulSet, rests bool) (*plan.Finding, error) {
	base, set := s.Record.Baseline, s.Destination.Set
	if accountIsMissing(s.Dependencies) {
		return nil, nil // no pod would be admitted; it is copied before anything is stopped
	}
	if base == nil || set.Presence != plan.Seen || set.Replicas > 0 || s.Source.Set.Replicas < base.Replicas {
		return nil, nil
	}
	template := world.TemplateHash(&source.Spec.Template)
	good := e.lastProbe.finding == nil && !rests
	if e.lastProbe.of == set.UID && e.lastProbe.template == template && (good || e.Clock.Since(e.lastProbe.at) < planner.RequeueAtLatest) {
		return e.lastProbe.finding, nil
	}
	want := &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{Template: source.Spec.Template}}
	if s.Spec.BeginsAbove(base.Start) {
		want.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: 1}
	}
	stored, finding, err := patched(ctx, e.Destination, want)
	if err == nil && finding == nil {
		finding, err = e.keptBeside(ctx, source, stored)
	}
	if err != nil {
		return nil, err
	}
	if finding != nil && finding.Warning {
		finding = nil
	}
	e.lastProbe = probe{of: set.UID, template: template, finding: finding, at: e.Clock.Now()}
	return finding, nil
}
