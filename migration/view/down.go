package view

import (
	"fmt"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// Down is the time since which an ordinal is stopped. Its outage ends when its pod is Ready at the other side.
// Its soak is the time from then until it counts as available.
type Down struct {
	Since time.Time `json:"since"`
	// Ready is the time since which its pod is Ready at the other side; nil if it is not.
	Ready *time.Time `json:"ready,omitempty"`
}

// DownOf returns the downtime of the ordinal in flight; nil if it is not down, or if that is unknown.
func DownOf(m *api.Migration) *Down {
	handoff, history := m.Status.Handoff, m.Status.History
	switch {
	case handoff == nil:
		return nil
	case history != nil && history.Stopped != nil && history.Stopped.Ordinal == handoff.Ordinal:
		return downFrom(history.Stopped.StopTime.Time, history.Stopped.ReadyTime.Time) // it may still serve
	case handoff.Step == api.StepAwaitRelease: // this step follows the stop at once
		return downFrom(handoff.StepTime.Time, time.Time{})
	}
	return nil
}

// DownIn returns the downtime in a handoff that has ended; nil if the ordinal was not down, or if that is
// unknown. Of an ordinal that has arrived it is unknown how much of its time was a soak if it is not recorded since
// when it was Ready.
func DownIn(past api.PastHandoff) *Down {
	if past.Outcome == "" && past.ReadyTime.IsZero() {
		return nil
	}
	return downFrom(past.StopTime.Time, past.ReadyTime.Time)
}

func downFrom(since, ready time.Time) *Down {
	if since.IsZero() {
		return nil
	}
	d := &Down{Since: since.UTC()}
	if !ready.IsZero() {
		d.Ready = new(ready.UTC())
	}
	return d
}

// Outage returns how long it was down until the handoff ended, or until now.
func (d Down) Outage(until time.Time) time.Duration {
	if d.Ready != nil {
		until = *d.Ready
	}
	return max(0, until.Sub(d.Since))
}

// Soak returns how long it was Ready until the handoff ended, or until now; 0 if it was not.
func (d Down) Soak(until time.Time) time.Duration {
	if d.Ready == nil {
		return 0
	}
	return max(0, until.Sub(*d.Ready))
}

// Text returns both durations as text for the user.
func (d Down) Text(now time.Time) string {
	if d.Ready == nil {
		return fmt.Sprintf("down for %s", coarse(d.Outage(now)))
	}
	return fmt.Sprintf("was down for %s, Ready for %s", coarse(d.Outage(now)), coarse(d.Soak(now)))
}

// coarse rounds a duration for a display that is refreshed while it grows.
func coarse(d time.Duration) time.Duration {
	const short = 10 * time.Second
	if d < short {
		return d.Truncate(100 * time.Millisecond)
	}
	return d.Truncate(time.Second)
}
