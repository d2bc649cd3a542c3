package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTiming(t *testing.T) {
	begin := time.Unix(0, 0)
	taken := timing{begin: begin, arrived: []time.Time{begin.Add(time.Second), begin.Add(4 * time.Second), begin.Add(6 * time.Second)}}
	if got := taken.perOrdinal(); got != 2 {
		t.Errorf("perOrdinal: %v, want 2", got)
	}
	if diff := cmp.Diff([]float64{1, 3, 2}, taken.singles()); diff != "" {
		t.Errorf("singles (-want +got):\n%s", diff)
	}
}

func TestSpread(t *testing.T) {
	for name, tc := range map[string]struct {
		values []float64
		want   spread
	}{
		"none": {},
		"odd":  {[]float64{3, 1, 2}, spread{1, 2, 3}},
		"even": {[]float64{4, 1, 3, 2}, spread{1, 2.5, 4}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, spreadOf(tc.values)); diff != "" {
				t.Errorf("spread (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSumWrites(t *testing.T) {
	const metrics = `# HELP rest_client_requests_total Number of HTTP requests
# TYPE rest_client_requests_total counter
rest_client_requests_total{code="200",host="127.0.0.1:1",method="GET"} 70
rest_client_requests_total{code="200",host="127.0.0.1:1",method="PATCH"} 12
rest_client_requests_total{code="409",host="127.0.0.1:2",method="PUT"} 1
rest_client_requests_total{code="201",host="127.0.0.1:2",method="POST"} 1e+01
rest_client_retries_total{method="POST"} 5
`
	got, err := sumWrites(strings.NewReader(metrics))
	if err != nil || got != 23 {
		t.Errorf("%d writes and error %v, want 23", got, err)
	}
	if _, err := sumWrites(strings.NewReader("")); err == nil {
		t.Error("metrics without the counter were taken for no writes")
	}
}

func TestGoals(t *testing.T) {
	for name, tc := range map[string]struct {
		row     row
		verdict string
		missed  bool
	}{
		"reached":    {judged("f", "%.0f", 2, 2, ""), "ok", false},
		"missed":     {judged("f", "%.0f", 3, 2, ""), "MISSED", true},
		"aim missed": {aimed("f", "%.0f", 3, 2), "MISSED", false},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.row.verdict != tc.verdict || tc.row.missed != tc.missed {
				t.Errorf("verdict %q, missed %t", tc.row.verdict, tc.row.missed)
			}
		})
	}
}
