package rehearse

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/migration/health"
	"github.com/sliceshift/sliceshift/migration/probe"
	"github.com/sliceshift/sliceshift/migration/rehearsal"
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
	// part counts the parts of the time that are judged, each of which began at since. latest is the last one that has
	// ended.
	part   int32
	since  metav1.MicroTime
	latest *rehearsal.Requests
}

// judged is how long requests are counted before they are judged together.
const judged = 10 * time.Second

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
	m.divide()
	m.stop = probe.Start(m.target, m.during, m.clock)
	return nil
}

// divide begins another part. The tally counts it as it counts the handoff of an ordinal.
func (m *Meter) divide() {
	m.part++
	m.since = metav1.NewMicroTime(m.clock.Now())
	m.during.Moves(&api.Handoff{Ordinal: m.part, StartTime: m.since})
}

// Latest returns the requests of the last seconds; nil if nothing is measured, or not yet. One goroutine may call it.
func (m *Meter) Latest() *rehearsal.Requests {
	if m.during == nil || m.clock.Since(m.since.Time) < judged {
		return m.latest
	}
	if part := m.during.Of(m.part, m.since); part != nil {
		m.latest = &rehearsal.Requests{All: part.Requests, Failed: part.Failed, P99: time.Duration(part.P99Milliseconds) * time.Millisecond}
	}
	m.divide()
	return m.latest
}

// Stop ends the requests.
func (m *Meter) Stop() { m.stop() }

// Latency returns the result; nil if nothing is measured.
func (m *Meter) Latency() *Latency {
	if m.during == nil {
		return nil
	}
	m.during.Moves(nil)
	return &Latency{URL: m.url, Before: m.before, During: m.during.Status(m.clock.Now())}
}
