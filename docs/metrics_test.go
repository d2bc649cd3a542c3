package docs

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	_ "github.com/sliceshift/sliceshift/internal/clusters/fresh"
	"github.com/sliceshift/sliceshift/internal/metric"
	_ "github.com/sliceshift/sliceshift/migration/engine"
	_ "github.com/sliceshift/sliceshift/slices"
)

const metricsIntro = `# Metrics

What the manager measures. [Monitoring](monitoring.md) says how it is scraped, and has alerts and a dashboard. The page is generated from
the registry (` + "`make generate`" + `).

Labels have few values, but for ` + "`namespace` and `name`" + `: those are of a Migration or of a StatefulSet, and the series go with it. They are gauges only.
The manager that leads serves all of this; the others serve the metrics without migrations.

Beside these there are those of the libraries, among them ` + "`leader_election_master_status{name=\"sliceshift\"}`" + ` (1 at the manager that leads),
` + "`workqueue_queue_duration_seconds` and `controller_runtime_reconcile_time_seconds`" + ` with the controllers ` + "`migration` and `slice`" + `, and
` + "`rest_client_requests_total{code,method,host}`" + ` of all requests to all clusters, the manager's own among them.
`

// TestMetrics: metrics.md describes every metric and its use. With -update it writes the page.
func TestMetrics(t *testing.T) {
	page := metricsPage(t, metric.All())
	if *update {
		if err := os.WriteFile("metrics.md", []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if page != read(t, "metrics.md") {
		t.Error("metrics.md is not what the registry has: run make generate")
	}
}

func metricsPage(t *testing.T, all []metric.Definition) string {
	t.Helper()
	var page strings.Builder
	page.WriteString(metricsIntro)
	group := ""
	for _, m := range all {
		if m.Use == "" {
			t.Errorf("nobody says what %s is good for", m.Name)
		}
		if of := groupOf(m.Name); of != group {
			group = of
			fmt.Fprintf(&page, "\n## %s\n\n| metric | type, unit | labels | is | what to do with it |\n|---|---|---|---|---|\n", group)
		}
		labels := "none"
		if len(m.Labels) > 0 {
			labels = "`" + strings.Join(m.Labels, "`, `") + "`"
		}
		fmt.Fprintf(&page, "| `%s` | %s, %s | %s | %s | %s |\n", m.Name, m.Kind, unitOf(m.Name), labels, cellOf(m.Help), cellOf(m.Use))
	}
	return page.String()
}

func groupOf(name string) string {
	switch {
	case strings.HasPrefix(name, "sliceshift_migration"):
		return "Migrations"
	case strings.HasPrefix(name, "sliceshift_statefulset_"):
		return "StatefulSets of our kind"
	default:
		return "Clusters"
	}
}

func unitOf(name string) string {
	for _, unit := range []struct{ suffix, is string }{
		{"_timestamp_seconds", "seconds since 1970"},
		{"_seconds", "seconds"},
		{"_replicas", "replicas"},
		{"_unavailable", "replicas"},
		{"_requests_total", "requests"},
		{"_writes_total", "writes"},
		{"_stalls_total", "stalls"},
		{"_rollouts_total", "roll-outs"},
		{"_total", "handoffs"},
		{"_is", "0 or 1"},
		{"_start", "ordinal"},
		{"sliceshift_migrations", "migrations"},
		{"_stalled", "migrations"},
	} {
		if strings.HasSuffix(name, unit.suffix) {
			return unit.is
		}
	}
	if strings.Contains(name, "_ordinals") {
		return "ordinals"
	}
	return "number"
}

// TestMetricNames: names, types and help texts follow the conventions of Prometheus.
func TestMetricNames(t *testing.T) {
	kinds := map[metric.Kind]dto.MetricType{
		metric.KindCounter: dto.MetricType_COUNTER, metric.KindGauge: dto.MetricType_GAUGE, metric.KindHistogram: dto.MetricType_HISTOGRAM,
	}
	var families []*dto.MetricFamily
	for _, m := range metric.All() {
		one := &dto.Metric{}
		for _, label := range m.Labels {
			one.Label = append(one.Label, &dto.LabelPair{Name: new(label), Value: new("")})
		}
		families = append(families, &dto.MetricFamily{Name: new(m.Name), Help: new(m.Help), Type: new(kinds[m.Kind]), Metric: []*dto.Metric{one}})
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range problems {
		t.Errorf("%s: %s", problem.Metric, problem.Text)
	}
}

// TestMetricsAreListed: the page names every metric of ours that is served.
func TestMetricsAreListed(t *testing.T) {
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	page := read(t, "metrics.md")
	for _, family := range families {
		if name := family.GetName(); strings.HasPrefix(name, "sliceshift_") && !strings.Contains(page, "| `"+name+"` |") {
			t.Errorf("%s is not registered by package metric", name)
		}
	}
}

// cellOf escapes a text for the cell of a table.
func cellOf(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace(text)
}
