package migration

import (
	"cmp"
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/internal/records"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// MovesOn says whether another migration may have moved on what m has brought to its destination: it has begun, its
// source is that destination, and it neither ended before m began nor took all of its ordinals back.
func MovesOn(m, other *api.Migration) bool {
	at, from := m.Status.Baseline, other.Status.Baseline
	if at == nil || from == nil || from.SourceCluster != at.DestinationCluster {
		return false
	}
	if cmp.Or(other.Spec.Source.Namespace, other.Namespace) != cmp.Or(m.Spec.Destination.Namespace, m.Namespace) ||
		other.Spec.Source.Name != cmp.Or(m.Spec.Destination.Name, m.Spec.Source.Name) {
		return false
	}
	switch records.Completed(other) {
	case "":
		return true
	case api.ReasonRolledBack, api.ReasonRecovered:
		return false
	default:
		return !endedBefore(other, at.StartTime)
	}
}

// endedBefore says whether a migration was completed before another one began, of which it knows nothing then.
func endedBefore(m *api.Migration, began metav1.Time) bool {
	completed := meta.FindStatusCondition(m.Status.Conditions, api.ConditionCompleted)
	return completed != nil && completed.Status == metav1.ConditionTrue && completed.LastTransitionTime.Time.Before(began.Time)
}

// Onward names who may have moved on what a migration has brought to its destination; empty: nobody is known.
type Onward func(context.Context, *api.Migration) (string, error)

// learnOnward finds out who has moved ordinals on from the destination of a migration that is to be recovered. Nobody begins to while
// it fences its destination, so it asks once, and again where that had been completed, or where somebody was found.
func (e *Engine) learnOnward(ctx context.Context, m *api.Migration) error {
	switch {
	case e.onward == nil:
		return nil
	case m.Spec.Mode != api.ModeRecover || m.Status.Baseline == nil:
		e.movedOn, e.onwardAsked = "", false
		return nil
	case e.onwardAsked && e.movedOn == "" && records.Completed(m) == "":
		return nil
	}
	name, err := e.onward(ctx, m)
	if err != nil {
		return fmt.Errorf("whether ordinals were moved on from the destination is not known: %w", err)
	}
	e.movedOn, e.onwardAsked = name, true
	return nil
}

// movedOn names a Migration that may have moved on what one has brought to its destination which is to be recovered;
// empty: none is known. What this manager does not see, another cluster's Migrations and the records of runs, is not
// found.
//
// What had been completed no longer fences its destination, and to take it up again cannot be undone: the API server is
// asked itself then, because a cache may not have seen the one that has just begun.
func (r *Reconciler) movedOn(ctx context.Context, m *api.Migration) (string, error) {
	if m.Spec.Mode != api.ModeRecover || m.Status.Baseline == nil {
		return "", nil
	}
	name, err := movedOnIn(ctx, r.Client, m, client.UnsafeDisableDeepCopy)
	if err != nil || name != "" || records.Completed(m) == "" {
		return name, err
	}
	return movedOnIn(ctx, r.Live, m, client.InNamespace(r.Namespace))
}

// movedOnIn looks among all the Migrations that a reader lists.
func movedOnIn(ctx context.Context, from client.Reader, m *api.Migration, options ...client.ListOption) (string, error) {
	all := &api.MigrationList{}
	if err := from.List(ctx, all, options...); err != nil {
		return "", fmt.Errorf("listing the Migrations that may have moved ordinals on: %w", err)
	}
	for i := range all.Items {
		if other := &all.Items[i]; MovesOn(m, other) {
			return fmt.Sprintf("Migration %s/%s", other.Namespace, other.Name), nil
		}
	}
	return "", nil
}
