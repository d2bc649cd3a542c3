package engine

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/migration/relay"
	"github.com/sliceshift/sliceshift/volumes/copy/manifest"
)

// dialMover returns a function that connects to the port of a mover through the API server of its cluster.
func (e *Engine) dialMover(end plan.RelayEnd) relay.Dial {
	return func(ctx context.Context) (relay.Conn, error) {
		return e.connections[end.Side].RelayPod(ctx, client.ObjectKey{Namespace: end.Namespace, Name: end.Name}, manifest.Port)
	}
}

// relay connects the movers that a snapshot requires, and disconnects all others of the ordinals that the
// snapshot covers. Copies ahead of their ordinals' turns are covered by other snapshots.
func (e *Engine) relay(s plan.Snapshot) {
	wanted, known := planner.Relays(s)
	if !known {
		return
	}
	early := planner.EarlyOrdinals(s)
	e.relays.Keep(wanted, func(ordinal int32) bool {
		if s.Focused || s.Early != nil {
			return slices.ContainsFunc(s.Volumes, func(v plan.OrdinalVolume) bool { return v.Ordinal == ordinal })
		}
		return !slices.Contains(early, ordinal)
	})
}

// hampered adds the errors of relays to a snapshot.
func (e *Engine) hampered(s *plan.Snapshot) {
	for i := range s.Volumes {
		if v := &s.Volumes[i]; v.Copy != nil {
			v.Copy.RelayTrouble = e.relays.Trouble(v.Ordinal, v.Template)
		}
	}
}
