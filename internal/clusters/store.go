package clusters

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sliceshift/sliceshift/internal/clusters/slim"
	"github.com/sliceshift/sliceshift/workload"
)

// syncFor bounds the first filling of a store.
const syncFor = 20 * time.Second

// store keeps what is watched of a part of a cluster, for several views. It stops when the last of
// them leaves.
type store struct {
	cache.Cache
	part part
	stop context.CancelFunc
	hub  *hub
	// users is how many views there are of it; the lock of the core guards it.
	users int
	// filled is closed once all was listed, or failed to be, for the reason in err.
	filled chan struct{}
	err    error

	// volumes are kept once for all stores of a pool.
	volumes *slim.Volumes
	// informers watch what it shows.
	informers []*informer

	mu sync.Mutex
	// kept is what is kept of the cluster's objects, and weights what each weighs.
	kept    *tab
	weights map[string]int64
	// full is true once there was no room for one: then nothing is shown any more.
	full bool
}

// part is what a store shows.
type part struct {
	// namespace is where it is; empty: the whole cluster.
	namespace string
	shown     []client.Object
}

// sets are the kinds of StatefulSets that it shows.
func (p part) sets() []client.Object {
	return slices.DeleteFunc(slices.Clone(p.shown), func(object client.Object) bool { return !workload.Is(object) })
}

// of says what it is, for people.
func (p part) of() string {
	if p.namespace == "" {
		return "in PersistentVolumes and VolumeAttachments"
	}
	return "in namespace " + p.namespace
}

// newStore begins to fill a store, which outlives the call that made it: it belongs to its views.
func (c *core) newStore(ctx context.Context, of part) *store {
	running, stop := context.WithCancel(unheld(context.WithoutCancel(ctx)))
	s := &store{
		part: of, stop: stop, hub: c.hub, volumes: c.volumes, filled: make(chan struct{}),
		kept: &tab{of: c.guard.allowance}, weights: map[string]int64{},
	}
	go func() {
		defer close(s.filled)
		if s.err = s.fill(running, c); s.err != nil {
			s.close()
		}
	}()
	return s
}

func (s *store) fill(running context.Context, c *core) error {
	options := cache.Options{
		HTTPClient: c.http, Scheme: c.scheme, Mapper: c.mapper,
		// What is watched is never changed in place by us, and it may be large.
		DefaultTransform:             s.keep,
		DefaultUnsafeDisableDeepCopy: new(true),
		ReaderFailOnMissingInformer:  true,
		NewInformer: func(source toolscache.ListerWatcher, object runtime.Object, _ time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
			informer := newInformer(source, object, indexers)
			informer.running, informer.event, informer.ended = running, s.event, unwatched(c.guard.cluster)
			s.informers = append(s.informers, informer)
			return informer
		},
	}
	if s.part.namespace != "" {
		options.DefaultNamespaces = map[string]cache.Config{s.part.namespace: {}}
	}
	objects, err := cache.New(c.config, options)
	if err != nil {
		return err
	}
	s.Cache = objects
	waiting, cancel := context.WithTimeout(running, syncFor)
	defer cancel()
	for _, object := range s.part.shown {
		if err := s.watch(waiting, object); err != nil {
			return err
		}
	}
	go func() { _ = objects.Start(running) }() // it returns when the store is stopped
	unanswered := s.listed(waiting)
	if err := s.trusted(); err != nil {
		return err
	}
	if unanswered != nil {
		return errors.Join(errors.New("the first lists were not answered"), unanswered)
	}
	return nil
}

// listed returns once all kinds were listed, or the error of a context that has ended before.
func (s *store) listed(waiting context.Context) error {
	for _, informer := range s.informers {
		select {
		case <-informer.listed:
		case <-waiting.Done():
			return waiting.Err()
		}
	}
	return nil
}

// unwatched is for a watch that has ended, and begins again by itself. A cluster that does not answer is
// told of by the migrations that need it, and not once more by each kind of object.
func unwatched(cluster string) func(error) {
	return func(err error) {
		log.Log.WithName("clusters").V(1).Info("a watch has ended", "cluster", cluster, "message", err.Error())
	}
}

// watch shows one kind.
func (s *store) watch(ctx context.Context, object client.Object) error {
	for _, index := range Indexes() {
		if reflect.TypeOf(index.Object) != reflect.TypeOf(object) {
			continue
		}
		if err := s.IndexField(ctx, object, index.Field, index.Values); err != nil {
			return err
		}
	}
	_, err := s.GetInformer(ctx, object, cache.BlockUntilSynced(false))
	return err
}

// event is for an object that was and is so; nil: it was not, or is not any more. It wakes those whom that is about.
// Until all was listed nobody looks at the store, and who waits to finds there what has happened.
func (s *store) event(before, after client.Object) {
	if after == nil {
		s.drop(before)
	}
	if s.shows() {
		s.hub.wake(waker{s.hub, s.Cache, s.part.sets()}.about(before, after))
	}
}

// wait returns once it is filled.
func (s *store) wait(ctx context.Context) error {
	select {
	case <-s.filled:
		return s.err
	case <-ctx.Done():
		return fmt.Errorf("the first lists were not answered: %w", ctx.Err())
	}
}

// failed says whether it could not be filled.
func (s *store) failed() bool {
	select {
	case <-s.filled:
		return s.err != nil
	default:
		return false
	}
}

// shows says whether it was filled, and is not full.
func (s *store) shows() bool {
	select {
	case <-s.filled:
		return s.err == nil && s.trusted() == nil
	default:
		return false
	}
}

// close ends the store and returns what it has kept.
func (s *store) close() {
	s.stop()
	s.kept.close()
}
