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

// syncFor limits the first lists of a store.
const syncFor = 20 * time.Second

// store keeps the watched objects of a part of a cluster, for several views. It stops when the last view leaves.
type store struct {
	cache.Cache
	part part
	stop context.CancelFunc
	hub  *hub
	// users is the number of its views. The lock of the core guards it.
	users int
	// filled is closed once everything was listed, or after a failure, which is in err.
	filled chan struct{}
	err    error

	// volumes deduplicates volumes of all stores of a pool.
	volumes *slim.Volumes
	// informers are the informers of the store.
	informers []*informer

	mu sync.Mutex
	// kept is the memory of the kept objects, and weights is that of each one.
	kept    *tab
	weights map[string]int64
	// full is true once the allowance was used up. The store shows nothing after that.
	full bool
}

// part is the content of a store.
type part struct {
	// namespace is the namespace of the objects. Empty means the whole cluster.
	namespace string
	shown     []client.Object
}

// sets returns the kinds of StatefulSets in the part.
func (p part) sets() []client.Object {
	return slices.DeleteFunc(slices.Clone(p.shown), func(object client.Object) bool { return !workload.Is(object) })
}

// of describes the part in messages.
func (p part) of() string {
	if p.namespace == "" {
		return "in PersistentVolumes and VolumeAttachments"
	}
	return "in namespace " + p.namespace
}

// newStore starts to fill a store. Its watches outlive the call, because they belong to its views.
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
		// The watched objects are never changed in place, and may be large.
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

// listed returns nil once all kinds were listed, or the error of a context that ended before.
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

// unwatched returns a handler that logs a failed watch, which restarts automatically. It logs at V(1) only, because the
// migrations that need the cluster report the failure.
func unwatched(cluster string) func(error) {
	return func(err error) {
		log.Log.WithName("clusters").V(1).Info("a watch has ended", "cluster", cluster, "message", err.Error())
	}
}

// watch adds an informer for one kind.
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

// event handles a change of an object. nil means that it did not exist, or no longer exists. It wakes the subscribers
// concerned. Until everything is listed it wakes none, because a new view reads the store afterwards.
func (s *store) event(before, after client.Object) {
	if after == nil {
		s.drop(before)
	}
	if s.shows() {
		s.hub.wake(waker{s.hub, s.Cache, s.part.sets()}.about(before, after))
	}
}

// wait returns once the store is filled.
func (s *store) wait(ctx context.Context) error {
	select {
	case <-s.filled:
		return s.err
	case <-ctx.Done():
		return fmt.Errorf("the first lists were not answered: %w", ctx.Err())
	}
}

// failed reports whether the store could not be filled.
func (s *store) failed() bool {
	select {
	case <-s.filled:
		return s.err != nil
	default:
		return false
	}
}

// shows reports whether the store is filled, and not full.
func (s *store) shows() bool {
	select {
	case <-s.filled:
		return s.err == nil && s.trusted() == nil
	default:
		return false
	}
}

// close ends the store and returns its memory.
func (s *store) close() {
	s.stop()
	s.kept.close()
}
