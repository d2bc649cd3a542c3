package rehearse

import (
	"context"
	"time"

	"k8s.io/utils/clock"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/migration/health"
	"github.com/sliceshift/sliceshift/migration/probe"
)

// Latency holds the requests to the source before the rehearsal and during it.
type Latency struct {
	URL    string           `json:"url"`
	Before *api.ProbeStatus `json:"before,omitempty"`
	During *api.ProbeStatus `json:"during,omitempty"`
}

// Meter requests a URL of the source. Without a URL it measures nothing.
type Meter struct {
	target *probe.Target
	clock  clock.WithTicker
	url    string
	before *api.ProbeStatus
	during *probe.Tally
	stop   func()
}

// NewMeter returns the meter of a probe; nil is no probe. It sends no request.
func NewMeter(spec *api.ProbeSpec, times clock.WithTicker) (*Meter, error) {
	m := &Meter{clock: times, stop: func() {}}
	if spec == nil {
		return m, nil
	}
	var err error
	m.url = spec.URL
	m.target, err = probe.NewTarget(spec.URL, health.Addresses{Any: true})
	return m, err
}

// Before measures for a time, and then continues in the background until Stop.
func (m *Meter) Before(ctx context.Context, lasts time.Duration) error {
	if m.target == nil {
		return nil
	}
	tally := probe.NewTally(api.MigrationStatus{})
	stop := probe.Start(m.target, tally, m.clock)
	timer := m.clock.NewTimer(lasts)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		stop()
		return command.Cause(ctx)
	case <-timer.C():
	}
	stop()
	m.before, m.during = tally.Status(m.clock.Now()), probe.NewTally(api.MigrationStatus{})
	m.stop = probe.Start(m.target, m.during, m.clock)
	return nil
}

// Stop ends the requests.
func (m *Meter) Stop() { m.stop() }

// Latency returns the result; nil if nothing is measured.
func (m *Meter) Latency() *Latency {
	if m.during == nil {
		return nil
	}
	return &Latency{URL: m.url, Before: m.before, During: m.during.Status(m.clock.Now())}
}
