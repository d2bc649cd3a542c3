package command

import (
	"context"
	"fmt"
	"time"
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
