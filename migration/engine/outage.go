package engine

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// downtime is the outage of the current ordinal. It is kept in memory, because most passes write no status and a
// handoff may end before one does.
type downtime struct {
	ordinal   int32
	direction api.Direction
	// since is zero while the ordinal is not known to be down. held is true while its giver has it, and serves while
	// its pod there is Ready although the giver does not have it any more.
	since        metav1.MicroTime
	held, serves bool
	// gone, released and started end parts of the outage, see api.StoppedOrdinal.
	gone, released, started metav1.MicroTime
	// ready is the time since which its pod is Ready at the taker; zero while it is not.
	ready metav1.MicroTime
}

// note records what a pass has seen of the current handoff.
func (d *downtime) note(m *api.Migration, s plan.Snapshot) {
	handoff, direction := m.Status.Handoff, m.Status.Fence.Heading()
	switch {
	case handoff == nil:
		*d = downtime{}
		return
	case d.direction == "" || d.ordinal != handoff.Ordinal:
		*d = recorded(m)
	case d.direction != direction:
		*d = downtime{ordinal: d.ordinal, since: d.since}
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
	d.noteStop(s.Now, giver, taker)
}

// recorded returns what the status records about the outage of the current ordinal.
func recorded(m *api.Migration) downtime {
	handoff, d := m.Status.Handoff, downtime{ordinal: m.Status.Handoff.Ordinal}
	if was := m.Status.History.StoppedOf(handoff.Ordinal); was != nil {
		d.since, d.gone, d.released, d.started, d.ready = was.StopTime, was.GoneTime, was.ReleaseTime, was.StartTime, was.ReadyTime
		d.serves = d.since.IsZero()
	} else if handoff.Step == api.StepAwaitRelease { // this step follows the stop at once
		d.since = handoff.StepTime
	}
	return d
}

// noteStop records whether the giver has the ordinal, and the state of its pod there.
func (d *downtime) noteStop(now time.Time, giver, taker plan.Side) {
	was := d.held
	d.held = giver.Set.Has(d.ordinal)
	pod, found := giver.Pod(d.ordinal)
	switch {
	case d.held:
		if found && pod.Available(now, giver.Set.MinReady) {
			*d = downtime{ordinal: d.ordinal, direction: d.direction, held: true, ready: d.ready}
		}
	case taker.Set.Has(d.ordinal):
		if d.started.IsZero() && !d.since.IsZero() { // by a write that was not answered
			d.started = metav1.NewMicroTime(now)
		}
		if was && d.since.IsZero() {
			d.since = metav1.NewMicroTime(now)
		}
	default:
		d.noteLeaving(now, was, pod, found)
	}
}

// noteLeaving records since when no pod of the ordinal serves, and when its pod at the giver is gone. A pass that
// follows the stop may still see a pod that serves.
func (d *downtime) noteLeaving(now time.Time, stopsNow bool, pod plan.Pod, found bool) {
	stopped := stopsNow || d.serves || !d.since.IsZero()
	switch serves := found && pod.Ready && !pod.Terminating; {
	case !stopped: // since when it is down is not known
	case serves:
		d.since, d.serves = metav1.MicroTime{}, true
	case d.since.IsZero():
		d.since, d.serves = metav1.NewMicroTime(now), false
	}
	if !found && d.gone.IsZero() && !d.since.IsZero() {
		d.gone = metav1.NewMicroTime(now)
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

// reached records the step of a decision: once a step after AwaitRelease is decided, nothing holds the volumes.
func (d *downtime) reached(step api.Step, now time.Time) {
	if (step == api.StepCarryVolumes || step == api.StepScaleUp) && !d.gone.IsZero() && d.released.IsZero() {
		d.released = metav1.NewMicroTime(now)
	}
}

// wrote records an effect that has landed.
func (d *downtime) wrote(effect plan.Effect, now time.Time) {
	if d.direction == "" || effect.Ordinal != d.ordinal {
		return
	}
	if effect.Stops() && d.since.IsZero() {
		d.since = metav1.NewMicroTime(now)
	}
	if effect.Starts() && d.started.IsZero() {
		d.started = metav1.NewMicroTime(now)
	}
}

// readyOf returns the time at which the ordinal of a handoff that has just ended became Ready; zero if unknown.
func (d downtime) readyOf(finished api.Handoff) metav1.MicroTime {
	if d.direction == "" || finished.Ordinal != d.ordinal || d.since.IsZero() || d.ready.Before(&d.since) {
		return metav1.MicroTime{}
	}
	return d.ready
}

// partsOf divides the outage of a handoff that has just ended. It returns the zero value if a part is not known, and
// if the ordinal was stopped before the handoff began.
func (d downtime) partsOf(finished api.Handoff) api.OutageParts {
	times := []metav1.MicroTime{finished.StartTime, d.since, d.gone, d.released, d.started, d.readyOf(finished)}
	for i, each := range times {
		if each.IsZero() || i > 0 && each.Before(&times[i-1]) {
			return api.OutageParts{}
		}
	}
	carry := d.started.Sub(d.released.Time)
	copied := min(carry, lastPass(finished))
	in := func(part time.Duration) metav1.Duration {
		return metav1.Duration{Duration: part.Round(time.Millisecond)}
	}
	return api.OutageParts{
		Stop: in(d.gone.Sub(d.since.Time)), Detach: in(d.released.Sub(d.gone.Time)), Carry: in(carry - copied), Copy: in(copied), Start: in(d.ready.Sub(d.started.Time)),
	}
}

// lastPass returns the duration of the longest last pass over the volumes of a handoff; 0 if none was copied.
func lastPass(finished api.Handoff) (longest time.Duration) {
	for _, v := range finished.Volumes {
		if seal := v.Copy.Seal; seal.Root != "" && !v.Copy.Dropped {
			longest = max(longest, time.Duration(seal.Seconds)*time.Second)
		}
	}
	return longest
}

// stopped returns the ordinal of a handoff if it was stopped; nil if it was not, or if the time is unknown. Its stop
// time is zero while its pod still serves.
func (d downtime) stopped(handoff *api.Handoff) *api.StoppedOrdinal {
	if handoff == nil || d.direction == "" || handoff.Ordinal != d.ordinal || d.since.IsZero() && !d.serves {
		return nil
	}
	return &api.StoppedOrdinal{Ordinal: d.ordinal, StopTime: d.since, GoneTime: d.gone, ReleaseTime: d.released, StartTime: d.started, ReadyTime: d.ready}
}

// atGiver reports whether the ordinal of a handoff is still at the side that it has to leave.
func (d downtime) atGiver(handoff api.Handoff) bool {
	return d.direction != "" && handoff.Ordinal == d.ordinal && d.held
}
