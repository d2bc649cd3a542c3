package engine

import (
	"cmp"
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/berths"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
)

// others holds how other migrations limit one.
type others struct {
	// queued is the reason why it may not begin yet; nil means that it may begin, or has begun.
	queued *plan.Hold
	// movedOn names the migration that may have moved ordinals on from the destination of a migration to
	// recover. It is set by onward, after asked, or by the reconciler.
	movedOn string
	onward  Onward
	asked   bool
	// traffic holds the limits that handoffs share; nil means no limits.
	traffic Traffic
}

// show adds this to a snapshot.
func (o *others) show(s *plan.Snapshot) { s.Queued, s.MovedOn, s.Load = o.queued, o.movedOn, o.load() }

// learn finds the migration that has moved ordinals on from the destination of a migration to recover.
// None can begin to do so while this one fences its destination. It therefore searches once, and again if this
// migration had been completed or if one was found.
func (o *others) learn(ctx context.Context, m *api.Migration) error {
	switch {
	case o.onward == nil:
		return nil
	case m.Spec.Mode != api.ModeRecover || m.Status.Baseline == nil:
		o.movedOn, o.asked = "", false
		return nil
	case o.asked && o.movedOn == "" && records.Completed(m) == "":
		return nil
	}
	name, err := o.onward(ctx, m)
	if err != nil {
		return fmt.Errorf("whether ordinals were moved on from the destination is not known: %w", err)
	}
	o.movedOn, o.asked = name, true
	return nil
}

// load returns the use by the handoffs of other migrations.
func (o *others) load() *berths.Load {
	if o.traffic == nil {
		return nil
	}
	return o.traffic.Load()
}

// begins reports whether the shared limits permit a record: two migrations that look at the same time may both
// find room for one more handoff. The way back is never held.
func (o *others) begins(step planner.Step) bool {
	before, after := step.Snapshot.Record.Handoff, step.Decision.Record.Handoff
	if o.traffic == nil || after == nil || before != nil && before.Ordinal == after.Ordinal {
		return true
	}
	berth, begun := berths.Of(step.Snapshot.Migration, step.Decision.Record.Baseline, step.Decision.Record.Handoff)
	return !begun || o.traffic.Take(berth) || step.Decision.Record.Fence != nil && step.Decision.Record.Fence.Direction == api.Back
}

// hasPlace reports whether the shared limits permit a write: a migration that only waited has released its
// place.
func (o *others) hasPlace(step planner.Step) bool {
	if o.traffic == nil || !planner.TakesPlace(step.Snapshot, *step.Decision.Effect) {
		return true
	}
	berth, begun := berths.Of(step.Snapshot.Migration, step.Snapshot.Record.Baseline, step.Snapshot.Record.Handoff)
	return !begun || o.traffic.Take(berth)
}

// MovesOn reports whether another migration may have moved ordinals on that m brought to its destination. The
// other one must have begun, and its source must be that destination. It must neither have ended before m began
// nor have taken all of its ordinals back.
func MovesOn(m, other *api.Migration) bool {
	at, from := m.Status.Baseline, other.Status.Baseline
	if at == nil || from == nil || from.SourceCluster != at.DestinationCluster {
		return false
	}
	if cmp.Or(other.Spec.Source.Namespace, other.Namespace) != cmp.Or(m.Target().Namespace, m.Namespace) ||
		other.Spec.Source.Name != cmp.Or(m.Target().Name, m.Spec.Source.Name) {
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

// endedBefore reports whether a migration was completed before another one began, so that it cannot have moved
// ordinals of that one.
func endedBefore(m *api.Migration, began metav1.Time) bool {
	completed := meta.FindStatusCondition(m.Status.Conditions, api.ConditionCompleted)
	return completed != nil && completed.Status == metav1.ConditionTrue && completed.LastTransitionTime.Time.Before(began.Time)
}

// Onward returns the name of a migration that may have moved on ordinals that a migration brought to its
// destination; empty if none is known.
type Onward func(context.Context, *api.Migration) (string, error)

// movedOn returns the name of a Migration that may have moved on ordinals from the destination of m, which is
// to be recovered; empty if none is known. It does not find migrations that this manager cannot see: those of
// another cluster and the records of runs.
//
// A completed migration no longer fences its destination, and resuming it cannot be undone. The API server is
// then asked directly, because a cache may not show a Migration that has just begun.
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

// movedOnIn searches all Migrations that a reader lists.
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
