package slices

import (
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sliceshift/sliceshift/internal/metric"
	"github.com/sliceshift/sliceshift/slices/decide"
)

// Metrics of this controller.
var (
	replicasGauge = describe("replicas", "Pods of a StatefulSet, by state: desired, existing, current and updated (by revision), ready, available, unavailable.",
		"Capacity: unavailable above 0 for long, or available below desired.", "state")
	startGauge = describe("ordinals_start", "First ordinal of a StatefulSet.", "Which ordinals are here: they begin at this one.")
	mostGauge  = describe("max_unavailable", "How many pods of a StatefulSet an update may make unavailable, in pods, or a migration's share of that where it is smaller.",
		"What a roll-out may take down now. 0 holds it, which a move does to one side.")
	isGauge = describe("is", "1 where a StatefulSet is ready (it matches its spec), complete (nothing is left to roll out), stalled (a pod of its roll-out is late), failed (its roll-out was taken back: status.failedRevision), held (a pod is left alone for a reason), budget (a PodDisruptionBudget holds a pod), 0 where not.",
		"Roll-outs: complete is 0 while one is under way, and stalled is 1 when it needs attention. A failed one stays stalled until the template changes.", "state")
	progressGauge = describe("rollout_last_progress_timestamp_seconds", "When a roll-out that is not complete last made progress, in seconds since 1970; 0: none is under way.",
		"time() less it is how long a roll-out has stood still.")
)

var rolloutsTotal = metric.Counter(metric.Definition{
	Name: "sliceshift_statefulset_rollouts_total", Labels: []string{"result"},
	Help: "Roll-outs of all StatefulSets by result: complete, stalled (it makes no progress; it may be complete later).",
	Use:  "How often roll-outs fail: stalled of all.",
})

// writeStatus is the verb of a status write in the metrics, next to the verbs of actions.
const writeStatus = "WriteStatus"

func describe(name, help, use string, more ...string) *prometheus.Desc {
	return metric.Gauge(metric.Definition{Name: "sliceshift_statefulset_" + name, Help: help, Use: use, Labels: append([]string{"namespace", "name"}, more...)})
}

func init() { //nolint:gochecknoinits // the registry of controller-runtime is filled at start
	metric.Serve(gauges)
	for _, result := range []string{"complete", "stalled"} {
		rolloutsTotal.WithLabelValues(result) // without an initial 0, the first increment is invisible to rate()
	}
}

// setGauges collects the metrics of all sets that this process reconciles. It removes the values of a deleted set. A set
// costs only a few numbers, because its series are created when they are scraped.
type setGauges struct {
	mu sync.Mutex
	// values holds the values of each set's samples, in the order of samplesOf.
	values map[types.NamespacedName][]float64
}

var gauges = &setGauges{values: map[types.NamespacedName][]float64{}}

// Describe implements prometheus.Collector.
func (g *setGauges) Describe(descriptions chan<- *prometheus.Desc) {
	for _, each := range []*prometheus.Desc{replicasGauge, startGauge, mostGauge, isGauge, progressGauge} {
		descriptions <- each
	}
}

// Collect implements prometheus.Collector.
func (g *setGauges) Collect(collected chan<- prometheus.Metric) {
	g.mu.Lock()
	defer g.mu.Unlock()
	samples := samplesOf(decide.Input{}, decide.Decision{})
	for set, values := range g.values {
		for i, s := range samples {
			collected <- prometheus.MustNewConstMetric(s.gauge, prometheus.GaugeValue, values[i], s.labels(set)...)
		}
	}
}

func (g *setGauges) record(set types.NamespacedName, samples []sample) {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = s.value
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if before := g.values[set]; before != nil {
		countRollout(samples, before)
	}
	g.values[set] = values
}

// countRollout counts a roll-out that was in progress at the previous record and is complete or stalled now.
func countRollout(samples []sample, before []float64) {
	for i, s := range samples {
		switch {
		case s.gauge == progressGauge && before[i] > 0 && s.value == 0:
			rolloutsTotal.WithLabelValues("complete").Inc()
		case s.gauge == isGauge && s.state == "stalled" && before[i] < s.value:
			rolloutsTotal.WithLabelValues("stalled").Inc()
		}
	}
}

// forget removes the values of a deleted set.
func (g *setGauges) forget(set types.NamespacedName) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.values, set)
}

// sample is the value of a gauge for one set.
type sample struct {
	gauge *prometheus.Desc
	// state is the label "state". Empty means that the gauge has no such label.
	state string
	value float64
}

func (s sample) labels(set types.NamespacedName) []string {
	if s.state == "" {
		return []string{set.Namespace, set.Name}
	}
	return []string{set.Namespace, set.Name, s.state}
}

// samplesOf returns all values of a set. Their number and order are the same for every decision.
func samplesOf(in decide.Input, d decide.Decision) []sample {
	desired, s := in.Spec.Size(), d.Status
	count := func(state string, pods int32) sample { return sample{replicasGauge, state, float64(pods)} }
	is := func(state string, is bool) sample {
		if is {
			return sample{isGauge, state, 1}
		}
		return sample{isGauge, state, 0}
	}
	var lastProgress float64
	if p := d.Progress; p.Revision != "" && !p.Complete {
		lastProgress = float64(p.Since.Unix())
	}
	return []sample{
		{startGauge, "", float64(in.Spec.Start)},
		{mostGauge, "", float64(in.Spec.MostUnavailable())},
		{progressGauge, "", lastProgress},
		count("desired", desired), count("existing", s.Replicas), count("current", s.Current), count("updated", s.Updated),
		count("ready", s.Ready), count("available", s.Available), count("unavailable", max(0, desired-s.Available)),
		is("ready", d.Readiness.Ready), is("complete", d.Complete), is("stalled", d.Progress.Failed), is("failed", d.FailedRevision != ""), is("held", len(d.Held) > 0),
		is("budget", slices.ContainsFunc(d.Held, func(h decide.Hold) bool { return h.Reason == decide.HeldDisruption })),
	}
}
