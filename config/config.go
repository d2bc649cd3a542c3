package config

import "time"

// Config is the manager's configuration.
type Config struct {
	// MetricsBindAddress is the address on which metrics are served; "0" disables them.
	MetricsBindAddress string `mapstructure:"metricsBindAddress"`
	// MetricsSecure serves metrics over TLS, and only to users that may get /metrics in the manager's own cluster. If it
	// is off, any client that reaches the address can read them.
	MetricsSecure bool `mapstructure:"metricsSecure"`
	// MetricsCertDir is a folder with tls.crt and tls.key, as in a Secret of that type, with which the metrics server
	// authenticates to its clients. The manager reloads the files when they change. If it is empty, the manager creates
	// a self-signed certificate that no client can verify.
	MetricsCertDir string `mapstructure:"metricsCertDir"`
	// HealthProbeBindAddress is the address on which /healthz and /readyz are served; "0" disables them.
	HealthProbeBindAddress string `mapstructure:"healthProbeBindAddress"`
	// UI configures the web page of moves, which users open with a token of their own.
	UI UI `mapstructure:"ui"`
	// LeaderElection configures which of several managers is active.
	LeaderElection LeaderElection `mapstructure:"leaderElection"`
	// Concurrency is how many Migrations, and how many slices, are reconciled at once.
	Concurrency int `mapstructure:"concurrency"`
	// NamespaceConcurrency is how many Migrations of one namespace are reconciled at once, so that its slow clusters do
	// not delay other namespaces. 0: half of Concurrency.
	NamespaceConcurrency int `mapstructure:"namespaceConcurrency"`
	// ActivePerDestination is how many Migrations to one destination cluster are active at once; the others wait in a
	// queue. 0: no limit.
	ActivePerDestination int `mapstructure:"activePerDestination"`
	// HandoffsPerNode, HandoffsPerLink and HandoffsPerStorageClass limit how many handoffs of all Migrations may run at
	// once from one node, between the same two clusters, or with volumes of one class. 0: no limit.
	HandoffsPerNode         int `mapstructure:"handoffsPerNode"`
	HandoffsPerLink         int `mapstructure:"handoffsPerLink"`
	HandoffsPerStorageClass int `mapstructure:"handoffsPerStorageClass"`
	// Relays is how many relays between movers of all Migrations run at once, and RelaysPerNamespace how many in one
	// namespace. Each takes up to 15 MiB. Relays 0: no limit. RelaysPerNamespace 0: half of Relays.
	Relays             int `mapstructure:"relays"`
	RelaysPerNamespace int `mapstructure:"relaysPerNamespace"`
	// Slices configures the controller of our own kind of StatefulSet.
	Slices Slices `mapstructure:"slices"`
	// ClusterClient limits the clients of all remote clusters.
	ClusterClient ClusterClient `mapstructure:"clusterClient"`
	// Volumes restricts which volumes the manager creates in another cluster.
	Volumes Volumes `mapstructure:"volumes"`
	// Gates restricts which addresses health gates and probes may query.
	Gates Gates `mapstructure:"gates"`
	// DefaultServiceAccount is the ServiceAccount in the Migration's namespace that the manager impersonates when the
	// Migration names none.
	DefaultServiceAccount string `mapstructure:"defaultServiceAccount"`
	// OTLPEndpoint is where the manager sends a trace of each handoff by OTLP over gRPC: http:// or https://, a host and
	// a port. If it is empty, the variables OTEL_EXPORTER_OTLP_* apply; without them no traces are sent.
	OTLPEndpoint string `mapstructure:"otlpEndpoint"`
	// LogLevel is LogLevelInfo or LogLevelDebug.
	LogLevel string `mapstructure:"logLevel"`
	// LogFormat is LogFormatJSON or LogFormatText.
	LogFormat string `mapstructure:"logFormat"`
	// WatchNamespace limits the manager to the Migrations of one namespace. Empty:
	// all namespaces.
	WatchNamespace string `mapstructure:"watchNamespace"`
	// Kubeconfig is the path of the kubeconfig of the manager's own cluster. Empty:
	// the cluster in which it runs.
	Kubeconfig string `mapstructure:"kubeconfig"`
}

// PerNamespace returns how many Migrations of one namespace are reconciled at once. It leaves capacity for other
// namespaces, unless only one namespace is watched or Concurrency is 1.
func (c Config) PerNamespace() int {
	switch {
	case c.NamespaceConcurrency > 0:
		return c.NamespaceConcurrency
	case c.WatchNamespace != "":
		return c.Concurrency
	default:
		return max(1, c.Concurrency/2)
	}
}

// ActivePerNamespace returns how many active Migrations to one destination may belong to one namespace. It is half of
// them, so that no namespace blocks all others, or all if only one namespace is watched.
func (c Config) ActivePerNamespace() int {
	if c.WatchNamespace != "" {
		return c.ActivePerDestination
	}
	return max(1, c.ActivePerDestination/2)
}

// RelayShare returns how many relays of one namespace may run at once. By default it is half of them, so that no
// namespace blocks all others, or all if only one namespace is watched.
func (c Config) RelayShare() int {
	switch {
	case c.RelaysPerNamespace > 0 || c.Relays == 0:
		return c.RelaysPerNamespace
	case c.WatchNamespace != "":
		return c.Relays
	default:
		return max(1, c.Relays/2)
	}
}

// UI configures the web page of moves, which the manager serves over TLS. Users see and do only what their own
// permissions allow.
type UI struct {
	// BindAddress is the address on which the page is served; "0" disables it.
	BindAddress string `mapstructure:"bindAddress"`
	// CertDir is a folder with tls.crt and tls.key, as in a Secret of that type, with which the server authenticates
	// before users send it their token. The manager reloads the files when they change. If it is empty, the manager
	// creates a self-signed certificate that no client can verify.
	CertDir string `mapstructure:"certDir"`
}

// LeaderElection configures which of several managers is active.
type LeaderElection struct {
	// Enabled turns leader election on.
	Enabled bool `mapstructure:"enabled"`
	// Namespace of the Lease. Empty: the namespace in which the manager runs.
	Namespace string `mapstructure:"namespace"`
	// ID is the name of the Lease.
	ID string `mapstructure:"id"`
	// LeaseDuration is how long the other managers wait before they replace a leader that has stopped renewing.
	LeaseDuration time.Duration `mapstructure:"leaseDuration"`
	// RenewDeadline is how long a leader that cannot renew keeps running before it stops.
	RenewDeadline time.Duration `mapstructure:"renewDeadline"`
	// RetryPeriod is the time between two attempts to acquire or renew the Lease.
	RetryPeriod time.Duration `mapstructure:"retryPeriod"`
}

// Slices configures the controller of our own kind of StatefulSet, apps.sliceshift.io.
type Slices struct {
	// Enabled turns it on. The manager then watches pods and claims of its cluster.
	Enabled bool `mapstructure:"enabled"`
}

// ClusterClient limits the client of a remote cluster.
type ClusterClient struct {
	// QPS is the sustained rate of requests per second. 0: no limit in the client; the API server then limits requests
	// by priority and fairness.
	QPS float32 `mapstructure:"qps"`
	// Burst is how many requests may be sent at once beyond QPS. It has no effect if QPS is 0.
	Burst int `mapstructure:"burst"`
	// Timeout is the timeout of one request.
	Timeout time.Duration `mapstructure:"timeout"`
	// Memory is how many MiB of responses from remote clusters are held in memory for one namespace at once.
	Memory int `mapstructure:"memory"`
	// AllowLocalAddresses lets kubeconfigs in Secrets point to the manager's own machine and to link-local addresses,
	// such as the metadata services of clouds. It is meant for tests.
	AllowLocalAddresses bool `mapstructure:"allowLocalAddresses"`
}

// Rate returns QPS for a Kubernetes client, where 0 means a small default instead of no limit.
func (c ClusterClient) Rate() float32 {
	if c.QPS == 0 {
		return -1
	}
	return c.QPS
}

// Volumes restricts which volumes the manager creates in another cluster. The author of a Migration decides their spec,
// and Pod Security does not inspect the volume behind a claim.
type Volumes struct {
	// AllowPaths allows volumes that are a path on a machine (hostPath, local). A user that can create such a volume
	// reads and writes the files of a node. It is meant for tests.
	AllowPaths bool `mapstructure:"allowPaths"`
	// SecretNamespaces lists the namespaces whose Secrets a volume may reference, in addition to the namespace of its
	// claim. "*" means all.
	SecretNamespaces []string `mapstructure:"secretNamespaces"`
	// Drivers lists the CSI drivers, and the in-tree volume sources by field name (nfs, iscsi), whose volumes may be
	// created. Empty: all.
	Drivers []string `mapstructure:"drivers"`
}

// Gates restricts which addresses health gates and probes may query from the manager's network. The author of a
// Migration chooses the address of a Prometheus and of a probe.
type Gates struct {
	// Prometheus lists the URLs that gates may query, including http URLs and URLs of the manager's own machine. A URL
	// with a path allows everything below that path. Empty: every https address except those of the manager's machine
	// and of the metadata service of a cloud.
	Prometheus []string `mapstructure:"prometheus"`
	// Probes lists the URLs that probes may query, with the same rules. Empty: those of Prometheus, so that its list
	// restricts both.
	Probes []string `mapstructure:"probes"`
}

// OfProbes returns the addresses that probes may query. If there are none, every https address is allowed.
func (g Gates) OfProbes() []string {
	if len(g.Probes) > 0 {
		return g.Probes
	}
	return g.Prometheus
}

// Values of Config.LogLevel and Config.LogFormat.
const (
	LogLevelInfo  = "info"
	LogLevelDebug = "debug"
	LogFormatJSON = "json"
	LogFormatText = "text"
)

// AddressOff is the bind address that disables a server.
const AddressOff = "0"

// Default returns the configuration without any setting. It is valid.
func Default() Config {
	return Config{
		MetricsBindAddress:     ":8443",
		MetricsSecure:          true,
		HealthProbeBindAddress: ":8081",
		UI:                     UI{BindAddress: AddressOff},
		LeaderElection: LeaderElection{
			Enabled:       true,
			ID:            "sliceshift",
			LeaseDuration: 15 * time.Second,
			RenewDeadline: 10 * time.Second,
			RetryPeriod:   2 * time.Second,
		},
		Concurrency:           20,
		ActivePerDestination:  40,
		Relays:                16,
		Slices:                Slices{Enabled: true},
		ClusterClient:         ClusterClient{Burst: 100, Timeout: 10 * time.Second, Memory: 128},
		DefaultServiceAccount: "default",
		LogLevel:              LogLevelInfo,
		LogFormat:             LogFormatJSON,
	}
}
