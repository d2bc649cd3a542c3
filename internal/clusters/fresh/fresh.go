// Package fresh says whether a manager's own cache shows what is there.
//
// An informer whose lists fail goes on to show what it has seen before, or nothing at all, and whoever reads from it does
// not notice.
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

// recovered is how long after its last failure an informer is believed to be up to date that was not told anything since. One
// that fails tries again after a minute at most (k8s.io/client-go, tools/cache, reflector.go: 30 s, and as much by chance).
const recovered = 75 * time.Second

var stale = metric.Gauge(metric.Definition{
	Name: "sliceshift_cache_stale", Labels: []string{"kind"},
	Help: "1 while the manager does not see the objects of a kind in its own cluster as they are: they were not listed yet, or the last list or watch has failed.",
	Use:  "While it is 1 for Migration, nobody's move, pause or rollback is noticed.",
})

// Watches are what a cache watches. Their zero value is ready to use.
type Watches struct {
	mu  sync.Mutex
	all []*watched
}

// watched is one kind.
type watched struct {
	kind     string
	informer toolscache.SharedIndexInformer
	// failed is when a list or watch has failed last, why, and what was the last that it had seen.
	failed time.Time
	why    error
	seen   string
}

// Options are those of a cache that is observed.
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

// kindOf is a type as people call it: v1alpha1.Migration.
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

// stale is why a kind is not shown as it is; nil: it is.
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

// Check is an error while something is not shown as it is: for /readyz.
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
