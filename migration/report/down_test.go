package report_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/report"
	"github.com/sliceshift/sliceshift/migration/report/chart"
)

// turned returns a migration of five ordinals that was rolled back during its first handoff. Ordinal 4 was
// stopped, did not arrive, and started at the source again. Another process has rolled it back.
func turned() *api.Migration {
	m := &api.Migration{}
	m.Namespace, m.Name = "shop", "web"
	m.Spec.Source.Name, m.Spec.Mode = "web", api.ModeRollback
	m.Status = api.MigrationStatus{
		Baseline: &api.Baseline{Replicas: 5, Budget: 1, StartTime: at(0)},
		Fence:    &api.Fence{Epoch: 2, Holder: "laptop-b", Direction: api.Back},
		Source:   &api.SliceStatus{Replicas: 5, Available: 5}, Destination: &api.SliceStatus{},
		Total: 5,
		History: &api.History{
			Handoffs: []api.PastHandoff{
				{Ordinal: 4, Direction: api.Forward, StartTime: micro(5), StopTime: micro(7), EndTime: micro(37), Outcome: api.HandoffTurnedBack, Attempts: 1, Epoch: 1, FewestAvailable: new(int32(4))},
				{Ordinal: 4, Direction: api.Back, StartTime: micro(37), StopTime: micro(7), ReadyTime: micro(54), EndTime: micro(54), Attempts: 2, Epoch: 2, FewestAvailable: new(int32(4))},
			},
			Stops: []api.PastStop{{Reason: api.ReasonPodTerminating, Message: "ordinal 4 has been at AwaitRelease for longer than 8s", Ordinal: new(int32(4)), StartTime: at(15), EndTime: at(37)}},
			Drivers: []api.Driver{
				{Epoch: 1, Holder: "laptop-a", Direction: api.Forward, StartTime: at(1)},
				{Epoch: 2, Holder: "laptop-b", Direction: api.Back, StartTime: at(37)},
			},
		},
		Conditions: []metav1.Condition{{Type: api.ConditionCompleted, Status: metav1.ConditionTrue, Reason: api.ReasonRolledBack, LastTransitionTime: at(60)}},
	}
	return m
}

// stayed returns the same migration with an ordinal that was never stopped: its handoff was reversed before.
func stayed() *api.Migration {
	m := turned()
	past := m.Status.History.Handoffs
	for i := range past {
		past[i].StopTime, past[i].Stayed, past[i].FewestAvailable = metav1.MicroTime{}, true, new(int32(5))
	}
	return m
}

// once returns the same without outcomes, as records of former versions have it.
func once() *api.Migration {
	m := turned()
	h := m.Status.History
	h.Handoffs = h.Handoffs[1:]
	h.Handoffs[0].StopTime = metav1.MicroTime{}
	return m
}

// onward returns it while it is stopped, before it was rolled back.
func onward(step api.Step, stopped *api.StoppedOrdinal) *api.Migration {
	m := turned()
	m.Spec.Mode, m.Status.Conditions = api.ModeRun, nil
	m.Status.Fence = &api.Fence{Epoch: 1, Holder: "laptop-a", Direction: api.Forward}
	h := m.Status.History
	h.Handoffs, h.Stops, h.Stopped = nil, nil, stopped
	m.Status.Handoff = &api.Handoff{Ordinal: 4, Step: step, StepTime: micro(8), StartTime: micro(5), Attempts: 1, FewestAvailable: new(int32(4))}
	return m
}

// TestTimeline: an ordinal is drawn where it was, and as down from its stop until it was available. The number
// of available replicas drops accordingly.
func TestTimeline(t *testing.T) {
	const logged = `{"time":"2026-03-01T12:00:09Z","kind":"Written","verb":"ScaleDown","ordinal":3,"message":""}
{"time":"2026-03-01T12:00:10Z","kind":"Written","verb":"ScaleDown","ordinal":4,"message":""}`
	type span struct {
		from, to int
		place    chart.Place
	}
	type level struct {
		from  int
		value int32
	}
	const source, away, destination = chart.AtSource, chart.OnItsWay, chart.AtDestination
	for name, tc := range map[string]struct {
		m      *api.Migration
		log    string
		spans  []span
		levels []level
	}{
		"turned back while it was down":     {turned(), "", []span{{0, 7, source}, {7, 37, away}, {37, 54, away}, {54, 60, source}}, []level{{0, 5}, {7, 4}, {37, 4}, {54, 5}}},
		"turned back before it was":         {stayed(), "", []span{{0, 60, source}}, []level{{0, 5}}},
		"recorded before there were stops":  {once(), "", []span{{0, 37, source}, {37, 54, away}, {54, 60, source}}, []level{{0, 5}, {37, 4}, {54, 5}}},
		"of those, with a log":              {once(), logged, []span{{0, 10, source}, {10, 54, away}, {54, 60, source}}, []level{{0, 5}, {10, 4}, {54, 5}}},
		"down now":                          {onward(api.StepCarryVolumes, &api.StoppedOrdinal{Ordinal: 4, StopTime: micro(7)}), "", []span{{0, 7, source}, {7, 60, away}, {60, 60, destination}}, []level{{0, 5}, {7, 4}}},
		"down now, by its step":             {onward(api.StepAwaitRelease, nil), "", []span{{0, 8, source}, {8, 60, away}, {60, 60, destination}}, []level{{0, 5}, {8, 4}}},
		"down now, nobody knows since when": {onward(api.StepCarryVolumes, &api.StoppedOrdinal{Ordinal: 3, StopTime: micro(7)}), "", []span{{0, 5, source}, {5, 60, away}, {60, 60, destination}}, []level{{0, 5}, {5, 4}}},
		"copied ahead now":                  {onward(api.StepCopyAhead, nil), "", []span{{0, 60, source}}, []level{{0, 5}}},
	} {
		t.Run(name, func(t *testing.T) {
			entries, err := report.ReadLog(strings.NewReader(tc.log))
			if err != nil {
				t.Fatal(err)
			}
			c := report.Of(tc.m, place, at(60).Time).WithLog(entries).Chart()
			seconds := func(at time.Time) int { return int(at.Sub(noon) / time.Second) }
			var spans []span
			for _, s := range c.Lanes[0].Spans {
				spans = append(spans, span{seconds(s.From), seconds(s.To), s.Place})
			}
			var levels []level
			for _, l := range c.Available {
				levels = append(levels, level{seconds(l.From), l.Value})
			}
			if diff := cmp.Diff(tc.spans, spans, cmp.AllowUnexported(span{})); diff != "" {
				t.Errorf("spans, -want +got:\n%s", diff)
			}
			if diff := cmp.Diff(tc.levels, levels, cmp.AllowUnexported(level{})); diff != "" {
				t.Errorf("levels, -want +got:\n%s", diff)
			}
		})
	}
}

// TestUpBetween: an ordinal that ran at the destination when it was turned back is drawn there until it was
// stopped again.
func TestUpBetween(t *testing.T) {
	m := turned()
	m.Status.History.Handoffs[1].StopTime = micro(45)
	var got []chart.Place
	for _, s := range report.Of(m, place, at(60).Time).Chart().Lanes[0].Spans {
		got = append(got, s.Place)
	}
	want := []chart.Place{chart.AtSource, chart.OnItsWay, chart.AtDestination, chart.OnItsWay, chart.AtSource}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestDown: the downtime of an ordinal is shown next to the duration of its handoff, and unknown values are not
// invented.
func TestDown(t *testing.T) {
	for name, tc := range map[string]struct {
		m    *api.Migration
		want [][]string // available, took, down
	}{
		"turned back":   {turned(), [][]string{{"turned back 2026-03-01 12:00:37", "32s", "30s until then"}, {"2026-03-01 12:00:54", "17s", "47s, since 2026-03-01 12:00:07"}}},
		"not stopped":   {stayed(), [][]string{{"turned back 2026-03-01 12:00:37", "32s", "not stopped"}, {"2026-03-01 12:00:54", "17s", "not stopped"}}},
		"of before":     {once(), [][]string{{"2026-03-01 12:00:54", "17s", "not known"}}},
		"down now":      {onward(api.StepAwaitReadiness, &api.StoppedOrdinal{Ordinal: 4, StopTime: micro(7)}), [][]string{{"in progress, at AwaitReadiness", "55s so far", "53s so far"}}},
		"down, unknown": {onward(api.StepScaleUp, nil), [][]string{{"in progress, at ScaleUp", "55s so far", "not known"}}},
		"copied ahead":  {onward(api.StepCopyAhead, nil), [][]string{{"in progress, at CopyAhead", "55s so far", "not stopped yet"}}},
	} {
		t.Run(name, func(t *testing.T) {
			var got [][]string
			for _, s := range report.Of(tc.m, place, at(60).Time).Page().Sections {
				if s.Title == "Handoffs" {
					for _, row := range s.Rows {
						got = append(got, row[3:6])
					}
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestBegunAnew: for a Migration that was rolled back and began again, only the new move is reported.
func TestBegunAnew(t *testing.T) {
	m := turned()
	m.Spec.Mode, m.Status.Conditions, m.Status.Baseline.StartTime = api.ModeRun, nil, at(100)
	h := m.Status.History
	h.Seals = []api.PastSeal{{Ordinal: 4, EndTime: micro(54)}}
	h.Drivers = append(h.Drivers, api.Driver{Epoch: 3, Holder: "laptop-c", Direction: api.Forward, StartTime: at(101)})
	r := report.Of(m, place, at(110).Time)
	if len(r.Handoffs) > 0 || len(r.Stops) > 0 || len(r.Seals) > 0 || len(r.Drivers) != 1 || r.FewestAvailable != nil {
		t.Errorf("%+v", r)
	}
}
