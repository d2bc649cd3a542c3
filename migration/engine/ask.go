package engine

import (
	"context"
	"sync"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/health"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
)

// Asked is the current answer of a gate at one of its points.
type Asked struct {
	planner.Point
	// Subject is the subject of the question.
	Subject health.Subject
	// Answer is empty if the subject does not exist yet.
	Answer health.Answer
}

// Ask queries every health gate once at each of its points, and writes nothing. m need not exist in any
// cluster. The gates of a migration that has not begun are queried as at its beginning.
func (e *Engine) Ask(ctx context.Context, m *api.Migration) ([]Asked, plan.Snapshot, error) {
	snapshot, err := e.Look(ctx, m)
	if err != nil {
		return nil, snapshot, err
	}
	if snapshot.Record.Baseline == nil {
		snapshot.Record.Baseline = &api.Baseline{
			Start: snapshot.Source.Set.Start, Replicas: snapshot.Source.Set.Replicas + snapshot.Destination.Set.Replicas,
			DestinationReplicas: snapshot.Destination.Set.Replicas,
		}
	}
	for _, gate := range m.Spec.Gates {
		snapshot.Gates = append(snapshot.Gates, plan.Health{Gate: gate})
	}
	var all []Asked
	for _, point := range planner.Points(snapshot) {
		subject := subjectOf(snapshot, point.Question)
		subject.Look = true
		all = append(all, Asked{Point: point, Subject: subject})
	}
	var group sync.WaitGroup
	for i := range all {
		if each := &all[i]; each.Point.Subject {
			group.Go(func() { each.Answer = askOnce(ctx, e.gates.askerOf(each.Gate), each.Gate, each.Subject) })
		}
	}
	group.Wait()
	return all, snapshot, nil
}
