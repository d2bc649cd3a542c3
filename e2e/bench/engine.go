package main

import (
	"context"
	"time"

	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/migration"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// engine is the contender sliceshift.
type engine struct {
	bench *bench
	// sent are the requests during handoffs, in all rounds.
	sent counts
}

func (e *engine) move(ctx context.Context, app fixture.App) (timing, error) {
	m := fixture.NewMigration(app.Namespace, app.Name)
	m.Spec.Destination.CreateNamespace = true
	fixture.SharePaths(m, app.Claims...)
	sent := &requests{}
	mover, err := fixture.NewMover(ctx, sent.watching(e.bench.east.RESTConfig()), sent.watching(e.bench.west.RESTConfig()), m)
	if err != nil {
		return timing{}, err
	}
	var taken timing
	var before counts
	err = mover.Run(ctx, func(_ *api.Migration, outcome migration.Outcome) error {
		if record := outcome.Decision.Record; taken.begin.IsZero() && record != nil && record.Handoff != nil {
			// This record is not counted; the one that ends the last handoff is.
			taken.begin, before = outcome.Snapshot.Now, sent.counts()
			e.bench.trace.begin(time.Now())
			return nil
		}
		moving := !taken.begin.IsZero() && len(taken.arrived) < int(app.Replicas)
		if moving {
			e.bench.trace.add(outcome, time.Now())
		}
		if outcome.Finished != nil {
			taken.arrived = append(taken.arrived, time.Now())
		}
		if moving && len(taken.arrived) == int(app.Replicas) {
			e.sent = e.sent.add(sent.counts().sub(before))
		}
		return nil
	})
	return taken, err
}
