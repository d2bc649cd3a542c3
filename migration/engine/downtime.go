package engine

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// observations is what the passes of this process have seen, and no status has yet.
type observations struct {
	// fewest and down are of the current handoff.
	fewest fewest
	down   downtime
	// clients measures availability for clients of the application.
	clients clients
}

// note records what a pass has seen of the current handoff.
func (o *observations) note(m *api.Migration, s plan.Snapshot) {
	o.fewest.note(m.Status.Handoff, s)
	o.down.note(m, s)
}

// fewest is the lowest number of available replicas that was seen during the current handoff. It is kept in
// memory, because most passes write no status and a handoff may end before one does.
type fewest struct {
	ordinal   int32
	start     metav1.MicroTime
	available *int32
}

// note records the available replicas that a pass has seen during the current handoff; nil means that there is
// none.
func (f *fewest) note(handoff *api.Handoff, s plan.Snapshot) {
	if handoff == nil || s.Source.Reach != plan.Seen || s.Destination.Reach != plan.Seen {
		return
	}
	if f.ordinal != handoff.Ordinal || !f.start.Equal(&handoff.StartTime) {
		*f = fewest{ordinal: handoff.Ordinal, start: handoff.StartTime}
	}
	available := plan.Available(s.Now, s.Source) + plan.Available(s.Now, s.Destination)
	if f.available == nil || available < *f.available {
		f.available = &available
	}
}

// in returns a handoff with the lowest number that was seen in it.
func (f *fewest) in(handoff *api.Handoff) *api.Handoff {
	if handoff == nil || f.available == nil || f.ordinal != handoff.Ordinal || !f.start.Equal(&handoff.StartTime) ||
		handoff.FewestAvailable != nil && *handoff.FewestAvailable <= *f.available {
		return handoff
	}
	next := *handoff
	next.FewestAvailable = new(*f.available)
	return &next
}

// downtime is the time since which the current ordinal is down. It is kept in memory, because most passes write
// no status and a handoff may end before one does.
type downtime struct {
	ordinal   int32
	direction api.Direction
	// since is zero while the ordinal is not known to be down. held is true while its giver has it.
	since metav1.MicroTime
	held  bool
	// ready is the time since which its pod is Ready at the taker; zero while it is not.
	ready metav1.MicroTime
}

// note records what a pass has seen of the current handoff.
func (d *downtime) note(m *api.Migration, s plan.Snapshot) {
	handoff, direction := m.Status.Handoff, directionOf(m.Status.Fence)
	switch {
	case handoff == nil:
		*d = downtime{}
		return
	case d.direction == "" || d.ordinal != handoff.Ordinal:
		*d = downtime{ordinal: handoff.Ordinal, since: recordedStop(m), ready: recordedReady(m)}
	case d.direction != direction:
		d.held, d.ready = false, metav1.MicroTime{}
	}
	d.direction = direction
	giver, taker := s.Source, s.Destination
	if direction == api.Back {
		giver, taker = taker, giver
	}
	if s.Source.Reach != plan.Seen || s.Destination.Reach != plan.Seen || giver.Set.Presence != plan.Seen {
		d.held = false
		return
	}
	d.noteReady(s.Now, taker)
	was := d.held
	d.held = giver.Set.Has(handoff.Ordinal)
	switch pod, found := giver.Pod(handoff.Ordinal); {
	case !d.held && was && d.since.IsZero(): // by a write that was not answered
		d.since = metav1.NewMicroTime(s.Now)
	case d.held && found && pod.Available(s.Now, giver.Set.MinReady):
		d.since = metav1.MicroTime{}
	}
}

// noteReady records since when the ordinal's pod is Ready at the taker. The condition has a resolution of
// seconds, and a pass may come later.
func (d *downtime) noteReady(now time.Time, taker plan.Side) {
	pod, found := taker.Pod(d.ordinal)
	switch {
	case !found || !pod.Ready || !taker.Set.Has(d.ordinal):
		d.ready = metav1.MicroTime{}
	case d.ready.IsZero() || pod.ReadySince.After(d.ready.Time):
		d.ready = metav1.NewMicroTime(now)
		if latest := pod.ReadySince.Add(time.Second); !pod.ReadySince.IsZero() && latest.Before(now) {
			d.ready = metav1.NewMicroTime(latest)
		}
	}
}

// readyOf returns the time at which the ordinal of a handoff that has just ended became Ready; zero if unknown.
func (d downtime) readyOf(finished api.Handoff) metav1.MicroTime {
	if d.direction == "" || finished.Ordinal != d.ordinal || d.since.IsZero() || d.ready.Before(&d.since) {
		return metav1.MicroTime{}
	}
	return d.ready
}

// recordedReady returns the time since which the current ordinal is Ready according to the status; zero if it
// is not.
func recordedReady(m *api.Migration) metav1.MicroTime {
	if h := m.Status.History; h != nil && h.Stopped != nil && h.Stopped.Ordinal == m.Status.Handoff.Ordinal {
		return h.Stopped.ReadyTime
	}
	return metav1.MicroTime{}
}

// recordedStop returns the time since which the current ordinal is down according to the status; zero if
// unknown.
func recordedStop(m *api.Migration) metav1.MicroTime {
	handoff := m.Status.Handoff
	if h := m.Status.History; h != nil && h.Stopped != nil && h.Stopped.Ordinal == handoff.Ordinal {
		return h.Stopped.StopTime
	}
	if handoff.Step == api.StepAwaitRelease { // this step follows the stop at once
		return handoff.StepTime
	}
	return metav1.MicroTime{}
}

// wrote records an effect that has landed.
func (d *downtime) wrote(effect plan.Effect, now time.Time) {
	if effect.Stops() && d.direction != "" && effect.Ordinal == d.ordinal && d.since.IsZero() {
		d.since = metav1.NewMicroTime(now)
	}
}

// stopped returns the ordinal of a handoff if it is down; nil if it is not, or if the time of its stop is
// unknown.
func (d downtime) stopped(handoff *api.Handoff) *api.StoppedOrdinal {
	if handoff == nil || d.direction == "" || handoff.Ordinal != d.ordinal || d.since.IsZero() {
		return nil
	}
	return &api.StoppedOrdinal{Ordinal: d.ordinal, StopTime: d.since, ReadyTime: d.ready}
}

// atGiver reports whether the ordinal of a handoff is still at the side that it has to leave.
func (d downtime) atGiver(handoff api.Handoff) bool {
	return d.direction != "" && handoff.Ordinal == d.ordinal && d.held
}
