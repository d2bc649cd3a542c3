package evacuation

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// TestStatus: the word, the counts and the conditions of each situation, as kstatus reads them.
func TestStatus(t *testing.T) {
	stalled := of(func(m *Migration) {
		m.Held, m.Mode, m.Begun, m.Stalled = false, api.ModeRun, true, "BudgetZero: none may be down"
	})
	for name, tc := range map[string]struct {
		mode  api.EvacuationMode
		found map[string]Migration
		want  string
	}{
		"running":       {"", map[string]Migration{"db": moving, "web": held()}, "Running 0/2, Ready False Moving, Reconciling True Moving"},
		"one has more":  {"", map[string]Migration{"db": moved, "web": held()}, "Running 1/2, Ready False Moving, Reconciling True Moving"},
		"paused":        {api.EvacuationPause, map[string]Migration{"db": moved, "web": held()}, "Paused 1/2, Ready False Paused, Reconciling True Paused"},
		"rolled back":   {api.EvacuationRollback, map[string]Migration{"db": moving, "web": held()}, "RollingBack 0/2, Ready False RollingBack, Reconciling True RollingBack"},
		"all are back":  {api.EvacuationRollback, map[string]Migration{"db": moved, "web": held()}, "RolledBack 1/2, Ready False RolledBack"},
		"back, but one": {api.EvacuationRollback, map[string]Migration{"db": of(func(m *Migration) { m.Mode, m.Begun, m.Returned, m.Stalled = api.ModeRollback, true, true, "X: y" }), "web": held()}, "Stalled 0/2, Ready False MigrationsHeld, Stalled True MigrationsHeld"},
		"stalled":       {"", map[string]Migration{"db": stalled, "web": held()}, "Stalled 0/2, Ready False MigrationsHeld, Stalled True MigrationsHeld"},
		"all moved":     {"", map[string]Migration{"db": moved, "web": moved}, "Completed 2/2, Ready True Moved"},
	} {
		t.Run(name, func(t *testing.T) {
			e := &api.Evacuation{ObjectMeta: metav1.ObjectMeta{Generation: 7}, Spec: api.EvacuationSpec{Mode: tc.mode, Migrations: entries("db", "web:db")}}
			e.Status.Conditions = []metav1.Condition{{Type: api.ConditionStalled, Status: metav1.ConditionTrue}, {Type: api.ConditionReconciling, Status: metav1.ConditionTrue}}
			got := StatusOf(e, Decide(Snapshot{Name: "all", Spec: e.Spec, Migrations: tc.found}))
			text := []string{got.State + " " + got.Progress}
			for _, kind := range []string{api.ConditionReady, api.ConditionReconciling, api.ConditionStalled} {
				if c := meta.FindStatusCondition(got.Conditions, kind); c != nil {
					text = append(text, fmt.Sprintf("%s %s %s", kind, c.Status, c.Reason))
				}
			}
			if text := strings.Join(text, ", "); text != tc.want || got.ObservedGeneration != 7 || len(got.Migrations) != 2 {
				t.Errorf("got %s, want %s; %+v", text, tc.want, got)
			}
		})
	}
}

// TestEmpty: an Evacuation without Migrations is never Ready.
func TestEmpty(t *testing.T) {
	got := StatusOf(&api.Evacuation{}, Decide(Snapshot{Name: "all"}))
	if meta.IsStatusConditionTrue(got.Conditions, api.ConditionReady) || got.State != "Stalled" {
		t.Errorf("%+v", got)
	}
}

// TestStalledMessage: the condition names the first Migration that does not continue.
func TestStalledMessage(t *testing.T) {
	e := &api.Evacuation{Spec: api.EvacuationSpec{Migrations: entries("db")}}
	got := StatusOf(e, Decide(Snapshot{Name: "all", Spec: e.Spec}))
	want := "0 of 1 have moved, 0 are under way, 0 wait; Migration db is Missing: there is no such Migration in this namespace"
	if c := meta.FindStatusCondition(got.Conditions, api.ConditionStalled); c == nil || c.Message != want {
		t.Errorf("%+v", c)
	}
}

// TestStartTime: the Evacuation began with its first Migration, and the time stays when that is deleted.
func TestStartTime(t *testing.T) {
	noon := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	at := func(m Migration, minutes int) Migration {
		m.Since = noon.Add(time.Duration(minutes) * time.Minute)
		return m
	}
	e := &api.Evacuation{Spec: api.EvacuationSpec{Migrations: entries("db", "web", "cache")}}
	found := map[string]Migration{"db": at(moving, 2), "web": at(moving, 1), "cache": held()}
	s := Snapshot{Name: "all", Spec: e.Spec, Migrations: found}
	if e.Status = StatusOf(e, Decide(s)); !e.Status.StartTime.Time.Equal(noon.Add(time.Minute)) {
		t.Errorf("it began at %v", e.Status.StartTime)
	}
	delete(found, "web")
	if got := StatusOf(e, Decide(s)).StartTime; !got.Equal(e.Status.StartTime) {
		t.Errorf("later it began at %v", got)
	}
	if got := StatusOf(&api.Evacuation{}, Decide(Snapshot{Name: "all", Spec: e.Spec, Migrations: map[string]Migration{"db": held()}})).StartTime; got != nil {
		t.Errorf("it began at %v without a Migration that has", got)
	}
}
