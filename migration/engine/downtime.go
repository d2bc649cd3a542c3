package engine

import (
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// observations is what the passes of this process have seen, and no status has yet.
type observations struct {
	// handoffs holds what was seen of each current handoff, by ordinal.
	handoffs map[int32]*observation
	// clients measures availability for clients of the application.
	clients clients
}

// observation is what was seen of one handoff.
type observation struct {
	fewest fewest
	down   downtime
}

// note records what a pass has seen of the current handoffs.
func (o *observations) note(m *api.Migration, s plan.Snapshot) {
	maps.DeleteFunc(o.handoffs, func(k int32, _ *observation) bool { return m.Status.HandoffOf(k) == nil })
	for _, handoff := range m.Status.Handoffs() {
		of := o.of(handoff.Ordinal)
		of.fewest.note(&handoff, s)
		of.down.note(focused(m, handoff.Ordinal), s)
	}
}

// noteFewest records the available replicas that a pass has seen, for each current handoff.
func (o *observations) noteFewest(m *api.Migration, s plan.Snapshot) {
	for _, handoff := range m.Status.Handoffs() {
		o.of(handoff.Ordinal).fewest.note(&handoff, s)
	}
}

// focused returns the migration with the handoff of an ordinal as status.handoff.
func focused(m *api.Migration, ordinal int32) *api.Migration {
	if len(m.Status.FurtherHandoffs) == 0 {
		return m
	}
	return m.FocusOn(&ordinal)
}

// of returns what was seen of the handoff of an ordinal.
func (o *observations) of(ordinal int32) *observation {
	if o.handoffs == nil {
		o.handoffs = map[int32]*observation{}
	}
	if o.handoffs[ordinal] == nil {
		o.handoffs[ordinal] = &observation{}
	}
	return o.handoffs[ordinal]
}

// downOf returns the outage of an ordinal, as far as it was seen.
func (o *observations) downOf(ordinal int32) downtime {
	if of := o.handoffs[ordinal]; of != nil {
		return of.down
	}
	return downtime{}
}

// reached records the step of a decision about an ordinal in flight.
func (o *observations) reached(handoff *api.Handoff, step api.Step, now time.Time) {
	if handoff != nil && o.handoffs[handoff.Ordinal] != nil {
		o.handoffs[handoff.Ordinal].down.reached(step, now)
	}
}

// wrote records an effect that has landed.
func (o *observations) wrote(effect plan.Effect, now time.Time) {
	if of := o.handoffs[effect.Ordinal]; of != nil {
		of.down.wrote(effect, now)
	}
}

// fewestIn sets in each handoff of a status the lowest number that was seen in it.
func (o *observations) fewestIn(status *api.MigrationStatus) {
	if status.Handoff != nil {
		status.Handoff = o.of(status.Handoff.Ordinal).fewest.in(status.Handoff)
	}
	status.FurtherHandoffs = slices.Clone(status.FurtherHandoffs)
	for i := range status.FurtherHandoffs {
		handoff := &status.FurtherHandoffs[i]
		*handoff = *o.of(handoff.Ordinal).fewest.in(handoff)
	}
}

// fewest is the lowest number of available replicas that was seen during the current handoff. It is kept in
// memory, because most passes write no status and a handoff may end before one does.
type fewest struct {
	ordinal   int32
	start     metav1.MicroTime
	available *int32
}

// note records the available replicas that a pass has seen during the current handoff; nil means that there is
// none.
func (f *fewest) note(handoff *api.Handoff, s plan.Snapshot) {
	if handoff == nil || s.Source.Reach != plan.Seen || s.Destination.Reach != plan.Seen {
		return
	}
	if f.ordinal != handoff.Ordinal || !f.start.Equal(&handoff.StartTime) {
		*f = fewest{ordinal: handoff.Ordinal, start: handoff.StartTime}
	}
	available := plan.Available(s.Now, s.Source) + plan.Available(s.Now, s.Destination)
	if f.available == nil || available < *f.available {
		f.available = &available
	}
}

// in returns a handoff with the lowest number that was seen in it.
func (f *fewest) in(handoff *api.Handoff) *api.Handoff {
	if handoff == nil || f.available == nil || f.ordinal != handoff.Ordinal || !f.start.Equal(&handoff.StartTime) ||
		handoff.FewestAvailable != nil && *handoff.FewestAvailable <= *f.available {
		return handoff
	}
	next := *handoff
	next.FewestAvailable = new(*f.available)
	return &next
}
