package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/printable"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/migration/view"
)

// applyRecord copies the record, which cannot be observed again, into the status.
func applyRecord(m *api.Migration, record plan.Record) {
	record = record.Stored(m.Spec.Ordinals.Order)
	m.Status.FurtherHandoffs = record.Further
	m.Status.Hooks, m.Status.HookTurns = record.Hooks, record.HookTurns
	m.Status.Baseline, m.Status.Fence, m.Status.Handoff, m.Status.Pace = record.Baseline, record.Fence, record.Handoff, record.Pace
	m.Status.Ahead, m.Status.PausedWriters, m.Status.TurnedBack = record.Ahead, record.Writers, record.TurnedBack
	m.Status.Proofs, m.Status.Storage = record.Proofs, record.Storage
	m.Status.AutomaticRollback, m.Status.LastAttempt, m.Status.OwedCopies = record.AutomaticRollback, record.LastAttempt, record.Owed
	m.Status.StartWithdrawn = record.StartWithdrawn
	if record.Baseline == nil {
		m.Status.Conditions, m.Status.Source, m.Status.Destination = nil, nil, nil
	}
	if record.Accepted {
		condition(m, api.ConditionAccepted, metav1.ConditionTrue, api.ReasonReady, "source, destination and rights were checked")
	}
	if record.Completed == "" {
		meta.RemoveStatusCondition(&m.Status.Conditions, api.ConditionCompleted)
	}
	if at := meta.FindStatusCondition(m.Status.Conditions, api.ConditionCompleted); record.Completed != "" && (at == nil || at.Reason != record.Completed) {
		condition(m, api.ConditionCompleted, metav1.ConditionFalse, record.Completed, "removing the migration's marks from both StatefulSets")
	}
}

func completedMessage(m *api.Migration, reason string) string {
	switch reason {
	case api.ReasonMoved:
		return view.WordsOf(m).All
	case api.ReasonRolledBack:
		return view.WordsOf(m).None
	case api.ReasonRecovered:
		return "every ordinal runs at the source again, on the disk that it left there"
	default:
		return "the migration's marks are removed from both StatefulSets; each ordinal runs where it was left"
	}
}

// longestMessage is the maximum size of a condition's message, in bytes of encoded JSON. It keeps all
// conditions, and the record without its history, below 32 KiB.
const longestMessage = 4 << 10

func condition(m *api.Migration, kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&m.Status.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: printable.Fit(printable.Text(message), longestMessage), ObservedGeneration: m.Generation,
	})
}

// date sets the transition time of conditions that have changed since before to the time of the engine's clock.
func date(m *api.Migration, before api.MigrationStatus, now time.Time) {
	for i := range m.Status.Conditions {
		c := &m.Status.Conditions[i]
		if was := meta.FindStatusCondition(before.Conditions, c.Type); was == nil || !was.LastTransitionTime.Equal(&c.LastTransitionTime) {
			c.LastTransitionTime = metav1.NewTime(now)
		}
	}
}

// render writes the snapshot and the decision into the status.
func render(m *api.Migration, s plan.Snapshot, decision plan.Decision) {
	m.Status.ObservedGeneration = m.Generation
	if handoff := decidedOn(m, s, decision); handoff != nil {
		setStep(m, handoff.Ordinal, decision.Step, s.Now)
	}
	renderSlices(m, s)
	renderGates(m, s)
	renderSchedule(m, s)
	renderStalled(m, decision)
	if decision.Done != "" {
		condition(m, api.ConditionCompleted, metav1.ConditionTrue, decision.Done, completedMessage(m, decision.Done))
	}
	renderProgress(m, s, decision)
	renderReady(m)
}

// decidedOn returns the handoff that a decision is about; nil: about none.
func decidedOn(m *api.Migration, s plan.Snapshot, decision plan.Decision) *api.Handoff {
	switch {
	case len(m.Status.FurtherHandoffs) == 0:
		return m.Status.Handoff
	case decision.Record != nil:
		return decision.Record.Handoff
	default:
		return s.Record.Handoff
	}
}

// setStep writes the step of an ordinal in flight.
func setStep(m *api.Migration, ordinal int32, step api.Step, now time.Time) {
	found := m.Status.HandoffOf(ordinal)
	if step == "" || found == nil {
		return
	}
	handoff := *found
	if handoff.Step != step || handoff.StepTime.IsZero() {
		handoff.Step, handoff.StepTime = step, metav1.NewMicroTime(now)
		handoff.Steps = withStep(handoff, m.Status.History, now)
	}
	if m.Status.Handoff.Ordinal == ordinal {
		m.Status.Handoff = &handoff
		return
	}
	m.Status.FurtherHandoffs = slices.Clone(m.Status.FurtherHandoffs)
	*m.Status.HandoffOf(ordinal) = handoff
}

// renderWaits writes the steps at which the ordinals in flight wait, of which a pass has decided none but one.
func renderWaits(m *api.Migration, step planner.Step) {
	if len(m.Status.FurtherHandoffs) == 0 {
		return
	}
	for _, waiter := range step.Waits {
		setStep(m, waiter.Ordinal, waiter.Step, step.Snapshot.Now)
	}
}

// longestNow is the maximum size of status.now, in bytes of encoded JSON.
const longestNow = 160

// renderReady writes the fields that users, kstatus and kubectl wait read. Ready is True only once every
// requested ordinal runs at the destination. Reconciling is True until the migration has ended or is stalled.
func renderReady(m *api.Migration) {
	row := view.NewRow(m, false)
	now := printable.Fit(row.Now, longestNow)
	m.Status.State, m.Status.Progress, m.Status.Now = row.State.Word(), fmt.Sprintf("%d/%d", row.Moved, row.Total), now
	ready, reason := metav1.ConditionFalse, string(m.Status.State)
	if row.State == view.StateMoved {
		ready = metav1.ConditionTrue
	}
	if row.Hold != nil && row.Hold.Reason != "" {
		reason = row.Hold.Reason
	}
	condition(m, api.ConditionReady, ready, reason, now)
	if records.Completed(m) != "" || row.Hold != nil && row.Hold.Stalled {
		meta.RemoveStatusCondition(&m.Status.Conditions, api.ConditionReconciling)
		return
	}
	condition(m, api.ConditionReconciling, metav1.ConditionTrue, reason, now)
}

func renderStalled(m *api.Migration, decision plan.Decision) {
	hold := decision.Hold
	if hold == nil || !hold.Stalled {
		condition(m, api.ConditionStalled, metav1.ConditionFalse, api.ReasonReady, "")
		if m.Status.Baseline == nil { // the problem found before is fixed
			meta.RemoveStatusCondition(&m.Status.Conditions, api.ConditionAccepted)
		}
		return
	}
	condition(m, api.ConditionStalled, metav1.ConditionTrue, hold.Reason, records.WithRemedy(printable.Fit(hold.Message, longestMessage/2), hold.Remedy))
	if m.Status.Baseline == nil { // the remedy is in Stalled
		condition(m, api.ConditionAccepted, metav1.ConditionFalse, hold.Reason, hold.Message)
	}
}

func renderProgress(m *api.Migration, s plan.Snapshot, decision plan.Decision) {
	status, reason, message := metav1.ConditionTrue, api.ReasonMoving, ""
	if s.Spec.Mode == api.ModeRollback || s.Spec.Mode == api.ModeRecover {
		reason = api.ReasonRollingBack
	}
	completed := meta.FindStatusCondition(m.Status.Conditions, api.ConditionCompleted)
	switch hold := decision.Hold; {
	case completed != nil && completed.Status == metav1.ConditionTrue:
		status, reason, message = metav1.ConditionFalse, completed.Reason, completed.Message
	case hold != nil:
		reason, message = hold.Reason, hold.Message
		if hold.Stalled || hold.Reason == api.ReasonPaused || hold.Reason == api.ReasonOutsideWindow {
			status = metav1.ConditionFalse
		}
	}
	condition(m, api.ConditionProgressing, status, reason, message)
}

// beginsToStall reports whether a migration stalls now and did not before, or for another reason.
func beginsToStall(before, after *api.Migration) bool {
	was := meta.FindStatusCondition(before.Status.Conditions, api.ConditionStalled)
	is := meta.FindStatusCondition(after.Status.Conditions, api.ConditionStalled)
	if is == nil || is.Status != metav1.ConditionTrue {
		return false
	}
	return was == nil || was.Status != metav1.ConditionTrue || was.Reason != is.Reason
}

// changed reports whether two statuses differ in anything that is worth a write.
func changed(before, after *api.Migration) bool {
	a, b := before.Status.DeepCopy(), after.Status.DeepCopy()
	for _, status := range []*api.MigrationStatus{a, b} {
		status.Probe = nil // written together with other changes only
		slices.SortFunc(status.Conditions, func(x, y metav1.Condition) int { return strings.Compare(x.Type, y.Type) })
		if status.Handoff != nil {
			status.Handoff.FewestAvailable = nil // kept in memory until something else is written
		}
		for i := range status.FurtherHandoffs {
			status.FurtherHandoffs[i].FewestAvailable = nil // likewise
		}
		if status.History != nil {
			status.History.Stopped, status.History.FurtherStopped = nil, nil // likewise
			for i := range status.History.Handoffs {
				status.History.Handoffs[i].Clients = nil // likewise
			}
		}
	}
	return !equality.Semantic.DeepEqual(a, b)
}
