package engine

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/health"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// probed returns a migration that has begun, with a probe.
func probed(url string) *api.Migration {
	m := &api.Migration{Spec: api.MigrationSpec{Probe: &api.ProbeSpec{URL: url}}}
	m.Status.Baseline = &api.Baseline{StartTime: metav1.NewTime(time.Now().Add(-time.Minute))}
	return m
}

// TestP1ClientsFollow: requests are sent from the beginning of a migration until its completion, except while
// it is paused between two ordinals. A changed URL takes effect.
func TestP1ClientsFollow(t *testing.T) {
	completed := metav1.Condition{Type: api.ConditionCompleted, Status: metav1.ConditionTrue, Reason: api.ReasonMoved}
	c := clients{clock: clock.RealClock{}, access: Access{Probes: health.Addresses{Any: true}}}
	t.Cleanup(c.close)
	m := probed("http://127.0.0.1:1/")
	for _, step := range []struct {
		name   string
		change func()
		sends  bool
	}{
		{"not begun", func() { m.Status.Baseline = nil }, false},
		{"begun", func() { m.Status.Baseline = probed("").Status.Baseline }, true},
		{"with an ordinal on its way", func() { m.Status.Handoff = &api.Handoff{Ordinal: 2} }, true},
		{"to be paused", func() { m.Spec.Mode = api.ModePause }, true},
		{"paused", func() { m.Status.Handoff = nil }, false},
		{"resumed", func() { m.Spec.Mode = api.ModeRun }, true},
		{"without a probe", func() { m.Spec.Probe = nil }, false},
		{"with another one", func() { m.Spec.Probe = &api.ProbeSpec{URL: "http://127.0.0.1:2/"} }, true},
		{"completed", func() { m.Status.Conditions = []metav1.Condition{completed} }, false},
	} {
		step.change()
		if c.follow(m); (c.stop != nil) != step.sends {
			t.Errorf("%s: requests are sent: %t", step.name, c.stop != nil)
		}
		if c.stop != nil && c.asked.URL != m.Spec.Probe.URL {
			t.Errorf("%s: it requests %s", step.name, c.asked.URL)
		}
	}
}

// TestP1ClientsRefused: a URL that the manager's operator does not allow is reported in the status with a
// remedy, and no request is sent.
func TestP1ClientsRefused(t *testing.T) {
	c, m := clients{clock: clock.RealClock{}}, probed("http://shop.example/")
	c.follow(m)
	c.render(m, time.Now())
	if c.stop != nil || m.Status.Probe == nil || !strings.Contains(m.Status.Probe.Message, "no request is sent: spec.probe.url begins with http://") || !strings.Contains(m.Status.Probe.Message, "gates.probes") {
		t.Errorf("%+v", m.Status.Probe)
	}
}

// TestP1ClientsOfAPrometheus: a Prometheus server is queried for the StatefulSet and the time since the move
// began, and its result is reported. A server that is not allowed is not queried.
func TestP1ClientsOfAPrometheus(t *testing.T) {
	asked := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.FormValue("query")
		_, _ = io.WriteString(w, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"8"]}]}}`)
	}))
	t.Cleanup(server.Close)
	m := probed("")
	m.Namespace, m.Spec.Source.Name = "shop", "web"
	m.Spec.Probe.Prometheus = &api.PrometheusProbe{PrometheusServer: api.PrometheusServer{Address: server.URL}, Requests: "${namespace}/${statefulset}[${since}]", Failed: "f"}
	refused := clients{clock: clock.RealClock{}}
	if refused.follow(m); refused.stop != nil || !strings.Contains(refused.figures(time.Now()).Message, "gates.prometheus") {
		t.Errorf("%+v", refused.figures(time.Now()))
	}
	c := clients{clock: clock.RealClock{}, access: Access{Addresses: health.Addresses{Any: true}}}
	t.Cleanup(c.close)
	c.follow(m)
	if query := <-asked; !regexp.MustCompile(`^shop/web\[6[0-9]s\]$`).MatchString(query) {
		t.Errorf("it is asked %q", query)
	}
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 5*time.Second, true, func(context.Context) (bool, error) {
		return c.figures(time.Now()) != nil, nil
	})
	if got := c.figures(time.Now()); err != nil || got.Requests != 8 || got.Failed != 8 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestP1ClientsOfAMoveBefore: counts of an earlier move are not included.
func TestP1ClientsOfAMoveBefore(t *testing.T) {
	m := probed("http://127.0.0.1:1/")
	for before, want := range map[time.Duration]int64{-time.Hour: 0, 0: 7} {
		c := clients{clock: clock.RealClock{}}
		m.Status.Probe = &api.ProbeStatus{ClientRequests: api.ClientRequests{Requests: 7}, Time: metav1.NewMicroTime(time.Now().Add(before))}
		c.follow(m)
		if got := c.figures(time.Now()); got == nil || got.Requests != want {
			t.Errorf("%s: %+v, want %d", before, got, want)
		}
		c.close()
	}
}

// TestP1ClientsAreNoReasonToWrite: counts are written together with other changes, for each handoff too, even
// if its requests end after it.
func TestP1ClientsAreNoReasonToWrite(t *testing.T) {
	asked := make(chan struct{}, 100)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked <- struct{}{} }))
	t.Cleanup(server.Close)
	c, m := clients{clock: clock.RealClock{}, access: Access{Probes: health.Addresses{Any: true}}}, probed(server.URL)
	t.Cleanup(c.close)
	m.Status.Handoff = &api.Handoff{Ordinal: 2, StartTime: metav1.NewMicroTime(time.Now())}
	c.follow(m)
	for range 3 {
		<-asked
	}
	before := m.DeepCopy()
	before.Status.History = &api.History{Handoffs: []api.PastHandoff{{Ordinal: 2, StartTime: m.Status.Handoff.StartTime}, {Ordinal: 3}}}
	m.Status.Handoff, before.Status.Handoff = nil, nil
	c.follow(m)
	after := before.DeepCopy()
	c.render(after, time.Now())
	past := after.Status.History.Handoffs
	if after.Status.Probe == nil || past[0].Clients == nil || past[0].Clients.Requests+past[0].Clients.Unanswered < 3 || past[1].Clients != nil {
		t.Fatalf("%+v, %+v", after.Status.Probe, past)
	}
	if changed(before, after) {
		t.Error("it would be written at once")
	}
}

// fullProbe returns a probe status of the largest size.
func fullProbe() *api.ProbeStatus {
	figures := api.ClientRequests{Requests: 1 << 40, Failed: 1 << 40, Unanswered: 9, P50Milliseconds: 2000, P99Milliseconds: 2000, LongestMilliseconds: 2000, OutageMilliseconds: 1 << 40}
	p := &api.ProbeStatus{ClientRequests: figures, Moving: &figures, Message: strings.Repeat("m", 1024), Time: metav1.NowMicro(), FailureTime: metav1.NowMicro()}
	for range 32 {
		p.Latencies = append(p.Latencies, 1<<30)
	}
	return p
}

// TestP1StatusWithAProbe: the status of the longest move, with the probe counts of each handoff, is within the
// size limit.
func TestP1StatusWithAProbe(t *testing.T) {
	m := &api.Migration{}
	m.Status.History, m.Status.Probe = fullHistory(5000), fullProbe()
	for i := range m.Status.History.Handoffs {
		m.Status.History.Handoffs[i].Clients = m.Status.Probe.Moving
	}
	render(m, plan.Snapshot{}, plan.Decision{})
	const room = 9 << 10 // for the counts of each handoff, and the parts of the newest outages
	if got := sized(t, m); got > mostStatus+room {
		t.Errorf("its status has %d bytes", got)
	}
}
