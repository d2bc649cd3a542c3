// Package fresh reports whether a manager's own cache is up to date.
//
// An informer whose lists fail keeps showing old objects, or none, and readers of the cache do not notice it.
package fresh

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/sliceshift/sliceshift/internal/metric"
)

// recovered is the time after the last failure after which an informer without further events counts as up to date. A
// failing informer retries after a minute at most (k8s.io/client-go, tools/cache, reflector.go: 30 s, plus up to 30 s
// jitter).
const recovered = 75 * time.Second

var stale = metric.Gauge(metric.Definition{
	Name: "sliceshift_cache_stale", Labels: []string{"kind"},
	Help: "1 while the manager does not see the objects of a kind in its own cluster as they are: they were not listed yet, or the last list or watch has failed.",
	Use:  "While it is 1 for Migration, nobody's move, pause or rollback is noticed.",
})

// Watches records the informers of a cache. The zero value is ready to use.
type Watches struct {
	mu  sync.Mutex
	all []*watched
}

// watched is the informer of one kind.
type watched struct {
	kind     string
	informer toolscache.SharedIndexInformer
	// failed is the time of the last failed list or watch, why is its error, and seen is the last resourceVersion before it.
	failed time.Time
	why    error
	seen   string
}

// Options returns cache options that record the informers and their errors.
func (w *Watches) Options(options cache.Options) cache.Options {
	options.NewInformer = func(source toolscache.ListerWatcher, object runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
		informer := toolscache.NewSharedIndexInformer(source, object, resync, indexers)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.all = append(w.all, &watched{kind: kindOf(reflect.TypeOf(object).String()), informer: informer})
		return informer
	}
	options.DefaultWatchErrorHandler = func(ctx context.Context, r *toolscache.Reflector, err error) {
		w.fail(kindOf(r.TypeDescription()), err, time.Now())
		toolscache.DefaultWatchErrorHandler(ctx, r, err)
	}
	return options
}

// kindOf returns a type in the form v1alpha1.Migration.
func kindOf(description string) string { return strings.TrimPrefix(description, "*") }

func (w *Watches) fail(kind string, why error, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, each := range w.all {
		if each.kind == kind {
			each.failed, each.why, each.seen = now, why, each.informer.LastSyncResourceVersion()
		}
	}
}

// stale returns why the cache of a kind is not up to date, or nil.
func (w *watched) stale(now time.Time) error {
	failing := w.why != nil && now.Sub(w.failed) < recovered && w.informer.LastSyncResourceVersion() == w.seen
	switch {
	case w.informer.IsStopped():
		return nil
	case failing:
		return fmt.Errorf("the last list or watch of %s has failed: %w", w.kind, w.why)
	case !w.informer.HasSynced():
		return fmt.Errorf("%s was not listed yet", w.kind)
	}
	return nil
}

// Check returns an error while the cache of any kind is not up to date. It serves /readyz.
func (w *Watches) Check(*http.Request) error {
	w.mu.Lock()
	all := slices.Clone(w.all)
	w.mu.Unlock()
	for _, each := range all {
		if err := w.of(each); err != nil {
			return err
		}
	}
	return nil
}

func (w *Watches) of(one *watched) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return one.stale(time.Now())
}

// Describe implements prometheus.Collector.
func (w *Watches) Describe(to chan<- *prometheus.Desc) { to <- stale }

// Collect implements prometheus.Collector.
func (w *Watches) Collect(to chan<- prometheus.Metric) {
	w.mu.Lock()
	all := slices.Clone(w.all)
	w.mu.Unlock()
	worst := map[string]float64{}
	for _, each := range all {
		value := 0.0
		if w.of(each) != nil {
			value = 1
		}
		worst[each.kind] = max(worst[each.kind], value)
	}
	for kind, value := range worst {
		to <- prometheus.MustNewConstMetric(stale, prometheus.GaugeValue, value, kind)
	}
}
