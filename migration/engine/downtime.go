package engine

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// observations is what the passes of this process have seen, and no status has yet.
type observations struct {
	// fewest and down are of the current handoff.
	fewest fewest
	down   downtime
	// clients measures availability for clients of the application.
	clients clients
}

// note records what a pass has seen of the current handoff.
func (o *observations) note(m *api.Migration, s plan.Snapshot) {
	o.fewest.note(m.Status.Handoff, s)
	o.down.note(m, s)
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
