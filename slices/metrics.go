package slices

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// Metrics of the sets that this process runs. Those of a set go with it.
var (
	replicasGauge = setGauge("replicas", "Pods of a StatefulSet, by state: desired, existing, current and updated (by revision), ready, available, unavailable.", "state")
	startGauge    = setGauge("ordinals_start", "First ordinal of a StatefulSet.")
	mostGauge     = setGauge("max_unavailable", "How many pods of a StatefulSet an update may make unavailable, in pods, or a migration's share of that where it is smaller.")
	isGauge       = setGauge("is", "1 where a StatefulSet is ready (as it was asked for), complete (nothing is left to roll out), stalled (its roll-out makes no progress), held (a pod is left alone for a reason), 0 where not.", "state")
	progressGauge = setGauge("rollout_last_progress_timestamp_seconds", "When a roll-out that is not complete last made progress, in seconds since 1970; 0: none is under way.")

	writesTotal = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sliceshift_statefulset_writes_total",
		Help: "What was done to pods and claims, and status writes, by verb and result: done, conflict (the object had changed), refused, failed (no answer, or the API server's fault).",
	}, []string{"verb", "result"})
)

// writeStatus is the verb of a status write, beside those of actions.
const writeStatus = "WriteStatus"

func setGauge(name, help string, more ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "sliceshift_statefulset_" + name, Help: help}, append([]string{"namespace", "name"}, more...))
}

func init() { //nolint:gochecknoinits // the registry of controller-runtime is filled at start
	metrics.Registry.MustRegister(replicasGauge, startGauge, mostGauge, isGauge, progressGauge, writesTotal)
}

// sample is one value of a set.
type sample struct {
	gauge *prometheus.GaugeVec
	// state is the label of that name; empty: the gauge has none.
	state string
	value float64
}

func (s sample) labels(set types.NamespacedName) []string {
	if s.state == "" {
		return []string{set.Namespace, set.Name}
	}
	return []string{set.Namespace, set.Name, s.state}
}

// samplesOf are all values of a set; there are as many whatever was decided.
func samplesOf(in Input, d Decision) []sample {
	desired, s := int32(len(in.Spec.Ordinals())), d.Status
	var lastProgress float64
	if p := d.Progress; p.Revision != "" && !p.Complete {
		lastProgress = float64(p.Since.Unix())
	}
	samples := []sample{
		{startGauge, "", float64(in.Spec.Start)}, {mostGauge, "", float64(in.Spec.mostUnavailable())}, {progressGauge, "", lastProgress},
	}
	for state, count := range map[string]int32{
		"desired": desired, "existing": s.Replicas, "current": s.Current, "updated": s.Updated,
		"ready": s.Ready, "available": s.Available, "unavailable": max(0, desired-s.Available),
	} {
		samples = append(samples, sample{replicasGauge, state, float64(count)})
	}
	for state, is := range map[string]bool{"ready": d.Readiness.Ready, "complete": d.Complete, "stalled": d.Progress.Failed, "held": len(d.Held) > 0} {
		samples = append(samples, sample{isGauge, state, float64(one(is))})
	}
	return samples
}

func recordSet(set types.NamespacedName, in Input, d Decision) {
	for _, s := range samplesOf(in, d) {
		s.gauge.WithLabelValues(s.labels(set)...).Set(s.value)
	}
}

// forgetSet is for a set that is gone.
func forgetSet(set types.NamespacedName) {
	for _, s := range samplesOf(Input{}, Decision{}) {
		s.gauge.DeleteLabelValues(s.labels(set)...)
	}
}

// recordWrite counts a write by what came of it.
func recordWrite(verb string, err error) {
	writesTotal.WithLabelValues(verb, resultOf(err)).Inc()
}

func resultOf(err error) string {
	var answer apierrors.APIStatus
	switch {
	case err == nil:
		return "done"
	case apierrors.IsConflict(err):
		return "conflict"
	case errors.As(err, &answer) && answer.Status().Code >= 400 && answer.Status().Code < 500:
		return "refused"
	default:
		return "failed"
	}
}
