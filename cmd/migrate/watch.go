package main

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
)

// refreshEvery is how often an object is read although no change was seen: a watch
// does not tell that it was deleted.
const refreshEvery = 10 * time.Second

// watched is an object whose changes are followed.
type watched[T any] struct {
	// title and cluster name it, for people.
	title, cluster string
	// now is how it was read last.
	now T
	// changes brings each state of it until stop is called.
	changes func(ctx context.Context) (changes <-chan T, stop func(), err error)
	// refresh reads it again.
	refresh func(ctx context.Context) (T, error)
}

// follow calls look with the object now and after each change, until look says that
// it is enough, or ctx ends.
func (w watched[T]) follow(ctx context.Context, ticks clock.WithTicker, look func(T) (bool, error)) error {
	changes, stop, err := w.changes(ctx)
	if err != nil {
		return err
	}
	defer stop()
	ticker := ticks.NewTicker(refreshEvery)
	defer ticker.Stop()
	for {
		if done, err := look(w.now); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return causeOf(ctx)
		case w.now = <-changes:
		case <-ticker.C():
			switch fresh, err := w.refresh(ctx); {
			case apierrors.IsNotFound(err):
				return fmt.Errorf("%s is gone from cluster %s", w.title, w.cluster)
			case err == nil:
				w.now = fresh
			}
			// Any other error may be over soon; what was seen last still stands.
		}
	}
}
