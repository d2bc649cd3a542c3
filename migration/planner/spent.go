package planner

import (
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// spent returns how long the ordinal has been at a step, as recorded. While the ordinal is down, the time counts
// from the first entry into the step, so that leaving and re-entering it does not reset the time.
func (p *View) spent(step api.Step) time.Duration {
	handoff := p.Record.Handoff
	var since time.Time
	if handoff.Step == step {
		since = handoff.StepTime.Time
	}
	if stopped := p.stoppedAt(); !stopped.IsZero() {
		for _, s := range handoff.Steps {
			begun := !s.Time.Time.Before(stopped) && !s.Time.Time.Before(handoff.StartTime.Time)
			if s.Step == step && begun && (since.IsZero() || s.Time.Time.Before(since)) {
				since = s.Time.Time
			}
		}
	}
	if since.IsZero() {
		return 0
	}
	return p.Now.Sub(since)
}

// stoppedAt returns the recorded time since when the ordinal in flight is down; zero: it is not down, or the time
// is not known.
func (p *View) stoppedAt() time.Time {
	if s := p.Record.Stopped; s != nil && p.Record.Handoff != nil && s.Ordinal == p.Record.Handoff.Ordinal {
		return s.StopTime.Time
	}
	return time.Time{}
}

// downFor returns how long the ordinal in flight has been down. If that is not recorded, it returns how long the
// ordinal has been at the steps after its stop.
func (p *View) downFor() time.Duration {
	if stopped := p.stoppedAt(); !stopped.IsZero() {
		return p.Now.Sub(stopped)
	}
	return max(p.spent(api.StepAwaitRelease), p.spent(api.StepCarryVolumes))
}
