package evacuation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/api/tolerant"
	"github.com/sliceshift/sliceshift/internal/records"
)

// unobserved is the pause after a conflict.
const unobserved = 500 * time.Millisecond

// errOutdated is the cause of a conflict with a change of the Evacuation that the cache lacks.
var errOutdated = errors.New("the Evacuation has changed since it was read")

// Reconciler steers the Migrations of all Evacuations of the manager's cluster.
type Reconciler struct {
	Client client.Client
	// Live reads from the API server, without a cache.
	Live   client.Reader
	Events events.EventRecorder
	Clock  clock.PassiveClock

	// written is when the status of each Evacuation was written last.
	written map[types.NamespacedName]time.Time
}

// statusPause is the least time between two writes of a status, for each of its Migrations. The status lists all of them,
// so the bytes that an evacuation writes would grow with the square of their number.
const statusPause = 5 * time.Millisecond

// SetupWithManager registers the reconciler. It has one worker, so that the limit of an Evacuation holds.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("evacuation").
		For(&api.Evacuation{}).
		Watches(&api.Migration{}, handler.EnqueueRequestsFromMapFunc(evacuationOf)).
		Complete(r)
}

// evacuationOf returns the Evacuation that the label of a Migration names.
func evacuationOf(_ context.Context, object client.Object) []reconcile.Request {
	name := object.GetLabels()[api.EvacuationLabelKey]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: object.GetNamespace(), Name: name}}}
}

// Reconcile does the next write, or updates the status. The event of a write requeues the Evacuation.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (ctrl.Result, error) {
	e := &api.Evacuation{}
	if err := r.Client.Get(ctx, request.NamespacedName, e); err != nil || !e.DeletionTimestamp.IsZero() {
		delete(r.written, request.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if err := tolerant.Check(e); err != nil {
		return r.write(ctx, e, unreadable(e, err))
	}
	var all api.MigrationList
	if err := r.Client.List(ctx, &all, client.InNamespace(e.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, fmt.Errorf("listing the Migrations of namespace %s: %w", e.Namespace, err)
	}
	found := map[string]*api.Migration{}
	for i := range all.Items {
		found[all.Items[i].Name] = &all.Items[i]
	}
	d := Decide(snapshotOf(e, found))
	if d.Write != nil {
		return again(r.do(ctx, e, found[d.Write.Name], *d.Write))
	}
	return r.write(ctx, e, StatusOf(e, d))
}

// again requeues after a conflict, because a cache is behind. That is not an error to report.
func again(err error) (ctrl.Result, error) {
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: unobserved}, nil
	}
	return ctrl.Result{}, client.IgnoreNotFound(err)
}

// snapshotOf returns the values that a decision needs.
func snapshotOf(e *api.Evacuation, found map[string]*api.Migration) Snapshot {
	s := Snapshot{Name: e.Name, Spec: e.Spec, Migrations: make(map[string]Migration, len(e.Spec.Migrations)), Moved: map[string]bool{}}
	for _, each := range e.Status.Migrations {
		s.Moved[each.Name] = each.State == api.EvacuatedMoved
	}
	for _, each := range e.Spec.Migrations {
		if m := found[each.Name]; m != nil && (m.DeletionTimestamp.IsZero() || records.Completed(m) != "") {
			s.Migrations[each.Name] = migrationOf(e.Name, m)
		}
	}
	return s
}

// Holds reports whether an Evacuation has paused a Migration, and resumes it.
func Holds(evacuation string, m *api.Migration) bool {
	return m.Annotations[api.EvacuationHeldAnnotationKey] == evacuation
}

// migrationOf returns the values of a Migration.
func migrationOf(evacuation string, m *api.Migration) Migration {
	mark := m.Annotations[api.EvacuationHeldAnnotationKey]
	v := Migration{
		Label: m.Labels[api.EvacuationLabelKey], Held: Holds(evacuation, m), Returned: mark == evacuation+api.EvacuationRolledBackSuffix,
		Mode: m.Spec.Mode, Completed: records.Completed(m), Fixed: m.Status.AutomaticRollback != nil,
	}
	if base := m.Status.Baseline; base != nil {
		v.Begun, v.Since = true, base.StartTime.Time
	}
	if err := tolerant.Check(m); err != nil {
		v.Fixed, v.Stalled = true, api.ReasonFieldUnreadable+": "+err.Error()
		return v
	}
	if stalled := meta.FindStatusCondition(m.Status.Conditions, api.ConditionStalled); stalled != nil && meta.IsStatusConditionTrue(m.Status.Conditions, api.ConditionStalled) {
		v.Stalled = stalled.Reason + ": " + stalled.Message
	}
	return v
}

// do changes a Migration. The API server refuses the write if the Migration has changed since it was read. Before one is
// begun, the Evacuation is read live: it may have been paused since.
func (r *Reconciler) do(ctx context.Context, e *api.Evacuation, cached *api.Migration, write Write) error {
	if write.Mode == api.ModeRun {
		now := &api.Evacuation{}
		if err := r.Live.Get(ctx, client.ObjectKeyFromObject(e), now); err != nil {
			return err
		}
		if now.UID != e.UID || now.Generation != e.Generation {
			return apierrors.NewConflict(api.GroupVersion.WithResource("evacuations").GroupResource(), e.Name, errOutdated)
		}
	}
	m := cached.DeepCopy()
	m.Spec.Mode = write.Mode
	if delete(m.Annotations, api.EvacuationHeldAnnotationKey); write.Held {
		if m.Annotations == nil {
			m.Annotations = map[string]string{}
		}
		m.Annotations[api.EvacuationHeldAnnotationKey] = e.Name
		if write.Mode == api.ModeRollback {
			m.Annotations[api.EvacuationHeldAnnotationKey] += api.EvacuationRolledBackSuffix
		}
	}
	if err := r.Client.Patch(ctx, m, client.MergeFromWithOptions(cached, client.MergeFromWithOptimisticLock{})); err != nil {
		return err
	}
	r.Events.Eventf(e, m, "Normal", string(write.Mode), "Evacuate", "set mode %s of Migration %s: %s", write.Mode, write.Name, write.Why)
	return nil
}

// write writes the status if it has changed, and not too often.
func (r *Reconciler) write(ctx context.Context, e *api.Evacuation, status api.EvacuationStatus) (ctrl.Result, error) {
	if equality.Semantic.DeepEqual(status, e.Status) {
		return ctrl.Result{}, nil
	}
	key, now := client.ObjectKeyFromObject(e), r.Clock.Now()
	if wait := time.Duration(len(status.Migrations))*statusPause - now.Sub(r.written[key]); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	after := e.DeepCopy()
	after.Status = status
	if err := r.Client.Status().Patch(ctx, after, client.MergeFromWithOptions(e, client.MergeFromWithOptimisticLock{})); err != nil {
		return again(err)
	}
	if r.written == nil {
		r.written = map[types.NamespacedName]time.Time{}
	}
	r.written[key] = now
	return ctrl.Result{}, nil
}
