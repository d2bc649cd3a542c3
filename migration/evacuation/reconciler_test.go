package evacuation

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

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
	r := &Reconciler{Client: c, Live: c, Events: events.NewFakeRecorder(10)}
	pass := func() (seen *api.Evacuation) {
		t.Helper()
		for range 3 {
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
