package config

import (
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// anyNamespace stands for every namespace.
const anyNamespace = "*"

const (
	maxConcurrency = 100
	maxRate        = 10_000
	maxTimeout     = 5 * time.Minute
	minMemory      = 16
	maxMemory      = 1 << 20
	// renewJitter is the factor by which an attempt may exceed retryPeriod: client-go rejects a renewDeadline below it
	// (leaderelection.JitterFactor).
	renewJitter = 1.2
)

// Validate returns the problems of the configuration, or nil.
func (c Config) Validate() field.ErrorList {
	problems := c.validateAddresses()
	problems = append(problems, c.validateLeaderElection(field.NewPath("leaderElection"))...)
	problems = append(problems, c.ClusterClient.validate(field.NewPath("clusterClient"))...)
	problems = append(problems, c.Volumes.validate(field.NewPath("volumes"))...)
	problems = append(problems, c.Gates.validate(field.NewPath("gates"))...)
	if c.Concurrency < 1 || c.Concurrency > maxConcurrency {
		problems = append(problems, field.Invalid(field.NewPath("concurrency"), c.Concurrency, validation.InclusiveRangeError(1, maxConcurrency)))
	}
	problems = append(problems, c.validateNamespaceConcurrency(field.NewPath("namespaceConcurrency"))...)
	for _, limit := range []struct {
		name string
		most int
	}{
		{"activePerDestination", c.ActivePerDestination},
		{"handoffsPerNode", c.HandoffsPerNode},
		{"handoffsPerLink", c.HandoffsPerLink},
		{"handoffsPerStorageClass", c.HandoffsPerStorageClass},
		{"relays", c.Relays},
		{"relaysPerNamespace", c.RelaysPerNamespace},
	} {
		if limit.most < 0 {
			problems = append(problems, field.Invalid(field.NewPath(limit.name), limit.most, "must be 0, for no limit, or at least 1"))
		}
	}
	problems = append(problems, name(field.NewPath("defaultServiceAccount"), c.DefaultServiceAccount)...)
	problems = append(problems, c.validateOTLP(field.NewPath("otlpEndpoint"))...)
	problems = append(problems, oneOf(field.NewPath("logLevel"), c.LogLevel, LogLevelInfo, LogLevelDebug)...)
	problems = append(problems, oneOf(field.NewPath("logFormat"), c.LogFormat, LogFormatJSON, LogFormatText)...)
	return append(problems, namespace(field.NewPath("watchNamespace"), c.WatchNamespace)...)
}

func (v Volumes) validate(path *field.Path) field.ErrorList {
	var problems field.ErrorList
	for i, each := range v.SecretNamespaces {
		if each != anyNamespace {
			problems = append(problems, name(path.Child("secretNamespaces").Index(i), each)...)
		}
	}
	for i, driver := range v.Drivers {
		problems = append(problems, name(path.Child("drivers").Index(i), strings.ToLower(driver))...)
	}
	return problems
}

func (g Gates) validate(path *field.Path) field.ErrorList {
	problems := validateListed(path.Child("prometheus"), g.Prometheus, "http://prometheus.monitoring:9090")
	return append(problems, validateListed(path.Child("probes"), g.Probes, "http://web.shop:8080")...)
}

// validateListed checks addresses that may be queried.
func validateListed(path *field.Path, listed []string, example string) field.ErrorList {
	var problems field.ErrorList
	for i, each := range listed {
		u, err := url.Parse(each)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			problems = append(problems, field.Invalid(path.Index(i), each, "must be an address such as "+example+", without a user, a query and a fragment"))
		}
	}
	return problems
}

func (c Config) validateOTLP(path *field.Path) field.ErrorList {
	if c.OTLPEndpoint == "" {
		return nil
	}
	u, err := url.Parse(c.OTLPEndpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return field.ErrorList{field.Invalid(path, c.OTLPEndpoint, "must be an address such as http://otel-collector.monitoring:4317, without a user")}
	}
	return nil
}

// validateNamespaceConcurrency checks that one namespace leaves capacity for others.
func (c Config) validateNamespaceConcurrency(path *field.Path) field.ErrorList {
	most := c.Concurrency
	if c.WatchNamespace == "" && most > 1 {
		most--
	}
	if c.NamespaceConcurrency < 0 || c.NamespaceConcurrency > max(0, most) {
		return field.ErrorList{field.Invalid(path, c.NamespaceConcurrency, "must be 0, or at least 1 and less than concurrency")}
	}
	return nil
}

func (c Config) validateAddresses() field.ErrorList {
	metrics, health, page := field.NewPath("metricsBindAddress"), field.NewPath("healthProbeBindAddress"), field.NewPath("ui", "bindAddress")
	problems := append(address(metrics, c.MetricsBindAddress), address(health, c.HealthProbeBindAddress)...)
	problems = append(problems, address(page, c.UI.BindAddress)...)
	if c.MetricsCertDir != "" && !c.MetricsSecure {
		problems = append(problems, field.Invalid(field.NewPath("metricsCertDir"), c.MetricsCertDir, "must be empty when metricsSecure is false, which serves without TLS"))
	}
	if len(problems) > 0 {
		return problems
	}
	if taken(c.MetricsBindAddress, c.HealthProbeBindAddress) {
		problems = append(problems, field.Invalid(health, c.HealthProbeBindAddress, "must differ from metricsBindAddress"))
	}
	if taken(c.UI.BindAddress, c.MetricsBindAddress) || taken(c.UI.BindAddress, c.HealthProbeBindAddress) {
		problems = append(problems, field.Invalid(page, c.UI.BindAddress, "must differ from metricsBindAddress and healthProbeBindAddress"))
	}
	return problems
}

// taken reports whether two servers would use the same address.
func taken(one, other string) bool {
	_, port, _ := net.SplitHostPort(one)
	return one == other && port != "" && port != "0"
}

// validateLeaderElection applies the rules of client-go for leader election.
func (c Config) validateLeaderElection(path *field.Path) field.ErrorList {
	e := c.LeaderElection
	if !e.Enabled {
		return nil
	}
	problems := append(namespace(path.Child("namespace"), e.Namespace), name(path.Child("id"), e.ID)...)
	if e.Namespace == "" && c.Kubeconfig != "" {
		problems = append(problems, field.Required(path.Child("namespace"), "cannot be found out when kubeconfig is set"))
	}
	if e.LeaseDuration < time.Second {
		problems = append(problems, invalidDuration(path.Child("leaseDuration"), e.LeaseDuration, "must be at least 1s"))
	}
	if e.RetryPeriod <= 0 {
		problems = append(problems, invalidDuration(path.Child("retryPeriod"), e.RetryPeriod, "must be greater than 0"))
	}
	if e.LeaseDuration <= e.RenewDeadline {
		problems = append(problems, invalidDuration(path.Child("renewDeadline"), e.RenewDeadline, "must be less than leaseDuration"))
	}
	if float64(e.RenewDeadline) <= renewJitter*float64(e.RetryPeriod) {
		problems = append(problems, invalidDuration(path.Child("renewDeadline"), e.RenewDeadline, "must be greater than 1.2 times retryPeriod"))
	}
	return problems
}

func (c ClusterClient) validate(path *field.Path) field.ErrorList {
	var problems field.ErrorList
	if !(c.QPS >= 0 && c.QPS <= maxRate) { // this form also rejects NaN
		problems = append(problems, field.Invalid(path.Child("qps"), strconv.FormatFloat(float64(c.QPS), 'g', -1, 32),
			"must be 0, for no limit, or at most 10000"))
	}
	if c.Burst < 1 || c.Burst > maxRate {
		problems = append(problems, field.Invalid(path.Child("burst"), c.Burst, validation.InclusiveRangeError(1, maxRate)))
	}
	if c.Timeout <= 0 || c.Timeout > maxTimeout {
		problems = append(problems, invalidDuration(path.Child("timeout"), c.Timeout, "must be greater than 0 and at most 5m"))
	}
	if c.Memory < minMemory || c.Memory > maxMemory {
		problems = append(problems, field.Invalid(path.Child("memory"), c.Memory, validation.InclusiveRangeError(minMemory, maxMemory)))
	}
	return problems
}

func invalidDuration(path *field.Path, value time.Duration, detail string) *field.Error {
	return field.Invalid(path, value.String(), detail)
}

func address(path *field.Path, value string) field.ErrorList {
	if value == AddressOff {
		return nil
	}
	_, port, err := net.SplitHostPort(value)
	number, notNumber := strconv.Atoi(port)
	if err != nil || notNumber != nil || number < 0 || number > 65535 {
		return field.ErrorList{field.Invalid(path, value, `must be "<host>:<port>", ":<port>" or "0"`)}
	}
	return nil
}

func name(path *field.Path, value string) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return each(path, value, validation.IsDNS1123Subdomain(value))
}

func namespace(path *field.Path, value string) field.ErrorList {
	if value == "" {
		return nil
	}
	return each(path, value, validation.IsDNS1123Label(value))
}

func each(path *field.Path, value string, details []string) field.ErrorList {
	var problems field.ErrorList
	for _, detail := range details {
		problems = append(problems, field.Invalid(path, value, detail))
	}
	return problems
}

func oneOf(path *field.Path, value string, supported ...string) field.ErrorList {
	if slices.Contains(supported, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, value, supported)}
}
