package command

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
)

// RefreshEvery is how often an object is read although no change was seen: a watch
// does not tell that it was deleted.
const RefreshEvery = 10 * time.Second

// Watched is an object whose changes are followed.
type Watched[T any] struct {
	// Title and Cluster name it, for people.
	Title, Cluster string
	// Now is how it was read last.
	Now T
	// Changes brings each state of it until stop is called.
	Changes func(ctx context.Context) (changes <-chan T, stop func(), err error)
	// Refresh reads it again.
	Refresh func(ctx context.Context) (T, error)
	// Lost is told what became of each Refresh: its error, or nil. May be nil.
	Lost func(error)
}

// Follow calls look with the object now and after each change, until look says that
// it is enough, or ctx ends.
func (w Watched[T]) Follow(ctx context.Context, ticks clock.WithTicker, look func(T) (bool, error)) error {
	changes, stop, err := w.Changes(ctx)
	if err != nil {
		return err
	}
	defer stop()
	ticker := ticks.NewTicker(RefreshEvery)
	defer ticker.Stop()
	for {
		if done, err := look(w.Now); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return Cause(ctx)
		case w.Now = <-changes:
		case <-ticker.C():
			fresh, err := w.Refresh(ctx)
			if w.Lost != nil {
				w.Lost(err)
			}
			switch {
			case apierrors.IsNotFound(err):
				return fmt.Errorf("%s is gone from cluster %s", w.Title, w.Cluster)
			case err == nil:
				w.Now = fresh
			}
			// Any other error may be over soon; what was seen last still stands.
		}
	}
}
