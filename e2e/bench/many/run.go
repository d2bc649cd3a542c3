package many

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/e2e/measure"
)

func (m move) key() client.ObjectKey { return client.ObjectKey{Namespace: m.Namespace, Name: m.Name} }

// span is the time during which moves were observed.
type span struct{ begin, end time.Time }

// run creates the Migrations of moves, and waits until all are completed, or until the time limit.
func (s *stage) run(ctx context.Context, manager *measure.Manager, moves []move) ([]seen, span, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	o, err := s.observe(ctx, moves)
	if err != nil {
		return nil, span{}, err
	}
	taken := span{begin: time.Now()}
	err = each(ctx, moves, func(ctx context.Context, m move) error {
		migration := m.migration()
		o.change(migration, func(s *seen) { s.created = time.Now() })
		return s.migrations.Create(ctx, migration)
	})
	if err != nil {
		return nil, taken, err
	}
	completed, err := o.await(ctx, s.options.limit, manager.Ended(), seen.isCompleted)
	if err != nil {
		return nil, taken, err
	}
	taken.end = time.Now()
	if completed { // another watch reports the arrivals
		_, err = o.await(ctx, time.Minute, nil, seen.hasArrived)
	}
	all := o.all()
	if completed {
		taken.end = taken.begin
		for _, one := range all {
			if one.completed.After(taken.end) {
				taken.end = one.completed
			}
		}
	}
	return all, taken, err
}

// usage is the usage of a manager so far.
type usage struct {
	sent  measure.Counts
	apart apart
	cpu   float64
}

func (s *stage) usage(ctx context.Context, manager *measure.Manager) (usage, error) {
	var used usage
	var err error
	// First the values that are read at once: a manager that is not done continues meanwhile.
	if used.sent, err = manager.Requests(ctx); err != nil {
		return used, err
	}
	if used.cpu, err = manager.CPUSeconds(); err != nil {
		return used, err
	}
	used.apart, err = s.apart(ctx)
	return used, err
}

// measureRun is run, with its figures. The manager must have moved an ordinal before.
func (s *stage) measureRun(ctx context.Context, manager *measure.Manager, moves []move) (layoutFigures, []seen, error) {
	before, err := s.usage(ctx, manager)
	if err != nil {
		return layoutFigures{}, nil, err
	}
	if err := before.plausible(); err != nil {
		return layoutFigures{}, nil, err
	}
	all, taken, err := s.run(ctx, manager, moves)
	if err != nil {
		return layoutFigures{}, nil, err
	}
	after, err := s.usage(ctx, manager)
	if err != nil {
		return layoutFigures{}, nil, err
	}
	f := figuresOf(all, taken)
	f.Ordinals = int(moves[0].Replicas)
	f.takeUsage(before, after)
	if f.PeakMiB, err = manager.PeakMiB(); err != nil {
		return f, all, err
	}
	s.Say("%d of %d Migrations completed, %d handoffs in %.1f s: %.2f a second, %.1f reads and %.1f writes each, peak %.0f MiB",
		f.Completed, f.Migrations, f.Arrived, f.Seconds, f.PerSecond, f.ReadsPerHandoff, f.WritesPerHandoff, f.PeakMiB)
	return f, all, nil
}
