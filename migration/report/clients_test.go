package report

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/report/page"
)

// TestProbeText: the result of a probe in one sentence.
func TestProbeText(t *testing.T) {
	at := metav1.NewMicroTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	for want, p := range map[string]api.ProbeStatus{
		"0 of 1,204 requests failed; p50 4 ms, p99 12 ms, longest 1,230 ms": {ClientRequests: api.ClientRequests{Requests: 1204, P50Milliseconds: 4, P99Milliseconds: 12, LongestMilliseconds: 1230}},
		"none of 2 requests is answered yet":                                {ClientRequests: api.ClientRequests{Unanswered: 2}},
		"0 of 5 requests failed (2 not answered yet)":                       {ClientRequests: api.ClientRequests{Requests: 5, Unanswered: 2}},
		"3 of 90,412 requests failed; p99 120 ms":                           {ClientRequests: api.ClientRequests{Requests: 90412, Failed: 3, P99Milliseconds: 120}},
		"0 of 7 requests failed; Prometheus https://p gives no answer":      {ClientRequests: api.ClientRequests{Requests: 7}, Message: "Prometheus https://p gives no answer"},
		"no request is sent: probe.url is no URL":                           {Message: "no request is sent: probe.url is no URL"},
		"3 of 3 requests failed, for 2.1s in a row at most; the last failure, at 2026-01-02 03:04:05: it does not answer": {
			ClientRequests: api.ClientRequests{Requests: 3, Failed: 3, OutageMilliseconds: 2100}, Message: "it does not answer", FailureTime: at,
		},
	} {
		if got := ProbeText(p); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := grouped(n); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestClients: the report has the probe's result in total and for each handoff, from the status or the log of a
// run. Without a probe it does not mention clients.
func TestClients(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	m := &api.Migration{Spec: api.MigrationSpec{Probe: &api.ProbeSpec{URL: "https://shop.example/"}}}
	m.Status = api.MigrationStatus{
		Baseline: &api.Baseline{StartTime: metav1.NewTime(began), Replicas: 3},
		Probe:    &api.ProbeStatus{ClientRequests: api.ClientRequests{Requests: 1204, Failed: 1}},
		History: &api.History{Dropped: 1, Handoffs: []api.PastHandoff{
			{Ordinal: 1, StartTime: metav1.NewMicroTime(began.Add(20 * time.Second)), EndTime: metav1.NewMicroTime(began.Add(30 * time.Second)), Clients: &api.ClientRequests{Requests: 80, Failed: 1, OutageMilliseconds: 500}},
			{Ordinal: 0, StartTime: metav1.NewMicroTime(began.Add(40 * time.Second)), EndTime: metav1.NewMicroTime(began.Add(50 * time.Second))},
		}},
	}
	log, err := ReadLog(strings.NewReader(`{"time":"2026-01-02T03:00:10Z","kind":"OrdinalDone","ordinal":2,"seconds":5,"message":"","clients":{"requests":7}}`))
	if err != nil {
		t.Fatal(err)
	}
	text := string(page.Markdown(Of(m, Place{}, began.Add(time.Minute)).WithLog(log).Page()))
	for _, want := range []string{"1 of 1,204 requests failed", "https://shop.example/", "1 of 80 requests failed, for 500ms", "0 of 7 requests failed", "not measured"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
	m.Status.Probe, m.Status.History.Handoffs[0].Clients = nil, nil
	if text := string(page.Markdown(Of(m, Place{}, began.Add(time.Minute)).Page())); strings.Contains(text, "lients") {
		t.Errorf("nothing was measured:\n%s", text)
	}
}
