package metrics

import (
	"github.com/sliceshift/sliceshift/internal/metric"
	"github.com/sliceshift/sliceshift/migration/planner"
)

var (
	writesTotal = metric.Counter(metric.Definition{
		Name: "sliceshift_migration_writes_total", Labels: []string{"verb", "result"},
		Help: "Writes of migrations, by verb and result: done, conflict (the object had changed), refused, failed (no answer, or the API server's fault).",
		Use:  "conflict: another client wrote first, and the write is retried. refused: fix the cause. failed: check that the cluster answers.",
	})
	stallsTotal = metric.Counter(metric.Definition{
		Name: "sliceshift_migration_stalls_total", Labels: []string{"reason"},
		Help: "How often a migration was found to be stalled, by reason.",
		Use:  "Finds recurring reasons, also those that were resolved unnoticed.",
	})
)

// Writes of the Migration itself, in addition to the verbs of effects.
const (
	// WriteStatus is a write of its status, with its record.
	WriteStatus = "WriteStatus"
	// TurnBack sets its mode to Rollback.
	TurnBack = "TurnBack"
)

// Wrote counts a write by its result.
func Wrote(verb string, kind planner.Kind) {
	writesTotal.WithLabelValues(verb, resultOf(kind)).Inc()
}

// Stalled counts a migration that stalls now and did not before, or for another reason.
func Stalled(reason string) { stallsTotal.WithLabelValues(reason).Inc() }

func resultOf(kind planner.Kind) string {
	switch kind {
	case planner.Landed:
		return "done"
	case planner.Changed:
		return "conflict"
	case planner.NamespaceGone, planner.MissingRight, planner.Refused:
		return "refused"
	default:
		return "failed"
	}
}
