package evacuate

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/commandtest"
	"github.com/sliceshift/sliceshift/internal/printable"
	"github.com/sliceshift/sliceshift/migration/report/chart"
	"github.com/sliceshift/sliceshift/migration/report/page"
)

// minutes returns a time after noon.
func minutes(n int) time.Time { return commandtest.Noon.Add(time.Duration(n) * time.Minute) }

// moving returns a Migration of four ordinals, of which some have arrived, one each two minutes since it began at a minute.
func moving(name string, began, arrived int) api.Migration {
	m := api.Migration{ObjectMeta: metav1.ObjectMeta{Namespace: "moves", Name: "m-" + name}}
	m.Spec.Source = api.SourceReference{Namespace: "shop", Name: name}
	m.Status.Baseline = &api.Baseline{StartTime: metav1.NewTime(minutes(began)), Replicas: 4, Budget: 1}
	m.Status.Total, m.Status.Moved, m.Status.History = 4, int32(arrived), &api.History{}
	for i := range arrived {
		at := minutes(began + 2*i)
		m.Status.History.Handoffs = append(m.Status.History.Handoffs, api.PastHandoff{
			Ordinal: int32(3 - i), Direction: api.Forward, StartTime: metav1.NewMicroTime(at), StopTime: metav1.NewMicroTime(at.Add(time.Minute)),
			ReadyTime: metav1.NewMicroTime(at.Add(2 * time.Minute)), EndTime: metav1.NewMicroTime(at.Add(2 * time.Minute)),
		})
	}
	return m
}

// ended returns a Migration that has moved.
func ended(name string, began int) api.Migration {
	m := moving(name, began, 4)
	m.Status.Conditions = []metav1.Condition{{Type: api.ConditionCompleted, Status: metav1.ConditionTrue, Reason: api.ReasonMoved, LastTransitionTime: metav1.NewTime(minutes(began + 8))}}
	return m
}

// halfway returns an Evacuation of which db has moved, web is under way, app comes after web, and ledger stalls. A minute
// was planned for each handoff, and each takes two.
func halfway() (*api.Evacuation, []api.Migration) {
	e := &api.Evacuation{ObjectMeta: metav1.ObjectMeta{Namespace: "moves", Name: "all"}}
	planned := func(begin, end int64) *api.PlannedMove {
		return &api.PlannedMove{BeginSeconds: begin * 60, EndSeconds: end * 60, Ordinals: 4}
	}
	e.Spec.Migrations = []api.EvacuatedMigration{
		{Name: "m-db", Planned: planned(0, 4)},
		{Name: "m-web", Planned: planned(4, 8), After: []string{"m-db"}},
		{Name: "m-app", Planned: planned(8, 12), After: []string{"m-web"}},
		{Name: "m-ledger", Planned: planned(0, 4)},
	}
	start := metav1.NewTime(minutes(0))
	e.Status = api.EvacuationStatus{State: api.EvacuationRunning, Progress: "1/4", StartTime: &start, Migrations: []api.EvacuatedStatus{
		{Name: "m-db", State: api.EvacuatedMoved},
		{Name: "m-web", State: api.EvacuatedMoving},
		{Name: "m-app", State: api.EvacuatedWaiting, Message: "it comes after m-web"},
		{Name: "m-ledger", State: api.EvacuatedStalled, Message: "BudgetZero: none may be down"},
	}}
	return e, []api.Migration{ended("db", 0), moving("web", 8, 2)}
}

// TestCourse: the handoffs so far give the expected rest. A Migration that stalls is not part of it.
func TestCourse(t *testing.T) {
	e, migrations := halfway()
	r := courseOf(e, migrations, "east", minutes(12))
	if r.Arrived != 6 || r.Ordinals != 16 || *r.PlannedSeconds != 720 || r.Measured != 6 || r.Stuck != 1 {
		t.Errorf("%+v", r)
	}
	if *r.LeftSeconds < 719 || *r.LeftSeconds > 721 || r.Ends.Sub(minutes(24)).Abs() > time.Second {
		t.Errorf("%.1f s are left, until %s", *r.LeftSeconds, r.Ends)
	}
	if w := r.Migrations[2].Expected; w == nil || w.Begin.Sub(minutes(16)).Abs() > time.Second || r.Migrations[3].Expected != nil || r.Migrations[0].Expected != nil {
		t.Errorf("app is expected at %+v, ledger at %+v", w, r.Migrations[3].Expected)
	}
	e.Spec.Mode = api.EvacuationPause
	if r := courseOf(e, migrations, "east", minutes(12)); r.LeftSeconds != nil || r.Migrations[2].Expected != nil {
		t.Errorf("of a paused one, %.1f s are left", *r.LeftSeconds)
	}
}

// TestLine: Migrations that wait in the manager's line move one after the other, in as many places as are taken.
func TestLine(t *testing.T) {
	e, migrations := halfway()
	e.Spec.Migrations[2].After = nil
	e.Spec.Migrations = append(e.Spec.Migrations, api.EvacuatedMigration{Name: "m-mail", Planned: &api.PlannedMove{EndSeconds: 240, Ordinals: 4}})
	e.Status.Migrations[2] = api.EvacuatedStatus{Name: "m-app", State: api.EvacuatedMoving}
	e.Status.Migrations = append(e.Status.Migrations, api.EvacuatedStatus{Name: "m-mail", State: api.EvacuatedMoving})
	for name, reason := range map[string]string{"app": api.ReasonQueued, "mail": api.ReasonPaused} {
		m := moving(name, 0, 0)
		m.Status.Baseline = nil
		m.Status.Conditions = []metav1.Condition{{Type: api.ConditionProgressing, Status: metav1.ConditionFalse, Reason: reason}}
		migrations = append(migrations, m)
	}
	const want = "16-24 24-32"
	for _, most := range []*int32{nil, new(int32(1)), new(int32(2))} {
		e.Spec.MaxActive = most
		r := courseOf(e, migrations, "east", minutes(12))
		span := func(w *window) string {
			return fmt.Sprintf("%.0f-%.0f", w.Begin.Sub(minutes(0)).Minutes(), w.End.Sub(minutes(0)).Minutes())
		}
		if got := span(r.Migrations[2].Expected) + " " + span(r.Migrations[4].Expected); got != want {
			t.Errorf("at most %d: %s, want %s", ptr.Deref(most, 0), got, want)
		}
	}
}

// TestUndriven: a Migration whose manager is silent in the middle of a handoff is stalled, and the reason is on the screen. No
// end is expected until a manager acts again.
func TestUndriven(t *testing.T) {
	e, migrations := halfway()
	e.Spec.Migrations = append(e.Spec.Migrations, api.EvacuatedMigration{Name: "m-mail", Planned: &api.PlannedMove{EndSeconds: 60, Ordinals: 1}})
	web := &migrations[1]
	web.Status.Handoff = &api.Handoff{Ordinal: 1, Step: api.StepScaleUp}
	web.Status.Heartbeat = &api.Heartbeat{Time: metav1.NewTime(minutes(12)), Mode: api.ModeRun}
	if r := courseOf(e, migrations, "east", minutes(12)); r.idle() || r.LeftSeconds == nil || r.Migrations[1].State != api.EvacuatedMoving {
		t.Errorf("while it is driven: %+v", r.Migrations[1])
	}
	r := courseOf(e, migrations, "east", minutes(14))
	if !r.idle() || r.LeftSeconds != nil || r.Stuck != 2 || r.Migrations[1].State != api.EvacuatedStalled {
		t.Errorf("%+v", r)
	}
	s := &Screen{Common: command.NewCommon(console().Environment)}
	got := strings.Join(s.lines(r, 4, 0), "\n")
	if !strings.Contains(got, "Stalled shop/web: NotDriven: no process has driven this since 12:12:00 UTC; ordinal 1 is down") || !strings.Contains(got, "Expected  no end: 2 StatefulSets cannot continue") {
		t.Errorf("%s", got)
	}
	other := moving("mail", 12, 0)
	other.Status.Handoff, other.Status.Heartbeat = web.Status.Handoff, &api.Heartbeat{Time: metav1.NewTime(minutes(14)), Mode: api.ModeRun}
	if r := courseOf(e, append(migrations, other), "east", minutes(14)); r.idle() || r.LeftSeconds == nil {
		t.Errorf("another one is driven: %+v", r)
	}
}

// TestCourseOfDeleted: a Migration that was deleted after it has moved counts as moved.
func TestCourseOfDeleted(t *testing.T) {
	e, migrations := halfway()
	r := courseOf(e, migrations[1:], "east", minutes(12))
	if m := r.Migrations[0]; r.Arrived != 6 || m.Moved != 4 || m.title() != "m-db" {
		t.Errorf("%d have arrived: %+v", r.Arrived, m)
	}
}

// TestSetInTheMiddle: a StatefulSet that appears while the others move is no part of the Evacuation, and one that is
// deleted holds no other one: its Migration stalls.
func TestSetInTheMiddle(t *testing.T) {
	e, migrations := halfway()
	r := courseOf(e, migrations, "east", minutes(12))
	r.Left = []left{{Namespace: "shop", Running: []string{"new", "ledger"}, Empty: []string{"db"}, Volumes: new(0)}, {Namespace: "bank"}}
	p := r.page()
	if row := strings.Join(p.Sections[1].Rows[0], "|"); row != "shop|new, ledger|db|0" {
		t.Errorf("left behind: %s", row)
	}
	if volumes := p.Sections[1].Rows[1][3]; volumes != "?" {
		t.Errorf("of volumes that may not be listed: %s", volumes)
	}
	if len(p.Sections[0].Rows) != 4 || p.Sections[0].Rows[3][2] != "Stalled" || p.Sections[0].Rows[2][2] != "Waiting" {
		t.Errorf("moves: %q", p.Sections[0].Rows)
	}
}

// TestScreen: the planned time of each set is above the real one, and the expected rest follows it.
func TestScreen(t *testing.T) {
	e, migrations := halfway()
	s := &Screen{Common: command.NewCommon(console().Environment)}
	want := `Evacuation moves/all: Running: 1/4 StatefulSets and 6 of 16 ordinals of cluster east have moved.
Began     2026-01-01 12:00:00 UTC
Planned   12m00s, until 2026-01-01 12:12:00 UTC
Expected  about 12m00s left, until 2026-01-01 12:24:00 UTC, from 6 handoffs so far; without 1 StatefulSet that cannot continue

               +0s                                                  +24m00s
shop/db        ==========
  Moved 4/4    ---##---##---##---##
shop/web                 ==========
  Moving 2/4                       ---##---##..........
m-app                              ==========
  Waiting 0/4                                          ....................
m-ledger       ==========
  Stalled 0/4
               = planned   - moves   # an ordinal is down   . expected
Stalled m-ledger: BudgetZero: none may be down`
	got := strings.Join(s.lines(courseOf(e, migrations, "east", minutes(12)), 4, 0), "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := strings.Join(s.lines(courseOf(e, migrations, "east", minutes(12)), 2, 0), "\n"); !strings.Contains(got, "shop/web") || !strings.Contains(got, "m-ledger") || strings.Contains(got, "shop/db") || !strings.Contains(got, "2 StatefulSets more") {
		t.Errorf("of four, two are shown:\n%s", got)
	}
}

// TestNothingMoves: where no set moves or will move, no time is expected, and the reason is on the screen.
func TestNothingMoves(t *testing.T) {
	e, migrations := halfway()
	e.Status.State = api.EvacuationStalled
	e.Status.Migrations[1] = api.EvacuatedStatus{Name: "m-web", State: api.EvacuatedStalled, Message: "VolumeAttached: it is in use"}
	e.Status.Migrations[2] = api.EvacuatedStatus{Name: "m-app", State: api.EvacuatedHeld, Message: "it comes after m-web, which is Stalled"}
	s := &Screen{Common: command.NewCommon(console().Environment)}
	r := courseOf(e, migrations, "east", minutes(12))
	got := strings.Join(s.lines(r, 4, 0), "\n")
	if r.LeftSeconds != nil || r.Ends != nil || strings.Contains(got, "0s left") || !strings.Contains(got, "Expected  no end: 3 StatefulSets cannot continue without a change\n") {
		t.Errorf("%v s are left:\n%s", r.LeftSeconds, got)
	}
	if !strings.HasSuffix(got, "\nStalled shop/web: VolumeAttached: it is in use\nStalled m-ledger: BudgetZero: none may be down\nHeld m-app: it comes after m-web, which is Stalled") {
		t.Errorf("the reasons are in another order:\n%s", got)
	}
	e.Spec.Mode, e.Status.State = api.EvacuationPause, api.EvacuationPaused
	for i := range e.Status.Migrations[1:] {
		e.Status.Migrations[i+1] = api.EvacuatedStatus{Name: e.Status.Migrations[i+1].Name, State: api.EvacuatedPaused, Message: "paused by the Evacuation"}
	}
	if r := courseOf(e, migrations, "east", minutes(12)); !r.Migrations[1].obstructs() || !strings.Contains(strings.Join(s.lines(r, 4, 0), "\n"), "Paused shop/web") {
		t.Errorf("a message alone counts: %+v", r.Migrations[1])
	}
	migrations = append(migrations, moving("app", 12, 0), moving("ledger", 12, 0))
	for i := range migrations[1:] {
		migrations[i+1].Annotations = map[string]string{api.EvacuationHeldAnnotationKey: e.Name}
	}
	if got := strings.Join(s.lines(courseOf(e, migrations, "east", minutes(12)), 4, 0), "\n"); strings.Contains(got, "Expected") || strings.Contains(got, "paused by the Evacuation") {
		t.Errorf("while it is paused:\n%s", got)
	}
	e.Spec.Mode = api.EvacuationRun // the status is still that of the pause
	if r := courseOf(e, migrations, "east", minutes(12)); r.LeftSeconds == nil || *r.LeftSeconds == 0 || r.Stuck > 0 {
		t.Errorf("just resumed: %v s are left, %d cannot continue", r.LeftSeconds, r.Stuck)
	}
}

// TestWidths: on each terminal that is wide enough for a bar, no line is wider than it, whatever the names.
func TestWidths(t *testing.T) {
	e, migrations := halfway()
	migrations[1].Spec.Source.Name = strings.Repeat("long-", 12)
	e.Status.Migrations[3].Message = "VolumeAttached: " + strings.Repeat("why ", 100)
	s := &Screen{Common: command.NewCommon(console().Environment)}
	r := courseOf(e, migrations, "east", minutes(12))
	for width := 24; width <= 240; width++ {
		for _, line := range slices.Concat(s.lines(r, 3, width), s.lines(r, all, width)) {
			if n := utf8.RuneCountInString(line); n > width {
				t.Fatalf("on %d columns, %d are used: %q", width, n, line)
			}
		}
	}
	if text := strings.Join(s.lines(r, all, 80), "\n"); strings.Count(text, "why") != 100 {
		t.Errorf("the reason is cut:\n%s", text)
	}
}

// TestHundredsOfReasons: the first reasons are shown, and the number of the others.
func TestHundredsOfReasons(t *testing.T) {
	e, _ := halfway()
	for i := range 100 {
		name := fmt.Sprintf("x-%02d", i)
		e.Spec.Migrations = append(e.Spec.Migrations, api.EvacuatedMigration{Name: name})
		e.Status.Migrations = append(e.Status.Migrations, api.EvacuatedStatus{Name: name, State: api.EvacuatedHeld, Message: "it comes after m-ledger, which is Stalled"})
	}
	s := &Screen{Common: command.NewCommon(console().Environment)}
	got := strings.Join(s.lines(courseOf(e, nil, "east", minutes(12)), 8, 0), "\n")
	if strings.Count(got, "it comes after m-ledger") != mostReasons-1 || !strings.HasSuffix(got, "93 more do not continue: -o json has their reasons") {
		t.Errorf("%s", got)
	}
}

// TestBeforeItBegins: the plan is the forecast, and there is no picture yet.
func TestBeforeItBegins(t *testing.T) {
	e, _ := halfway()
	e.Status = api.EvacuationStatus{}
	r := courseOf(e, nil, "east", minutes(0))
	if *r.LeftSeconds != 720 || r.Measured != 0 || r.chart() != nil || r.State != "" {
		t.Errorf("%+v", r)
	}
	if err := r.svg(nil); err == nil || command.ExitCode(err) != command.ExitStalled {
		t.Errorf("a picture: %v", err)
	}
}

// TestCoursePicture: the picture has the planned, the real and the expected times, and is valid XML. A long name is
// shortened, and a tooltip has all of it.
func TestCoursePicture(t *testing.T) {
	e, migrations := halfway()
	long := strings.Repeat("long-", 12)
	migrations[1].Spec.Source.Name = long
	r := courseOf(e, migrations, "east", minutes(12))
	image, err := chart.SVG(*r.chart())
	if err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal([]byte(image), new(struct{})); err != nil {
		t.Error(err)
	}
	for _, want := range []string{`class="planned"`, `class="expected"`, "</title>! m-ledger</text>", "<title>Stalled: BudgetZero: none may be down</title>", "<title>shop/" + long + ", planned from", "…", "expected until 2026-01-01 12:16:00"} {
		if !strings.Contains(string(image), want) {
			t.Errorf("the picture lacks %q:\n%s", want, image)
		}
	}
}

// TestForeignNames: the API accepts any text as the name of an entry. The page escapes it, and the terminal gets no escape
// sequence.
func TestForeignNames(t *testing.T) {
	e, migrations := halfway()
	foreign := "<img src=x onerror=alert(1)>\x1b[2J\u202e"
	e.Spec.Migrations[3].Name, e.Status.Migrations[3].Name, e.Status.Migrations[3].Message = foreign, foreign, foreign
	r := courseOf(e, migrations, "east", minutes(12))
	html, err := page.HTML(r.page())
	if err != nil {
		t.Fatal(err)
	}
	if text := string(html); strings.Contains(text, "<img") || !strings.Contains(text, "&lt;img src=x") || strings.ContainsAny(text, "\x1b\u202e") {
		t.Errorf("the page has %q", text)
	}
	c := console()
	s := &Screen{Common: command.NewCommon(c.Environment), Format: "table"}
	if _, err := fmt.Fprintln(printable.NewWriter(s.Out), strings.Join(s.lines(r, 4, 0), "\n")); err != nil {
		t.Fatal(err)
	}
	if text := c.Stdout.String(); strings.ContainsAny(text, "\x1b\u202e") || !strings.Contains(text, "<img src=x") {
		t.Errorf("the terminal gets %q", text)
	}
}

// TestCourseForPrograms: the document has the planned, the real and the expected times.
func TestCourseForPrograms(t *testing.T) {
	e, migrations := halfway()
	data, err := json.Marshal(courseOf(e, migrations, "east", minutes(12)))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		LeftSeconds, PlannedSeconds float64
		MeasuredHandoffs            int
		Migrations                  []struct {
			Started, Ended *time.Time
			Planned        struct{ BeginSeconds, EndSeconds int }
			Expected       *struct{ Begin, End time.Time }
		}
	}
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	web := got.Migrations[1]
	if got.PlannedSeconds != 720 || got.LeftSeconds == 0 || got.MeasuredHandoffs != 6 || web.Planned.BeginSeconds != 240 || web.Started == nil || web.Ended != nil || web.Expected == nil {
		t.Errorf("%s", data)
	}
}
