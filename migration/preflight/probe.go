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
	"github.com/sliceshift/sliceshift/migration/observe"
	"github.com/sliceshift/sliceshift/migration/pass"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// patched has one StatefulSet's API server change it, without keeping anything, to what is
// wanted of ordinals and pod template, and looks at what it would have stored, which is returned, too.
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
		return nil, nil, fmt.Errorf("%s was seen and is not found when it is asked: %w", at.Object(), err) // no answer
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

// keptBeside looks at what the destination's API server has stored of the source outside of its pod template,
// where both are of one kind: a destination that a migration has made could not be rehearsed where there was no
// namespace for it.
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

// probe is what an API server was asked of a StatefulSet, and when; a nil finding: all is
// well.
type probe struct {
	of       types.UID
	template string
	finding  *plan.Finding
	at       time.Time
}

// KeepsSlice asks the destination's API server once more whether it keeps spec.ordinals and all of the source's pod template,
// before the first ordinal is stopped: where its namespace is made by the migration, it could not be asked before the migration
// began. It returns what was found. A good answer counts until a stop rests on it, and then as long as any other.
func (e *Inspector) KeepsSlice(ctx context.Context, s plan.Snapshot, source *appsv1.StatefulSet, rests bool) (*plan.Finding, error) {
	base, set := s.Record.Baseline, s.Destination.Set
	if accountIsMissing(s.Dependencies) {
		return nil, nil // no pod would be let in; it is copied before anything is stopped
	}
	if base == nil || set.Presence != plan.Seen || set.Replicas > 0 || s.Source.Set.Replicas < base.Replicas {
		return nil, nil
	}
	template := observe.TemplateHash(&source.Spec.Template)
	good := e.lastProbe.finding == nil && !rests
	if e.lastProbe.of == set.UID && e.lastProbe.template == template && (good || e.Clock.Since(e.lastProbe.at) < pass.RequeueAtLatest) {
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
