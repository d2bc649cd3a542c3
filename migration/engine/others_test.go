package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters"
)

// began is the start of the migration to recover.
var began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// between returns a Migration of StatefulSet shop/web between two clusters. It began at a time after the
// migration to recover.
func between(from, to types.UID, after time.Duration, changes ...func(*api.Migration)) *api.Migration {
	m := west(string(from+to), 1, changes...)
	m.Spec.Source.Name = "web"
	m.Status.Baseline = &api.Baseline{Replicas: 3, SourceCluster: from, DestinationCluster: to, StartTime: metav1.NewTime(began.Add(after))}
	return m
}

// over makes a Migration completed, at a time after the migration to recover has begun.
func over(reason string, after time.Duration) func(*api.Migration) {
	return func(m *api.Migration) {
		condition(m, api.ConditionCompleted, metav1.ConditionTrue, reason, "it is done")
		m.Status.Conditions[0].LastTransitionTime = metav1.NewTime(began.Add(after))
	}
}

// TestMovesOn: ordinals that another migration has begun to take from this one's destination may run elsewhere,
// on the disks that are parked at the source (I1, I2). A migration that ended before, or was taken back, has
// none of them.
func TestMovesOn(t *testing.T) {
	const hour = time.Hour
	m := between("east", "west", 0, over(api.ReasonMoved, hour))
	elsewhere := func(m *api.Migration) { m.Namespace = "moves" }
	for name, tc := range map[string]struct {
		other *api.Migration
		want  bool
	}{
		"it is under way":    {between("west", "north", 2*hour), true},
		"it has moved":       {between("west", "north", 2*hour, over(api.ReasonMoved, 3*hour)), true},
		"it has let go":      {between("west", "north", 2*hour, over(api.ReasonReleased, 3*hour)), true},
		"it was rolled back": {between("west", "north", 2*hour, over(api.ReasonRolledBack, 3*hour)), false},
		"it was recovered":   {between("west", "north", 2*hour, over(api.ReasonRecovered, 3*hour)), false},
		"it is about to be back": {between("west", "north", 2*hour, func(m *api.Migration) {
			condition(m, api.ConditionCompleted, metav1.ConditionFalse, api.ReasonRolledBack, "")
		}), true},
		"back to the source":          {between("west", "east", 2*hour), true},
		"it moved here before":        {between("west", "east", -2*hour, over(api.ReasonMoved, -hour)), false},
		"it ended when this began":    {between("west", "east", -2*hour, over(api.ReasonMoved, 0)), true},
		"from another cluster":        {between("south", "north", 2*hour), false},
		"itself":                      {m, false},
		"of another namespace":        {between("west", "north", 2*hour, elsewhere), false},
		"of that namespace all along": {between("west", "north", 2*hour, elsewhere, func(m *api.Migration) { m.Spec.Source.Namespace = "shop" }), true},
	} {
		if got := MovesOn(m, tc.other); got != tc.want {
			t.Errorf("%s: %t, want %t", name, got, tc.want)
		}
	}
	idle := between("west", "north", time.Hour)
	idle.Status.Baseline = nil
	if MovesOn(m, idle) {
		t.Error("what has not begun has moved nothing on")
	}
	renamed := between("east", "west", 0)
	renamed.Spec.Destination.Name, renamed.Spec.Destination.Namespace = "db", "store"
	on := between("west", "north", hour)
	if MovesOn(renamed, on) {
		t.Error("another StatefulSet was moved on")
	}
	on.Spec.Source.Name, on.Namespace = "db", "store"
	if !MovesOn(renamed, on) {
		t.Error("it was moved on, by the name that it has there")
	}
	on.Spec.Source.Name = "web"
	if MovesOn(renamed, on) {
		t.Error("another StatefulSet of that namespace was moved on")
	}
	renamed.Status.Baseline = nil
	if MovesOn(renamed, on) {
		t.Error("what has not begun has brought nothing there")
	}
}

// TestRunFindsWhoMovedOn: a run searches when its migration is to be recovered. It repeats the search while a
// migration was found or while it fences nothing. An error does not count as none found.
func TestRunFindsWhoMovedOn(t *testing.T) {
	asked, name, fails := 0, "", error(nil)
	o := &others{onward: func(context.Context, *api.Migration) (string, error) {
		asked++
		return name, fails
	}}
	m := between("east", "west", 0)
	learn := func(mode api.Mode, want string, times int, wantErr bool) {
		t.Helper()
		asked, m.Spec.Mode = 0, mode
		if err := o.learn(t.Context(), m); (err != nil) != wantErr || o.movedOn != want || asked != times {
			t.Errorf("%s: %q, asked %d times: %v", mode, o.movedOn, asked, err)
		}
	}
	learn(api.ModeRun, "", 0, false)
	fails = errors.New("no answer")
	learn(api.ModeRecover, "", 1, true)
	name, fails = "Migration shop/on", nil
	learn(api.ModeRecover, "Migration shop/on", 1, false)
	learn(api.ModeRollback, "", 0, false)
	learn(api.ModeRecover, "Migration shop/on", 1, false)
	name = ""
	learn(api.ModeRecover, "", 1, false)
	learn(api.ModeRecover, "", 0, false)
	over(api.ReasonMoved, time.Hour)(m)
	learn(api.ModeRecover, "", 1, false)
	m.Status.Baseline = nil
	learn(api.ModeRecover, "", 0, false)
}

// TestManagerFindsWhoMovedOn: a manager searches all namespaces for a migration to recover.
func TestManagerFindsWhoMovedOn(t *testing.T) {
	on := between("west", "north", time.Hour, func(m *api.Migration) { m.Namespace, m.Spec.Source.Namespace = "moves", "shop" })
	m := between("east", "west", 0)
	d := newDesk(t, m, on)
	for mode, want := range map[api.Mode]string{api.ModeRecover: "Migration moves/westnorth", api.ModeRollback: "", api.ModeRun: ""} {
		m.Spec.Mode = mode
		if got, err := d.movedOn(t.Context(), m); got != want || err != nil {
			t.Errorf("%s: %q, want %q: %v", mode, got, want, err)
		}
	}
	m.Spec.Mode = api.ModeRecover
	d.must(d.Client.Delete(t.Context(), on))
	if got, err := d.movedOn(t.Context(), m); got != "" || err != nil {
		t.Errorf("it is gone: %q, %v", got, err)
	}
}

// TestManagerAsksWhoHasJustMovedOn: a late cache does not let a completed migration resume. While the migration
// is not completed, its fence keeps others off the destination.
func TestManagerAsksWhoHasJustMovedOn(t *testing.T) {
	m := between("east", "west", 0, over(api.ReasonMoved, time.Hour))
	m.Spec.Mode = api.ModeRecover
	on := between("west", "north", 2*time.Hour, func(m *api.Migration) { m.Namespace, m.Spec.Source.Namespace = "moves", "shop" })
	d := newDesk(t, m)
	d.Live = newDesk(t, m, on).Live
	if got, err := d.movedOn(t.Context(), m); got != "Migration moves/westnorth" || err != nil {
		t.Errorf("the cache is late: %q, %v", got, err)
	}
	d.Namespace = "shop"
	if got, err := d.movedOn(t.Context(), m); got != "" || err != nil {
		t.Errorf("outside the namespace that is watched: %q, %v", got, err)
	}
	d.Live = interceptor.NewClient(fake.NewClientBuilder().WithScheme(clusters.NewScheme()).Build(), interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("timeout")
		},
	})
	if _, err := d.movedOn(t.Context(), m); err == nil {
		t.Error("nobody answered, and that was taken for nobody")
	}
	m.Status.Conditions = nil
	if got, err := d.movedOn(t.Context(), m); got != "" || err != nil {
		t.Errorf("it was not completed: %q, %v", got, err)
	}
}
