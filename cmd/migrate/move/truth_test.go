package move

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/commandtest"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/movetest"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/progress"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/ui/board"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/ui/server"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/migration/report"
	"github.com/sliceshift/sliceshift/migration/view"
)

// soaking returns a run with one ordinal moved and one in flight, which was down for 9.3 s and has been Ready for 8 s.
func soaking() *api.Migration {
	ago := func(d time.Duration) metav1.MicroTime { return metav1.NewMicroTime(commandtest.Noon.Add(-d)) }
	m := movetest.InFlight()
	m.Status.Baseline.StartTime = metav1.NewTime(commandtest.Noon.Add(-10 * time.Minute))
	m.Status.Heartbeat = &api.Heartbeat{Time: metav1.NewTime(commandtest.Noon.Add(-5 * time.Second)), Mode: api.ModeRun}
	m.Status.History = &api.History{
		Stopped:  &api.StoppedOrdinal{Ordinal: 2, StopTime: ago(17300 * time.Millisecond), ReadyTime: ago(8 * time.Second)},
		Handoffs: []api.PastHandoff{{Ordinal: 3, Direction: api.Forward, StartTime: ago(5 * time.Minute), StopTime: ago(4 * time.Minute), ReadyTime: ago(230 * time.Second), EndTime: ago(3 * time.Minute), Attempts: 1}},
	}
	return m
}

// probed returns the same run with a probe that sent requests while both ordinals moved.
func probed() *api.Migration {
	m := soaking()
	m.Spec.Probe = &api.ProbeSpec{URL: "https://shop.example/"}
	m.Status.Probe = &api.ProbeStatus{
		ClientRequests: api.ClientRequests{Requests: 1204, P50Milliseconds: 4, P99Milliseconds: 12, LongestMilliseconds: 230},
		Moving:         &api.ClientRequests{Requests: 65}, Time: metav1.NewMicroTime(commandtest.Noon),
	}
	m.Status.History.Handoffs[0].Clients = &api.ClientRequests{Requests: 1139}
	return m
}

// shown holds the data that the page receives of a run.
type shown struct {
	exportedView
	Report  report.Report `json:"report"`
	Clients []string      `json:"clients"`
}

// opened is an open page. It is closed once it has received all data of one run.
type opened struct {
	*httptest.ResponseRecorder
	close context.CancelFunc
}

// SetWriteDeadline implements the method of a connection.
func (opened) SetWriteDeadline(time.Time) error { return nil }

// Write implements http.ResponseWriter.
func (o opened) Write(data []byte) (int, error) {
	if bytes.HasPrefix(data, []byte("event: one\n")) {
		o.close()
	}
	return o.ResponseRecorder.Write(data)
}

// pageOf sends the requests of a page that shows the run of shop/web.
func pageOf(t *testing.T, m *api.Migration) (got shown) {
	t.Helper()
	known := board.New()
	err := known.Show(m, true)
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(server.Options{Cluster: "east", Board: known, Clock: clocktesting.NewFakeClock(commandtest.Noon)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, closed := context.WithTimeout(t.Context(), time.Minute)
	defer closed()
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/api/events?one=run/shop/web", nil)
	r.Header.Set("Authorization", "Bearer "+s.Token())
	w := opened{httptest.NewRecorder(), closed}
	s.ServeHTTP(w, r)
	_, one, found := strings.Cut(w.Body.String(), "event: one\ndata: ")
	if !found {
		t.Fatalf("the page gets %d %s", w.Code, w.Body)
	}
	one, _, _ = strings.Cut(one, "\n")
	read(t, one, &got)
	return got
}

// TestV5OneRecordOneTruth: the table, the list, -o json, the live view, the report and the page show the same figures of
// one record: the number of moved ordinals, and the ordinal in flight with its outage and soak. They also agree on the
// remaining time, the time of the figures, the driver of the run, and the requests of clients.
func TestV5OneRecordOneTruth(t *testing.T) {
	kubeconfig := serveRecord(t, probed()).Kubeconfig(t)
	run := func(args ...string) string {
		t.Helper()
		c := newConsole(append(args, "--kubeconfig", kubeconfig)...)
		if code := c.Run(t); code != command.ExitDone {
			t.Fatalf("%v: exit code %d: %s", args, code, c.Stderr)
		}
		return c.Stdout.String()
	}
	var one exportedMigration
	read(t, run("status", "web", "-o", "json"), &one)
	got, asOf := one.View, commandtest.Noon.Add(-5*time.Second)
	const clients = "0 of 1,204 requests failed; p50 4 ms, p99 12 ms, longest 230 ms"
	agree := func(where string, have, want []any) {
		t.Helper()
		if diff := cmp.Diff(want, have); diff != "" {
			t.Errorf("%s: -want +got\n%s", where, diff)
		}
	}
	agree("-o json", []any{got.Moved, got.Total, got.Handoff.Ordinal, *got.Handoff.OutageSeconds, *got.Handoff.SoakSeconds, *got.LeftSeconds, *got.Driven, got.AsOf.UTC(), len(got.Ordinals)},
		[]any{int32(1), int32(4), int32(2), 9.3, 8.0, int64(265), true, asOf.UTC(), 4})
	agree("the status", []any{one.Kind, one.Status.Moved, one.Status.Total}, []any{"Migration", got.Moved, got.Total})
	var all exportedList
	read(t, run("status", "-o", "json"), &all)
	if len(all.Items) != 1 {
		t.Fatalf("the list has %+v", all)
	}
	agree("the list", []any{all.Kind, *all.Items[0].View.Handoff.OutageSeconds, all.Items[0].View.Now}, []any{"MigrationList", 9.3, got.Now})
	var told report.Report
	read(t, run("report", "web", "-o", "json"), &told)
	last := told.Handoffs[len(told.Handoffs)-1]
	agree("the report", []any{told.Moved, told.Total, last.Ordinal, *last.DownSeconds, *last.SoakSeconds, told.AsOf.UTC(), told.Undriven},
		[]any{got.Moved, got.Total, got.Handoff.Ordinal, *got.Handoff.OutageSeconds, *got.Handoff.SoakSeconds, got.AsOf.UTC(), ""})
	page := pageOf(t, probed())
	page.Time = got.Time // the page has a clock of its own
	if diff := cmp.Diff(got, page.exportedView, cmpopts.IgnoreUnexported(view.Row{})); diff != "" {
		t.Errorf("the page: -o json has -, it has +\n%s", diff)
	}
	agree("the page's report", []any{page.Report}, []any{told})
	agree("the page's clients", []any{page.Report.Clients.Text, page.Clients}, []any{clients, []string{"0 of 1,139 requests failed", "0 of 65 requests failed"}})
	live := strings.Join(progress.Draw(terminal.Bar{}, progress.Recorded(probed(), true, commandtest.Noon), commandtest.Noon, 100), "\n")
	for screen, tc := range map[string]struct {
		text string
		want []string
	}{
		"the list":  {run("status"), []string{"1/4", got.Now}},
		"the table": {run("status", "web"), []string{"1 of 4, about 4m25s left", "ordinal 2: wait until it is available", "was down for 9.3s, Ready for 8s", "2026-01-01T11:59:55Z, 5s ago", "3 of 4 available; 1 may be"}},
		"live":      {live, []string{"1/4 moved", "about 4m25s left", "ordinal 2", "was down for 9.3s, Ready for 8s", "3 of 4 available; 1 may be"}},
		"report":    {run("report", "web"), []string{"1 of 4 ordinals", "9.3s", "8s so far", "2026-01-01 11:59:55", clients, "0 of 1,139 requests failed"}},
	} {
		for _, want := range tc.want {
			if !strings.Contains(tc.text, want) {
				t.Errorf("%s does not say %q:\n%s", screen, want, tc.text)
			}
		}
	}
}

// TestV5NotDrivenEverywhere: a record without a driver is stalled in the view and in the report, without a remaining
// time. A Ready ordinal is not shown as down.
func TestV5NotDrivenEverywhere(t *testing.T) {
	m := soaking()
	m.Status.Heartbeat.Time = metav1.NewTime(commandtest.Noon.Add(-time.Hour))
	kubeconfig := serveRecord(t, m).Kubeconfig(t)
	out := map[string]string{}
	for _, kind := range []string{"status", "report"} {
		c := newConsole(kind, "web", "-o", "json", "--kubeconfig", kubeconfig)
		if code := c.Run(t); code != command.ExitStalled {
			t.Errorf("%s: exit code %d: %s", kind, code, c.Stderr)
		}
		out[kind] = c.Stdout.String()
	}
	var one exportedMigration
	read(t, out["status"], &one)
	if v := one.View; v.State != "stalled" || *v.Driven || v.LeftSeconds != nil || v.Now != "no process has driven this since 11:00:00 UTC" {
		t.Errorf("the view has %+v", v)
	}
	var told report.Report
	read(t, out["report"], &told)
	if !strings.HasPrefix(told.Undriven, one.View.Now+"; ") {
		t.Errorf("the report says %q", told.Undriven)
	}
}

func read(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
}
