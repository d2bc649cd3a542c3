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

	// written is when the status of each Evacuation was written last, and refused has the changes of its Migrations that
	// the API server has refused, by Migration.
	written map[types.NamespacedName]time.Time
	refused map[types.NamespacedName]map[string]refusal
}

// refusal is a refused change of a Migration in a version, and its time.
type refusal struct {
	Refusal
	version string
	at      time.Time
}

// refusedFor is how long a refused change is not tried again, unless the Migration changes.
const refusedFor = 30 * time.Second

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
		delete(r.refused, request.NamespacedName)
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
	s := snapshotOf(e, found)
	s.Refused = r.refusedOf(request.NamespacedName, found)
	d := Decide(s)
	for ; d.Write != nil; d = Decide(s) {
		w := *d.Write
		if err := r.current(ctx, e, w); err != nil {
			return again(err)
		}
		err := r.do(ctx, e, found[w.Name], w)
		if !isRefused(err) {
			return again(err)
		}
		s.Refused[w.Name] = r.note(request.NamespacedName, found[w.Name], Refusal{w.Mode, err.Error()})
	}
	result, err := r.write(ctx, e, StatusOf(e, d))
	if result.RequeueAfter == 0 && len(s.Refused) > 0 {
		result.RequeueAfter = refusedFor
	}
	return result, err
}

// isRefused reports whether an error is the API server's refusal of one object, by a policy, a webhook or a validation. After
// any other error the write may have been done.
func isRefused(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)
}

// note remembers a refused change.
func (r *Reconciler) note(key types.NamespacedName, m *api.Migration, why Refusal) Refusal {
	if r.refused == nil {
		r.refused = map[types.NamespacedName]map[string]refusal{}
	}
	if r.refused[key] == nil {
		r.refused[key] = map[string]refusal{}
	}
	r.refused[key][m.Name] = refusal{why, m.ResourceVersion, r.Clock.Now()}
	return why
}

// refusedOf returns the refused changes that are not tried again yet, and forgets the others.
func (r *Reconciler) refusedOf(key types.NamespacedName, found map[string]*api.Migration) map[string]Refusal {
	known := map[string]Refusal{}
	for name, each := range r.refused[key] {
		if m := found[name]; m == nil || m.ResourceVersion != each.version || r.Clock.Since(each.at) >= refusedFor {
			delete(r.refused[key], name)
			continue
		}
		known[name] = each.Refusal
	}
	return known
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
		v.Unreadable = api.ReasonFieldUnreadable + ": " + err.Error()
		return v
	}
	if stalled := meta.FindStatusCondition(m.Status.Conditions, api.ConditionStalled); stalled != nil && meta.IsStatusConditionTrue(m.Status.Conditions, api.ConditionStalled) {
		v.Stalled, v.Unreachable = stalled.Reason+": "+stalled.Message, stalled.Reason == api.ReasonClusterUnreachable
	}
	return v
}

// current reads the Evacuation live before it begins a Migration, because it may have been paused since. The error of one
// that has changed is a conflict.
func (r *Reconciler) current(ctx context.Context, e *api.Evacuation, write Write) error {
	if write.Mode != api.ModeRun {
		return nil
	}
	now := &api.Evacuation{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(e), now); err != nil {
		return err
	}
	if now.UID != e.UID || now.Generation != e.Generation {
		return apierrors.NewConflict(api.GroupVersion.WithResource("evacuations").GroupResource(), e.Name, errOutdated)
	}
	return nil
}

// do changes a Migration. The API server refuses the write if the Migration has changed since it was read.
func (r *Reconciler) do(ctx context.Context, e *api.Evacuation, cached *api.Migration, write Write) error {
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
