package migration

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/health"
	"github.com/sliceshift/sliceshift/migration/probe"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// clients measure what clients of one migration's application see, as its spec.probe asks for. A pass only hands them the Migration and
// writes down what they have counted: none waits for them, and no decision reads them.
type clients struct {
	clock clock.PassiveClock
	// allowed are where requests may lead, and servers where a Prometheus may be, whose token is in secrets.
	allowed, servers health.Addresses
	secrets          health.Secrets
	tally            *probe.Tally
	// meter asks a Prometheus instead; nil: none is asked.
	meter *probe.Meter
	// asked is the probe whose requests are sent; nil: none are. stop ends that.
	asked *api.ProbeSpec
	stop  func()
}

// follow sends requests from when a migration has begun until it is completed, but for the time in which it is paused and no ordinal is
// on its way.
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

// start begins to do what is asked for.
func (c *clients) start(m *api.Migration) error {
	if c.asked.Prometheus == nil {
		target, err := probe.NewTarget(c.asked.URL, c.allowed)
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
	meter, err := probe.NewMeter(*c.asked.Prometheus, about, c.servers, c.secrets, c.clock)
	if err != nil {
		return err
	}
	meter.Continue(c.tally.Status(c.clock.Now()))
	c.meter, c.stop = meter, meter.Start()
	return nil
}

// begin begins to count once a migration has begun, from what an earlier process has written of it, and reports whether it has. What was
// written of a move before is left out.
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

// figures are what was counted up to a time; nil: nothing was.
func (c *clients) figures(now time.Time) *api.ProbeStatus {
	if c.tally == nil {
		return nil
	}
	if c.meter != nil {
		return c.meter.Status()
	}
	return c.tally.Status(now)
}

// render writes down what was counted. The requests of a handoff may end after it.
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

// close sends no request any more.
func (c *clients) close() {
	if c.stop != nil {
		c.stop()
	}
	c.asked, c.stop = nil, nil
}
