package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/workload"
)

// watches are the caches of both sides, and the written objects that they do not show yet.
type watches struct {
	// notify is called when a watched object has changed; nil means that nothing is watched.
	notify func()
	pair   *endpoint.Pair
	leave  []func()
	on     bool
	// written holds the objects that this process has written, by name.
	written map[string]watchedObject
}

// watchedObject is an object of a side that is visible in the side's cache.
type watchedObject struct {
	client.Object
	side plan.SideName
}

// begin starts to watch the sides, unless they are watched.
func (w *watches) begin(ctx context.Context, places []*endpoint.Endpoint, connections map[plan.SideName]*clusters.Connection) error {
	if w.on || w.notify == nil {
		return nil
	}
	for _, p := range places {
		view, leave, err := connections[p.Side].Watch(ctx, clusters.Scope{Namespace: p.Namespace, Kind: p.APIVersion}, clusters.Subscription{Set: p.Set, Notify: w.notify})
		if err != nil {
			w.close()
			return err
		}
		p.Cached = view
		w.leave = append(w.leave, leave)
	}
	w.on = true
	return nil
}

// refused reports whether the sides are to be watched and are not.
func (w *watches) refused() bool { return w.notify != nil && !w.on }

// close stops all watches.
func (w *watches) close() {
	for _, leave := range w.leave {
		leave()
	}
	w.leave, w.on, w.pair.Source.Cached, w.pair.Destination.Cached = nil, false, nil, nil
}

// await keeps a written object until the caches show it, and returns the name by which the pass knows it. Objects
// that are not awaited any more are dropped.
func (w *watches) await(object watchedObject, awaited []planner.Awaited) string {
	maps.DeleteFunc(w.written, func(name string, _ watchedObject) bool {
		return !slices.ContainsFunc(awaited, func(a planner.Awaited) bool { return a.Object == name })
	})
	name := fmt.Sprintf("%s %T %s", object.side, object.Object, client.ObjectKeyFromObject(object))
	if w.written == nil {
		w.written = map[string]watchedObject{}
	}
	w.written[name] = object
	return name
}

// shown returns the resourceVersion of a written object that the cache shows; empty if it shows none.
func (w *watches) shown(ctx context.Context, name string) string {
	object, found := w.written[name]
	if !found {
		return ""
	}
	cached := w.pair.At(object.side).Cached
	if cached == nil {
		return ""
	}
	shown, _ := object.DeepCopyObject().(client.Object)
	if err := cached.Get(ctx, client.ObjectKeyFromObject(shown), shown); err != nil {
		return ""
	}
	return shown.GetResourceVersion()
}

// watched reports whether a view shows objects of this kind.
func watched(object client.Object) bool {
	switch object.(type) {
	case *policyv1.PodDisruptionBudget, *corev1.PersistentVolume, *corev1.PersistentVolumeClaim, *corev1.Service:
		return true
	default:
		return workload.Is(object)
	}
}
