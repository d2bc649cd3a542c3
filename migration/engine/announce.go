package engine

import (
	"cmp"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/printable"
	"github.com/sliceshift/sliceshift/migration/handoffs"
	"github.com/sliceshift/sliceshift/migration/metrics"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// announce publishes the result of a pass after it was written: as events, metrics, spans and log lines.
func (r *Reconciler) announce(m *api.Migration, outcome Outcome, arrived *arrivals) {
	changes := r.follow(m, outcome)
	r.log(m, outcome, changes)
	r.announceArrivals(m, outcome, arrived)
	if outcome.Stalls {
		hold := outcome.Decision.Hold
		metrics.Stalled(hold.Reason)
		r.event(m, corev1.EventTypeWarning, hold.Reason, "Hold", hold.Message)
	}
	if outcome.AheadHeld != "" {
		c := meta.FindStatusCondition(m.Status.Conditions, api.ConditionAheadHeld)
		r.event(m, corev1.EventTypeWarning, c.Reason, "CopyAhead", c.Message)
	}
	if outcome.Done && outcome.Saved {
		r.event(m, corev1.EventTypeNormal, outcome.Decision.Done, "Complete", completedMessage(m, outcome.Decision.Done))
	}
}

// follow updates the metrics and traces of the current handoffs from a pass.
func (r *Reconciler) follow(m *api.Migration, outcome Outcome) []handoffs.Changes {
	look := handoffs.Look{Now: outcome.Snapshot.Now, Step: outcome.Decision.Step}
	if hold := outcome.Decision.Hold; hold != nil {
		look.Reason = hold.Reason
	}
	all := r.followed.Track(m, about(outcome), look)
	for _, changes := range all {
		metrics.Handoff(changes, r.Traces.ID(changes.Of))
		r.Traces.Record(m, changes)
	}
	return all
}

// about returns the ordinal in flight that a pass was about; nil: none.
func about(outcome Outcome) *int32 {
	if handoff := outcome.Snapshot.Record.Handoff; handoff != nil {
		return &handoff.Ordinal
	}
	return nil
}

// log writes a line for each action, each record, and each new reason to wait.
func (r *Reconciler) log(m *api.Migration, outcome Outcome, all []handoffs.Changes) {
	log := ctrl.Log.WithName("migration").WithValues("migration", m.Namespace+"/"+m.Name)
	for _, changes := range all {
		if ended := changes.Ended; ended != nil {
			r.ofHandoff(log, &ended.Handoff).Info("handoff ended", "outcome", ended.Outcome,
				"seconds", ended.End.Sub(ended.Start).Seconds(), "attempts", ended.Attempts)
		}
	}
	if outcome.Saved && outcome.Decision.Record != nil {
		logRecord(log, m, outcome.Snapshot, *outcome.Decision.Record)
	}
	for _, changes := range all {
		if begun := changes.Begun; begun != nil {
			r.ofHandoff(log, begun).Info("handoff begun")
		}
	}
	if outcome.AheadHeld != "" {
		log.Info("copies for later turns do not go on", "reason", outcome.AheadHeld, "message", meta.FindStatusCondition(m.Status.Conditions, api.ConditionAheadHeld).Message)
	}
	log = r.ofHandoff(log, current(all, about(outcome)))
	decision := outcome.Decision
	switch {
	case outcome.Wrote:
		log.Info(decision.Effect.String(), "cluster", outcome.Snapshot.Side(decision.Effect.Side).Cluster, "verb", decision.Effect.Verb)
	case outcome.Stalls:
		log.Info("stalled", "reason", decision.Hold.Reason, "message", decision.Hold.Message, "remedy", decision.Hold.Remedy)
	case outcome.Waits:
		log.Info("waiting", "reason", decision.Hold.Reason, "message", decision.Hold.Message)
	case outcome.Done && outcome.Saved:
		log.Info("completed", "reason", decision.Done, "message", completedMessage(m, decision.Done))
	case outcome.GoesOn:
		log.Info("no longer stalled")
	}
}

// current returns the current handoff of an ordinal, or the only one; nil: there is none.
func current(all []handoffs.Changes, ordinal *int32) *handoffs.Handoff {
	for _, changes := range all {
		if now := changes.Current; now != nil && (len(all) == 1 || ordinal != nil && now.Ordinal == *ordinal) {
			return now
		}
	}
	return nil
}

// logRecord logs the new parts of a record: that the migration was accepted, and that this process drives it.
func logRecord(log logr.Logger, m *api.Migration, s plan.Snapshot, record plan.Record) {
	if base := record.Baseline; base != nil && s.Record.Baseline == nil {
		place := func(side plan.Side, set string) string { return side.Cluster + "/" + side.Namespace + "/" + set }
		log.Info("accepted", "source", place(s.Source, m.Spec.Source.Name), "destination", place(s.Destination, cmp.Or(m.Target().Name, m.Spec.Source.Name)),
			"replicas", base.Replicas, "budget", base.Budget)
	}
	if fence, before := record.Fence, s.Record.Fence; fence != nil && (before == nil || *before != *fence) {
		log.Info("this process drives the migration", "epoch", fence.Epoch, "direction", fence.Direction, "holder", fence.Holder)
	}
}

// ofHandoff adds the current ordinal, if any, to the logger.
func (r *Reconciler) ofHandoff(log logr.Logger, h *handoffs.Handoff) logr.Logger {
	if h == nil {
		return log
	}
	log = log.WithValues("ordinal", h.Ordinal, "direction", h.Direction)
	if id := r.Traces.ID(*h); id != "" {
		log = log.WithValues("traceID", id)
	}
	return log
}

func (r *Reconciler) announceArrivals(m *api.Migration, outcome Outcome, arrived *arrivals) {
	tell := func(note string) {
		if note != "" {
			r.event(m, corev1.EventTypeNormal, "OrdinalMoved", "HandOff", note)
		}
	}
	switch finished := outcome.Finished; {
	case finished == nil:
	case stayed(m, *finished):
		tell(arrived.take())
		r.event(m, corev1.EventTypeNormal, "OrdinalStayed", "HandOff", fmt.Sprintf("ordinal %d is available where it was: it had not been stopped", finished.Ordinal))
	default:
		direction := api.Forward
		if outcome.Snapshot.Record.Fence != nil {
			direction = outcome.Snapshot.Record.Fence.Direction
		}
		tell(arrived.add(finished.Ordinal, outcome.Snapshot.Now.Sub(finished.StartTime.Time), direction))
	}
	tell(arrived.due(time.Now(), outcome.Done || outcome.Stalls))
}

// stayed reports whether the ordinal of the handoff that has just ended was never stopped.
func stayed(m *api.Migration, finished api.Handoff) bool {
	h := m.Status.History
	if h == nil || len(h.Handoffs) == 0 {
		return false
	}
	last := h.Handoffs[len(h.Handoffs)-1]
	return last.Ordinal == finished.Ordinal && last.Stayed && last.Outcome == ""
}

func (r *Reconciler) event(m *api.Migration, kind, reason, action, note string) {
	r.Events.Eventf(m, nil, kind, reason, action, "%s", shorten(printable.Text(note), longestNote))
}

// longestNote is the maximum size of an event's note, in bytes (kubernetes pkg/apis/core/validation/events.go,
// NoteLengthLimit). The API server refuses a longer note.
const longestNote = 1024

// shorten truncates text to a maximum of bytes, between two characters, and marks the cut.
func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := most - len(printable.Cut)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + printable.Cut
}
