package engine

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/printable"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// Limits of the history, and the maximum size of a stop's message in bytes of encoded JSON.
const (
	mostHandoffs  = 64
	mostOutages   = 8
	mostStops     = 16
	mostDrivers   = 8
	mostSeals     = 32
	longestOfStop = 256
)

// renderHistory records the handoffs and stops that ended since the status before, and the current driver.
// History is written together with other changes, and is never a reason to write.
func renderHistory(m *api.Migration, before api.MigrationStatus, now time.Time, finished *api.Handoff, of *observations) {
	h := api.History{}
	if before.History != nil {
		h = *before.History.DeepCopy()
	}
	noteDriver(&h, before.Fence, m.Status.Fence, now)
	if finished != nil {
		down := of.downOf(finished.Ordinal)
		past := pastOf(*finished, m.Status.Fence, down)
		past.EndTime, past.ReadyTime, past.Outage = metav1.NewMicroTime(now), down.readyOf(*finished), down.partsOf(*finished)
		noteHandoff(&h, before.HandoffOf(finished.Ordinal), past)
		noteSeals(&h, *finished, now)
	}
	for _, was := range before.Handoffs() {
		if is := turnsRound(was, before, m.Status); is != nil && finished == nil {
			noteTurned(&h, was, before.Fence, is.StartTime, of.downOf(was.Ordinal))
		}
	}
	noteProofs(&h, m.Status.Proofs)
	h.Stopped, h.FurtherStopped = nil, nil
	for i, handoff := range m.Status.Handoffs() {
		stopped := of.downOf(handoff.Ordinal).stopped(&handoff)
		switch {
		case i == 0:
			h.Stopped = stopped
		case stopped != nil:
			h.FurtherStopped = append(h.FurtherStopped, *stopped)
		}
	}
	noteStop(&h, before, m.Status, now)
	if len(h.Handoffs)+len(h.Stops)+len(h.Drivers) > 0 {
		m.Status.History = &h
	}
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
func noteTurned(h *api.History, was api.Handoff, fence *api.Fence, at metav1.MicroTime, down downtime) {
	past := pastOf(was, fence, down)
	past.EndTime, past.Outcome = at, api.HandoffTurnedBack
	past.Stayed = past.StopTime.IsZero() && (down.atGiver(was) || neverLeft(*h, past))
	keepHandoff(h, past)
}

// turnsRound returns a handoff whose direction was reversed, as it is after that; nil: it was not.
func turnsRound(was api.Handoff, before, after api.MigrationStatus) *api.Handoff {
	if before.Fence.Heading() == after.Fence.Heading() {
		return nil
	}
	return after.HandoffOf(was.Ordinal)
}

// pastOf returns the history entry of a handoff, without its outcome.
func pastOf(handoff api.Handoff, fence *api.Fence, down downtime) api.PastHandoff {
	past := api.PastHandoff{
		Ordinal: handoff.Ordinal, StartTime: handoff.StartTime, Attempts: handoff.Attempts,
		Direction: fence.Heading(), FewestAvailable: handoff.FewestAvailable,
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
	if older := len(h.Handoffs) - mostOutages; older > 0 {
		h.Handoffs[older-1].Outage = api.OutageParts{}
	}
	if over := len(h.Handoffs) - mostHandoffs; over > 0 {
		h.Handoffs, h.Dropped = slices.Clone(h.Handoffs[over:]), h.Dropped+int32(over)
	}
}

// noteSeals records the seals of the volumes on which the ordinal of a handoff now runs. A reversed handoff has
// copied volumes for the side that it did not reach.
func noteSeals(h *api.History, finished api.Handoff, now time.Time) {
	reached := h.Handoffs[len(h.Handoffs)-1].Direction
	for _, v := range finished.Volumes {
		seal := v.Copy.Seal
		if seal.Root == "" || v.Copy.Dropped || !leads(v.Copy, reached) {
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

// leads reports whether a copy is of the given direction.
func leads(copied api.CopyAttempt, to api.Direction) bool {
	from := plan.SourceSide
	if to == api.Back {
		from = plan.DestinationSide
	}
	return copied.Giver == string(from)
}

// noteProofs records which seals of copies with verify: Later were proven or accepted since. The copies of both directions
// have the same root if the ordinal wrote nothing in between.
func noteProofs(h *api.History, proofs []api.CopyAhead) {
	for _, ordinal := range proofs {
		for _, v := range ordinal.Volumes {
			seal := v.Copy.Seal
			for i := range slices.Backward(h.Seals) {
				s := &h.Seals[i]
				if s.Ordinal != ordinal.Ordinal || s.ClaimTemplate != v.ClaimTemplate || s.Root != seal.Root || s.Verify != api.CopyVerifyLater || !leads(v.Copy, s.Direction) {
					continue
				}
				if seal.Proven() {
					s.ProvenTime = seal.Proof.ReadTime
				}
				s.AcceptedTime = seal.Proof.AcceptedTime
				break
			}
		}
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
	stop := api.PastStop{Reason: was.Reason, Message: printable.Fit(was.Message, longestOfStop), StartTime: was.LastTransitionTime, EndTime: metav1.NewTime(now)}
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
