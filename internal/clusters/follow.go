package clusters

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/fields"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Follow watches one object and sends its states. If the receiver is slower, it gets only the latest state. decode converts
// the object to the sent value, and skips the state if it returns false. stop ends the watch.
func Follow[T any](ctx context.Context, connection *Connection, object client.Object, decode func(object any) (T, bool)) (changes <-chan T, stop func(), err error) {
	running, cancel := context.WithCancel(ctx)
	latest := make(chan T, 1)
	put := func(object any) {
		state, ok := decode(object)
		if !ok {
			return
		}
		select {
		case <-latest: // the receiver has not taken the previous state
		default:
		}
		latest <- state
	}
	objects, err := connection.NewCache(cache.Options{ByObject: map[Object]cache.ByObject{
		object: {
			Namespaces: map[string]cache.Config{object.GetNamespace(): {}},
			Field:      fields.OneTermEqualSelector("metadata.name", object.GetName()),
		},
	}})
	if err != nil {
		cancel()
		return nil, nil, err
	}
	informer, err := objects.GetInformer(ctx, object, cache.BlockUntilSynced(false))
	if err == nil {
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: put, UpdateFunc: func(_, object any) { put(object) }})
	}
	if err != nil {
		cancel()
		return nil, nil, fmt.Errorf("cluster %s: watching %s: %w", connection.Name(), client.ObjectKeyFromObject(object), err)
	}
	go func() { _ = objects.Start(running) }() // it returns after stop
	return latest, cancel, nil
}
