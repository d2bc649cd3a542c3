package main

import (
	"context"
	"fmt"
	"time"
)

// within gives up after a timeout; 0 is for ever.
func within(ctx context.Context, timeout time.Duration, do func(context.Context) error) error {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, errTimeout(timeout))
		defer cancel()
	}
	return ended(ctx, do(ctx))
}

// validTimeout refuses what is no duration.
func validTimeout(timeout time.Duration) error {
	if timeout < 0 {
		return usagef("--timeout must not be negative")
	}
	return nil
}

// errTimeout is what a command ends with that took longer than it may.
func errTimeout(after time.Duration) error {
	return &exitError{code: exitTimeout, err: fmt.Errorf("not completed after %s", after)}
}
