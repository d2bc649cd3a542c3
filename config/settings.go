package config

import (
	"strings"
	"time"
	"unicode"

	"github.com/spf13/pflag"
)

// envPrefix is the prefix of every environment variable that the manager reads.
const envPrefix = "SLICESHIFT_"

// setting is one leaf of Config.
type setting struct {
	// key is the path in the file, joined by dots.
	key   string
	usage string
	// field returns a pointer to the leaf: *string, *[]string, *bool, *int, *float32 or *time.Duration.
	field func(*Config) any
}

// settings lists every leaf of Config. A test compares it with the struct.
func settings() []setting {
	return []setting{
		{"metricsBindAddress", "address of the metrics server; 0 turns it off", func(c *Config) any { return &c.MetricsBindAddress }},
		{"metricsSecure", "serve metrics over TLS, to who may get /metrics", func(c *Config) any { return &c.MetricsSecure }},
		{"metricsCertDir", "folder with tls.crt and tls.key of the metrics server; empty: it makes its own", func(c *Config) any { return &c.MetricsCertDir }},
		{"healthProbeBindAddress", "address of the health probes; 0 turns them off", func(c *Config) any { return &c.HealthProbeBindAddress }},
		{"ui.bindAddress", "address of the page of moves, such as :8444, for who may get /ui; 0: there is none", func(c *Config) any { return &c.UI.BindAddress }},
		{"ui.certDir", "folder with tls.crt and tls.key of the page; empty: it makes its own", func(c *Config) any { return &c.UI.CertDir }},
		{"leaderElection.enabled", "elect one active manager", func(c *Config) any { return &c.LeaderElection.Enabled }},
		{"leaderElection.namespace", "namespace of the Lease; empty: the manager's own", func(c *Config) any { return &c.LeaderElection.Namespace }},
		{"leaderElection.id", "name of the Lease", func(c *Config) any { return &c.LeaderElection.ID }},
		{"leaderElection.leaseDuration", "how long a silent leader is waited for", func(c *Config) any { return &c.LeaderElection.LeaseDuration }},
		{"leaderElection.renewDeadline", "how long a leader that cannot renew goes on", func(c *Config) any { return &c.LeaderElection.RenewDeadline }},
		{"leaderElection.retryPeriod", "time between two attempts to take or renew the Lease", func(c *Config) any { return &c.LeaderElection.RetryPeriod }},
		{"concurrency", "how many Migrations, and how many slices, are reconciled at once", func(c *Config) any { return &c.Concurrency }},
		{"namespaceConcurrency", "how many Migrations of one namespace are reconciled at once; 0: half of concurrency", func(c *Config) any { return &c.NamespaceConcurrency }},
		{"activePerDestination", "how many Migrations to one destination cluster are active at once, the others wait in line; 0: no limit", func(c *Config) any { return &c.ActivePerDestination }},
		{"handoffsPerNode", "how many handoffs leave one node at once; 0: no limit", func(c *Config) any { return &c.HandoffsPerNode }},
		{"handoffsPerLink", "how many handoffs are under way at once between the same two clusters; 0: no limit", func(c *Config) any { return &c.HandoffsPerLink }},
		{"handoffsPerStorageClass", "how many handoffs carry volumes of one storage class at once; 0: no limit", func(c *Config) any { return &c.HandoffsPerStorageClass }},
		{"relays", "how many relays between movers run at once, the others wait; 0: no limit", func(c *Config) any { return &c.Relays }},
		{"relaysPerNamespace", "how many relays run at once of the Migrations of one namespace; 0: half of relays", func(c *Config) any { return &c.RelaysPerNamespace }},
		{"slices.enabled", "run the StatefulSets of kind apps.sliceshift.io", func(c *Config) any { return &c.Slices.Enabled }},
		{"clusterClient.qps", "requests a second to each cluster; 0: no limit but the API server's own", func(c *Config) any { return &c.ClusterClient.QPS }},
		{"clusterClient.burst", "requests at once to each remote cluster", func(c *Config) any { return &c.ClusterClient.Burst }},
		{"clusterClient.timeout", "timeout of one request to a remote cluster", func(c *Config) any { return &c.ClusterClient.Timeout }},
		{"clusterClient.memory", "MiB of what remote clusters answer that are held for one namespace at once", func(c *Config) any { return &c.ClusterClient.Memory }},
		{"clusterClient.allowLocalAddresses", "let kubeconfigs lead to this machine and to link-local addresses", func(c *Config) any { return &c.ClusterClient.AllowLocalAddresses }},
		{"volumes.allowPaths", "let volumes that are a path on a machine be made: it gives the files of the nodes away", func(c *Config) any { return &c.Volumes.AllowPaths }},
		{"volumes.secretNamespaces", "namespaces besides the claim's own whose Secrets a volume may name; *: all", func(c *Config) any { return &c.Volumes.SecretNamespaces }},
		{"volumes.drivers", "CSI drivers, and sources within Kubernetes by their field (nfs), whose volumes may be made; none: all", func(c *Config) any { return &c.Volumes.Drivers }},
		{"gates.prometheus", "addresses of Prometheus servers that gates may ask, http ones too; none: all by https", func(c *Config) any { return &c.Gates.Prometheus }},
		{"gates.probes", "addresses that probes may ask, http ones too; none: those of gates.prometheus", func(c *Config) any { return &c.Gates.Probes }},
		{"defaultServiceAccount", "ServiceAccount impersonated when a Migration names none", func(c *Config) any { return &c.DefaultServiceAccount }},
		{"otlpEndpoint", "where traces are sent by OTLP over gRPC, as a URL; empty: to where OTEL_EXPORTER_OTLP_ENDPOINT says, or nowhere", func(c *Config) any { return &c.OTLPEndpoint }},
		{"logLevel", "info or debug", func(c *Config) any { return &c.LogLevel }},
		{"logFormat", "json or text", func(c *Config) any { return &c.LogFormat }},
		{"watchNamespace", "watch one namespace only; empty: all", func(c *Config) any { return &c.WatchNamespace }},
		{"kubeconfig", "kubeconfig of the manager's own cluster; empty: the cluster it runs in", func(c *Config) any { return &c.Kubeconfig }},
	}
}

// flag returns the name of the setting's flag: the key in kebab case.
func (s setting) flag() string {
	var b strings.Builder
	for _, r := range s.key {
		switch {
		case r == '.':
			b.WriteByte('-')
		case unicode.IsUpper(r):
			b.WriteByte('-')
			b.WriteRune(unicode.ToLower(r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// env returns the name of the setting's environment variable: the flag's name, in capitals.
func (s setting) env() string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(s.flag(), "-", "_"))
}

// AddFlags adds a flag for every setting. The flags show the values of Default as their defaults.
func AddFlags(fs *pflag.FlagSet) {
	defaults := Default()
	for _, s := range settings() {
		usage := s.usage + " [$" + s.env() + "]"
		switch value := s.field(&defaults).(type) {
		case *string:
			fs.String(s.flag(), *value, usage)
		case *[]string:
			fs.StringSlice(s.flag(), *value, usage)
		case *bool:
			fs.Bool(s.flag(), *value, usage)
		case *int:
			fs.Int(s.flag(), *value, usage)
		case *float32:
			fs.Float32(s.flag(), *value, usage)
		case *time.Duration:
			fs.Duration(s.flag(), *value, usage)
		}
	}
}
