package measure

import (
	"context"
	"time"

	"k8s.io/client-go/rest"

	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/migration"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Command moves applications by the engine in this process, as "migrate run" drives it.
type Command struct {
	Source, Destination *rest.Config
	// Trace receives every pass during the handoffs; may be nil.
	Trace Trace
}

// Trace records the passes of a move.
type Trace interface {
	// Begin starts a move.
	Begin(now time.Time)
	// Add records the next pass.
	Add(outcome migration.Outcome, now time.Time)
}

// Move moves an application, and returns the times and the requests that were sent during the handoffs.
func (c Command) Move(ctx context.Context, app fixture.App) (Timing, Counts, error) {
	sent := &requests{}
	mover, err := fixture.NewMover(ctx, sent.watching(c.Source), sent.watching(c.Destination), Migration(app))
	if err != nil {
		return Timing{}, Counts{}, err
	}
	var taken Timing
	var before, during Counts
	err = mover.Run(ctx, func(_ *api.Migration, outcome migration.Outcome) error {
		if record := outcome.Decision.Record; taken.Begin.IsZero() && record != nil && record.Handoff != nil {
			// This record is not counted; the record that ends the last handoff is.
			taken.Begin, before = outcome.Snapshot.Now, sent.counts()
			if c.Trace != nil {
				c.Trace.Begin(time.Now())
			}
			return nil
		}
		moving := !taken.Begin.IsZero() && len(taken.Arrived) < int(app.Replicas)
		if moving && c.Trace != nil {
			c.Trace.Add(outcome, time.Now())
		}
		if outcome.Finished != nil {
			taken.Arrived = append(taken.Arrived, time.Now())
		}
		if moving && len(taken.Arrived) == int(app.Replicas) {
			during = sent.counts().Sub(before)
		}
		return nil
	})
	return taken, during, err
}
