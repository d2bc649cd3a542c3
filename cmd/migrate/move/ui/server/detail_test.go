package server

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/ui/board"
	"github.com/sliceshift/sliceshift/migration/view"
	"github.com/sliceshift/sliceshift/migration/view/viewtest"
)

// in returns the page of the moves stored in a cluster.
func in(cluster string) *user { return &user{Options: Options{Cluster: cluster}} }

// TestDetail: the complete detail of a migration, as the page receives it.
func TestDetail(t *testing.T) {
	d := in("east").detail(board.Migration{Migration: viewtest.Stalled(), Record: true}, viewtest.Noon)
	if d.Key != "run/shop/web" || d.Where != "ConfigMap shop/sliceshift-web" || d.Report.Destination.Cluster != "west" || d.Budget != 1 || len(d.Ordinals) != 4 {
		t.Errorf("it is %+v", d)
	}
	if d.Handoff == nil || d.Handoff.Step != api.StepAwaitReadiness || d.Handoff.Attempts != 2 {
		t.Errorf("the handoff is %+v", d.Handoff)
	}
	if done := in("east").detail(board.Migration{Migration: viewtest.Completed()}, viewtest.Noon); done.Key != "migration/shop/web" || done.Where != "Migration shop/web" || done.Handoff != nil {
		t.Errorf("at its end it is %+v", done)
	}
}

// TestDetailOfCopiesAhead: the reason why copies for later turns wait is shown next to the hold of the move, with its
// remedy.
func TestDetailOfCopiesAhead(t *testing.T) {
	m := viewtest.InFlight()
	m.Status.Conditions = append(m.Status.Conditions, viewtest.Conditions(time.Minute, metav1.Condition{
		Type: api.ConditionAheadHeld, Status: metav1.ConditionTrue, Reason: "CopyStuck", Message: "no space is left. What to do: free some",
	})...)
	want := &view.Hold{Reason: "CopyStuck", Message: "no space is left", Remedy: "free some", Since: viewtest.Noon.Add(-time.Minute)}
	d := in("east").detail(board.Migration{Migration: m}, viewtest.Noon)
	if diff := cmp.Diff(want, d.Ahead); diff != "" || d.Hold == nil || d.Hold.Reason != "PodNotReady" {
		t.Errorf("it waits for %+v; -want +got of what is ahead:\n%s", d.Hold, diff)
	}
	m.Status.Conditions = append(m.Status.Conditions, metav1.Condition{Type: api.ConditionCompleted, Status: metav1.ConditionTrue, Reason: api.ReasonMoved})
	if d := in("east").detail(board.Migration{Migration: m}, viewtest.Noon); d.Ahead != nil {
		t.Errorf("at its end: %+v", d.Ahead)
	}
}
