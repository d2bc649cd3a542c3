package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
)

// RefreshEvery is how often an object is read even without a change, because Changes reports no deletion.
const RefreshEvery = 10 * time.Second

// Watched is an object whose changes are followed.
type Watched[T any] struct {
	// Title and Cluster name the object in messages.
	Title, Cluster string
	// Now is the last state that was read.
	Now T
	// Changes sends each state of the object until stop is called.
	Changes func(ctx context.Context) (changes <-chan T, stop func(), err error)
	// Refresh reads the object again.
	Refresh func(ctx context.Context) (T, error)
	// Lost is called with the result of each Refresh: its error, or nil. It may be nil.
	Lost func(error)
}

// Follow calls look with the current object and after each change, until look returns true or an error, or ctx ends.
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
				return fmt.Errorf("%s no longer exists in cluster %s", w.Title, w.Cluster)
			case err == nil:
				w.Now = fresh
			}
			// Any other error may be temporary; the last state still holds.
		}
	}
}

// Within calls do with a timeout; 0 means no timeout.
func Within(ctx context.Context, timeout time.Duration, do func(context.Context) error) error {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, TimeoutError(timeout))
		defer cancel()
	}
	return Ended(ctx, do(ctx))
}

// ValidateTimeout rejects a negative timeout.
func ValidateTimeout(timeout time.Duration) error {
	if timeout < 0 {
		return Usagef("--timeout must not be negative")
	}
	return nil
}

// TimeoutError returns the error of a command that exceeded its timeout.
func TimeoutError(after time.Duration) error {
	return &ExitError{Code: ExitTimeout, Err: fmt.Errorf("not completed after %s", after)}
}

// ErrLate is the error of Poll after its limit.
var ErrLate = errors.New("too late")

// Poll calls look at once and after each interval, until it returns true. It returns ErrLate after the limit, or Cause if
// ctx has ended.
func Poll(ctx context.Context, ticks clock.WithTicker, every, limit time.Duration, look func() bool) error {
	ticker, late := ticks.NewTicker(every), ticks.NewTimer(limit)
	defer ticker.Stop()
	defer late.Stop()
	for !look() {
		select {
		case <-ctx.Done():
			return Cause(ctx)
		case <-late.C():
			return ErrLate
		case <-ticker.C():
		}
	}
	return nil
}
