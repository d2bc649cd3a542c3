package migration

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// What there is room for in the history, and how many bytes a stop's message has at most as it is sent.
const (
	mostHandoffs  = 64
	mostStops     = 16
	mostDrivers   = 8
	mostSeals     = 32
	longestOfStop = 256
)

// renderHistory notes what has come to its end since the status of before, and who drives. It is
// written with what has changed anyway, and is never a reason to write.
func renderHistory(m *api.Migration, before api.MigrationStatus, now time.Time, finished *api.Handoff) {
	h := api.History{}
	if before.History != nil {
		h = *before.History.DeepCopy()
	}
	noteDriver(&h, m.Status.Fence, now)
	if finished != nil {
		noteHandoff(&h, m.Status.Fence, before.Handoff, *finished, now)
		noteSeals(&h, *finished, now)
	}
	noteStop(&h, before, m.Status, now)
	if len(h.Handoffs)+len(h.Stops)+len(h.Drivers) > 0 {
		m.Status.History = &h
	}
}

// fewest is how few replicas were seen to be available while an ordinal is on its way. Most passes write no status, and a
// handoff may be over before one does: they keep it.
type fewest struct {
	ordinal   int32
	start     metav1.MicroTime
	available *int32
}

// note takes what a pass has seen of the handoff under way; nil: there is none.
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

// in is a handoff with the fewest that were seen in it.
func (f *fewest) in(handoff *api.Handoff) *api.Handoff {
	if handoff == nil || f.available == nil || f.ordinal != handoff.Ordinal || !f.start.Equal(&handoff.StartTime) ||
		handoff.FewestAvailable != nil && *handoff.FewestAvailable <= *f.available {
		return handoff
	}
	next := *handoff
	next.FewestAvailable = new(*f.available)
	return &next
}

func noteDriver(h *api.History, fence *api.Fence, now time.Time) {
	if fence == nil || now.IsZero() {
		return
	}
	if n := len(h.Drivers); n > 0 && h.Drivers[n-1].Epoch == fence.Epoch {
		return
	}
	h.Drivers = append(h.Drivers, api.Driver{Epoch: fence.Epoch, Holder: fence.Holder, Direction: fence.Direction, StartTime: metav1.NewTime(now)})
	h.Drivers = h.Drivers[max(0, len(h.Drivers)-mostDrivers):]
}

// noteHandoff notes one that has come to its end. What was seen last of it is in the status before.
func noteHandoff(h *api.History, fence *api.Fence, seen *api.Handoff, finished api.Handoff, now time.Time) {
	past := api.PastHandoff{
		Ordinal: finished.Ordinal, StartTime: finished.StartTime, EndTime: metav1.NewMicroTime(now), Attempts: finished.Attempts,
		Direction: api.Forward, FewestAvailable: finished.FewestAvailable,
	}
	if seen != nil && seen.Ordinal == finished.Ordinal {
		past.FewestAvailable = seen.FewestAvailable
	}
	if fence != nil {
		past.Direction, past.Epoch = fence.Direction, fence.Epoch
	}
	h.Handoffs = append(h.Handoffs, past)
	if over := len(h.Handoffs) - mostHandoffs; over > 0 {
		h.Handoffs, h.Dropped = slices.Clone(h.Handoffs[over:]), h.Dropped+int32(over)
	}
}

// noteSeals notes the seals of the volumes that the ordinal of a handoff has come up on. One that was turned round has copied
// volumes for the side that it has not reached.
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

// noteStop notes a stop that is over, or goes on for another reason. How a migration has ended is none.
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
		stop.StartTime = h.Stops[n-1].EndTime // the condition does not tell when its reason changed
	}
	if before.Handoff != nil {
		stop.Ordinal = new(before.Handoff.Ordinal)
	}
	h.Stops = append(h.Stops, stop)
	if over := len(h.Stops) - mostStops; over > 0 {
		h.Stops, h.DroppedStops = slices.Clone(h.Stops[over:]), h.DroppedStops+int32(over)
	}
}
