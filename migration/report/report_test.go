package report_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/golden"
	"github.com/sliceshift/sliceshift/migration/report"
	"github.com/sliceshift/sliceshift/migration/report/page"
)

var (
	noon  = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	place = report.Place{Cluster: "east", Record: "ConfigMap shop/sliceshift-web", Destination: "west"}
)

func at(seconds int) metav1.Time {
	return metav1.NewTime(noon.Add(time.Duration(seconds) * time.Second))
}
func micro(seconds int) metav1.MicroTime { return metav1.NewMicroTime(at(seconds).Time) }

// underway returns a migration of three ordinals: one has moved, one was moved back, and one is in flight and
// has stopped.
func underway() *api.Migration {
	m := &api.Migration{}
	m.Namespace, m.Name = "shop", "web"
	m.Spec.Source.Name, m.Spec.Mode = "web", api.ModeRun
	m.Status = api.MigrationStatus{
		Baseline: &api.Baseline{Replicas: 3, Budget: 1, StartTime: at(0)},
		Fence:    &api.Fence{Epoch: 2, Holder: "laptop-b", Direction: api.Forward},
		Handoff:  &api.Handoff{Ordinal: 1, Step: api.StepAwaitReadiness, StartTime: micro(60), Attempts: 2, FewestAvailable: new(int32(1))},
		Source:   &api.SliceStatus{Replicas: 1, Available: 1}, Destination: &api.SliceStatus{Start: 1, Replicas: 2, Available: 1},
		Moved: 1, Total: 3,
		Warnings: []api.Warning{{Check: "storage", Reason: "VolumeIsLocal", Object: "volume pv", Message: "volume pv is a path on a machine", Remedy: "none"}},
		History: &api.History{
			Stopped:  &api.StoppedOrdinal{Ordinal: 1, StopTime: micro(70)},
			Seals:    []api.PastSeal{{Ordinal: 2, ClaimTemplate: "data", Direction: api.Forward, EndTime: micro(45), Root: "blake3:3f9a", Verify: api.CopyVerifyFull, Bytes: 4096, Files: 3}},
			Handoffs: []api.PastHandoff{{Ordinal: 2, Direction: api.Forward, StartTime: micro(5), EndTime: micro(45), Attempts: 1, Epoch: 1, FewestAvailable: new(int32(2))}},
			Stops:    []api.PastStop{{Reason: api.ReasonPaused, Message: "mode is Pause; ordinal 1 is next", StartTime: at(45), EndTime: at(60)}},
			Drivers: []api.Driver{
				{Epoch: 1, Holder: "laptop-a", Direction: api.Forward, StartTime: at(0)},
				{Epoch: 2, Holder: "laptop-b", Direction: api.Forward, StartTime: at(50)},
			},
		},
		Conditions: []metav1.Condition{{Type: api.ConditionProgressing, Status: metav1.ConditionFalse, Reason: api.ReasonPodNotReady, Message: "ordinal 1 has been at AwaitReadiness for longer than 10s", LastTransitionTime: at(80)}},
	}
	return m
}

// moved returns the same migration after its end.
func moved() *api.Migration {
	m := underway()
	m.Status.Handoff = nil
	m.Status.Source, m.Status.Destination = &api.SliceStatus{}, &api.SliceStatus{Replicas: 3, Available: 3}
	m.Status.Moved = 3
	h := m.Status.History
	h.Stopped = nil
	h.Handoffs = append(h.Handoffs,
		api.PastHandoff{Ordinal: 1, Direction: api.Forward, StartTime: micro(60), StopTime: micro(70), ReadyTime: micro(88), EndTime: micro(100), Attempts: 2, Epoch: 2, FewestAvailable: new(int32(1))},
		api.PastHandoff{Ordinal: 0, Direction: api.Forward, StartTime: micro(100), EndTime: micro(112), Attempts: 1, Epoch: 2, FewestAvailable: new(int32(2))})
	h.Seals = append(h.Seals,
		api.PastSeal{Ordinal: 1, ClaimTemplate: "data", Direction: api.Forward, EndTime: micro(100), Root: "blake3:77aa", Verify: api.CopyVerifyChanged, Bytes: 8192, Files: 4, Trusted: 12288},
		api.PastSeal{Ordinal: 0, ClaimTemplate: "data", Direction: api.Forward, EndTime: micro(112), Root: "snapshot:b1"})
	h.Stops = append(h.Stops, api.PastStop{Reason: api.ReasonPodNotReady, Message: "ordinal 1 has been at AwaitReadiness for longer than 10s", Ordinal: new(int32(1)), StartTime: at(80), EndTime: at(100)})
	m.Status.Conditions = []metav1.Condition{{Type: api.ConditionCompleted, Status: metav1.ConditionTrue, Reason: api.ReasonMoved, LastTransitionTime: at(120)}}
	return m
}

const log = `{"time":"2026-03-01T11:00:00Z","kind":"Written","verb":"ScaleDown","ordinal":2,"message":"of an earlier move"}
{"time":"2026-03-01T12:00:01Z","kind":"Written","verb":"WriteFence","side":"source","object":"statefulset/web","message":"claim StatefulSet web on the source"}
{"time":"2026-03-01T12:00:20Z","kind":"Written","verb":"ScaleDown","side":"source","object":"statefulset/web","ordinal":2,"message":"stop ordinal 2 on the source: StatefulSet web becomes [0,2)"}

{"time":"2026-03-01T12:00:45Z","kind":"OrdinalDone","ordinal":2,"seconds":40,"message":"ordinal 2 is available"}
{"time":"2026-03-01T12:00:55Z","ki`

func TestDocuments(t *testing.T) {
	entries, err := report.ReadLog(strings.NewReader(log))
	if err != nil {
		t.Fatal(err)
	}
	fresh := &api.Migration{}
	fresh.Namespace, fresh.Name, fresh.Spec.Source.Name, fresh.Status.Total = "shop", "web", "web", 3
	for name, r := range map[string]report.Report{
		"moved":    report.Of(moved(), place, at(3600).Time).WithLog(entries),
		"underway": report.Of(underway(), place, at(90).Time),
		"fresh":    report.Of(fresh, place, noon),
		"turned":   report.Of(turned(), place, at(3600).Time),
	} {
		t.Run(name, func(t *testing.T) {
			golden.Compare(t, name+".md", string(page.Markdown(r.Page())))
			html, err := page.HTML(r.Page())
			if err != nil {
				t.Fatal(err)
			}
			golden.Compare(t, name+".html", string(html))
			var b bytes.Buffer
			encoder := json.NewEncoder(&b)
			encoder.SetIndent("", "  ")
			if err := encoder.Encode(r); err != nil {
				t.Fatal(err)
			}
			golden.Compare(t, name+".json", b.String())
		})
	}
}

// TestItsOwnOrdinalWasDown: a handoff that was too short to be observed never had all replicas available.
func TestItsOwnOrdinalWasDown(t *testing.T) {
	m := moved()
	for i := range m.Status.History.Handoffs {
		m.Status.History.Handoffs[i].FewestAvailable = new(int32(3))
	}
	m.Status.History.Handoffs[0].FewestAvailable = nil
	r := report.Of(m, place, noon)
	if r.FewestAvailable == nil || *r.FewestAvailable != 2 || *r.Handoffs[1].FewestAvailable != 2 || r.Handoffs[0].FewestAvailable != nil {
		t.Errorf("%+v", r.Handoffs)
	}
}

// TestDroppedHandoffs: handoffs that the status does not list any more are taken from the log.
func TestDroppedHandoffs(t *testing.T) {
	m := moved()
	m.Status.History.Handoffs, m.Status.History.Dropped = m.Status.History.Handoffs[1:], 1
	entries, err := report.ReadLog(strings.NewReader(log))
	if err != nil {
		t.Fatal(err)
	}
	if got := report.Of(m, place, noon); got.DroppedHandoffs != 1 || len(got.Handoffs) != 2 {
		t.Fatalf("%d dropped, %d listed", got.DroppedHandoffs, len(got.Handoffs))
	}
	got := report.Of(m, place, noon).WithLog(entries)
	end := at(45).UTC()
	stopped := at(20).UTC() // as the log has its write
	want := report.Handoff{Ordinal: 2, Direction: api.Forward, Start: at(5).UTC(), Stopped: &stopped, End: &end, By: "laptop-a"}
	if diff := cmp.Diff(want, got.Handoffs[0]); diff != "" || got.DroppedHandoffs != 0 || len(got.Handoffs) != 3 {
		t.Errorf("%d dropped, -want +got:\n%s", got.DroppedHandoffs, diff)
	}
}

// TestDroppedSeals: seals that the status does not list any more are taken from the log, except for that of a
// reversed handoff.
func TestDroppedSeals(t *testing.T) {
	const log = `{"time":"2026-03-01T12:00:10Z","kind":"Sealed","ordinal":2,"seal":{"claimTemplate":"data","root":"blake3:first","bytes":1},"message":""}
{"time":"2026-03-01T12:00:20Z","kind":"Sealed","ordinal":2,"seal":{"claimTemplate":"data","root":"blake3:3f9a","bytes":4096,"files":3,"verify":"Full"},"message":""}
{"time":"2026-03-01T12:00:45Z","kind":"OrdinalDone","ordinal":2,"seconds":40,"message":""}
{"time":"2026-03-01T12:00:48Z","kind":"Sealed","ordinal":1,"seal":{"claimTemplate":"data","root":"blake3:turned"},"message":""}
{"time":"2026-03-01T12:01:40Z","kind":"OrdinalDone","ordinal":1,"message":""}`
	entries, err := report.ReadLog(strings.NewReader(log))
	if err != nil {
		t.Fatal(err)
	}
	m := moved()
	h := m.Status.History
	h.Drivers[1].Direction = api.Back
	h.Seals, h.DroppedSeals = nil, 2
	got := report.Of(m, place, noon).WithLog(entries)
	want := []report.Seal{{Ordinal: 2, Direction: api.Forward, Time: at(45).UTC(), Sealed: report.Sealed{ClaimTemplate: "data", Root: "blake3:3f9a", Verify: api.CopyVerifyFull, Bytes: 4096, Files: 3}}}
	if diff := cmp.Diff(want, got.Seals); diff != "" || got.DroppedSeals != 1 {
		t.Errorf("%d dropped, -want +got:\n%s", got.DroppedSeals, diff)
	}
	h.DroppedSeals = -1 // edited by hand
	if got := report.Of(m, place, noon).WithLog(entries); len(got.Seals) > 0 {
		t.Errorf("got %+v", got.Seals)
	}
}

// TestLogOfALaterRun: a log that only has entries of the status adds nothing to it, and hides no dropped
// entries.
func TestLogOfALaterRun(t *testing.T) {
	const log = `{"time":"2026-03-01T12:01:50Z","kind":"Sealed","ordinal":0,"seal":{"claimTemplate":"data","root":"blake3:0"},"message":""}
{"time":"2026-03-01T12:01:52.5Z","kind":"OrdinalDone","ordinal":0,"seconds":12,"message":""}`
	entries, err := report.ReadLog(strings.NewReader(log))
	if err != nil {
		t.Fatal(err)
	}
	m := moved()
	h := m.Status.History
	h.Seals, h.DroppedSeals = h.Seals[2:], 2
	h.Handoffs, h.Dropped = h.Handoffs[2:], 2
	got := report.Of(m, place, noon).WithLog(entries)
	if len(got.Seals) != 1 || got.DroppedSeals != 2 || len(got.Handoffs) != 1 || got.DroppedHandoffs != 2 {
		t.Errorf("%d seals and %d handoffs are listed, %d and %d are not", len(got.Seals), len(got.Handoffs), got.DroppedSeals, got.DroppedHandoffs)
	}
}

// TestReadLog: a line that is not an entry is an error, unless it was cut off.
func TestReadLog(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want int
		err  string
	}{
		"nothing":          {"", 0, ""},
		"cut off":          {"{\"kind\":\"Written\"}\n{\"ki", 1, ""},
		"cut off within":   {"{\"kind\":\"Written\"}\n{\"ki\n{\"kind\":\"Written\"}\n", 2, ""},
		"of another type":  {"{\"kind\":1}\n", 0, "line 1 is no entry"},
		"broken within":    {"{\"kind\":\"Written\"}\nmoving\n{\"kind\":\"Written\"}\n", 0, "line 2 is no entry"},
		"a line too long":  {strings.Repeat("x", 2<<20), 0, "too long"},
		"of another shape": {"[]\n{}\n", 0, "line 1 is no entry"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := report.ReadLog(strings.NewReader(tc.text))
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("error %v, want %q", err, tc.err)
				}
				return
			}
			if err != nil || len(got) != tc.want {
				t.Errorf("%d entries, %v", len(got), err)
			}
		})
	}
}
