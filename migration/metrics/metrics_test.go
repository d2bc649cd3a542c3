package metrics

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	runtimemetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/handoffs"
	"github.com/sliceshift/sliceshift/migration/planner"
)

var begin = time.Unix(1_000_000, 0)

// stage follows migrations with a fake clock.
type stage struct {
	*Migrations
	clock *clocktesting.FakePassiveClock
	t     *testing.T
}

func newStage(t *testing.T) stage {
	clock := clocktesting.NewFakePassiveClock(begin)
	return stage{NewMigrations(clock), clock, t}
}

func (s stage) after(seconds int) { s.clock.SetTime(begin.Add(time.Duration(seconds) * time.Second)) }

// served returns the samples by name and by their labels, without the labels of a migration.
func (s stage) served() map[string]float64 {
	s.t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(s.Migrations)
	families, err := registry.Gather()
	if err != nil {
		s.t.Fatal(err)
	}
	samples := map[string]float64{}
	for _, family := range families {
		for _, m := range family.Metric {
			words := []string{strings.TrimPrefix(family.GetName(), "sliceshift_")}
			for _, label := range m.Label {
				words = append(words, label.GetValue())
			}
			samples[strings.Join(words, " ")] = m.GetGauge().GetValue()
		}
	}
	return samples
}

func condition(kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, LastTransitionTime: metav1.NewTime(begin)}
}

// migration returns a migration with a handoff in progress and one replica down.
func migration(conditions ...metav1.Condition) *api.Migration {
	m := &api.Migration{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "uid"}}
	m.Status = api.MigrationStatus{
		Conditions: conditions, Total: 5, Moved: 2, Baseline: &api.Baseline{Replicas: 5, Budget: 2},
		Source: &api.SliceStatus{Available: 2}, Destination: &api.SliceStatus{Available: 2}, Pace: &api.Pace{LongestSeconds: 7},
	}
	return m
}

// TestMigration: the state of a migration is exported while it exists, and no longer.
func TestMigration(t *testing.T) {
	s := newStage(t)
	of := func(names map[string]float64) map[string]float64 {
		all := map[string]float64{
			"migration_ordinals web shop": 5, "migration_ordinals_moved web shop": 2, "migration_budget_replicas web shop": 2, "migration_budget_left_replicas web shop": 1,
			"migration_handoff_longest_seconds web shop": 7, "migration_last_pass_timestamp_seconds web shop": float64(s.clock.Now().Unix()),
		}
		maps.Copy(all, names)
		return all
	}
	check := func(what string, want map[string]float64) {
		t.Helper()
		if diff := cmp.Diff(want, s.served()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	s.See(migration(condition(api.ConditionProgressing, metav1.ConditionTrue, api.ReasonMoving)), "west")
	check("moving", of(map[string]float64{"migrations west active": 1}))

	s.after(10)
	waits := migration(condition(api.ConditionProgressing, metav1.ConditionTrue, api.ReasonPodNotReady))
	waits.Status.Handoff = &api.Handoff{Ordinal: 2, StartTime: metav1.NewMicroTime(begin)}
	waits.Status.History = &api.History{Stopped: &api.StoppedOrdinal{Ordinal: 2, StopTime: metav1.NewMicroTime(begin.Add(10 * time.Second))}}
	s.See(waits, "west")
	s.after(13)
	s.See(waits, "west")
	check("waiting", of(map[string]float64{"migrations west active": 1, "migration_waiting_seconds web shop PodNotReady false": 3, "migration_ordinal_down_seconds web shop": 3}))

	waits.Status.History.Stopped.ReadyTime = metav1.NewMicroTime(begin.Add(12 * time.Second))
	s.See(waits, "west")
	check("V4 Ready", of(map[string]float64{"migrations west active": 1, "migration_waiting_seconds web shop PodNotReady false": 3, "migration_ordinal_soak_seconds web shop": 1}))

	s.after(100)
	stalls := migration(condition(api.ConditionProgressing, metav1.ConditionFalse, api.ReasonPodNotReady), condition(api.ConditionStalled, metav1.ConditionTrue, api.ReasonPodNotReady))
	s.See(stalls, "west")
	check("stalled since the status says so", of(map[string]float64{"migrations west stalled": 1, "migrations_stalled PodNotReady": 1, "migration_waiting_seconds web shop PodNotReady true": 100}))

	s.See(migration(condition(api.ConditionCompleted, metav1.ConditionTrue, api.ReasonMoved)), "west")
	check("completed", map[string]float64{"migrations west completed": 1, "migration_ordinals web shop": 5, "migration_ordinals_moved web shop": 2})

	s.Forget(types.NamespacedName{Namespace: "shop", Name: "web"})
	check("gone", map[string]float64{})
}

// TestAnew: a Migration that was recreated with the same name is a new one.
func TestAnew(t *testing.T) {
	s := newStage(t)
	m := migration()
	m.Status.Handoff = &api.Handoff{Ordinal: 2, StartTime: metav1.NewMicroTime(begin)}
	s.Track(m, nil, handoffs.Look{})
	again := migration()
	again.UID = "another"
	if got := s.Track(again, nil, handoffs.Look{})[0]; got.Ended != nil {
		t.Errorf("the handoff of its namesake has ended: %+v", got)
	}
}

// TestStates: a migration is in exactly one state at a time.
func TestStates(t *testing.T) {
	progressing := func(status metav1.ConditionStatus, reason string) metav1.Condition {
		return condition(api.ConditionProgressing, status, reason)
	}
	stalled := condition(api.ConditionStalled, metav1.ConditionTrue, api.ReasonClusterUnreachable)
	unborn := func(conditions ...metav1.Condition) *api.Migration {
		return &api.Migration{Status: api.MigrationStatus{Conditions: conditions}}
	}
	for name, tc := range map[string]struct {
		m    *api.Migration
		want State
	}{
		"new":                    {unborn(), Checking},
		"in line":                {unborn(progressing(metav1.ConditionTrue, api.ReasonQueued)), Queued},
		"refused":                {unborn(stalled), StateStalled},
		"moves":                  {migration(progressing(metav1.ConditionTrue, api.ReasonMoving)), Active},
		"waits":                  {migration(progressing(metav1.ConditionTrue, api.ReasonPodTerminating)), Active},
		"is paused":              {migration(progressing(metav1.ConditionFalse, api.ReasonPaused)), Paused},
		"its window is shut":     {migration(progressing(metav1.ConditionFalse, api.ReasonOutsideWindow)), Paused},
		"stalled":                {migration(stalled, progressing(metav1.ConditionFalse, api.ReasonClusterUnreachable)), StateStalled},
		"completed":              {migration(condition(api.ConditionCompleted, metav1.ConditionTrue, api.ReasonMoved)), Completed},
		"letting go of both":     {migration(condition(api.ConditionCompleted, metav1.ConditionFalse, api.ReasonMoved)), Active},
		"stalled and in no line": {unborn(stalled, progressing(metav1.ConditionTrue, api.ReasonQueued)), StateStalled},
	} {
		t.Run(name, func(t *testing.T) {
			if got := factsOf(tc.m, "west").state; got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

// TestExemplars: a handoff is counted by its outcome, and its durations refer to its trace.
func TestExemplars(t *testing.T) {
	of := handoffs.Handoff{Migration: "uid", Ordinal: 1, Direction: api.Back, Start: begin}
	changes := handoffs.Changes{
		Begun: &of, Of: of, Stay: &handoffs.Stay{Step: api.StepScaleUp, Start: begin, End: begin.Add(2 * time.Second), Outcome: handoffs.TurnedBack},
		Ended: &handoffs.Ending{Handoff: of, End: begin.Add(3 * time.Second), Outcome: handoffs.TurnedBack},
	}
	before := count(t, "sliceshift_migration_handoffs_turned_back_total", "Back")
	Handoff(changes, "cafe")
	if got := count(t, "sliceshift_migration_handoffs_turned_back_total", "Back"); got != before+1 {
		t.Errorf("turned back: %v, before %v", got, before)
	}
	for _, name := range []string{"sliceshift_migration_handoff_duration_seconds", "sliceshift_migration_handoff_step_duration_seconds"} {
		histogram := one(t, name, "turned_back").GetHistogram()
		if len(histogram.Exemplars) == 0 || histogram.Exemplars[0].Label[0].GetValue() != "cafe" {
			t.Errorf("%s has exemplars %v", name, histogram.Exemplars)
		}
		if len(histogram.Bucket) == 0 || len(histogram.PositiveSpan) == 0 {
			t.Errorf("%s is not both classic and native", name)
		}
	}
}

// TestV4OutageAndSoakAreMeasured: the outage of an ordinal that has arrived and its soak are two figures, and neither
// is guessed.
func TestV4OutageAndSoakAreMeasured(t *testing.T) {
	micro := func(seconds float64) metav1.MicroTime {
		return metav1.NewMicroTime(begin.Add(time.Duration(seconds * float64(time.Second))))
	}
	sums := func() [2]float64 {
		var sums [2]float64
		for i, name := range []string{"sliceshift_migration_outage_seconds", "sliceshift_migration_soak_seconds"} {
			if found := one(t, name, "Forward"); found != nil {
				sums[i] = found.GetHistogram().GetSampleSum()
			}
		}
		return sums
	}
	for name, tc := range map[string]struct {
		past *api.PastHandoff
		want [2]float64
	}{
		"both known":   {&api.PastHandoff{StopTime: micro(1), ReadyTime: micro(3.5), EndTime: micro(33.5)}, [2]float64{2.5, 30}},
		"one unknown":  {&api.PastHandoff{StopTime: micro(1), EndTime: micro(33.5)}, [2]float64{}},
		"not recorded": {nil, [2]float64{}},
	} {
		before := sums()
		Handoff(handoffs.Changes{Ended: &handoffs.Ending{Handoff: handoffs.Handoff{Direction: api.Forward, Start: begin}, End: begin.Add(time.Minute), Outcome: handoffs.Arrived, Past: tc.past}}, "")
		after := sums()
		if got := [2]float64{after[0] - before[0], after[1] - before[1]}; got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

// TestWrites: a write is counted by its result.
func TestWrites(t *testing.T) {
	for kind, result := range map[planner.Kind]string{
		planner.Landed: "done", planner.Changed: "conflict", planner.NamespaceGone: "refused", planner.MissingRight: "refused", planner.Refused: "refused", planner.NoAnswer: "failed",
	} {
		Wrote("Test"+result, kind)
		if one(t, "sliceshift_migration_writes_total", "Test"+result) == nil || resultOf(kind) != result {
			t.Errorf("%v is counted as %s", kind, resultOf(kind))
		}
	}
}

// one returns the series of a metric that has a label value; nil if there is none.
func one(t *testing.T, name, label string) *dto.Metric {
	t.Helper()
	families, err := runtimemetrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.Metric {
			for _, pair := range m.Label {
				if pair.GetValue() == label {
					return m
				}
			}
		}
	}
	return nil
}

func count(t *testing.T, name, label string) float64 {
	return one(t, name, label).GetCounter().GetValue()
}
