package config

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

func TestSettingNames(t *testing.T) {
	want := [][3]string{
		{"metricsBindAddress", "metrics-bind-address", "SLICESHIFT_METRICS_BIND_ADDRESS"},
		{"metricsSecure", "metrics-secure", "SLICESHIFT_METRICS_SECURE"},
		{"metricsCertDir", "metrics-cert-dir", "SLICESHIFT_METRICS_CERT_DIR"},
		{"healthProbeBindAddress", "health-probe-bind-address", "SLICESHIFT_HEALTH_PROBE_BIND_ADDRESS"},
		{"ui.bindAddress", "ui-bind-address", "SLICESHIFT_UI_BIND_ADDRESS"},
		{"ui.certDir", "ui-cert-dir", "SLICESHIFT_UI_CERT_DIR"},
		{"leaderElection.enabled", "leader-election-enabled", "SLICESHIFT_LEADER_ELECTION_ENABLED"},
		{"leaderElection.namespace", "leader-election-namespace", "SLICESHIFT_LEADER_ELECTION_NAMESPACE"},
		{"leaderElection.id", "leader-election-id", "SLICESHIFT_LEADER_ELECTION_ID"},
		{"leaderElection.leaseDuration", "leader-election-lease-duration", "SLICESHIFT_LEADER_ELECTION_LEASE_DURATION"},
		{"leaderElection.renewDeadline", "leader-election-renew-deadline", "SLICESHIFT_LEADER_ELECTION_RENEW_DEADLINE"},
		{"leaderElection.retryPeriod", "leader-election-retry-period", "SLICESHIFT_LEADER_ELECTION_RETRY_PERIOD"},
		{"concurrency", "concurrency", "SLICESHIFT_CONCURRENCY"},
		{"namespaceConcurrency", "namespace-concurrency", "SLICESHIFT_NAMESPACE_CONCURRENCY"},
		{"activePerDestination", "active-per-destination", "SLICESHIFT_ACTIVE_PER_DESTINATION"},
		{"handoffsPerNode", "handoffs-per-node", "SLICESHIFT_HANDOFFS_PER_NODE"},
		{"handoffsPerLink", "handoffs-per-link", "SLICESHIFT_HANDOFFS_PER_LINK"},
		{"handoffsPerStorageClass", "handoffs-per-storage-class", "SLICESHIFT_HANDOFFS_PER_STORAGE_CLASS"},
		{"relays", "relays", "SLICESHIFT_RELAYS"},
		{"relaysPerNamespace", "relays-per-namespace", "SLICESHIFT_RELAYS_PER_NAMESPACE"},
		{"slices.enabled", "slices-enabled", "SLICESHIFT_SLICES_ENABLED"},
		{"clusterClient.qps", "cluster-client-qps", "SLICESHIFT_CLUSTER_CLIENT_QPS"},
		{"clusterClient.burst", "cluster-client-burst", "SLICESHIFT_CLUSTER_CLIENT_BURST"},
		{"clusterClient.timeout", "cluster-client-timeout", "SLICESHIFT_CLUSTER_CLIENT_TIMEOUT"},
		{"clusterClient.memory", "cluster-client-memory", "SLICESHIFT_CLUSTER_CLIENT_MEMORY"},
		{"clusterClient.allowLocalAddresses", "cluster-client-allow-local-addresses", "SLICESHIFT_CLUSTER_CLIENT_ALLOW_LOCAL_ADDRESSES"},
		{"volumes.allowPaths", "volumes-allow-paths", "SLICESHIFT_VOLUMES_ALLOW_PATHS"},
		{"volumes.secretNamespaces", "volumes-secret-namespaces", "SLICESHIFT_VOLUMES_SECRET_NAMESPACES"},
		{"volumes.drivers", "volumes-drivers", "SLICESHIFT_VOLUMES_DRIVERS"},
		{"gates.prometheus", "gates-prometheus", "SLICESHIFT_GATES_PROMETHEUS"},
		{"gates.probes", "gates-probes", "SLICESHIFT_GATES_PROBES"},
		{"defaultServiceAccount", "default-service-account", "SLICESHIFT_DEFAULT_SERVICE_ACCOUNT"},
		{"otlpEndpoint", "otlp-endpoint", "SLICESHIFT_OTLP_ENDPOINT"},
		{"logLevel", "log-level", "SLICESHIFT_LOG_LEVEL"},
		{"logFormat", "log-format", "SLICESHIFT_LOG_FORMAT"},
		{"watchNamespace", "watch-namespace", "SLICESHIFT_WATCH_NAMESPACE"},
		{"kubeconfig", "kubeconfig", "SLICESHIFT_KUBECONFIG"},
	}
	var got [][3]string
	for _, s := range settings() {
		got = append(got, [3]string{s.key, s.flag(), s.env()})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("key, flag and variable (-want +got):\n%s", diff)
	}
}

// TestSettingsCoverConfig: every leaf of Config has a setting that points at it.
func TestSettingsCoverConfig(t *testing.T) {
	var c Config
	want := map[string]any{}
	collect("", reflect.ValueOf(&c).Elem(), want)
	got := map[string]any{}
	for _, s := range settings() {
		got[s.key] = s.field(&c)
	}
	if !reflect.DeepEqual(want, got) {
		t.Errorf("settings do not match the leaves of Config\nwant %v\ngot  %v", want, got)
	}
	for key := range want {
		if got[key] != want[key] {
			t.Errorf("%s points at another field", key)
		}
	}
}

func collect(prefix string, value reflect.Value, into map[string]any) {
	for i := range value.NumField() {
		key := prefix + value.Type().Field(i).Tag.Get("mapstructure")
		if field := value.Field(i); field.Kind() == reflect.Struct {
			collect(key+".", field, into)
		} else {
			into[key] = field.Addr().Interface()
		}
	}
}

func TestAddFlags(t *testing.T) {
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	AddFlags(flags)
	for _, s := range settings() {
		if flags.Lookup(s.flag()) == nil {
			t.Errorf("no flag --%s", s.flag())
		}
	}
	if got, want := flags.Lookup("leader-election-lease-duration").DefValue, "15s"; got != want {
		t.Errorf("default of --leader-election-lease-duration: got %s, want %s", got, want)
	}
}
