package many

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/measure"
)

// seen holds the observations of one move; an event that has not happened has no time.
type seen struct {
	replicas int32
	// created is the time just before the creation of its Migration.
	created time.Time
	// spoke is when the Migration's status first had a condition.
	spoke time.Time
	// stopped is when the source first requested fewer replicas.
	stopped time.Time
	// arrived is when the destination had all replicas available; moved is the highest number that it had.
	arrived time.Time
	moved   int32
	// arrivals are the arrival times of the ordinals.
	arrivals []time.Time
	// completed is when the Migration was completed.
	completed time.Time
}

func (s seen) hasArrived() bool  { return !s.arrived.IsZero() }
func (s seen) isCompleted() bool { return !s.completed.IsZero() }

// note sets a time to now when the condition is true for the first time.
func note(at *time.Time, is bool) {
	if is && at.IsZero() {
		*at = time.Now()
	}
}

// observer observes moves from outside.
type observer struct {
	mu   sync.Mutex
	seen map[client.ObjectKey]*seen
}

// observe observes moves until ctx ends.
func (s *stage) observe(ctx context.Context, moves []move) (*observer, error) {
	o := &observer{seen: map[client.ObjectKey]*seen{}}
	for _, m := range moves {
		o.seen[m.key()] = &seen{replicas: m.Replicas}
	}
	if err := s.source.follow(ctx, o.atSource, o.atMigration); err != nil {
		return nil, err
	}
	for _, to := range s.destinations {
		if err := to.follow(ctx, o.atDestination, nil); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// follow passes on each new or changed StatefulSet and, if asked for, Migration of a cluster until ctx ends.
func (s *side) follow(ctx context.Context, sets func(*appsv1.StatefulSet), migrations func(*api.Migration)) error {
	scheme, err := fixture.Scheme()
	if err != nil {
		return err
	}
	c, err := cache.New(s.RESTConfig(), cache.Options{Scheme: scheme})
	if err == nil {
		err = inform(ctx, c, &appsv1.StatefulSet{}, sets)
	}
	if err == nil && migrations != nil {
		err = inform(ctx, c, &api.Migration{}, migrations)
	}
	if err != nil {
		return err
	}
	go func() { _ = c.Start(ctx) }()
	if !c.WaitForCacheSync(ctx) {
		return errors.New("nothing can be watched")
	}
	return nil
}

// inform calls see with each new or changed object.
func inform[T client.Object](ctx context.Context, c cache.Cache, of T, see func(T)) error {
	informer, err := c.GetInformer(ctx, of, cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	take := func(object any) {
		if one, is := object.(T); is {
			see(one)
		}
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: take, UpdateFunc: func(_, object any) { take(object) }})
	return err
}

// change updates the observations of the move that the object belongs to, if any.
func (o *observer) change(object client.Object, do func(*seen)) {
	o.changeOf(client.ObjectKeyFromObject(object), do)
}

// changeOf updates the observations of the move of a StatefulSet, if it is observed.
func (o *observer) changeOf(set client.ObjectKey, do func(*seen)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if found := o.seen[set]; found != nil {
		do(found)
	}
}

func (o *observer) atSource(set *appsv1.StatefulSet) {
	o.change(set, func(s *seen) { note(&s.stopped, *set.Spec.Replicas < s.replicas) })
}

func (o *observer) atDestination(set *appsv1.StatefulSet) {
	o.change(set, func(s *seen) {
		for ; s.moved < set.Status.AvailableReplicas; s.moved++ {
			s.arrivals = append(s.arrivals, time.Now())
		}
		note(&s.arrived, s.moved == s.replicas)
	})
}

func (o *observer) atMigration(m *api.Migration) {
	from := m.Spec.Source
	o.changeOf(client.ObjectKey{Namespace: cmp.Or(from.Namespace, m.Namespace), Name: from.Name}, func(s *seen) {
		note(&s.spoke, len(m.Status.Conditions) > 0)
		note(&s.completed, meta.IsStatusConditionTrue(m.Status.Conditions, api.ConditionCompleted))
	})
}

// all returns the observations of all moves so far.
func (o *observer) all() []seen {
	o.mu.Lock()
	defer o.mu.Unlock()
	var all []seen
	for _, one := range o.seen {
		all = append(all, *one)
	}
	return all
}

// await waits until a condition holds for all moves, and reports whether it does. It ends at limit, and fails when
// ended is closed.
func (o *observer) await(ctx context.Context, limit time.Duration, ended <-chan struct{}, is func(seen) bool) (bool, error) {
	return o.until(ctx, limit, ended, func(all []seen) bool {
		return !slices.ContainsFunc(all, func(s seen) bool { return !is(s) })
	})
}

// until is await with a condition on all moves together.
func (o *observer) until(ctx context.Context, limit time.Duration, ended <-chan struct{}, hold func([]seen) bool) (bool, error) {
	const often = 20 * time.Millisecond
	err := wait.PollUntilContextTimeout(ctx, often, limit, true, func(context.Context) (bool, error) {
		select {
		case <-ended:
			return false, errors.New("it ended in the middle")
		default:
			return hold(o.all()), nil
		}
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return false, nil
	}
	return err == nil, err
}

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
