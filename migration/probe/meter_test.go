package probe

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/health"
)

// prometheus answers each query with values: null is no series, a list is several, a text is the whole answer.
func prometheus(t *testing.T, answers map[string]any) (url string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, known := answers[r.FormValue("query")]
		if !known {
			t.Errorf("it is asked %q", r.FormValue("query"))
		}
		if whole, is := answer.(string); is && strings.HasPrefix(whole, "<") {
			_, _ = w.Write([]byte(whole))
			return
		}
		result := []any{}
		values, several := answer.([]any)
		if !several && answer != nil {
			values = []any{answer}
		}
		for _, value := range values {
			result = append(result, map[string]any{"metric": map[string]string{}, "value": []any{1, value}})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"status": "success", "data": map[string]any{"resultType": "vector", "result": result}})
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// asked returns a probe of three queries, one of them with the StatefulSet and the time.
func asked(url string) api.PrometheusProbe {
	return api.PrometheusProbe{PrometheusServer: api.PrometheusServer{Address: url}, Requests: `r{n="${namespace}",s="${statefulset}"}[${since}]`, Failed: "f", P99: "p"}
}

// TestP1Meter: the counts since the move began are reported. An unusable answer is reported with its reason,
// and the previous counts remain.
func TestP1Meter(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	about := About{StatefulSet: types.NamespacedName{Namespace: "shop", Name: "web"}, Began: began}
	for name, tc := range map[string]struct {
		requests, failed, p99 any
		want                  api.ClientRequests
		says                  string
	}{
		"counted":         {"1204.4", "3", "0.0121", api.ClientRequests{Requests: 1204, Failed: 3, P99Milliseconds: 13}, ""},
		"none failed":     {"1204", nil, "0.012", api.ClientRequests{Requests: 1204, P99Milliseconds: 12}, ""},
		"no latency":      {"1204", "0", nil, api.ClientRequests{Requests: 1204}, ""},
		"nothing counted": {nil, "0", "0", api.ClientRequests{Requests: 7}, "has counted nothing for probe.prometheus.requests; check the names"},
		"several series":  {[]any{"1", "2"}, "0", "0", api.ClientRequests{Requests: 7}, "answers probe.prometheus.requests with 2 series; let it add them up"},
		"NaN":             {"1204", "0", "NaN", api.ClientRequests{Requests: 7}, "answers probe.prometheus.p99 with NaN"},
		"less than none":  {"1204", "-1", "0", api.ClientRequests{Requests: 7}, "answers probe.prometheus.failed with -1"},
		"without an end":  {"+Inf", "0", "0", api.ClientRequests{Requests: 7}, "with +Inf"},
		"a page":          {"<html>secret</html>", "0", "0", api.ClientRequests{Requests: 7}, "does not answer as a Prometheus does; check probe.prometheus.address"},
	} {
		t.Run(name, func(t *testing.T) {
			url := prometheus(t, map[string]any{`r{n="shop",s="web"}[340s]`: tc.requests, "f": tc.failed, "p": tc.p99})
			m, err := NewMeter(asked(url), about, mine, health.Secrets{}, clocktesting.NewFakePassiveClock(began.Add(340*time.Second)))
			if err != nil {
				t.Fatal(err)
			}
			m.Continue(&api.ProbeStatus{ClientRequests: api.ClientRequests{Requests: 7}})
			m.ask(t.Context())
			got := m.Status()
			if got.ClientRequests != tc.want || !strings.Contains(got.Message, tc.says) || (got.Message == "") != (tc.says == "") || strings.Contains(got.Message, "secret") {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestP1MeterUnasked: an invalid probe is refused before any query, with the field and the remedy.
func TestP1MeterUnasked(t *testing.T) {
	with := func(change func(*api.PrometheusProbe)) api.ProbeSpec {
		p := asked("https://prometheus.example")
		change(&p)
		return api.ProbeSpec{Prometheus: &p}
	}
	for says, spec := range map[string]api.ProbeSpec{
		"":                               with(func(*api.PrometheusProbe) {}),
		"probe.prometheus.address is no": with(func(p *api.PrometheusProbe) { p.Address = "prometheus" }),
		"there is no ${pod}; there are":  with(func(p *api.PrometheusProbe) { p.P99 = "x{pod='${pod}'}" }),
		"by http the token could be read": with(func(p *api.PrometheusProbe) {
			p.Address, p.BearerTokenSecretRef = "http://p", &api.SecretKeyReference{}
		}),
		"caBundle holds no certificate in": with(func(p *api.PrometheusProbe) { p.CABundle = []byte("?") }),
		"probe.url is no URL":              {URL: "shop"},
	} {
		if err := Check(spec); (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", says, err)
		}
	}
}

// TestP1MeterStarts: it queries at once, and stops when it is stopped. Neither call waits for a server that
// hangs.
func TestP1MeterStarts(t *testing.T) {
	arrived := make(chan struct{}, 8)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm() // only then the server notices that the client has closed the connection
		arrived <- struct{}{}
		hanging(w, r)
	}))
	t.Cleanup(server.Close)
	m, err := NewMeter(asked(server.URL), About{}, mine, health.Secrets{}, clocktesting.NewFakePassiveClock(time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	stop := m.Start()
	<-arrived
	stop()
	if got := m.Status(); got != nil {
		t.Errorf("%+v", got)
	}
}

// TestP1MeterPanic: a panic while an answer is handled does not end the process, and the counts remain
// unchanged.
func TestP1MeterPanic(t *testing.T) {
	m := &Meter{clock: clocktesting.NewFakePassiveClock(time.Now())} // it panics: it has no server
	m.ask(t.Context())
	if got := m.Status(); got == nil || !strings.Contains(got.Message, "has failed inside of the process") {
		t.Errorf("%+v", got)
	}
}
