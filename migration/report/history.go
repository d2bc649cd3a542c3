package report

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/view"
)

// take adds the history. A Migration that was rolled back and began again also lists its earlier move, which is
// left out.
func (r *Report) take(h api.History) {
	before := func(end time.Time) bool { return r.Started != nil && end.Before(*r.Started) }
	for _, d := range h.Drivers {
		if before(d.StartTime.Time) {
			continue
		}
		r.Drivers = append(r.Drivers, Driver{d.Epoch, d.Holder, d.Direction, d.StartTime.UTC()})
	}
	for _, past := range h.Handoffs {
		if end := past.EndTime.UTC(); !before(end) {
			r.Handoffs = append(r.Handoffs, Handoff{
				Ordinal: past.Ordinal, Direction: past.Direction, Start: past.StartTime.UTC(), Stopped: known(past.StopTime), Ready: known(past.ReadyTime), End: &end,
				Outcome: past.Outcome, Stayed: past.Stayed,
				Attempts: past.Attempts, FewestAvailable: r.atMost(past), Clients: past.Clients, By: r.holder(past.Epoch),
			})
		}
	}
	for _, past := range h.Stops {
		if end := past.EndTime.UTC(); !before(end) {
			r.Stops = append(r.Stops, Stop{past.Reason, past.Message, past.Ordinal, past.StartTime.UTC(), &end})
		}
	}
	for _, past := range h.Seals {
		if before(past.EndTime.Time) {
			continue
		}
		r.Seals = append(r.Seals, Seal{
			Ordinal: past.Ordinal, Direction: past.Direction, Time: past.EndTime.UTC(),
			Sealed: Sealed{ClaimTemplate: past.ClaimTemplate, Root: past.Root, Verify: past.Verify, Bytes: past.Bytes, Files: past.Files, Trusted: past.Trusted, Proven: knownSecond(past.ProvenTime), Accepted: knownSecond(past.AcceptedTime)},
		})
	}
	r.DroppedHandoffs, r.DroppedSeals, r.DroppedStops = h.Dropped, h.DroppedSeals, h.DroppedStops
}

// atMost returns the lowest number of available replicas in an ended handoff. It is never all of them, because
// the handoff's own ordinal was down. A handoff shorter than a second may have been observed only before and
// after.
func (r *Report) atMost(past api.PastHandoff) *int32 {
	seen, down := past.FewestAvailable, !past.Stayed && (past.Outcome == "" || !past.StopTime.IsZero())
	if most := r.Replicas - 1; down && seen != nil && *seen > most && most >= 0 {
		return &most
	}
	return seen
}

func knownSecond(t metav1.Time) *time.Time { return known(metav1.NewMicroTime(t.Time)) }

func known(t metav1.MicroTime) *time.Time {
	if t.IsZero() {
		return nil
	}
	at := t.UTC()
	return &at
}

// present adds the current handoff and stop.
func (r *Report) present(status api.MigrationStatus, row view.Row) {
	if r.Outcome != "" {
		return
	}
	for i, h := range row.InFlight() {
		on := Handoff{Ordinal: h.Ordinal, Direction: h.Direction, Start: h.StartTime, Step: h.Step, Attempts: h.Attempts, FewestAvailable: status.HandoffOf(h.Ordinal).FewestAvailable}
		if fence := status.Fence; fence != nil {
			on.By = fence.Holder
		}
		if h.Down != nil {
			on.Stopped, on.Ready = &h.Down.Since, h.Down.Ready
		}
		if status.Probe != nil && i == 0 {
			on.Clients = status.Probe.Moving
		}
		r.Handoffs = append(r.Handoffs, on)
	}
	c := meta.FindStatusCondition(status.Conditions, api.ConditionProgressing)
	if c == nil || c.Status != metav1.ConditionFalse || status.Baseline == nil {
		return
	}
	stop := Stop{Reason: c.Reason, Message: c.Message, Start: c.LastTransitionTime.UTC()}
	if n := len(r.Stops); n > 0 && stop.Start.Before(*r.Stops[n-1].End) {
		stop.Start = *r.Stops[n-1].End
	}
	if h := status.Handoff; h != nil {
		stop.Ordinal = &h.Ordinal
	}
	r.Stops = append(r.Stops, stop)
}
