package evacuate

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// written returns which of the Migrations of a plan exist already, because an earlier command has written them. It returns
// an error unless each of them would move its StatefulSet as the plan states.
func (r *reader) written(ctx context.Context, migrations []*api.Migration) (map[string]bool, error) {
	var all api.MigrationList
	if err := r.source.Live().List(ctx, &all, client.InNamespace(r.creation.namespace)); err != nil {
		return nil, command.Unreachable(r.source.Name(), err)
	}
	found := map[string]*api.Migration{}
	for i := range all.Items {
		found[all.Items[i].Name] = &all.Items[i]
	}
	exists := map[string]bool{}
	var problems []error
	for _, m := range migrations {
		before := found[m.Name]
		if before == nil {
			continue
		}
		exists[m.Name] = true
		if err := r.sameAs(ctx, m, before); err != nil {
			problems = append(problems, fmt.Errorf("cluster %s has a Migration %s/%s already, and nothing was written: %w", r.source.Name(), m.Namespace, m.Name, err))
		}
	}
	return exists, errors.Join(problems...)
}

// sameAs returns an error unless a Migration that exists is the one that would be written. A completed one is not: it moves
// nothing, and its Evacuation would count its StatefulSet as moved. Nor is one that is being deleted.
func (r *reader) sameAs(ctx context.Context, m, before *api.Migration) error {
	if before.Labels[api.EvacuationLabelKey] != r.creation.name || before.Spec.Source.Namespace != m.Spec.Source.Namespace || before.Spec.Source.Name != m.Spec.Source.Name {
		return fmt.Errorf("it is not of Evacuation %s: delete it, or wait for it", r.creation.name)
	}
	kubectl := plan.Kubectl(r.source.Name(), r.source.Flags())
	if before.DeletionTimestamp != nil {
		return fmt.Errorf("it is being deleted, so its Evacuation would lack it; to see its finalizers: %s", kubectl.Do("describe", "migration", "-n", m.Namespace, m.Name))
	}
	if completed := records.Completed(before); completed != "" {
		return fmt.Errorf("it is completed as %s, so it moves nothing any more; to move StatefulSet %s/%s, keep its report, %s, and delete it: %s",
			completed, m.Spec.Source.Namespace, m.Spec.Source.Name, r.Again("report", m.Name, m.Namespace), kubectl.Remove("migration", m.Namespace, m.Name))
	}
	want := m.DeepCopy() // the API server sets its defaults
	want.Name, want.GenerateName = "", m.Name+"-"
	if err := r.source.Live().Create(ctx, want, client.DryRunAll); err != nil {
		return fmt.Errorf("comparing its settings: %w", err)
	}
	switch fields := differences(want.Spec, before.Spec, before.Status.Baseline != nil); {
	case len(fields) == 0:
		return nil
	case before.Status.Baseline != nil:
		return fmt.Errorf("it has begun with another %s than the flags of this command ask for: give those with which it was written, or wait for its end", strings.Join(fields, ", "))
	default:
		return fmt.Errorf("it has another %s than the flags of this command ask for; give those with which it was written, or delete it, which moves nothing: %s",
			strings.Join(fields, ", "), kubectl.Remove("migration", m.Namespace, m.Name))
	}
}

// whileItRuns are the fields of a spec that are written during a move.
var whileItRuns = []string{"mode", "recovery", "hookAnswer"}

// onceBegun are the fields that are compared of a Migration that has begun. What its volumes need now depends on how far
// it has come.
var onceBegun = []string{"source", "destination", "serviceAccountName"}

// differences returns the fields in which two specs differ, as a user writes them.
func differences(a, b api.MigrationSpec, begun bool) (fields []string) {
	left, right := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range left.NumField() {
		name, _, _ := strings.Cut(left.Type().Field(i).Tag.Get("json"), ",")
		compared := !slices.Contains(whileItRuns, name) && (!begun || slices.Contains(onceBegun, name))
		if compared && !equality.Semantic.DeepEqual(left.Field(i).Interface(), right.Field(i).Interface()) {
			fields = append(fields, "spec."+name)
		}
	}
	return fields
}
