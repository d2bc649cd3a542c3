package docs

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/sliceshift/sliceshift/internal/metric"
)

const (
	alertsFile = "../config/monitoring/alerts.yaml"
	// ruleFile has the same rules for the Prometheus Operator.
	ruleFile = "../config/monitoring/prometheusrule.yaml"
	// ksmFile defines the metrics that kube-state-metrics serves for our kind.
	ksmFile       = "../config/monitoring/kube-state-metrics.yaml"
	dashboardFile = "../config/monitoring/dashboard.json"
	// queriesFile holds the dashboard's queries as rules, so that promtool can parse them in `make alerts`.
	queriesFile = "../config/monitoring/testdata/dashboard_queries.yaml"
)

// rules is the relevant part of a rule file of Prometheus.
type rules struct {
	Groups []struct {
		Name  string `json:"name"`
		Rules []rule `json:"rules"`
	} `json:"groups"`
}

type rule struct {
	Alert       string            `json:"alert,omitempty"`
	Record      string            `json:"record,omitempty"`
	Expr        string            `json:"expr"`
	For         string            `json:"for,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

func alerts(t *testing.T) (all []rule) {
	t.Helper()
	var file rules
	if err := yaml.UnmarshalStrict([]byte(read(t, alertsFile)), &file); err != nil {
		t.Fatal(err)
	}
	for _, group := range file.Groups {
		all = append(all, group.Rules...)
	}
	if len(all) == 0 {
		t.Fatal("there are no alerts")
	}
	return all
}

// TestAlerts: an alert describes the fault, links to an existing heading, queries metrics that are served, and has a
// test in which it fires. With -update the same alerts are written for the Prometheus Operator.
func TestAlerts(t *testing.T) {
	const page = "https://github.com/sliceshift/sliceshift/blob/main/docs/monitoring.md#"
	headings, tested := anchors(t, "monitoring.md"), read(t, "../config/monitoring/testdata/alerts_test.yaml")
	for _, alert := range alerts(t) {
		t.Run(alert.Alert, func(t *testing.T) {
			if alert.Annotations["summary"] == "" || alert.Annotations["description"] == "" || alert.Labels["severity"] == "" {
				t.Error("it lacks a summary, a description or a severity")
			}
			anchor, ours := strings.CutPrefix(alert.Annotations["runbook_url"], page)
			if !ours || !slices.Contains(headings, anchor) {
				t.Errorf("it leads to %q, and there is no such heading", alert.Annotations["runbook_url"])
			}
			if !strings.Contains(tested, "alertname: "+alert.Alert+"\n    exp_alerts:") {
				t.Error("no test sees it fire")
			}
			areServed(t, alert.Expr)
		})
	}
	var spec map[string]any
	if err := yaml.Unmarshal([]byte(read(t, alertsFile)), &spec); err != nil {
		t.Fatal(err)
	}
	generated(t, ruleFile, "# The alerts of alerts.yaml for the Prometheus Operator; written by `make generate`.\n", map[string]any{
		"apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule",
		"metadata": map[string]any{"name": "sliceshift", "namespace": "sliceshift-system", "labels": map[string]any{"app.kubernetes.io/name": "sliceshift"}},
		"spec":     spec,
	})
}

// ofOthers returns the metrics that alerts query and that the manager's own code does not define, with their labels: those
// of libraries, of Prometheus, and those that kube-state-metrics serves by our file.
func ofOthers(t *testing.T) map[string][]string {
	t.Helper()
	var file struct {
		Spec struct {
			Resources []struct {
				MetricNamePrefix string              `json:"metricNamePrefix"`
				LabelsFromPath   map[string][]string `json:"labelsFromPath"`
				Metrics          []struct {
					Name string `json:"name"`
				} `json:"metrics"`
			} `json:"resources"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal([]byte(read(t, ksmFile)), &file); err != nil {
		t.Fatal(err)
	}
	others := map[string][]string{"leader_election_master_status": {"name"}, "ALERTS": {"alertname"}}
	for _, resource := range file.Spec.Resources {
		for _, metric := range resource.Metrics {
			labels := slices.Collect(maps.Keys(resource.LabelsFromPath))
			others[resource.MetricNamePrefix+"_"+metric.Name] = append(labels, "customresource_group")
		}
	}
	return others
}

var (
	nameInQuery   = regexp.MustCompile(`\b(sliceshift|leader_election|kube)_[a-z_]+|\bALERTS\b`)
	ofHistogram   = regexp.MustCompile(`_(bucket|sum|count)$`)
	labelsInQuery = regexp.MustCompile(`([a-z_]+)(=~|!~|!=|=)"`)
)

// areServed checks that the metrics of a query, and the labels that it selects by, exist.
func areServed(t *testing.T, query string) {
	t.Helper()
	var labels []string
	names, others := nameInQuery.FindAllString(query, -1), ofOthers(t)
	for _, name := range names {
		if of, is := others[name]; is {
			labels = append(labels, of...)
			continue
		}
		i := slices.IndexFunc(metric.All(), func(m metric.Definition) bool {
			return m.Name == name || m.Kind == metric.KindHistogram && m.Name == ofHistogram.ReplaceAllString(name, "")
		})
		if i < 0 {
			t.Errorf("%s is not served: %s", name, query)
			continue
		}
		labels = append(labels, metric.All()[i].Labels...)
	}
	if len(names) == 0 {
		t.Errorf("it asks for nothing of ours: %s", query)
	}
	for _, match := range labelsInQuery.FindAllStringSubmatch(query, -1) {
		if !slices.Contains(labels, match[1]) {
			t.Errorf("nothing has the label %s: %s", match[1], query)
		}
	}
}

// dashboard is the relevant part of a Grafana dashboard.
type dashboard struct {
	Panels []struct {
		ID          int    `json:"id"`
		Title       string `json:"title"`
		Description string `json:"description"`
		GridPos     struct{ X, Y, W, H int }
		Targets     []struct {
			RefID string `json:"refId"`
			Expr  string `json:"expr"`
		} `json:"targets"`
	} `json:"panels"`
}

// variables are the values that Grafana inserts into a query.
var variables = strings.NewReplacer("$__rate_interval", "5m", "$namespace", ".*")

// TestDashboard: every query of the dashboard uses metrics that are served. With -update the queries are written as
// rules, which `make alerts` parses. The panels have descriptions and do not overlap.
func TestDashboard(t *testing.T) {
	var board dashboard
	if err := json.Unmarshal([]byte(read(t, dashboardFile)), &board); err != nil {
		t.Fatal(err)
	}
	var queries []rule
	taken := map[[2]int]string{}
	for _, panel := range board.Panels {
		if panel.Title == "" || panel.Description == "" || len(panel.Targets) == 0 {
			t.Errorf("panel %d %q does not say what it shows, or shows nothing", panel.ID, panel.Title)
		}
		for _, target := range panel.Targets {
			query := variables.Replace(target.Expr)
			areServed(t, query)
			queries = append(queries, rule{Record: fmt.Sprintf("dashboard:panel_%d_%s", panel.ID, target.RefID), Expr: query})
		}
		for x := range panel.GridPos.W {
			for y := range panel.GridPos.H {
				at := [2]int{panel.GridPos.X + x, panel.GridPos.Y + y}
				if other, is := taken[at]; is || at[0] >= 24 {
					t.Errorf("panel %q lies over %q, or beside the screen", panel.Title, other)
				}
				taken[at] = panel.Title
			}
		}
	}
	if len(queries) == 0 {
		t.Fatal("the dashboard asks for nothing")
	}
	generated(t, queriesFile, "# The queries of dashboard.json, to be parsed by `make alerts`; written by `make generate`.\n", map[string]any{
		"groups": []map[string]any{{"name": "dashboard", "rules": queries}},
	})
}

// generated compares a file with the value that it is generated from, and writes it with -update.
func generated(t *testing.T, path, head string, from any) {
	t.Helper()
	body, err := yaml.Marshal(from)
	if err != nil {
		t.Fatal(err)
	}
	want := head + string(body)
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil { //nolint:gosec // it is for everybody
			t.Fatal(err)
		}
	}
	if want != read(t, path) {
		t.Errorf("%s is out of date: run make generate", path)
	}
}
