package view

import (
	"fmt"
	"time"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Down is the ordinal in flight since it was stopped.
type Down struct {
	// Since is when it was stopped, and Ready since when its pod is Ready at the other side; absent: it is not.
	Since time.Time  `json:"since"`
	Ready *time.Time `json:"ready,omitempty"`
}

// DownOf returns since when the ordinal in flight is down; nil: it is not, or it is not known.
func DownOf(m *api.Migration) *Down {
	h := m.Status.History
	if m.Status.Handoff == nil || h == nil || h.Stopped == nil || h.Stopped.Ordinal != m.Status.Handoff.Ordinal {
		return nil
	}
	d := &Down{Since: h.Stopped.StopTime.UTC()}
	if at := h.Stopped.ReadyTime; !at.IsZero() {
		d.Ready = new(at.UTC())
	}
	return d
}

// Outage is for how long it was down, or has been so far.
func (d Down) Outage(now time.Time) time.Duration {
	if d.Ready != nil {
		return max(0, d.Ready.Sub(d.Since))
	}
	return max(0, now.Sub(d.Since))
}

// Soak is for how long it has been Ready; 0: it is not.
func (d Down) Soak(now time.Time) time.Duration {
	if d.Ready == nil {
		return 0
	}
	return max(0, now.Sub(*d.Ready))
}

// Text says both for people.
func (d Down) Text(now time.Time) string {
	outage := d.Outage(now).Truncate(100 * time.Millisecond)
	if d.Ready == nil {
		return fmt.Sprintf("down for %s", outage)
	}
	return fmt.Sprintf("was down for %s, Ready for %s", outage, d.Soak(now).Truncate(time.Second))
}
