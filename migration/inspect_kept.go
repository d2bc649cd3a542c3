package migration

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

	"github.com/sliceshift/sliceshift/migration/pass"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// patched has one StatefulSet's API server change it, without keeping anything, to what is
// wanted of ordinals and pod template, and looks at what it would have stored.
func patched(ctx context.Context, at place, want *appsv1.StatefulSet) (*plan.Finding, error) {
	spec := map[string]any{}
	if want.Spec.Ordinals != nil {
		spec["ordinals"] = want.Spec.Ordinals
	}
	if len(want.Spec.Template.Spec.Containers) > 0 {
		spec["template"] = want.Spec.Template
	}
	data, err := json.Marshal(map[string]any{"spec": spec})
	if err != nil {
		return nil, err
	}
	answer := at.newSet(metav1.ObjectMeta{Namespace: at.namespace, Name: at.set})
	err = at.live.Patch(ctx, answer, client.RawPatch(types.MergePatchType, data), client.DryRunAll)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("%s was seen and is not found when it is asked: %w", at.object(), err) // no answer
	}
	finding, err := rehearsal(at, answer, err)
	if err != nil || finding != nil {
		return finding, err
	}
	kept, err := asSet(answer)
	if err != nil {
		return nil, err
	}
	return unkept(at, want, kept), nil
}

// asked is what an API server was asked of a StatefulSet, and when; a nil finding: all is
// well.
type asked struct {
	of       types.UID
	template string
	finding  *plan.Finding
	at       time.Time
}

// keepsSlice asks the destination's API server once more whether it keeps spec.ordinals and
// all of the source's pod template, and lets its pods in, before the first ordinal is stopped:
// where its namespace is made by the migration, it could not be asked before the migration
// began. It returns what was found.
func (e *inspector) keepsSlice(ctx context.Context, s plan.Snapshot, source *appsv1.StatefulSet) (*plan.Finding, error) {
	base, set := s.Record.Baseline, s.Destination.Set
	if base == nil || set.Presence != plan.Seen || set.Replicas > 0 || s.Source.Set.Replicas < base.Replicas {
		return nil, nil
	}
	template := templateHash(&source.Spec.Template)
	if e.rehearsed.of == set.UID && e.rehearsed.template == template && (e.rehearsed.finding == nil || e.clock.Since(e.rehearsed.at) < pass.RequeueAtLatest) {
		return e.rehearsed.finding, nil
	}
	want := &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{Template: source.Spec.Template}}
	if s.Spec.BeginsAbove(base.Start) {
		want.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: 1}
	}
	finding, err := patched(ctx, e.destination, want)
	if err == nil && finding == nil {
		finding, err = e.admits(ctx, source, base.Start)
	}
	if err != nil {
		return nil, err
	}
	if finding != nil && finding.Warning {
		finding = nil
	}
	e.rehearsed = asked{of: set.UID, template: template, finding: finding, at: e.clock.Now()}
	return finding, nil
}
