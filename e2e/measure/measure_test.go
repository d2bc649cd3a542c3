package measure

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTiming(t *testing.T) {
	begin := time.Unix(0, 0)
	taken := Timing{Begin: begin, Arrived: []time.Time{begin.Add(time.Second), begin.Add(4 * time.Second), begin.Add(6 * time.Second)}}
	if got := taken.PerOrdinal(); got != 2 {
		t.Errorf("PerOrdinal: %v, want 2", got)
	}
	if diff := cmp.Diff([]float64{1, 3, 2}, taken.Singles()); diff != "" {
		t.Errorf("Singles (-want +got):\n%s", diff)
	}
}

func TestSpread(t *testing.T) {
	for name, tc := range map[string]struct {
		values []float64
		want   Spread
	}{
		"none": {},
		"odd":  {[]float64{3, 1, 2}, Spread{1, 2, 3}},
		"even": {[]float64{4, 1, 3, 2}, Spread{1, 2.5, 4}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, SpreadOf(tc.values)); diff != "" {
				t.Errorf("spread (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSumRequests(t *testing.T) {
	const metrics = `# HELP rest_client_requests_total Number of HTTP requests
# TYPE rest_client_requests_total counter
rest_client_requests_total{code="200",host="127.0.0.1:1",method="GET"} 70
rest_client_requests_total{code="200",host="127.0.0.1:1",method="PATCH"} 12
rest_client_requests_total{code="409",host="127.0.0.1:2",method="PUT"} 1
rest_client_requests_total{code="201",host="127.0.0.1:2",method="POST"} 1e+01
rest_client_requests_total{code="<error>",host="127.0.0.1:2",method="POST"} 2
rest_client_retries_total{method="POST"} 5
`
	got, err := sumRequests(strings.NewReader(metrics))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Counts{Reads: 70, Writes: 25, Refused: 3}, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if _, err := sumRequests(strings.NewReader("")); err == nil {
		t.Error("metrics without the counter were taken for no requests")
	}
}

func TestParseStat(t *testing.T) {
	const stat = "7 (a) b (c) S 1 7 7 0 -1 4194560 1 0 0 0 250 50 0 0 20 0 9 0 100"
	if got, err := parseStat(stat); err != nil || got != 3 {
		t.Errorf("%v seconds and error %v, want 3", got, err)
	}
	if _, err := parseStat("7 (a) S 1"); err == nil {
		t.Error("half a line was taken")
	}
}

func TestGoals(t *testing.T) {
	for name, tc := range map[string]struct {
		row     Row
		verdict string
		missed  bool
	}{
		"reached":    {Judged("f", "%.0f", 2, 2, ""), "ok", false},
		"missed":     {Judged("f", "%.0f", 3, 2, ""), "MISSED", true},
		"too few":    {AtLeast("f", "%.0f", 1, 2, "").Aim("%.0f", 3), "MISSED", true},
		"enough":     {AtLeast("f", "%.0f", 2, 2, "").Aim("%.0f", 3), "ok", false},
		"aim missed": {Aimed("f", "%.0f", 3, 2), "MISSED", false},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.row.Verdict != tc.verdict || tc.row.Missed != tc.missed {
				t.Errorf("verdict %q, missed %t", tc.row.Verdict, tc.row.Missed)
			}
		})
	}
}

// TestShippedEnvironment: the measured manager has the shipped limits.
func TestShippedEnvironment(t *testing.T) {
	got, err := shippedEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"GOMEMLIMIT=400MiB"}, got); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}

// TestDryRunsAreNoWrites: a dry run is counted separately, even if it is refused, and a watch is not counted.
func TestDryRunsAreNoWrites(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/refused" {
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	defer server.Close()
	sent := &Requests{}
	count := &counter{sent, http.DefaultTransport}
	for _, each := range []struct{ method, path string }{
		{http.MethodGet, "/"},
		{http.MethodGet, "/?watch=true"},
		{http.MethodPost, "/"},
		{http.MethodPost, "/refused"},
		{http.MethodPost, "/?dryRun=All"},
		{http.MethodPatch, "/refused?dryRun=All"},
	} {
		request, err := http.NewRequestWithContext(t.Context(), each.method, server.URL+each.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := count.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
	}
	if diff := cmp.Diff(Counts{Reads: 1, Writes: 2, Refused: 1, DryRuns: 2}, sent.Counts()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}
