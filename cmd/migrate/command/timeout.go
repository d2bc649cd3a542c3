package command

import (
	"context"
	"fmt"
	"time"
)

// Within gives up after a timeout; 0 is for ever.
func Within(ctx context.Context, timeout time.Duration, do func(context.Context) error) error {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, TimeoutError(timeout))
		defer cancel()
	}
	return Ended(ctx, do(ctx))
}

// ValidateTimeout refuses what is no duration.
func ValidateTimeout(timeout time.Duration) error {
	if timeout < 0 {
		return Usagef("--timeout must not be negative")
	}
	return nil
}

// TimeoutError is what a command ends with that took longer than it may.
func TimeoutError(after time.Duration) error {
	return &ExitError{Code: ExitTimeout, Err: fmt.Errorf("not completed after %s", after)}
}
