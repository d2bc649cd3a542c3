package records

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/sliceshift/sliceshift/internal/clusters"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Follow watches a migration and brings each state of it that somebody wrote, the
// latest only when they come faster than they are taken. stop ends it.
func Follow(ctx context.Context, connection *clusters.Connection, store Store) (changes <-chan *api.Migration, stop func(), err error) {
	watched := store.Watched()
	running, cancel := context.WithCancel(ctx)
	latest := make(chan *api.Migration, 1)
	put := func(object any) {
		m := decoded(store, object)
		if m == nil {
			return
		}
		select {
		case <-latest: // the reader has not taken the one before
		default:
		}
		latest <- m
	}
	objects, err := connection.NewCache(cache.Options{ByObject: map[clusters.Object]cache.ByObject{
		watched: {
			Namespaces: map[string]cache.Config{watched.GetNamespace(): {}},
			Field:      fields.OneTermEqualSelector("metadata.name", watched.GetName()),
		},
	}})
	if err != nil {
		cancel()
		return nil, nil, err
	}
	informer, err := objects.GetInformer(ctx, watched, cache.BlockUntilSynced(false))
	if err == nil {
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: put, UpdateFunc: func(_, object any) { put(object) }})
	}
	if err != nil {
		cancel()
		return nil, nil, fmt.Errorf("cluster %s: watching %s: %w", connection.Name(), watched.GetName(), err)
	}
	go func() { _ = objects.Start(running) }() // it returns when stop is called
	return latest, cancel, nil
}

func decoded(store Store, object any) *api.Migration {
	switch object := object.(type) {
	case *api.Migration:
		return object.DeepCopy()
	case *corev1.ConfigMap:
		kept, ok := store.(ConfigMap)
		if !ok {
			return nil
		}
		m, err := kept.decode(object)
		if err != nil {
			return nil // Load says so to whoever asks next
		}
		return m
	}
	return nil
}
