package board

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/view"
)

// FeedState is how current the shown data of a namespace is.
type FeedState string

// The states of a feed.
const (
	// Connecting: no answer has been received yet.
	Connecting FeedState = "connecting"
	// Live: each change is shown when it happens.
	Live FeedState = "live"
	// Behind: the shown data is as old as Standing.Since.
	Behind FeedState = "behind"
	// Forbidden: the user may not read it, or not any more. Nothing of it is shown.
	Forbidden FeedState = "forbidden"
	// NotServed: the cluster does not serve the kind.
	NotServed FeedState = "not served"
	// TooMany: some migrations are not shown.
	TooMany FeedState = "too many"
)

// Standing is the state of one feed.
type Standing struct {
	// Namespace is empty for all namespaces.
	Namespace string    `json:"namespace"`
	What      string    `json:"what"`
	State     FeedState `json:"state"`
	// Since is the time of the last change of the state. For a feed that is behind, it is the time of the last answer.
	Since   time.Time `json:"since,omitzero"`
	Message string    `json:"message,omitempty"`
}

const (
	// probeEvery is the interval of requests that check the API server, because a watch does not notice a connection
	// that is silently cut.
	probeEvery   = 5 * time.Second
	probeTimeout = 3 * time.Second
)

// Feed is the watch of one kind in one namespace.
type Feed struct {
	board  *Board
	asks   client.WithWatch
	clock  clock.WithTicker
	record bool
	at     client.ListOptions

	mu    sync.Mutex
	now   Standing
	heard time.Time
	// stop ends the open watch.
	stop context.CancelFunc
}

// Watch watches the Migrations and the records of runs in namespaces until the context ends. An empty namespace means
// all.
func (b *Board) Watch(ctx context.Context, asks client.WithWatch, namespaces []string, ticks clock.WithTicker) error {
	if len(namespaces) == 0 {
		return errNoFeed
	}
	running, ctx := errgroup.WithContext(ctx)
	var feeds []*Feed
	for _, namespace := range namespaces {
		for _, record := range []bool{false, true} {
			feeds = append(feeds, newFeed(b, asks, namespace, record, ticks))
		}
	}
	b.mu.Lock()
	b.feeds = feeds
	b.mu.Unlock()
	for _, f := range feeds {
		running.Go(func() error { f.run(ctx); return nil })
		running.Go(func() error { f.probe(ctx); return nil })
	}
	return running.Wait()
}

func newFeed(b *Board, asks client.WithWatch, namespace string, record bool, ticks clock.WithTicker) *Feed {
	f := &Feed{board: b, asks: asks, clock: ticks, record: record, at: client.ListOptions{Namespace: namespace}}
	what := "Migrations"
	if record {
		what = "records of runs"
		f.at.LabelSelector = labels.NewSelector()
		if has, err := labels.Parse(records.LabelKey); err == nil {
			f.at.LabelSelector = has
		}
	}
	f.now = Standing{Namespace: namespace, What: what, State: Connecting, Since: ticks.Now()}
	return f
}

// run watches until the context ends. It restarts the watch after permission was lost.
func (f *Feed) run(ctx context.Context) {
	for ctx.Err() == nil {
		open, stop := context.WithCancel(ctx)
		f.mu.Lock()
		f.stop = stop
		f.mu.Unlock()
		f.watch(open)
		stop()
	}
}

// watch watches until the context ends. The reflector restarts after every error.
func (f *Feed) watch(ctx context.Context) {
	quiet := logr.Discard()
	reflector := toolscache.NewReflectorWithOptions(&toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list := f.list()
			err := f.asks.List(ctx, list, f.with(options))
			f.note(err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			watching, err := f.asks.Watch(ctx, f.list(), f.with(options))
			f.note(err)
			return watching, err
		},
	}, f.object(), f, toolscache.ReflectorOptions{Name: "ui", Logger: &quiet, Clock: f.clock})
	reflector.RunWithContext(ctx)
}

// probe periodically sends the smallest possible request.
func (f *Feed) probe(ctx context.Context) {
	ticker := f.clock.NewTicker(probeEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
		bounded, cancel := context.WithTimeout(ctx, probeTimeout)
		err := f.asks.List(bounded, f.list(), f.with(metav1.ListOptions{Limit: 1}))
		cancel()
		if ctx.Err() != nil {
			return
		}
		f.note(err)
		f.board.age(f)
		if refuses(err) {
			f.end()
		}
	}
}

// end ends the open watch, because the API server checks permission only when a watch begins.
func (f *Feed) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stop != nil {
		f.stop()
	}
}

// refuses reports whether the API server denied access.
func refuses(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) }

func (f *Feed) list() client.ObjectList {
	if f.record {
		return &corev1.ConfigMapList{}
	}
	return &api.MigrationList{}
}

func (f *Feed) object() client.Object {
	if f.record {
		return &corev1.ConfigMap{}
	}
	return &api.Migration{}
}

func (f *Feed) with(options metav1.ListOptions) *client.ListOptions {
	at := f.at
	at.Limit, at.Continue, at.Raw = options.Limit, options.Continue, &options
	return &at
}

// note records the result of a request.
func (f *Feed) note(err error) {
	f.mu.Lock()
	before, now := f.now, f.clock.Now()
	switch {
	case err == nil:
		f.now.State, f.now.Message, f.heard = Live, "", now
	case refuses(err):
		f.now.State, f.now.Message = Forbidden, err.Error()
	case meta.IsNoMatchError(err), apierrors.IsNotFound(err):
		f.now.State, f.now.Message = NotServed, ""
	case apierrors.IsResourceExpired(err), apierrors.IsInvalid(err):
		// the reflector retries in another way
	default:
		f.now.State, f.now.Message = Behind, err.Error()
	}
	if f.now.State != before.State {
		f.now.Since = now
		if f.now.State == Behind && !f.heard.IsZero() {
			f.now.Since = f.heard
		}
	}
	changed, forbidden := f.now != before, f.now.State == Forbidden
	f.mu.Unlock()
	if forbidden {
		f.board.keep(f, nil)
	}
	if changed {
		f.board.heard()
	}
}

func (f *Feed) standing() Standing {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

// Add implements the store of a reflector.
func (f *Feed) Add(object any) error {
	m, err := f.decode(object)
	if err != nil || m == nil {
		return err
	}
	return f.board.put(f, m, f.record)
}

// Update implements the store of a reflector.
func (f *Feed) Update(object any) error { return f.Add(object) }

// Delete implements the store of a reflector.
func (f *Feed) Delete(object any) error {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	f.board.remove(f.key(accessor))
	return nil
}

func (f *Feed) key(object metav1.Object) view.Key {
	name := object.GetName()
	if f.record {
		name = object.GetLabels()[records.LabelKey]
	}
	return view.KeyOf(object.GetNamespace(), name, f.record)
}

// Replace implements the store of a reflector.
func (f *Feed) Replace(objects []any, _ string) error {
	listed := map[view.Key]bool{}
	for _, object := range objects {
		accessor, err := meta.Accessor(object)
		if err != nil {
			return err
		}
		listed[f.key(accessor)] = true
		if err := f.Add(object); err != nil {
			return err
		}
	}
	f.board.keep(f, listed)
	return nil
}

// Resync implements the store of a reflector.
func (f *Feed) Resync() error { return nil }

// decode returns the migration in an object, or nil if the object holds none, such as another ConfigMap.
func (f *Feed) decode(object any) (*api.Migration, error) {
	switch object := object.(type) {
	case *api.Migration:
		object.ManagedFields = nil
		return object, nil
	case *corev1.ConfigMap:
		m, err := records.Decode(object)
		if err != nil {
			return nil, nil //nolint:nilerr // a ConfigMap that holds something else ends no watch
		}
		return m, nil
	}
	return nil, fmt.Errorf("a watch of %s has brought %T", f.now.What, object)
}
