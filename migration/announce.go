package migration

import (
	"time"
	"unicode/utf8"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Metrics of the migrations that this process drives.
var (
	handoffsTotal = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sliceshift_handoffs_total",
		Help: "Ordinals that arrived, by direction (Forward, Back).",
	}, []string{"direction"})
	handoffSeconds = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "sliceshift_handoff_duration_seconds",
		Help:    "Seconds from the beginning of an ordinal's handoff until it was available.",
		Buckets: prometheus.ExponentialBuckets(0.1, 2, 14),
	})
	stallsTotal = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sliceshift_migration_stalls_total",
		Help: "How often a migration was found to be stalled, by reason.",
	}, []string{"reason"})
	effectsTotal = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sliceshift_effects_total",
		Help: "Writes to the clusters of a migration that were accepted, by verb.",
	}, []string{"verb"})
)

func init() { //nolint:gochecknoinits // the registry of controller-runtime is filled at start
	metrics.Registry.MustRegister(handoffsTotal, handoffSeconds, stallsTotal, effectsTotal)
}

// announce tells what a pass has come to, after it was written: events for people,
// metrics for machines, a log line for whoever looks later.
func (r *Reconciler) announce(m *api.Migration, outcome Outcome, arrived *arrivals) {
	log := ctrl.Log.WithName("migration").WithValues("migration", m.Namespace+"/"+m.Name)
	decision := outcome.Decision
	if outcome.Wrote {
		effectsTotal.WithLabelValues(string(decision.Effect.Verb)).Inc()
		log.Info(decision.Effect.String(), "side", decision.Effect.Side)
	}
	r.announceArrivals(m, outcome, arrived)
	if outcome.Stalls {
		r.announceStall(log, m, *decision.Hold)
	}
	if outcome.Done && outcome.Saved {
		r.event(m, corev1.EventTypeNormal, decision.Done, "Complete", completedMessage(decision.Done))
	}
}

func (r *Reconciler) announceArrivals(m *api.Migration, outcome Outcome, arrived *arrivals) {
	tell := func(note string) {
		if note != "" {
			r.event(m, corev1.EventTypeNormal, "OrdinalMoved", "HandOff", note)
		}
	}
	if finished := outcome.Finished; finished != nil {
		took := outcome.Snapshot.Now.Sub(finished.StartTime.Time)
		direction := api.Forward
		if outcome.Snapshot.Record.Fence != nil {
			direction = outcome.Snapshot.Record.Fence.Direction
		}
		handoffsTotal.WithLabelValues(string(direction)).Inc()
		handoffSeconds.Observe(took.Seconds())
		tell(arrived.add(finished.Ordinal, took, direction))
	}
	tell(arrived.due(time.Now(), outcome.Done || outcome.Stalls))
}

func (r *Reconciler) announceStall(log logr.Logger, m *api.Migration, hold plan.Hold) {
	stallsTotal.WithLabelValues(hold.Reason).Inc()
	log.Info("stalled", "reason", hold.Reason, "message", hold.Message)
	r.event(m, corev1.EventTypeWarning, hold.Reason, "Hold", hold.Message)
}

func (r *Reconciler) event(m *api.Migration, kind, reason, action, note string) {
	r.Events.Eventf(m, nil, kind, reason, action, "%s", shorten(note, longestNote))
}

// longestNote is how many bytes the note of an event may have (kubernetes
// pkg/apis/core/validation/events.go, NoteLengthLimit): a longer one is refused.
const longestNote = 1024

// cut stands for what was left out.
const cut = "…"

// shorten cuts a text to so many bytes, between two letters, and shows that it did.
func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := most - len(cut)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + cut
}
