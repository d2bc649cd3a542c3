package engine

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// Limits of the history, and the maximum size of a stop's message in bytes of encoded JSON.
const (
	mostHandoffs  = 64
	mostStops     = 16
	mostDrivers   = 8
	mostSeals     = 32
	longestOfStop = 256
)

// renderHistory records the handoffs and stops that ended since the status before, and the current driver.
// History is written together with other changes, and is never a reason to write.
func renderHistory(m *api.Migration, before api.MigrationStatus, now time.Time, finished *api.Handoff, down downtime) {
	h := api.History{}
	if before.History != nil {
		h = *before.History.DeepCopy()
	}
	noteDriver(&h, before.Fence, m.Status.Fence, now)
	switch {
	case finished != nil:
		past := pastOf(*finished, m.Status.Fence, down)
		past.EndTime, past.ReadyTime = metav1.NewMicroTime(now), down.readyOf(*finished)
		noteHandoff(&h, before.Handoff, past)
		noteSeals(&h, *finished, now)
	case turnsRound(before, m.Status):
		noteTurned(&h, before, m.Status.Handoff.StartTime, down)
	}
	h.Stopped = down.stopped(m.Status.Handoff)
	noteStop(&h, before, m.Status, now)
	if len(h.Handoffs)+len(h.Stops)+len(h.Drivers) > 0 {
		m.Status.History = &h
	}
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

// noteDriver records a new driver. A record that begins again still has the fence of the move before, by which
// no process drives it.
func noteDriver(h *api.History, before, fence *api.Fence, now time.Time) {
	if fence == nil || now.IsZero() || before != nil && before.Epoch == fence.Epoch {
		return
	}
	h.Drivers = append(h.Drivers, api.Driver{Epoch: fence.Epoch, Holder: fence.Holder, Direction: fence.Direction, StartTime: metav1.NewTime(now)})
	h.Drivers = h.Drivers[max(0, len(h.Drivers)-mostDrivers):]
}

// noteHandoff records a handoff that has ended. The last observation of it is in the status before.
func noteHandoff(h *api.History, seen *api.Handoff, past api.PastHandoff) {
	if seen != nil && seen.Ordinal == past.Ordinal {
		past.FewestAvailable = seen.FewestAvailable
	}
	past.Stayed = past.StopTime.IsZero() && neverLeft(*h, past)
	keepHandoff(h, past)
}

// noteTurned records a handoff whose direction was reversed, at the time at which the way back begins.
func noteTurned(h *api.History, before api.MigrationStatus, at metav1.MicroTime, down downtime) {
	past := pastOf(*before.Handoff, before.Fence, down)
	past.EndTime, past.Outcome = at, api.HandoffTurnedBack
	past.Stayed = past.StopTime.IsZero() && (down.atGiver(*before.Handoff) || neverLeft(*h, past))
	keepHandoff(h, past)
}

// turnsRound reports whether the direction of the current handoff was reversed.
func turnsRound(before, after api.MigrationStatus) bool {
	was, is := before.Handoff, after.Handoff
	return was != nil && is != nil && was.Ordinal == is.Ordinal && directionOf(before.Fence) != directionOf(after.Fence)
}

func directionOf(fence *api.Fence) api.Direction {
	if fence == nil {
		return api.Forward
	}
	return fence.Direction
}

// pastOf returns the history entry of a handoff, without its outcome.
func pastOf(handoff api.Handoff, fence *api.Fence, down downtime) api.PastHandoff {
	past := api.PastHandoff{
		Ordinal: handoff.Ordinal, StartTime: handoff.StartTime, Attempts: handoff.Attempts,
		Direction: directionOf(fence), FewestAvailable: handoff.FewestAvailable,
	}
	if stopped := down.stopped(&handoff); stopped != nil {
		past.StopTime = stopped.StopTime
	}
	if fence != nil {
		past.Epoch = fence.Epoch
	}
	return past
}

// neverLeft reports whether an ordinal is where it was before a series of handoffs that ends with last. Each
// was reversed before the ordinal was stopped, and the first led to the other side.
func neverLeft(h api.History, last api.PastHandoff) bool {
	first := last
	for _, past := range slices.Backward(h.Handoffs) {
		if past.Ordinal != last.Ordinal || past.Outcome != api.HandoffTurnedBack || !past.Stayed || !past.EndTime.Equal(&first.StartTime) {
			break
		}
		first = past
	}
	return first.Direction != last.Direction
}

func keepHandoff(h *api.History, past api.PastHandoff) {
	h.Handoffs = append(h.Handoffs, past)
	if over := len(h.Handoffs) - mostHandoffs; over > 0 {
		h.Handoffs, h.Dropped = slices.Clone(h.Handoffs[over:]), h.Dropped+int32(over)
	}
}

// noteSeals records the seals of the volumes on which the ordinal of a handoff now runs. A reversed handoff has
// copied volumes for the side that it did not reach.
func noteSeals(h *api.History, finished api.Handoff, now time.Time) {
	reached, left := h.Handoffs[len(h.Handoffs)-1].Direction, plan.SourceSide
	if reached == api.Back {
		left = plan.DestinationSide
	}
	for _, v := range finished.Volumes {
		seal := v.Copy.Seal
		if seal.Root == "" || v.Copy.Dropped || v.Copy.Giver != string(left) {
			continue
		}
		h.Seals = append(h.Seals, api.PastSeal{
			Ordinal: finished.Ordinal, ClaimTemplate: v.ClaimTemplate, Direction: reached, EndTime: metav1.NewMicroTime(now),
			Root: seal.Root, Verify: seal.Verify, Bytes: seal.Bytes, Files: seal.Files, Trusted: seal.Trusted,
		})
	}
	if over := len(h.Seals) - mostSeals; over > 0 {
		h.Seals, h.DroppedSeals = slices.Clone(h.Seals[over:]), h.DroppedSeals+int32(over)
	}
}

// noteStop records a stop that is over or continues for another reason. The end of a migration is not a stop.
func noteStop(h *api.History, before, after api.MigrationStatus, now time.Time) {
	was, is := meta.FindStatusCondition(before.Conditions, api.ConditionProgressing), meta.FindStatusCondition(after.Conditions, api.ConditionProgressing)
	completed := meta.FindStatusCondition(before.Conditions, api.ConditionCompleted)
	ended := completed != nil && was != nil && completed.Reason == was.Reason
	if was == nil || was.Status != metav1.ConditionFalse || ended || before.Baseline == nil || now.IsZero() {
		return
	}
	if is != nil && is.Status == metav1.ConditionFalse && is.Reason == was.Reason {
		return
	}
	stop := api.PastStop{Reason: was.Reason, Message: fitting(was.Message, longestOfStop), StartTime: was.LastTransitionTime, EndTime: metav1.NewTime(now)}
	if n := len(h.Stops); n > 0 && stop.StartTime.Before(&h.Stops[n-1].EndTime) {
		stop.StartTime = h.Stops[n-1].EndTime // the condition does not record when its reason changed
	}
	if before.Handoff != nil {
		stop.Ordinal = new(before.Handoff.Ordinal)
	}
	h.Stops = append(h.Stops, stop)
	if over := len(h.Stops) - mostStops; over > 0 {
		h.Stops, h.DroppedStops = slices.Clone(h.Stops[over:]), h.DroppedStops+int32(over)
	}
}
