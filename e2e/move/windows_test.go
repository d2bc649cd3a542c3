package move

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// hourly returns a schedule whose window is open now and for the next hours. Its time zone has an offset that
// is not in whole hours.
func hourly() *api.ScheduleSpec {
	return &api.ScheduleSpec{TimeZone: "Asia/Kathmandu", Windows: []api.Window{{Start: "*/10 * * * *", Duration: metav1.Duration{Duration: time.Hour}}}}
}

func withSchedule(s *api.ScheduleSpec) harness.Setting {
	return harness.WithSpec(func(spec *api.MigrationSpec) { spec.Schedule = s })
}

// reschedule changes the schedule of a migration during the move.
func reschedule(ctx context.Context, mover *fixture.Mover, s *api.ScheduleSpec) error {
	return rewrite(ctx, mover, func(m *api.Migration) { m.Spec.Schedule = s })
}

// TestWindows: no ordinal is stopped outside a window, even if it is prepared, and every replica runs
// meanwhile. The migration continues when its window opens, here by an edit (I5, I6).
func TestWindows(t *testing.T) {
	later := metav1.NewTime(time.Now().Add(time.Hour))
	before := &api.ScheduleSpec{NotBefore: &later}
	short := hourly()
	short.Windows[0].Start, short.Windows[0].Duration, short.ExpectedHandoffSeconds = "0 0 1 1 *", metav1.Duration{Duration: time.Hour}, new(int32(7200))
	for name, tc := range map[string]struct {
		schedule *api.ScheduleSpec
		reason   string
		stalls   bool
	}{
		"U-23: not yet":             {before, api.ReasonOutsideWindow, false},
		"U-23: not any more":        {&api.ScheduleSpec{NotAfter: new(metav1.NewTime(time.Now()))}, api.ReasonScheduleNeverOpens, true},
		"U-23: not for so long":     {short, api.ReasonWindowTooShort, true},
		"U-23: by no clock at all":  {&api.ScheduleSpec{TimeZone: "Middle-Earth/Shire"}, api.ReasonScheduleInvalid, true},
		"U-23: nor by half a clock": {&api.ScheduleSpec{Windows: []api.Window{{Start: "soon", Duration: metav1.Duration{Duration: time.Hour}}}}, api.ReasonScheduleInvalid, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newMove(t, harness.Usual(3), harness.AcrossClusters, withSchedule(hourly()))
			mover := v.Mover()
			held := false
			holds := harness.HeldWith(tc.reason)
			if tc.stalls {
				holds = harness.StalledWith(tc.reason)
			}
			v.Drive(mover, harness.Arrival(2)(func() error { return reschedule(v.Ctx, mover, tc.schedule) }), holds(func() error {
				held = true
				m, err := mover.Store.Load(v.Ctx)
				if err != nil {
					return err
				}
				if m.Status.Source.Available+m.Status.Destination.Available != 3 || m.Status.Handoff != nil {
					t.Errorf("it holds at %+v and %+v, with %+v", m.Status.Source, m.Status.Destination, m.Status.Handoff)
				}
				if at := m.Status.Schedule; at == nil || at.Open || at.Left == 0 || tc.stalls != (at.OpensTime == nil) {
					t.Errorf("the status says %+v", at)
				}
				return reschedule(v.Ctx, mover, hourly())
			}))
			if !held {
				t.Error("nothing has held it")
			}
			m, err := mover.Store.Load(v.Ctx)
			v.Must(err)
			if m.Status.Schedule != nil || m.Status.Pace == nil {
				t.Errorf("at its end the status says %+v and %+v", m.Status.Schedule, m.Status.Pace)
			}
			v.ExpectMovedCleanly()
			v.Audit()
		})
	}
}

// TestWindowOpens: a migration that waits for a window continues when the window opens, and stops no ordinal
// before (I6).
func TestWindowOpens(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(3), harness.AcrossClusters, withSchedule(hourly()))
	mover := v.Mover()
	var opens, stopped time.Time
	v.Drive(mover, harness.WroteOn(plan.SourceSide, plan.ScaleDown)(func() error {
		opens = time.Now().Add(8 * time.Second).Truncate(time.Second) // a record has whole seconds
		return reschedule(v.Ctx, mover, &api.ScheduleSpec{NotBefore: new(metav1.NewTime(opens))})
	}), harness.HeldWith(api.ReasonOutsideWindow)(func() error {
		m, err := mover.Store.Load(v.Ctx)
		if err == nil && (m.Status.Schedule == nil || m.Status.Schedule.OpensTime == nil || !m.Status.Schedule.OpensTime.Time.Equal(opens)) {
			t.Errorf("the status says %+v, and the window opens at %s", m.Status.Schedule, opens)
		}
		return err
	}), harness.When(func(_ *api.Migration, outcome engine.Outcome) bool {
		e := outcome.Decision.Effect
		return outcome.Wrote && e.Verb == plan.ScaleDown && e.Ordinal == 1
	})(func() error {
		stopped = time.Now()
		return nil
	}))
	if opens.IsZero() || stopped.Before(opens) {
		t.Errorf("the window opened at %s, and the next ordinal was stopped at %s", opens, stopped)
	}
	v.ExpectMovedCleanly()
	v.Audit()
}

// TestWindowCloses: an ordinal that is down when its window closes is started, and the next one is not stopped
// (I6).
func TestWindowCloses(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(3), harness.AcrossClusters, withSchedule(hourly()))
	mover := v.Mover()
	closed, held := false, false
	v.Drive(mover, harness.WroteOn("source", "ScaleDown")(func() error {
		closed = true
		return reschedule(v.Ctx, mover, &api.ScheduleSpec{NotBefore: new(metav1.NewTime(time.Now().Add(time.Hour)))})
	}), harness.HeldWith(api.ReasonOutsideWindow)(func() error {
		held = true
		m, err := mover.Store.Load(v.Ctx)
		if err != nil {
			return err
		}
		if m.Status.Moved != 1 || m.Status.Destination.Available != 1 || m.Status.Source.Available != 2 {
			t.Errorf("it holds at %+v and %+v", m.Status.Source, m.Status.Destination)
		}
		return reschedule(v.Ctx, mover, nil)
	}))
	if !closed || !held {
		t.Errorf("the window closed: %t, and it was waited for: %t", closed, held)
	}
	v.ExpectMovedCleanly()
	v.Audit()
}

// TestRollbackInNoWindow: a closed window does not hold a rollback that the user requests (I8).
func TestRollbackInNoWindow(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(3), harness.AcrossClusters, withSchedule(hourly()))
	mover := v.Mover()
	v.Drive(mover, harness.Arrival(2)(func() error {
		return reschedule(v.Ctx, mover, &api.ScheduleSpec{NotAfter: new(metav1.NewTime(time.Now()))})
	}), harness.StalledWith(api.ReasonScheduleNeverOpens)(func() error {
		return rewrite(v.Ctx, mover, func(m *api.Migration) { m.Spec.Mode = api.ModeRollback })
	}))
	m, err := mover.Store.Load(v.Ctx)
	v.Must(err)
	if m.Status.Moved != 0 || m.Status.Source.Available != 3 {
		t.Errorf("it has come back to %+v", m.Status.Source)
	}
	v.Audit()
}

// TestWindowsAreKept: the API server stores a valid schedule unchanged and refuses an invalid one.
func TestWindowsAreKept(t *testing.T) {
	n := startTenancy(t, "windows")
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "windows-"}}
	ctx := t.Context()
	if err := n.client.Create(ctx, namespace); err != nil {
		t.Fatal(err)
	}
	window := func(change func(*api.Window)) *api.ScheduleSpec {
		w := api.Window{From: "22:00", Days: []api.Weekday{"Sat", "Sun"}, Duration: metav1.Duration{Duration: 4 * time.Hour}}
		change(&w)
		return &api.ScheduleSpec{TimeZone: "Europe/Berlin", Windows: []api.Window{w}}
	}
	for name, tc := range map[string]struct {
		schedule *api.ScheduleSpec
		kept     bool
	}{
		"days and hours":   {window(func(*api.Window) {}), true},
		"cron":             {window(func(w *api.Window) { w.Start, w.From, w.Days = "0 22 * * 6", "", nil }), true},
		"both":             {window(func(w *api.Window) { w.Start = "0 22 * * 6" }), false},
		"neither":          {window(func(w *api.Window) { w.From, w.Days = "", nil }), false},
		"days of cron":     {window(func(w *api.Window) { w.Start, w.From = "0 22 * * 6", "" }), false},
		"no such day":      {window(func(w *api.Window) { w.Days[0] = "Caturday" }), false},
		"no such hour":     {window(func(w *api.Window) { w.From = "24:00" }), false},
		"seconds":          {window(func(w *api.Window) { w.Duration.Duration = time.Second }), false},
		"more than a week": {window(func(w *api.Window) { w.Duration.Duration = 169 * time.Hour }), false},
	} {
		m := fixture.NewMigration(namespace.Name, "web")
		m.Spec.Destination.Namespace, m.Spec.Schedule = "elsewhere", tc.schedule
		err := n.client.Create(ctx, m, client.DryRunAll)
		if (err == nil) != tc.kept {
			t.Errorf("%s: %v", name, err)
		}
	}
}
