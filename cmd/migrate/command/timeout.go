package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/utils/clock"
)

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
