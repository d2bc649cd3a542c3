package planner

import (
	"time"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// spent is how long the ordinal has been at a step, as far as it is recorded. While it is down that is since the step first came: what is
// left and comes again does not start from zero.
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

// stoppedAt is since when the ordinal on its way is down, as it is recorded; zero: it is not, or nobody knows.
func (p *View) stoppedAt() time.Time {
	if s := p.Record.Stopped; s != nil && p.Record.Handoff != nil && s.Ordinal == p.Record.Handoff.Ordinal {
		return s.StopTime.Time
	}
	return time.Time{}
}

// downFor is how long the ordinal on its way is down; where that is not recorded, how long it has been at the steps after its stop.
func (p *View) downFor() time.Duration {
	if stopped := p.stoppedAt(); !stopped.IsZero() {
		return p.Now.Sub(stopped)
	}
	return max(p.spent(api.StepAwaitRelease), p.spent(api.StepCarryVolumes))
}
