package move

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/migration/report"
)

// TestP1ProbeThatHangs: requests without an answer are counted and explained, and the move makes the same
// writes as without a probe.
func TestP1ProbeThatHangs(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(server.Close)
	_, plain := moved(t)
	v, probed := moved(t, "--probe", server.URL)
	if !slices.Equal(plain, probed) {
		t.Errorf("with a probe it writes\n%s\nand without\n%s", strings.Join(probed, "\n"), strings.Join(plain, "\n"))
	}
	var r report.Report
	v.Must(json.Unmarshal([]byte(v.exits(v.cli("report", "-o", "json"), 0)), &r))
	c := r.Clients
	if r.Outcome != api.ReasonMoved || c == nil || c.Failed == 0 || c.Failed != c.Requests || !strings.Contains(c.Message, "gives no answer within 2s") || !strings.Contains(c.Message, "curl ") {
		t.Errorf("%s: %+v", r.Outcome, c)
	}
	for _, h := range r.Handoffs {
		if h.Clients == nil {
			t.Errorf("ordinal %d: %+v", h.Ordinal, h.Clients)
		}
	}
}

// TestP1ProbeOfAManager: where its settings allow it, a manager sends the requests of a Migration's probe or
// queries its Prometheus server. The record holds the results, per ordinal where requests were sent.
func TestP1ProbeOfAManager(t *testing.T) {
	var requests atomic.Int64
	shop := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	t.Cleanup(shop.Close)
	metrics := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		value := map[string]string{"requests": "1204", "failed": "3"}[r.FormValue("query")]
		_, _ = fmt.Fprintf(w, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,%q]}]}}`, value)
	}))
	t.Cleanup(metrics.Close)
	for name, tc := range map[string]struct {
		probe   api.ProbeSpec
		correct func(api.MigrationStatus) bool
	}{
		"URL": {api.ProbeSpec{URL: shop.URL}, func(s api.MigrationStatus) bool {
			return s.Probe.Failed == 0 && s.Probe.Requests > 0 && s.Probe.Requests <= requests.Load() &&
				!slices.ContainsFunc(s.History.Handoffs, func(h api.PastHandoff) bool { return h.Clients == nil })
		}},
		"Prometheus": {api.ProbeSpec{Prometheus: &api.PrometheusProbe{PrometheusServer: api.PrometheusServer{Address: metrics.URL}, Requests: "requests", Failed: "failed"}}, func(s api.MigrationStatus) bool {
			return s.Probe.Requests == 1204 && s.Probe.Failed == 3
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newMove(t, harness.Usual(2), harness.AcrossClusters)
			v.Migration.Spec.Probe = &tc.probe
			c := v.Managed()
			harness.StartManager(t, v.App.Namespace, "--gates-probes", shop.URL, "--gates-prometheus", metrics.URL)
			v.Must(c.Create(v.Ctx, v.Migration))
			v.awaitMoved(c)
			v.Must(c.Get(v.Ctx, client.ObjectKeyFromObject(v.Migration), v.Migration))
			if s := v.Migration.Status; s.Probe == nil || s.Probe.Message != "" || !tc.correct(s) {
				t.Errorf("%+v", s.Probe)
			}
		})
	}
}

// moved runs the command to its end and returns its writes in order.
func moved(t *testing.T, more ...string) (*move, []string) {
	t.Helper()
	v := newMove(t, harness.Usual(3), harness.AcrossClusters)
	log := filepath.Join(t.TempDir(), "web.log")
	v.exits(v.cli("run", append([]string{"--log", log, "--min-ready", "1s"}, more...)...), 0)
	v.ExpectMovedCleanly()
	file, err := os.Open(log)
	v.Must(err)
	defer file.Close()
	entries, err := report.ReadLog(file)
	v.Must(err)
	var writes []string
	for _, e := range entries {
		if e.Kind == "Written" {
			ordinal := int32(-1)
			if e.Ordinal != nil {
				ordinal = *e.Ordinal
			}
			writes = append(writes, fmt.Sprintf("%d %s %s", ordinal, e.Side, e.Verb))
		}
	}
	return v, slices.Compact(writes) // a write that meets a conflict is repeated
}
