package config

import "time"

// Config is the manager's configuration.
type Config struct {
	// MetricsBindAddress is where metrics are served; "0" turns them off.
	MetricsBindAddress string `mapstructure:"metricsBindAddress"`
	// MetricsSecure serves them over TLS, and only to who may get /metrics in the
	// manager's own cluster. Off, whoever reaches the address reads them.
	MetricsSecure bool `mapstructure:"metricsSecure"`
	// MetricsCertDir is a folder with tls.crt and tls.key, as in a Secret of that type, by
	// which readers know the metrics server. They are read anew when they change. Empty: a
	// certificate that the manager makes for itself, and that nobody can verify.
	MetricsCertDir string `mapstructure:"metricsCertDir"`
	// HealthProbeBindAddress is where /healthz and /readyz are served; "0" turns
	// them off.
	HealthProbeBindAddress string `mapstructure:"healthProbeBindAddress"`
	// UI is the page of moves, for users who show a token of theirs.
	UI UI `mapstructure:"ui"`
	// LeaderElection makes one of several managers the active one.
	LeaderElection LeaderElection `mapstructure:"leaderElection"`
	// Concurrency is how many Migrations, and how many slices, are reconciled at once.
	Concurrency int `mapstructure:"concurrency"`
	// NamespaceConcurrency is how many Migrations of one namespace are reconciled at once,
	// so that clusters that answer slowly hold up nobody else. 0: half of Concurrency.
	NamespaceConcurrency int `mapstructure:"namespaceConcurrency"`
	// ActivePerDestination is how many Migrations to one destination cluster are active at once;
	// the others wait in line until they may begin. 0: there is no limit.
	ActivePerDestination int `mapstructure:"activePerDestination"`
	// HandoffsPerNode, HandoffsPerLink and HandoffsPerStorageClass are how many handoffs of all Migrations
	// may be under way at once that leave one node, go between the same two clusters, or carry volumes of
	// one class. 0: there is no limit.
	HandoffsPerNode         int `mapstructure:"handoffsPerNode"`
	HandoffsPerLink         int `mapstructure:"handoffsPerLink"`
	HandoffsPerStorageClass int `mapstructure:"handoffsPerStorageClass"`
	// Relays is how many relays between movers run at once, of all Migrations, and RelaysPerNamespace how many of those of
	// one namespace: each takes up to 15 MiB. Relays 0: there is no limit. RelaysPerNamespace 0: half of Relays.
	Relays             int `mapstructure:"relays"`
	RelaysPerNamespace int `mapstructure:"relaysPerNamespace"`
	// Slices is the controller of StatefulSets of our own kind.
	Slices Slices `mapstructure:"slices"`
	// ClusterClient bounds the clients of every remote cluster.
	ClusterClient ClusterClient `mapstructure:"clusterClient"`
	// Volumes bounds which volumes are made in another cluster.
	Volumes Volumes `mapstructure:"volumes"`
	// Gates bounds what health gates may ask.
	Gates Gates `mapstructure:"gates"`
	// DefaultServiceAccount is the ServiceAccount of a Migration's namespace that
	// is impersonated when the Migration names none.
	DefaultServiceAccount string `mapstructure:"defaultServiceAccount"`
	// OTLPEndpoint is where a trace of each handoff is sent by OTLP over gRPC: http:// or https://, a host
	// and a port. Empty: to where the variables OTEL_EXPORTER_OTLP_* say, and nowhere without them.
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

// PerNamespace is how many Migrations of one namespace are reconciled at once. It leaves room
// for others, unless there are none or only one is reconciled at all.
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

// ActivePerNamespace is how many of the Migrations to one destination that are active may be of one
// namespace: half of them, so that none keeps all others waiting, or all where there is only one.
func (c Config) ActivePerNamespace() int {
	if c.WatchNamespace != "" {
		return c.ActivePerDestination
	}
	return max(1, c.ActivePerDestination/2)
}

// RelayShare is how many relays may run at once of the Migrations of one namespace: half of them, so that none keeps all
// others waiting, or all where there is only one.
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

// UI is the page of moves that the manager serves over TLS: each user sees and does what they may themselves.
type UI struct {
	// BindAddress is where it is served; "0" turns it off.
	BindAddress string `mapstructure:"bindAddress"`
	// CertDir is a folder with tls.crt and tls.key, as in a Secret of that type, by which users know
	// whom they show their token to. They are read anew when they change. Empty: a certificate that the
	// manager makes for itself, and that nobody can verify.
	CertDir string `mapstructure:"certDir"`
}

// LeaderElection makes one of several managers the active one.
type LeaderElection struct {
	// Enabled turns it on.
	Enabled bool `mapstructure:"enabled"`
	// Namespace of the Lease. Empty: the namespace in which the manager runs.
	Namespace string `mapstructure:"namespace"`
	// ID is the name of the Lease.
	ID string `mapstructure:"id"`
	// LeaseDuration is how long the others wait before they take over from a
	// leader that has fallen silent.
	LeaseDuration time.Duration `mapstructure:"leaseDuration"`
	// RenewDeadline is how long a leader that cannot renew goes on before it stops.
	RenewDeadline time.Duration `mapstructure:"renewDeadline"`
	// RetryPeriod is the time between two attempts to take or to renew the Lease.
	RetryPeriod time.Duration `mapstructure:"retryPeriod"`
}

// Slices is the controller of StatefulSets of our own kind, apps.sliceshift.io.
type Slices struct {
	// Enabled turns it on. The manager then watches pods and claims of its cluster.
	Enabled bool `mapstructure:"enabled"`
}

// ClusterClient bounds the client of a remote cluster.
type ClusterClient struct {
	// QPS is how many requests a second are sent in the long run; 0: as many as the API server
	// takes, which has priority and fairness to share itself out.
	QPS float32 `mapstructure:"qps"`
	// Burst is how many may be sent at once beyond QPS, where that bounds anything.
	Burst int `mapstructure:"burst"`
	// Timeout of one request.
	Timeout time.Duration `mapstructure:"timeout"`
	// Memory is how many MiB of what remote clusters answer are held for one namespace at once.
	Memory int `mapstructure:"memory"`
	// AllowLocalAddresses lets kubeconfigs in Secrets lead to the manager's own machine
	// and to link-local addresses, such as the metadata services of clouds. It is meant
	// for tests.
	AllowLocalAddresses bool `mapstructure:"allowLocalAddresses"`
}

// Rate is QPS as a client of Kubernetes takes it, for which 0 is a small default.
func (c ClusterClient) Rate() float32 {
	if c.QPS == 0 {
		return -1
	}
	return c.QPS
}

// Volumes bounds which volumes are made in another cluster: who writes a Migration decides
// what they look like, and Pod Security does not look behind a claim.
type Volumes struct {
	// AllowPaths allows volumes that are a path on a machine (hostPath, local). Who can have
	// one made reads and writes the files of a node. It is meant for tests.
	AllowPaths bool `mapstructure:"allowPaths"`
	// SecretNamespaces are the namespaces, besides the claim's own, whose Secrets a volume
	// may name; "*" is all.
	SecretNamespaces []string `mapstructure:"secretNamespaces"`
	// Drivers are the CSI drivers whose volumes may be made, and sources within Kubernetes by
	// their field (nfs, iscsi). Empty: all.
	Drivers []string `mapstructure:"drivers"`
}

// Gates bounds what health gates and probes may ask from where the manager runs: the author of a Migration chooses the address of a
// Prometheus, and that of a probe.
type Gates struct {
	// Prometheus are the addresses that gates may ask, as URLs, http ones and such of the manager's own
	// machine too; what is below the path of one is allowed with it. Empty: every address by
	// https that is not of the manager's machine nor of a cloud's metadata service.
	Prometheus []string `mapstructure:"prometheus"`
	// Probes are the addresses that probes may ask, in the same way. Empty: those of Prometheus, so that a list of these bounds both.
	Probes []string `mapstructure:"probes"`
}

// OfProbes returns the addresses that probes may ask; none: every address by https.
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

// AddressOff is the bind address that turns a server off.
const AddressOff = "0"

// Default returns the configuration that holds when nothing is set. It is valid.
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
