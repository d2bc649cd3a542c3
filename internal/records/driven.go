package records

import (
	"cmp"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

const (
	// HeartbeatEvery is the longest time between two heartbeats of a process that drives a migration.
	HeartbeatEvery = 15 * time.Second
	// undrivenAfter is the age of the last heartbeat after which commands report that no process drives the migration.
	undrivenAfter = 2 * HeartbeatEvery
)

// Beats reports whether the process that drives a migration writes heartbeats: into the record of a run until it is
// completed, and into a Migration while an ordinal is in flight. A settled, completed or queued Migration has none.
func Beats(m *api.Migration, record bool) bool {
	return m.Status.Baseline != nil && Completed(m) == "" && (record || m.Status.Handoff != nil)
}

// InLine reports whether a Migration waits until the manager lets it begin: others have its place, or it was resumed and not
// looked at since.
func InLine(m *api.Migration) bool {
	progressing := meta.FindStatusCondition(m.Status.Conditions, api.ConditionProgressing)
	return progressing != nil && m.Status.Baseline == nil &&
		(progressing.Reason == api.ReasonQueued || progressing.Reason == api.ReasonPaused && modeOf(m) != api.ModePause)
}

// HeartbeatDue returns the time until the next heartbeat is due. After a change of the mode, it is due immediately.
func HeartbeatDue(m *api.Migration, record bool, now time.Time) (left time.Duration, beats bool) {
	if !Beats(m, record) {
		return 0, false
	}
	last := m.Status.Heartbeat
	if last == nil || last.Mode != modeOf(m) {
		return 0, true
	}
	return min(HeartbeatEvery, max(0, last.Time.Add(HeartbeatEvery).Sub(now))), true // also after the clock was set back
}

// Beat sets the heartbeat of the status to the mode of the spec and a time of the API server's clock.
func Beat(m *api.Migration, record bool, now time.Time) {
	m.Status.Heartbeat = nil
	if Beats(m, record) {
		m.Status.Heartbeat = &api.Heartbeat{Time: metav1.NewTime(now), Mode: modeOf(m)}
	}
}

func modeOf(m *api.Migration) api.Mode { return cmp.Or(m.Spec.Mode, api.ModeRun) }

// Undriven describes a migration that no process drives.
type Undriven struct {
	// Since is the time of the last heartbeat.
	Since time.Time
	// Down is the ordinal that is stopped, or nil.
	Down *int32
}

// UndrivenAt returns a description if no process drives a migration any more. It returns nil if a process drives it, if none
// is needed, or if the driver writes no heartbeats. now is the time of the API server that stores the migration. Every
// command and the page use this result. No decision does.
func UndrivenAt(m *api.Migration, record bool, now time.Time) *Undriven {
	last := m.Status.Heartbeat
	if last == nil || !Beats(m, record) || AtRest(m) || now.Sub(last.Time.Time) < undrivenAfter {
		return nil
	}
	return &Undriven{Since: last.Time.Time, Down: down(m)}
}

// down returns the first ordinal that is stopped and not Ready yet, according to the status, or nil.
func down(m *api.Migration) *int32 {
	for _, h := range m.Status.Handoffs() {
		stopped := m.Status.History.StoppedOf(h.Ordinal)
		if stopped != nil && stopped.ReadyTime.IsZero() || stopped == nil && StoppedAt(h.Step) {
			return &h.Ordinal
		}
	}
	return nil
}

// StoppedAt reports whether an ordinal at a step of its handoff was stopped and may not be Ready yet.
func StoppedAt(step api.Step) bool {
	switch step {
	case api.StepAwaitRelease, api.StepCarryVolumes, api.StepScaleUp, api.StepAwaitReadiness:
		return true
	default:
		return false
	}
}

// Text describes u for users, without the command that continues the migration.
func (u *Undriven) Text() string {
	text := "no process has driven this since " + u.Since.UTC().Format(time.TimeOnly) + " UTC"
	if u.Down != nil {
		text += fmt.Sprintf("; ordinal %d is down", *u.Down)
	}
	return text
}

// Noticed reports whether the process that drives a migration has acted on the mode of the spec. known is false for a
// completed record of a run, or if its driver writes no heartbeats.
func Noticed(m *api.Migration, record bool) (noticed, known bool) {
	switch last := m.Status.Heartbeat; {
	case last != nil && Beats(m, record):
		return last.Mode == modeOf(m), true
	case record:
		return false, false
	}
	return m.Status.ObservedGeneration >= m.Generation, true
}
