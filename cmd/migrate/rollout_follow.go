package main

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/sliceshift/sliceshift/internal/clusters"
	slicesapi "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// follow calls look with the set now and after each change, until look says that it is
// enough, or ctx ends.
func (s *slice) follow(ctx context.Context, ticks clock.WithTicker, look func(*slicesapi.StatefulSet) (bool, error)) error {
	changes, stop, err := s.changes(ctx)
	if err != nil {
		return err
	}
	defer stop()
	ticker := ticks.NewTicker(refreshEvery)
	defer ticker.Stop()
	for set := s.StatefulSet; ; {
		if set.UID != s.UID {
			return fmt.Errorf("%s was deleted from cluster %s, and made anew", s.title(), s.connection.Name())
		}
		if done, err := look(set); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return causeOf(ctx)
		case set = <-changes:
		case <-ticker.C():
			switch fresh, err := s.refresh(ctx); {
			case apierrors.IsNotFound(err):
				return fmt.Errorf("%s is gone from cluster %s", s.title(), s.connection.Name())
			case err == nil:
				set = fresh
			}
			// Any other error may be over soon; what was seen last still stands.
		}
	}
}

// changes brings each state of the set, the latest only when they come faster than
// they are taken. stop ends it.
func (s *slice) changes(ctx context.Context) (changes <-chan *slicesapi.StatefulSet, stop func(), err error) {
	running, cancel := context.WithCancel(ctx)
	latest := make(chan *slicesapi.StatefulSet, 1)
	put := func(object any) {
		set, ok := object.(*slicesapi.StatefulSet)
		if !ok {
			return
		}
		select {
		case <-latest: // the reader has not taken the one before
		default:
		}
		latest <- set.DeepCopy()
	}
	watched := &slicesapi.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name}}
	objects, err := s.connection.NewCache(cache.Options{ByObject: map[clusters.Object]cache.ByObject{watched: {
		Namespaces: map[string]cache.Config{s.Namespace: {}}, Field: fields.OneTermEqualSelector("metadata.name", s.Name),
	}}})
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
		return nil, nil, fmt.Errorf("cluster %s: watching %s: %w", s.connection.Name(), s.title(), err)
	}
	go func() { _ = objects.Start(running) }() // it returns when stop is called
	return latest, cancel, nil
}
