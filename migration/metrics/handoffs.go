// Package metrics exports metrics of migrations: events as counters and histograms, and the state of each
// migration as gauges that are removed together with it. It receives all data from its callers, and reads
// nothing itself.
package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/metric"
	"github.com/sliceshift/sliceshift/migration/handoffs"
	"github.com/sliceshift/sliceshift/migration/view"
)

var (
	begunTotal = metric.Counter(metric.Definition{
		Name: "sliceshift_migration_handoffs_begun_total", Labels: []string{"direction"},
		Help: "Handoffs that were begun, or turned round into this direction (Forward, Back).",
		Use:  "How much is going on. Of those begun, each ends as completed, turned back or withdrawn.",
	})
	completedTotal = metric.Counter(metric.Definition{
		Name: "sliceshift_migration_handoffs_completed_total", Labels: []string{"direction"},
		Help: "Handoffs whose ordinal has arrived, by direction (Forward, Back).",
		Use:  "Throughput: rate() of it, and what divides requests and writes into those of one handoff.",
	})
	turnedTotal = metric.Counter(metric.Definition{
		Name: "sliceshift_migration_handoffs_turned_back_total", Labels: []string{"direction"},
		Help: "Handoffs that were reversed before their end, by their original direction.",
		Use:  "Above 0 without a requested rollback: find out why moves are rolled back.",
	})
	withdrawnTotal = metric.Counter(metric.Definition{
		Name: "sliceshift_migration_handoffs_withdrawn_total", Labels: []string{"direction"},
		Help: "Handoffs that ended before their ordinal was stopped, by direction.",
		Use:  "Many of them mean that gates close again as soon as a handoff has begun: applications flap.",
	})
	handoffSeconds = metric.Seconds(metric.Definition{
		Name: "sliceshift_migration_handoff_duration_seconds", Labels: []string{"direction", "outcome"},
		Help: "Seconds from the beginning of a handoff to its end, by outcome: arrived, turned_back, withdrawn.",
		Use:  "What a move costs each replica. Its exemplars lead to the trace of a slow one.",
	})
	outageSeconds = metric.Seconds(metric.Definition{
		Name: "sliceshift_migration_outage_seconds", Labels: []string{"direction"},
		Help: "Seconds for which no pod of an ordinal was Ready in a handoff that has arrived.",
		Use:  "What a move costs users. The time that the pod must then stay Ready is in sliceshift_migration_soak_seconds.",
	})
	soakSeconds = metric.Seconds(metric.Definition{
		Name: "sliceshift_migration_soak_seconds", Labels: []string{"direction"},
		Help: "Seconds from when the pod of an ordinal was Ready until the ordinal was available, in a handoff that has arrived.",
		Use:  "What minReadySeconds costs a move; users are served meanwhile.",
	})
	stepSeconds = metric.Seconds(metric.Definition{
		Name: "sliceshift_migration_handoff_step_duration_seconds", Labels: []string{"step", "outcome"},
		Help: "Seconds that an ordinal stayed at a step of its handoff, by outcome: done, turned_back, withdrawn.",
		Use:  "Where handoffs spend their time: AwaitRelease is the old pod and its volumes, AwaitReadiness the new pod.",
	})
)

func init() { //nolint:gochecknoinits // a counter that appears with its first event has no rate then
	for _, direction := range []api.Direction{api.Forward, api.Back} {
		for _, counter := range []*prometheus.CounterVec{begunTotal, completedTotal, turnedTotal, withdrawnTotal} {
			counter.WithLabelValues(string(direction))
		}
	}
}

// Handoff records the metrics of a handoff from one pass. trace is the ID of its trace; empty if there is none.
func Handoff(changes handoffs.Changes, trace string) {
	if begun := changes.Begun; begun != nil {
		begunTotal.WithLabelValues(string(begun.Direction)).Inc()
	}
	if stay := changes.Stay; stay != nil {
		observe(stepSeconds.WithLabelValues(string(stay.Step), string(stay.Outcome)), stay.End.Sub(stay.Start).Seconds(), trace)
	}
	ended := changes.Ended
	if ended == nil {
		return
	}
	direction := string(ended.Direction)
	switch ended.Outcome {
	case handoffs.Arrived:
		completedTotal.WithLabelValues(direction).Inc()
		served(*ended, trace)
	case handoffs.TurnedBack:
		turnedTotal.WithLabelValues(direction).Inc()
	default:
		withdrawnTotal.WithLabelValues(direction).Inc()
	}
	observe(handoffSeconds.WithLabelValues(direction, string(ended.Outcome)), ended.End.Sub(ended.Start).Seconds(), trace)
}

// served records the outage of an ordinal that has arrived, and its soak, if they are known.
func served(ended handoffs.Ending, trace string) {
	if ended.Past == nil {
		return
	}
	if down := view.DownIn(*ended.Past); down != nil {
		end, direction := ended.Past.EndTime.Time, string(ended.Direction)
		observe(outageSeconds.WithLabelValues(direction), down.Outage(end).Seconds(), trace)
		observe(soakSeconds.WithLabelValues(direction), down.Soak(end).Seconds(), trace)
	}
}

// observe adds a value with its trace as an exemplar.
func observe(to prometheus.Observer, value float64, trace string) {
	if with, can := to.(prometheus.ExemplarObserver); can && trace != "" {
		with.ObserveWithExemplar(value, prometheus.Labels{"trace_id": trace})
		return
	}
	to.Observe(value)
}
