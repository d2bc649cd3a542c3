package view

import (
	"fmt"
	"time"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Down is an ordinal since it was stopped. Its outage ends when its pod is Ready at the other side; its soak is the time from then on,
// before it counts as available.
type Down struct {
	Since time.Time `json:"since"`
	// Ready is since when its pod is Ready at the other side; absent: it is not.
	Ready *time.Time `json:"ready,omitempty"`
}

// DownOf returns since when the ordinal in flight is down; nil: it is not, or it is not known.
func DownOf(m *api.Migration) *Down {
	handoff, history := m.Status.Handoff, m.Status.History
	switch {
	case handoff == nil:
		return nil
	case history != nil && history.Stopped != nil && history.Stopped.Ordinal == handoff.Ordinal:
		return downFrom(history.Stopped.StopTime.Time, history.Stopped.ReadyTime.Time)
	case handoff.Step == api.StepAwaitRelease: // which follows the stop at once
		return downFrom(handoff.StepTime.Time, time.Time{})
	}
	return nil
}

// DownIn returns since when the ordinal of a handoff that has ended was down; nil: it was not, or it is not known.
func DownIn(past api.PastHandoff) *Down { return downFrom(past.StopTime.Time, past.ReadyTime.Time) }

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

// Outage returns how long it was down until the handoff ended, or now.
func (d Down) Outage(until time.Time) time.Duration {
	if d.Ready != nil {
		until = *d.Ready
	}
	return max(0, until.Sub(d.Since))
}

// Soak returns how long it was Ready until the handoff ended, or now; 0: it was not.
func (d Down) Soak(until time.Time) time.Duration {
	if d.Ready == nil {
		return 0
	}
	return max(0, until.Sub(*d.Ready))
}

// Text says both for people.
func (d Down) Text(now time.Time) string {
	if d.Ready == nil {
		return fmt.Sprintf("down for %s", coarse(d.Outage(now)))
	}
	return fmt.Sprintf("was down for %s, Ready for %s", coarse(d.Outage(now)), coarse(d.Soak(now)))
}

// coarse is a duration for something that is looked at while it grows.
func coarse(d time.Duration) time.Duration {
	const short = 10 * time.Second
	if d < short {
		return d.Truncate(100 * time.Millisecond)
	}
	return d.Truncate(time.Second)
}
