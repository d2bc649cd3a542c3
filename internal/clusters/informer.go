package clusters

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// informer watches one kind, keeps its objects, and reports changes to one store, in the goroutine of its watch. It replaces
// client-go's informer, which has a queue and goroutines for event handlers: a hundred namespaces have a thousand informers.
// It implements only the methods that a cache uses.
type informer struct {
	toolscache.SharedIndexInformer
	source toolscache.ListerWatcher
	object runtime.Object
	index  toolscache.Indexer

	// keep returns the form of an object that is kept.
	keep toolscache.TransformFunc
	// event is called after each change, with the object before and after it. nil means that it did not exist, or no longer
	// exists.
	event func(before, after client.Object)
	// ended is called when a watch has ended with an error. The watch is restarted.
	ended func(error)
	// running ends with the store.
	running context.Context //nolint:containedctx // a cache derives a context from a channel, which costs goroutines for each informer

	// listed is closed once the first list is complete. settled is closed then too, or when the informer ends without it. A
	// cache waits for settled.
	listed, settled chan struct{}
	list, settle    sync.Once
}

// The backoff between watch attempts is that of client-go's informer (k8s.io/client-go, tools/cache, reflector.go).
// It keeps restarted API servers from getting all requests at once.
const (
	watchAgain       = 800 * time.Millisecond
	watchAgainAtMost = 30 * time.Second
	watchAgainSteps  = 38
	watchedFor       = 2 * time.Minute
)

func newInformer(source toolscache.ListerWatcher, object runtime.Object, indexers toolscache.Indexers) *informer {
	return &informer{
		source: source, object: object, index: toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, indexers),
		listed: make(chan struct{}), settled: make(chan struct{}),
	}
}

// RunWithContext implements toolscache.SharedIndexInformer.
func (i *informer) RunWithContext(ctx context.Context) {
	defer i.settle.Do(func() { close(i.settled) })
	reflector := toolscache.NewReflectorWithOptions(i.source, i.object, reflected{i}, toolscache.ReflectorOptions{})
	backoff := wait.Backoff{Duration: watchAgain, Cap: watchAgainAtMost, Steps: watchAgainSteps, Factor: 2, Jitter: 1}
	again := backoff.DelayWithReset(clock.RealClock{}, watchedFor)
	_ = again.Until(logr.NewContext(i.running, logr.FromContextOrDiscard(ctx)), true, true, func(ctx context.Context) (bool, error) { // it ends with the store
		if err := reflector.ListAndWatchWithContext(ctx); err != nil {
			i.ended(err)
		}
		return false, nil
	})
}

// SetTransform implements toolscache.SharedIndexInformer.
func (i *informer) SetTransform(keep toolscache.TransformFunc) error {
	i.keep = keep
	return nil
}

// AddIndexers implements toolscache.SharedIndexInformer.
func (i *informer) AddIndexers(indexers toolscache.Indexers) error {
	return i.index.AddIndexers(indexers)
}

// GetIndexer implements toolscache.SharedIndexInformer.
func (i *informer) GetIndexer() toolscache.Indexer { return i.index }

// HasSynced implements toolscache.SharedIndexInformer.
func (i *informer) HasSynced() bool {
	select {
	case <-i.listed:
		return true
	default:
		return false
	}
}

// HasSyncedChecker implements toolscache.SharedIndexInformer.
func (i *informer) HasSyncedChecker() toolscache.DoneChecker { return settled{i} }

// settled is the DoneChecker of an informer.
type settled struct{ of *informer }

// Name implements toolscache.DoneChecker.
func (s settled) Name() string { return fmt.Sprintf("%T", s.of.object) }

// Done implements toolscache.DoneChecker.
func (s settled) Done() <-chan struct{} { return s.of.settled }

// reflected is the ReflectorStore of an informer. The reflector calls it from one goroutine.
type reflected struct{ *informer }

// slimmed is an object of a streamed list in the form that is kept. It may be shared already, and must not be changed.
type slimmed struct{ client.Object }

// Transformer implements toolscache.TransformingStore. It transforms each object of a streamed list as it arrives.
func (r reflected) Transformer() toolscache.TransformFunc {
	return func(in any) (any, error) {
		object, err := r.slim(in)
		if object == nil {
			return in, err
		}
		return slimmed{object}, err
	}
}

// slim returns the form of an object that is kept, or nil if it is not an object.
func (r reflected) slim(in any) (client.Object, error) {
	if done, is := in.(slimmed); is {
		return done.Object, nil
	}
	out, err := r.keep(in)
	object, _ := out.(client.Object)
	return object, err
}

// Add implements toolscache.ReflectorStore.
func (r reflected) Add(in any) error { return r.Update(in) }

// Update implements toolscache.ReflectorStore.
func (r reflected) Update(in any) error {
	object, err := r.slim(in)
	if err != nil || object == nil {
		return err
	}
	before, err := r.known(object)
	if err != nil {
		return err
	}
	if err := r.index.Update(object); err != nil {
		return err
	}
	r.event(before, object)
	return nil
}

// Delete implements toolscache.ReflectorStore.
func (r reflected) Delete(in any) error {
	before, err := r.known(in)
	if err != nil || before == nil {
		return err
	}
	if err := r.index.Delete(before); err != nil {
		return err
	}
	r.event(before, nil)
	return nil
}

// known returns the kept object, or nil.
func (r reflected) known(object any) (client.Object, error) {
	found, _, err := r.index.Get(object)
	before, _ := found.(client.Object)
	return before, err
}

// Replace implements toolscache.ReflectorStore. all is the complete list.
func (r reflected) Replace(all []any, resourceVersion string) error {
	before := map[string]client.Object{}
	for _, key := range r.index.ListKeys() {
		found, _, err := r.index.GetByKey(key)
		if err != nil {
			return err
		}
		before[key], _ = found.(client.Object)
	}
	now := make([]any, 0, len(all))
	for _, in := range all {
		object, err := r.slim(in)
		if err != nil {
			return err
		}
		if object != nil {
			now = append(now, object)
		}
	}
	if err := r.index.Replace(now, resourceVersion); err != nil {
		return err
	}
	if err := r.replaced(before, now); err != nil {
		return err
	}
	r.list.Do(func() { close(r.listed) })
	r.settle.Do(func() { close(r.settled) })
	return nil
}

// replaced reports the changes between the former objects and a list.
func (r reflected) replaced(before map[string]client.Object, now []any) error {
	for _, in := range now {
		key, err := toolscache.MetaNamespaceKeyFunc(in)
		if err != nil {
			return err
		}
		after, _ := in.(client.Object)
		r.event(before[key], after)
		delete(before, key)
	}
	for _, gone := range before {
		r.event(gone, nil)
	}
	return nil
}

// Resync implements toolscache.ReflectorStore. It does nothing, because the users of a store requeue on their own.
func (r reflected) Resync() error { return nil }
