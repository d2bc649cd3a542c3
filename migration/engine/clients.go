package engine

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/probe"
)

// clients measures what clients of one migration's application see, as its spec.probe requests. A pass only
// hands it the Migration and writes its counts down. No pass waits for it, and no decision depends on it.
type clients struct {
	clock clock.PassiveClock
	// access restricts the addresses of requests, and those of a Prometheus server, whose token is in a Secret.
	access Access
	tally  *probe.Tally
	// meter queries a Prometheus server instead of sending requests; nil means none.
	meter *probe.Meter
	// asked is the probe that is running; nil means none. stop ends it.
	asked *api.ProbeSpec
	stop  func()
}

// follow probes from the beginning of a migration until its completion, except while it is paused without a
// current handoff.
func (c *clients) follow(m *api.Migration) {
	if c.tally == nil && !c.begin(m) {
		return
	}
	c.tally.Moves(m.Status.Handoff)
	wanted := m.Spec.Probe
	if records.Completed(m) != "" || m.Spec.Mode == api.ModePause && m.Status.Handoff == nil {
		wanted = nil
	}
	if c.asked != nil && wanted != nil && equality.Semantic.DeepEqual(c.asked, wanted) {
		return
	}
	c.close()
	if wanted == nil {
		return
	}
	c.asked = wanted.DeepCopy()
	if err := c.start(m); err != nil {
		c.meter = nil
		c.tally.Refuse("no request is sent: spec." + err.Error())
	}
}

// start starts the requested probe.
func (c *clients) start(m *api.Migration) error {
	if c.asked.Prometheus == nil {
		target, err := probe.NewTarget(c.asked.URL, c.access.Probes)
		if err != nil {
			return err
		}
		c.meter, c.stop = nil, probe.Start(target, c.tally, c.clock)
		return nil
	}
	about := probe.About{
		Migration: client.ObjectKeyFromObject(m), StatefulSet: types.NamespacedName{Namespace: cmp.Or(m.Spec.Source.Namespace, m.Namespace), Name: m.Spec.Source.Name},
		Began: m.Status.Baseline.StartTime.Time,
	}
	meter, err := probe.NewMeter(*c.asked.Prometheus, about, c.access.Addresses, c.access.Secrets, c.clock)
	if err != nil {
		return err
	}
	meter.Continue(c.tally.Status(c.clock.Now()))
	c.meter, c.stop = meter, meter.Start()
	return nil
}

// begin starts to count once a migration has begun, and reports whether it does. It continues the counts in the
// status, except for those of an earlier move.
func (c *clients) begin(m *api.Migration) bool {
	base := m.Status.Baseline
	if m.Spec.Probe == nil || base == nil || records.Completed(m) != "" {
		return false
	}
	before := m.Status
	if before.Probe != nil && before.Probe.Time.Time.Before(base.StartTime.Time) {
		before.Probe = nil
	}
	c.tally = probe.NewTally(before)
	return true
}

// figures returns the counts up to a time; nil if there are none.
func (c *clients) figures(now time.Time) *api.ProbeStatus {
	if c.tally == nil {
		return nil
	}
	if c.meter != nil {
		return c.meter.Status()
	}
	return c.tally.Status(now)
}

// render writes the counts into the status. The requests of a handoff may end after it.
func (c *clients) render(m *api.Migration, now time.Time) {
	if c.tally == nil {
		return
	}
	m.Status.Probe = c.figures(now)
	if h := m.Status.History; h != nil {
		for i := range h.Handoffs {
			past := &h.Handoffs[i]
			if counted := c.tally.Of(past.Ordinal, past.StartTime); counted != nil {
				past.Clients = counted
			}
		}
	}
}

// close stops the probe.
func (c *clients) close() {
	if c.stop != nil {
		c.stop()
	}
	c.asked, c.stop = nil, nil
}
