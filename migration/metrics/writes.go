package metrics

import (
	"github.com/sliceshift/sliceshift/internal/metric"
	"github.com/sliceshift/sliceshift/migration/pass"
)

var (
	writesTotal = metric.Counter(metric.Definition{
		Name: "sliceshift_migration_writes_total", Labels: []string{"verb", "result"},
		Help: "Writes of migrations, by verb and result: done, conflict (the object had changed), refused, failed (no answer, or the API server's fault).",
		Use:  "conflict is what writes of others make and heals by itself; refused needs a person, failed a cluster that answers.",
	})
	stallsTotal = metric.Counter(metric.Definition{
		Name: "sliceshift_migration_stalls_total", Labels: []string{"reason"},
		Help: "How often a migration was found to be stalled, by reason.",
		Use:  "What stops moves again and again, also when it was mended before anybody looked.",
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
func Wrote(verb string, kind pass.Kind) {
	writesTotal.WithLabelValues(verb, resultOf(kind)).Inc()
}

// Stalled counts a migration that stalls now and did not before, or for another reason.
func Stalled(reason string) { stallsTotal.WithLabelValues(reason).Inc() }

func resultOf(kind pass.Kind) string {
	switch kind {
	case pass.Landed:
		return "done"
	case pass.Changed:
		return "conflict"
	case pass.NamespaceGone, pass.MissingRight, pass.Refused:
		return "refused"
	default:
		return "failed"
	}
}
