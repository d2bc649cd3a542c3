// Package metric defines and lists the metrics of this product. docs/metrics.md documents all metrics that are registered
// here. They are in the registry of controller-runtime, which the manager serves.
package metric

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// Kind is the Prometheus type of a metric.
type Kind string

// The kinds.
const (
	KindCounter   Kind = "counter"
	KindGauge     Kind = "gauge"
	KindHistogram Kind = "histogram"
)

// Definition is one metric.
type Definition struct {
	// Name is the full name, with the unit.
	Name string
	// Help describes the measured value.
	Help string
	// Use describes how to use the metric. It appears only in the documentation.
	Use string
	// Labels are the label names. Each label has few values, except the name of a resource, whose series are deleted with
	// it.
	Labels []string
	// Kind is set at registration.
	Kind Kind
}

var (
	mu  sync.Mutex
	all []Definition
)

// All returns the metrics of all linked packages, sorted by name.
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

// seconds are the buckets for durations between a tenth of a second and an hour, for systems without native histograms.
var seconds = []float64{0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600}

// Seconds registers a histogram of seconds, both native and classic.
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
