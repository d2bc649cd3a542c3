package slices

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// inputWatches watches the ConfigMaps that are revision inputs: the metadata of all ConfigMaps of a namespace, while a set
// there has such an input. It stores no object. Secrets are not watched, because the right to watch them is that to read all
// of them. Where a watch is refused, the sets read their inputs at intervals alone.
type inputWatches struct {
	life context.Context //nolint:containedctx // that of the manager
	open func(ctx context.Context, namespace string) (watch.Interface, error)
	// changes receives the sets whose inputs have changed.
	changes chan event.GenericEvent

	mu sync.Mutex
	// namespaces has the watched namespaces. stop ends the watch.
	namespaces map[string]*watchedNamespace
}

type watchedNamespace struct {
	stop context.CancelFunc
	// reads are the ConfigMaps of each set.
	reads map[types.NamespacedName][]string
}

// newInputWatches returns watches by the identity of the manager.
func newInputWatches(ctx context.Context, mgr ctrl.Manager) (*inputWatches, error) {
	c, err := client.NewWithWatch(mgr.GetConfig(), client.Options{HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return nil, fmt.Errorf("a client for watches of ConfigMaps: %w", err)
	}
	return &inputWatches{
		life: ctx, changes: make(chan event.GenericEvent), namespaces: map[string]*watchedNamespace{},
		open: func(ctx context.Context, namespace string) (watch.Interface, error) {
			list := &metav1.PartialObjectMetadataList{}
			list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
			return c.Watch(ctx, list, client.InNamespace(namespace))
		},
	}, nil
}

// want watches the ConfigMaps that a set has as inputs, and no others for it.
func (w *inputWatches) want(set *api.StatefulSet) {
	if w == nil {
		return
	}
	var names []string
	for _, input := range set.Spec.RevisionInputs {
		if input.Kind == api.InputConfigMap {
			names = append(names, input.Name)
		}
	}
	if key := client.ObjectKeyFromObject(set); len(names) == 0 || set.DeletionTimestamp != nil {
		w.forget(key)
	} else {
		w.read(key, names)
	}
}

func (w *inputWatches) read(set types.NamespacedName, names []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	found := w.namespaces[set.Namespace]
	if found == nil {
		ctx, stop := context.WithCancel(w.life)
		found = &watchedNamespace{stop: stop, reads: map[types.NamespacedName][]string{}}
		w.namespaces[set.Namespace] = found
		go w.follow(ctx, set.Namespace)
	}
	found.reads[set] = names
}

// forget ends the watch for a set.
func (w *inputWatches) forget(set types.NamespacedName) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	found := w.namespaces[set.Namespace]
	if found == nil {
		return
	}
	if delete(found.reads, set); len(found.reads) == 0 {
		found.stop()
		delete(w.namespaces, set.Namespace)
	}
}

// follow watches a namespace until its context ends. The first events of each watch are all existing objects, so no change
// is lost between two watches.
func (w *inputWatches) follow(ctx context.Context, namespace string) {
	wait.JitterUntilWithContext(ctx, func(ctx context.Context) {
		events, err := w.open(ctx, namespace)
		if err != nil {
			return
		}
		defer events.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case e, more := <-events.ResultChan():
				if !more || e.Type == watch.Error {
					return
				}
				w.notify(ctx, namespace, e.Object)
			}
		}
	}, inputsAgain, 1, true)
}

// notify requeues the sets that read a ConfigMap.
func (w *inputWatches) notify(ctx context.Context, namespace string, object any) {
	changed, is := object.(client.Object)
	if !is {
		return
	}
	for _, set := range w.readersOf(namespace, changed.GetName()) {
		select {
		case <-ctx.Done():
		case w.changes <- event.GenericEvent{Object: &api.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: set.Namespace, Name: set.Name}}}:
		}
	}
}

func (w *inputWatches) readersOf(namespace, name string) (sets []types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if found := w.namespaces[namespace]; found != nil {
		for set, names := range found.reads {
			if slices.Contains(names, name) {
				sets = append(sets, set)
			}
		}
	}
	return sets
}

// Revision inputs are read by name in each pass, and at these intervals. A kubelet takes as long to update a mounted ConfigMap.
const (
	inputsEvery = 30 * time.Second
	// inputsAgain is the interval while an input cannot be had, and between two watches.
	inputsAgain = 5 * time.Second
)
