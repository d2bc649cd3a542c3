package config

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestValidate(t *testing.T) {
	cases := map[string]struct {
		change func(*Config)
		// want lists the fields that are rejected.
		want []string
	}{
		"default":                  {change: func(*Config) {}},
		"servers off":              {change: func(c *Config) { c.MetricsBindAddress, c.HealthProbeBindAddress = "0", "0" }},
		"any port twice":           {change: func(c *Config) { c.MetricsBindAddress, c.HealthProbeBindAddress = ":0", ":0" }},
		"address with host":        {change: func(c *Config) { c.MetricsBindAddress = "[::1]:9090" }},
		"address without port":     {change: func(c *Config) { c.MetricsBindAddress = "localhost" }, want: []string{"metricsBindAddress"}},
		"empty address":            {change: func(c *Config) { c.HealthProbeBindAddress = "" }, want: []string{"healthProbeBindAddress"}},
		"port out of range":        {change: func(c *Config) { c.HealthProbeBindAddress = ":65536" }, want: []string{"healthProbeBindAddress"}},
		"one address twice":        {change: func(c *Config) { c.HealthProbeBindAddress = ":8443" }, want: []string{"healthProbeBindAddress"}},
		"concurrency least":        {change: func(c *Config) { c.Concurrency = 1 }},
		"concurrency most":         {change: func(c *Config) { c.Concurrency = 100 }},
		"concurrency too small":    {change: func(c *Config) { c.Concurrency = 0 }, want: []string{"concurrency"}},
		"one namespace, all":       {change: func(c *Config) { c.NamespaceConcurrency = 20 }, want: []string{"namespaceConcurrency"}},
		"one namespace, but one":   {change: func(c *Config) { c.NamespaceConcurrency = 19 }},
		"the only namespace":       {change: func(c *Config) { c.NamespaceConcurrency, c.WatchNamespace = 20, "shop" }},
		"less than none":           {change: func(c *Config) { c.NamespaceConcurrency = -1 }, want: []string{"namespaceConcurrency"}},
		"no limit in line":         {change: func(c *Config) { c.ActivePerDestination = 0 }},
		"a line for each":          {change: func(c *Config) { c.ActivePerDestination = 1 }},
		"handoffs one by one":      {change: func(c *Config) { c.HandoffsPerNode, c.HandoffsPerLink, c.HandoffsPerStorageClass = 1, 1, 1 }},
		"K9: relays below nothing": {change: func(c *Config) { c.Relays, c.RelaysPerNamespace = -1, -1 }, want: []string{"relays", "relaysPerNamespace"}},
		"handoffs below nothing":   {change: func(c *Config) { c.HandoffsPerNode, c.HandoffsPerLink, c.HandoffsPerStorageClass = -1, -1, -1 }, want: []string{"handoffsPerNode", "handoffsPerLink", "handoffsPerStorageClass"}},
		"a line below nothing":     {change: func(c *Config) { c.ActivePerDestination = -1 }, want: []string{"activePerDestination"}},
		"concurrency too large":    {change: func(c *Config) { c.Concurrency = 101 }, want: []string{"concurrency"}},
		"a rate below nothing":     {change: func(c *Config) { c.ClusterClient.QPS = -1 }, want: []string{"clusterClient.qps"}},
		"rate not a number":        {change: func(c *Config) { c.ClusterClient.QPS = float32(math.NaN()) }, want: []string{"clusterClient.qps"}},
		"endless rate":             {change: func(c *Config) { c.ClusterClient.QPS = float32(math.Inf(1)) }, want: []string{"clusterClient.qps"}},
		"no burst":                 {change: func(c *Config) { c.ClusterClient.Burst = 0 }, want: []string{"clusterClient.burst"}},
		"no timeout":               {change: func(c *Config) { c.ClusterClient.Timeout = 0 }, want: []string{"clusterClient.timeout"}},
		"long timeout":             {change: func(c *Config) { c.ClusterClient.Timeout = time.Hour }, want: []string{"clusterClient.timeout"}},
		"no memory":                {change: func(c *Config) { c.ClusterClient.Memory = 0 }, want: []string{"clusterClient.memory"}},
		"sources by their field":   {change: func(c *Config) { c.Volumes.Drivers = []string{"nfs", "azureFile"} }},
		"a Prometheus": {change: func(c *Config) {
			c.Gates.Prometheus = []string{"http://prometheus.monitoring:9090", "https://mimir/a/b"}
		}},
		"no Prometheus": {
			change: func(c *Config) {
				c.Gates.Prometheus = []string{"https://a", "prometheus:9090", "https://a:b@c", "ftp://a", "https://a?b"}
			},
			want: []string{"gates.prometheus[1]", "gates.prometheus[2]", "gates.prometheus[3]", "gates.prometheus[4]"},
		},
		"a probe": {change: func(c *Config) { c.Gates.Probes = []string{"http://web.shop:8080/healthz"} }},
		"no probe": {
			change: func(c *Config) { c.Gates.Probes = []string{"https://a", "web:8080", "https://a:b@c"} },
			want:   []string{"gates.probes[1]", "gates.probes[2]"},
		},
		"no service account":          {change: func(c *Config) { c.DefaultServiceAccount = "" }, want: []string{"defaultServiceAccount"}},
		"bad service account":         {change: func(c *Config) { c.DefaultServiceAccount = "a:b" }, want: []string{"defaultServiceAccount"}},
		"unknown level":               {change: func(c *Config) { c.LogLevel = "trace" }, want: []string{"logLevel"}},
		"unknown format":              {change: func(c *Config) { c.LogFormat = "xml" }, want: []string{"logFormat"}},
		"bad namespace":               {change: func(c *Config) { c.WatchNamespace = "a.b" }, want: []string{"watchNamespace"}},
		"no lease name":               {change: func(c *Config) { c.LeaderElection.ID = "" }, want: []string{"leaderElection.id"}},
		"short lease":                 {change: func(c *Config) { c.LeaderElection = lease(999, 500, 100) }, want: []string{"leaderElection.leaseDuration"}},
		"lease not above renew":       {change: func(c *Config) { c.LeaderElection = lease(9000, 9000, 100) }, want: []string{"leaderElection.renewDeadline"}},
		"renew not above retry":       {change: func(c *Config) { c.LeaderElection = lease(9000, 1200, 1000) }, want: []string{"leaderElection.renewDeadline"}},
		"no retry period":             {change: func(c *Config) { c.LeaderElection = lease(9000, 1200, 0) }, want: []string{"leaderElection.retryPeriod"}},
		"no election, no rules":       {change: func(c *Config) { c.LeaderElection = LeaderElection{} }},
		"outside, no namespace":       {change: func(c *Config) { c.Kubeconfig = "admin.conf" }, want: []string{"leaderElection.namespace"}},
		"outside, namespace":          {change: func(c *Config) { c.Kubeconfig, c.LeaderElection.Namespace = "admin.conf", "ops" }},
		"every problem at once":       {change: func(c *Config) { c.LogLevel, c.Concurrency = "", -1 }, want: []string{"concurrency", "logLevel"}},
		"a page":                      {change: func(c *Config) { c.UI.BindAddress = ":8444" }},
		"a page nowhere":              {change: func(c *Config) { c.UI.BindAddress = "8444" }, want: []string{"ui.bindAddress"}},
		"a page among metrics":        {change: func(c *Config) { c.UI.BindAddress = c.MetricsBindAddress }, want: []string{"ui.bindAddress"}},
		"a page among probes":         {change: func(c *Config) { c.UI.BindAddress = c.HealthProbeBindAddress }, want: []string{"ui.bindAddress"}},
		"a page by any port":          {change: func(c *Config) { c.UI.BindAddress, c.MetricsBindAddress = ":0", ":0" }},
		"a certificate":               {change: func(c *Config) { c.MetricsCertDir = "/certs" }},
		"nowhere to send traces to":   {change: func(c *Config) { c.OTLPEndpoint = "otel-collector:4317" }, want: []string{"otlpEndpoint"}},
		"somewhere to send traces to": {change: func(c *Config) { c.OTLPEndpoint = "https://otel-collector:4317" }},
		"a useless certificate":       {change: func(c *Config) { c.MetricsSecure, c.MetricsCertDir = false, "/certs" }, want: []string{"metricsCertDir"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := Default()
			tc.change(&c)
			var got []string
			for _, problem := range c.Validate() {
				got = append(got, problem.Field)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("fields refused (-want +got):\n%s", diff)
			}
		})
	}
}

// lease returns a LeaderElection with durations in milliseconds.
func lease(duration, renew, retry int) LeaderElection {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	return LeaderElection{
		Enabled: true, ID: "sliceshift", LeaseDuration: ms(duration), RenewDeadline: ms(renew), RetryPeriod: ms(retry),
	}
}

// TestPerNamespace: one namespace leaves capacity for other namespaces, if there are any (S4).
func TestPerNamespace(t *testing.T) {
	for name, tc := range map[string]struct {
		concurrency, given int
		only               string
		want               int
	}{
		"half": {10, 0, "", 5}, "less than half": {3, 0, "", 1}, "one": {1, 0, "", 1},
		"as given": {10, 7, "", 7}, "nobody else": {10, 0, "shop", 10},
	} {
		c := Config{Concurrency: tc.concurrency, NamespaceConcurrency: tc.given, WatchNamespace: tc.only}
		if got := c.PerNamespace(); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}

// TestActivePerNamespace: one namespace leaves places for other namespaces, if there are any.
func TestActivePerNamespace(t *testing.T) {
	for name, tc := range map[string]struct {
		most int
		only string
		want int
	}{"half": {20, "", 10}, "less than half": {3, "", 1}, "one": {1, "", 1}, "nobody else": {20, "shop", 20}} {
		if got := (Config{ActivePerDestination: tc.most, WatchNamespace: tc.only}).ActivePerNamespace(); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}
