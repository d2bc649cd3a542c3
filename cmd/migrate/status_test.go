package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/sliceshift/sliceshift/internal/clusters"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// offline is a connection that nobody answers at.
func offline(t *testing.T, name string) *clusters.Connection {
	t.Helper()
	connection, err := clusters.Connect(name, &rest.Config{Host: "https://" + name + ".invalid:1"})
	if err != nil {
		t.Fatal(err)
	}
	return connection
}

func conditions(ago time.Duration, all ...metav1.Condition) []metav1.Condition {
	for i := range all {
		all[i].LastTransitionTime = metav1.NewTime(noon.Add(-ago))
	}
	return all
}

// onItsWay is a migration with an ordinal on its way.
func onItsWay() *api.Migration {
	m := moving(2, 4)
	m.Status.Handoff = &api.Handoff{
		Ordinal: 2, Step: api.StepAwaitReadiness, Attempts: 2,
		StepTime: metav1.NewMicroTime(noon.Add(-12 * time.Second)), StartTime: metav1.NewMicroTime(noon.Add(-95 * time.Second)),
	}
	m.Status.Conditions = conditions(2*time.Minute,
		metav1.Condition{Type: api.ConditionAccepted, Status: metav1.ConditionTrue, Reason: api.ReasonReady, Message: "source, destination and rights were checked"},
		metav1.Condition{Type: api.ConditionStalled, Status: metav1.ConditionFalse, Reason: api.ReasonReady},
		metav1.Condition{Type: api.ConditionProgressing, Status: metav1.ConditionTrue, Reason: api.ReasonPodNotReady, Message: "waiting until pod shop/web-2 in cluster west is Ready"},
	)
	return m
}

func stalledMigration() *api.Migration {
	m := onItsWay()
	m.Status.Conditions[1] = metav1.Condition{
		Type: api.ConditionStalled, Status: metav1.ConditionTrue, Reason: api.ReasonPodNotReady, LastTransitionTime: metav1.NewTime(noon),
		Message: "ordinal 2 has been at AwaitReadiness for longer than 10s. To mend it: kubectl describe pod -n shop web-2",
	}
	m.Status.Conditions[2].Status = metav1.ConditionFalse
	return m
}

func completedMigration() *api.Migration {
	m := moving(4, 4)
	m.Status.Conditions = conditions(time.Hour,
		metav1.Condition{Type: api.ConditionProgressing, Status: metav1.ConditionFalse, Reason: api.ReasonMoved},
		metav1.Condition{Type: api.ConditionCompleted, Status: metav1.ConditionTrue, Reason: api.ReasonMoved, Message: "every ordinal that was asked for runs at the destination"},
	)
	return m
}

func TestStatusText(t *testing.T) {
	unbegun := &api.Migration{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	unbegun.Spec.Source.Name, unbegun.Spec.Destination.Namespace = "web", "store"
	for name, tc := range map[string]struct {
		m       *api.Migration
		record  bool
		paint   painter
		unicode bool
	}{
		"status.txt":           {m: onItsWay(), record: true, unicode: true},
		"status_stalled.txt":   {m: stalledMigration(), paint: painter{true}, unicode: true},
		"status_completed.txt": {m: completedMigration()},
		"status_unbegun.txt":   {m: unbegun},
	} {
		t.Run(name, func(t *testing.T) {
			k := &kept{Migration: tc.m, connection: offline(t, "east"), record: tc.record, where: "ConfigMap shop/sliceshift-web"}
			g := page{now: noon, paint: tc.paint, unicode: tc.unicode}
			golden(t, name, g.show(k))
		})
	}
}

func TestChangeText(t *testing.T) {
	paused := moving(1, 4)
	paused.Spec.Mode = api.ModePause
	for name, tc := range map[string]struct {
		m    *api.Migration
		want string
	}{
		"on its way": {onItsWay(), "1/4 moved  ordinal 2 AwaitReadiness  waiting until pod shop/web-2 in cluster west is Ready"},
		"stalled":    {stalledMigration(), "1/4 moved  ordinal 2 AwaitReadiness  STALLED PodNotReady: ordinal 2 has been at AwaitReadiness for longer than 10s"},
		"paused":     {paused, "1/4 moved  mode Pause"},
		"completed":  {completedMigration(), "4/4 moved  completed: Moved"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := changeText(tc.m); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// TestArrived: an ordinal counts once it is available, and until it has left.
func TestArrived(t *testing.T) {
	at := func(moved, ordinal int32, direction api.Direction) api.MigrationStatus {
		status := moving(moved, 4).Status
		status.Handoff = &api.Handoff{Ordinal: ordinal}
		status.Claim.Direction = direction
		return status
	}
	for name, tc := range map[string]struct {
		status api.MigrationStatus
		want   int32
	}{
		"none on its way":        {moving(2, 4).Status, 2},
		"still at the source":    {at(2, 1, api.Forward), 2},
		"not yet available":      {at(2, 2, api.Forward), 1},
		"not yet taken back":     {at(2, 2, api.Back), 2},
		"on its way back":        {at(1, 2, api.Back), 2},
		"nothing was looked at ": {api.MigrationStatus{Moved: 3, Handoff: &api.Handoff{}}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			if got := arrived(tc.status); got != tc.want {
				t.Errorf("%d have arrived, want %d", got, tc.want)
			}
		})
	}
}

// TestStatusRedrawn: a watched status overwrites itself and stays at the end.
func TestStatusRedrawn(t *testing.T) {
	c, shown := terminalConsole(60)
	o := &statusOptions{common: &common{environment: c.environment, color: newChoice("auto", "auto", "always", "never")}}
	r := newRedrawing(o)
	k := &kept{Migration: onItsWay(), connection: offline(t, "east")}
	if err := r.set(k, nil); err != nil {
		t.Fatal(err)
	}
	r.draw()
	for line := range strings.SplitSeq(shown.shown(), "\n") {
		if len([]rune(line)) >= 60 {
			t.Errorf("a line is too long for the terminal: %q", line)
		}
	}
	k.Migration = completedMigration()
	r.draw()
	r.close()
	if diff := cmp.Diff(strings.TrimSpace((&page{now: noon, unicode: true}).show(k)), shown.shown()); diff != "" {
		t.Errorf("what is left (-want +got):\n%s", diff)
	}
}
