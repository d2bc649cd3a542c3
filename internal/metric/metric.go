// Package metric defines the metrics that this product serves, and lists them: what is registered
// here is what docs/metrics.md tells of. All are in the registry of controller-runtime, which the
// manager serves.
package metric

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// Kind is what Prometheus calls the type of a metric.
type Kind string

// The kinds.
const (
	KindCounter   Kind = "counter"
	KindGauge     Kind = "gauge"
	KindHistogram Kind = "histogram"
)

// Definition is one metric.
type Definition struct {
	// Name in full, with its unit.
	Name string
	// Help says what is measured.
	Help string
	// Use says what it is good for, for people: it is in the documentation only.
	Use string
	// Labels by their names. Each has few values, but for the name of a resource, which goes with it.
	Labels []string
	// Kind is set by who registers it.
	Kind Kind
}

var (
	mu  sync.Mutex
	all []Definition
)

// All are the metrics of all packages that are linked in, by name.
func All() []Definition {
	mu.Lock()
	defer mu.Unlock()
	return slices.SortedFunc(slices.Values(all), func(a, b Definition) int { return cmp.Compare(a.Name, b.Name) })
}

func list(d Definition, kind Kind) {
	mu.Lock()
	defer mu.Unlock()
	d.Kind = kind
	all = append(all, d)
}

// Counter registers a counter.
func Counter(d Definition) *prometheus.CounterVec {
	list(d, KindCounter)
	vec := prometheus.NewCounterVec(prometheus.CounterOpts{Name: d.Name, Help: d.Help}, d.Labels)
	metrics.Registry.MustRegister(vec)
	return vec
}

// seconds are the buckets of what takes between a tenth of a second and an hour, for who does not read
// native histograms.
var seconds = []float64{0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600}

// Seconds registers a histogram of seconds, native and classic.
func Seconds(d Definition) *prometheus.HistogramVec {
	list(d, KindHistogram)
	vec := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: d.Name, Help: d.Help, Buckets: seconds,
		NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100, NativeHistogramMinResetDuration: time.Hour,
	}, d.Labels)
	metrics.Registry.MustRegister(vec)
	return vec
}

// Gauge describes a gauge that the caller's collector serves.
func Gauge(d Definition) *prometheus.Desc {
	list(d, KindGauge)
	return prometheus.NewDesc(d.Name, d.Help, d.Labels, nil)
}

// Serve registers a collector of gauges.
func Serve(collector prometheus.Collector) { metrics.Registry.MustRegister(collector) }
