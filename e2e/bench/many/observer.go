package many

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
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
	controllers := []cache.Controller{
		informer(setsOf(s.source), &appsv1.StatefulSet{}, o.atSource),
		informer(s.listOfMigrations(), &api.Migration{}, o.atMigration),
	}
	for _, to := range s.destinations {
		controllers = append(controllers, informer(setsOf(to), &appsv1.StatefulSet{}, o.atDestination))
	}
	for _, one := range controllers {
		go one.RunWithContext(ctx)
	}
	for _, one := range controllers {
		if !cache.WaitForCacheSync(ctx.Done(), one.HasSynced) {
			return nil, errors.New("nothing can be watched")
		}
	}
	return o, nil
}

// informer calls see with each new or changed object.
func informer[T runtime.Object](from cache.ListerWatcher, of T, see func(T)) cache.Controller {
	take := func(object any) {
		if one, is := object.(T); is {
			see(one)
		}
	}
	_, controller := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: from, ObjectType: of,
		Handler: cache.ResourceEventHandlerFuncs{AddFunc: take, UpdateFunc: func(_, object any) { take(object) }},
	})
	return controller
}

func setsOf(at *side) cache.ListerWatcher {
	return cache.NewListWatchFromClient(at.client.AppsV1().RESTClient(), "statefulsets", metav1.NamespaceAll, fields.Everything())
}

func (s *stage) listOfMigrations() cache.ListerWatcher {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list := &api.MigrationList{}
			return list, s.migrations.List(ctx, list, &client.ListOptions{Raw: &options})
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return s.migrations.Watch(ctx, &api.MigrationList{}, &client.ListOptions{Raw: &options})
		},
	}
}

// change updates the observations of the move that the object belongs to, if any.
func (o *observer) change(object client.Object, do func(*seen)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if found := o.seen[client.ObjectKeyFromObject(object)]; found != nil {
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
	o.change(m, func(s *seen) {
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
	const often = 20 * time.Millisecond
	err := wait.PollUntilContextTimeout(ctx, often, limit, true, func(context.Context) (bool, error) {
		select {
		case <-ended:
			return false, errors.New("it ended in the middle")
		default:
			return !slices.ContainsFunc(o.all(), func(s seen) bool { return !is(s) }), nil
		}
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return false, nil
	}
	return err == nil, err
}
