package engine

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/printable"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/migration/schedule"
)

// withStep records when a handoff first reached its current step, since its ordinal was stopped or its
// direction was reversed.
func withStep(handoff api.Handoff, history *api.History, now time.Time) []api.StepStart {
	since := handoff.StartTime.Time
	if stopped := history.StoppedOf(handoff.Ordinal); stopped != nil && stopped.StopTime.After(since) {
		since = stopped.StopTime.Time
	}
	kept := slices.DeleteFunc(slices.Clone(handoff.Steps), func(s api.StepStart) bool { return s.Time.Time.Before(since) })
	if slices.ContainsFunc(kept, func(s api.StepStart) bool { return s.Step == handoff.Step }) {
		return kept
	}
	return append(kept, api.StepStart{Step: handoff.Step, Time: metav1.NewMicroTime(now)})
}

// renderWarnings writes the warnings of the checks. For a migration that has not begun, it replaces them
// whenever all checks were run. It keeps them if a cluster did not answer, because that ends the checks.
func renderWarnings(m *api.Migration, decision plan.Decision) {
	if decision.Findings == nil && decision.Hold != nil && decision.Hold.Stalled {
		return
	}
	m.Status.Warnings = nil
	left := mostOfWarnings
	for _, f := range decision.Findings {
		if !f.Warning || len(m.Status.Warnings) == mostWarnings {
			continue
		}
		w := api.Warning{
			Check: printable.Fit(f.Check, longestName), Reason: printable.Fit(f.Reason, longestName), Object: printable.Fit(printable.Text(f.Object), longestName),
			Message: printable.Fit(printable.Text(f.Message), longestOfWarning), Remedy: printable.Fit(printable.Text(f.Remedy), longestOfWarning),
		}
		if left -= printable.Encoded(w.Check) + printable.Encoded(w.Reason) + printable.Encoded(w.Object) + printable.Encoded(w.Message) + printable.Encoded(w.Remedy); left < 0 {
			return
		}
		m.Status.Warnings = append(m.Status.Warnings, w)
	}
}

// Limits of the warnings in the status: their number, their total size in bytes of encoded JSON, and the size
// of one name and of one message or remedy.
const (
	mostWarnings     = 16
	mostOfWarnings   = 4 << 10
	longestName      = 253
	longestOfWarning = 1 << 10
)

// renderAhead writes which copies ahead of their turns are held, and why. While no copy was tried yet, it keeps
// the previous condition.
func renderAhead(m *api.Migration, held map[int32]heldCopy, decision plan.Decision) {
	switch {
	case held == nil && decision.Done == "":
		return
	case len(held) == 0 || decision.Done != "":
		meta.RemoveStatusCondition(&m.Status.Conditions, api.ConditionAheadHeld)
		return
	}
	ordinals := slices.Sorted(maps.Keys(held))
	hold, others := held[ordinals[0]].hold, ""
	if more := len(ordinals) - 1; more > 0 {
		others = fmt.Sprintf(", and %d more", more)
	}
	message := fmt.Sprintf("ordinal %d%s, to be copied before its turn: %s. It is tried again every %s, and nothing that is under way waits for it; at its turn the move stalls with that",
		ordinals[0], others, printable.Fit(hold.Message, longestMessage/4), planner.RequeueRefused)
	condition(m, api.ConditionAheadHeld, metav1.ConditionTrue, hold.Reason, records.WithRemedy(printable.Fit(message, longestMessage/2), hold.Remedy))
}

// heldAhead returns the reason of the condition AheadHeld; empty if no copy is held.
func heldAhead(m *api.Migration) string {
	if c := meta.FindStatusCondition(m.Status.Conditions, api.ConditionAheadHeld); c != nil {
		return c.Reason
	}
	return ""
}

func renderSlices(m *api.Migration, s plan.Snapshot) {
	if s.Source.Reach != plan.Seen || s.Destination.Reach != plan.Seen || planner.StartedByHand(s) != "" {
		if m.Status.StaleSince == nil && m.Status.Source != nil && !s.Now.IsZero() {
			m.Status.StaleSince = new(metav1.NewTime(s.Now))
		}
		return // the state of a lost destination is only known from the status
	}
	m.Status.StaleSince = nil
	destination := s.Destination
	if base := m.Status.Baseline; base != nil {
		has := planner.DestinationSlice(s)
		m.Status.Moved, m.Status.Total = progressOf(m, s)
		destination.Set.Start, destination.Set.Replicas = has.Start, has.Replicas
	}
	m.Status.Source, m.Status.Destination = sliceStatus(s, s.Source), sliceStatus(s, destination)
}

// renderSchedule writes when the next handoff may begin, while a schedule decides about it.
func renderSchedule(m *api.Migration, s plan.Snapshot) {
	if s.Now.IsZero() {
		return // nothing was observed
	}
	m.Status.Schedule = nil
	timing, asked := planner.TimingOf(s)
	if !asked {
		return
	}
	answer := timing.Answer
	status := &api.ScheduleStatus{Open: answer.Verdict == schedule.Open, HandoffSeconds: int32(timing.Needs / time.Second), Left: timing.Left}
	waits := answer.Verdict == schedule.Closed || answer.Verdict == schedule.Short
	if waits {
		status.OpensTime = new(metav1.NewTime(answer.Slot.Opens))
	}
	if closes := answer.Slot.Closes; (waits || status.Open) && !closes.IsZero() {
		status.ClosesTime = new(metav1.NewTime(closes))
	}
	m.Status.Schedule = status
}

// longestAnswer is the maximum size of a gate's message in the status, in bytes.
const longestAnswer = 1024

// renderGates writes the state of the gates that are queried. A gate that has not changed keeps its message and
// transition time.
func renderGates(m *api.Migration, s plan.Snapshot) {
	if s.Source.Reach != plan.Seen || s.Destination.Reach != plan.Seen {
		return
	}
	var all []api.GateStatus
	for _, reply := range planner.Replies(s) {
		next := api.GateStatus{
			Name: reply.Question.Gate, At: reply.Point, State: reply.State, Reason: reply.Reason, Message: shorten(printable.Text(reply.Message), longestAnswer),
			Holds: reply.Holds, LastTransitionTime: metav1.NewTime(s.Now),
		}
		if reply.Ordinal != plan.NoOrdinal {
			next.Ordinal = new(reply.Ordinal)
		}
		for _, before := range m.Status.Gates {
			if same := before.Name == next.Name && before.At == next.At && equality.Semantic.DeepEqual(before.Ordinal, next.Ordinal); same && before.State == next.State {
				next.LastTransitionTime = before.LastTransitionTime
				if before.Reason == next.Reason {
					next.Message = before.Message
				}
			}
		}
		all = append(all, next)
	}
	m.Status.Gates = all
}

// progressOf counts the ordinals that this migration has moved, and those that it has to move. It excludes
// ordinals that the destination had before; a recovery takes those back as well. The current ordinal counts
// once it is available at the destination. On the way back it counts until it is available at the source.
func progressOf(m *api.Migration, s plan.Snapshot) (moved, total int32) {
	base, has := m.Status.Baseline, planner.DestinationSlice(s)
	moved, total = has.Replicas, base.Replicas
	if !s.Destination.Lost {
		moved, total = moved-base.DestinationReplicas, plan.Total(s.Spec, total-base.DestinationReplicas)
	}
	for _, h := range m.Status.Handoffs() {
		switch there, back := has.Has(h.Ordinal), m.Status.Fence.Heading() == api.Back; {
		case there && !back:
			moved--
		case !there && back:
			moved++
		}
	}
	return moved, total
}

// AsSeen returns the migration with both slices and the progress of a snapshot, which may be newer than its
// status.
func AsSeen(m *api.Migration, s plan.Snapshot) *api.Migration {
	shown := m.DeepCopy()
	renderSlices(shown, s)
	return shown
}

func sliceStatus(s plan.Snapshot, side plan.Side) *api.SliceStatus {
	set := side.Set
	return &api.SliceStatus{
		Slice: fmt.Sprintf("%s/%s/%s %s", side.Cluster, side.Namespace, set.Name, plan.Span(set.Start, set.Replicas)),
		Start: set.Start, Replicas: set.Replicas, Available: plan.Available(s.Now, side),
		MaxUnavailable: plan.Allowed(s, side),
	}
}
