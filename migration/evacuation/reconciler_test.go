package evacuation

import (
	"context"
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters"
)

// migration returns a Migration of the Evacuation all.
func migration(name string) *api.Migration {
	m := &api.Migration{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: name,
		Labels:      map[string]string{api.EvacuationLabelKey: "all"},
		Annotations: map[string]string{api.EvacuationHeldAnnotationKey: "all", "mine": "x"},
	}}
	m.Spec.Mode = api.ModePause
	return m
}

// TestReconcile: the first Migration begins, then the next one. Both keep their other annotations.
func TestReconcile(t *testing.T) {
	e := &api.Evacuation{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "all"}, Spec: api.EvacuationSpec{Migrations: entries("db", "web:db")}}
	db, web := migration("db"), migration("web")
	c := fake.NewClientBuilder().WithScheme(clusters.NewScheme()).WithObjects(e, db, web).WithStatusSubresource(e, db).Build()
	now := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	r := &Reconciler{Client: c, Live: c, Events: events.NewFakeRecorder(10), Clock: now}
	pass := func() (seen *api.Evacuation) {
		t.Helper()
		for range 3 {
			now.SetTime(now.Now().Add(time.Second))
			if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(e)}); err != nil {
				t.Fatal(err)
			}
		}
		seen = &api.Evacuation{}
		for _, object := range []client.Object{seen, db, web} {
			key := client.ObjectKeyFromObject(object)
			if object == client.Object(seen) {
				key = client.ObjectKeyFromObject(e)
			}
			if err := c.Get(t.Context(), key, object); err != nil {
				t.Fatal(err)
			}
		}
		return seen
	}
	if seen := pass(); db.Spec.Mode != api.ModeRun || web.Spec.Mode != api.ModePause || seen.Status.Moving != 1 || seen.Status.Waiting != 1 {
		t.Fatalf("db %s, web %s, %+v", db.Spec.Mode, web.Spec.Mode, seen.Status)
	}
	if len(db.Annotations) != 1 || db.Annotations["mine"] != "x" {
		t.Errorf("annotations %v", db.Annotations)
	}
	meta.SetStatusCondition(&db.Status.Conditions, metav1.Condition{Type: api.ConditionCompleted, Status: metav1.ConditionTrue, Reason: api.ReasonMoved})
	if err := c.Status().Update(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	if seen := pass(); web.Spec.Mode != api.ModeRun || seen.Status.Progress != "1/2" {
		t.Fatalf("web %s, %+v", web.Spec.Mode, seen.Status)
	}
	if got := evacuationOf(t.Context(), web); len(got) != 1 || got[0].NamespacedName != client.ObjectKeyFromObject(e) {
		t.Errorf("web enqueues %v", got)
	}
	if got := evacuationOf(t.Context(), &api.Migration{}); got != nil {
		t.Errorf("a Migration of none enqueues %v", got)
	}
}

// TestReconcileRefused: a Migration whose mode a policy refuses is tried once, and again after a while. The others begin.
func TestReconcileRefused(t *testing.T) {
	e := &api.Evacuation{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "all"}, Spec: api.EvacuationSpec{Migrations: entries("db", "web:db", "cache")}}
	db, web, cache := migration("db"), migration("web"), migration("cache")
	tries, refuses := 0, true
	c := fake.NewClientBuilder().WithScheme(clusters.NewScheme()).WithObjects(e, db, web, cache).WithStatusSubresource(e, db).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			if object.GetName() == "db" {
				if tries++; refuses {
					return apierrors.NewForbidden(schema.GroupResource{Resource: "migrations"}, "db", errors.New("a policy"))
				}
			}
			return c.Patch(ctx, object, patch, options...)
		},
	}).Build()
	now := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	r := &Reconciler{Client: c, Live: c, Events: events.NewFakeRecorder(10), Clock: now}
	pass := func(n int) (result ctrl.Result) {
		t.Helper()
		for range n {
			now.SetTime(now.Now().Add(time.Second))
			var err error
			if result, err = r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(e)}); err != nil {
				t.Fatal(err)
			}
		}
		for _, object := range []client.Object{e, db, web, cache} {
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
				t.Fatal(err)
			}
		}
		return result
	}
	result := pass(4)
	states := map[string]api.EvacuatedState{}
	for _, each := range e.Status.Migrations {
		states[each.Name] = each.State
	}
	if tries != 1 || cache.Spec.Mode != api.ModeRun || states["db"] != api.EvacuatedStalled || states["web"] != api.EvacuatedHeld || result.RequeueAfter != refusedFor {
		t.Fatalf("%d tries, cache %s, %v, again after %s", tries, cache.Spec.Mode, states, result.RequeueAfter)
	}
	refuses = false
	now.SetTime(now.Now().Add(refusedFor))
	if pass(2); tries != 2 || db.Spec.Mode != api.ModeRun {
		t.Errorf("%d tries, db %s", tries, db.Spec.Mode)
	}
}

// TestStatusPause: the status of many Migrations is written after a pause, and then with all that has changed.
func TestStatusPause(t *testing.T) {
	e := &api.Evacuation{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "all"}, Spec: api.EvacuationSpec{Migrations: entries("db", "web")}}
	c := fake.NewClientBuilder().WithScheme(clusters.NewScheme()).WithObjects(e).WithStatusSubresource(e).Build()
	now := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	r := &Reconciler{Client: c, Live: c, Events: events.NewFakeRecorder(10), Clock: now}
	pass := func(state string) ctrl.Result {
		t.Helper()
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(e), e); err != nil {
			t.Fatal(err)
		}
		result, err := r.write(t.Context(), e, api.EvacuationStatus{State: state, Migrations: make([]api.EvacuatedStatus, 2)})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(e), e); err != nil {
			t.Fatal(err)
		}
		return result
	}
	if got := pass("Running"); got.RequeueAfter != 0 || e.Status.State != "Running" {
		t.Fatalf("at first: %v, %q", got, e.Status.State)
	}
	now.SetTime(now.Now().Add(statusPause))
	if got := pass("Paused"); got.RequeueAfter != statusPause || e.Status.State != "Running" {
		t.Fatalf("soon after: %v, %q", got, e.Status.State)
	}
	now.SetTime(now.Now().Add(statusPause))
	if got := pass("Paused"); got.RequeueAfter != 0 || e.Status.State != "Paused" {
		t.Fatalf("later: %v, %q", got, e.Status.State)
	}
}

// TestDeletedInTheMiddle: a Migration that is deleted before its end holds those after it, and one that has moved does not.
func TestDeletedInTheMiddle(t *testing.T) {
	e := &api.Evacuation{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "all"}, Spec: api.EvacuationSpec{Migrations: entries("db", "web:db")}}
	db, web := migration("db"), migration("web")
	db.DeletionTimestamp = new(metav1.Now())
	for name, tc := range map[string]struct {
		found map[string]*api.Migration
		was   api.EvacuatedState
		end   string
		want  string
	}{
		"before its end":          {map[string]*api.Migration{"db": db, "web": web}, api.EvacuatedMoving, "", "none [db Missing, web Held]"},
		"after it has moved":      {map[string]*api.Migration{"db": db, "web": web}, api.EvacuatedMoving, api.ReasonMoved, "web Run false [db Moved, web Waiting]"},
		"long after":              {map[string]*api.Migration{"web": web}, api.EvacuatedMoved, "", "web Run false [db Moved, web Waiting]"},
		"it has released its set": {map[string]*api.Migration{"db": db, "web": web}, api.EvacuatedMoving, api.ReasonReleased, "none [db Back, web Held]"},
	} {
		t.Run(name, func(t *testing.T) {
			e.Status.Migrations = []api.EvacuatedStatus{{Name: "db", State: tc.was}}
			db.Status.Conditions = nil
			if tc.end != "" {
				meta.SetStatusCondition(&db.Status.Conditions, metav1.Condition{Type: api.ConditionCompleted, Status: metav1.ConditionTrue, Reason: tc.end})
			}
			if got := said(Decide(snapshotOf(e, tc.found))); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

// TestDeletedEvacuation: an Evacuation that is being deleted changes no Migration, and so does one that does not exist.
func TestDeletedEvacuation(t *testing.T) {
	e := &api.Evacuation{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "all", Finalizers: []string{"example.com/other"}}, Spec: api.EvacuationSpec{Migrations: entries("db")}}
	db := migration("db")
	c := fake.NewClientBuilder().WithScheme(clusters.NewScheme()).WithObjects(e, db).WithStatusSubresource(e).Build()
	r := &Reconciler{Client: c, Live: c, Events: events.NewFakeRecorder(10), Clock: clocktesting.NewFakePassiveClock(time.Unix(0, 0))}
	if err := c.Delete(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"all", "other"} {
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "shop", Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(db), db); err != nil || db.Spec.Mode != api.ModePause || db.Annotations[api.EvacuationHeldAnnotationKey] != "all" {
		t.Errorf("%v: mode %s, annotations %v", err, db.Spec.Mode, db.Annotations)
	}
}

// TestMark: the annotation of a Migration that the Evacuation rolls back differs from that of one that it pauses.
func TestMark(t *testing.T) {
	e := &api.Evacuation{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "all"}}
	m := migration("db")
	c := fake.NewClientBuilder().WithScheme(clusters.NewScheme()).WithObjects(e, m).Build()
	r := &Reconciler{Client: c, Live: c, Events: events.NewFakeRecorder(10)}
	for _, write := range []Write{{Name: "db", Mode: api.ModeRollback, Held: true}, {Name: "db", Mode: api.ModePause, Held: true}, {Name: "db", Mode: api.ModeRun}} {
		if err := errors.Join(r.do(t.Context(), e, m, write), c.Get(t.Context(), client.ObjectKeyFromObject(m), m)); err != nil {
			t.Fatal(err)
		}
		got := migrationOf("all", m)
		if got.Mode != write.Mode || got.Held != (write.Mode == api.ModePause) || got.Returned != (write.Mode == api.ModeRollback) {
			t.Errorf("after %+v: %+v", write, got)
		}
	}
}
