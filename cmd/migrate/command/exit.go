package command

import (
	"context"
	"errors"
	"fmt"
	"syscall"
)

// The exit codes.
const (
	ExitDone    = 0
	ExitFailure = 1
	ExitUsage   = 2
	ExitStalled = 3
	ExitTimeout = 4
)

// ExitError is an error that knows the exit code it ends the process with.
type ExitError struct {
	Code int
	Err  error
	// Usage is true when the command line was wrong.
	Usage bool
	// Silent is true when nothing needs to be said.
	Silent bool
}

// Error implements error.
func (e *ExitError) Error() string { return e.Err.Error() }

// Unwrap gives errors.Is and errors.As the cause.
func (e *ExitError) Unwrap() error { return e.Err }

// WithCode gives an error a code, unless it has one.
func WithCode(code int, err error) error {
	var known *ExitError
	if err == nil || errors.As(err, &known) {
		return err
	}
	return &ExitError{Code: code, Err: err}
}

// ExitCode is what the process ends with.
func ExitCode(err error) int {
	var known *ExitError
	switch {
	case err == nil:
		return ExitDone
	case errors.As(err, &known):
		return known.Code
	default:
		return ExitFailure
	}
}

// usageError says that the command line was wrong.
func usageError(err error) error { return &ExitError{Code: ExitUsage, Err: err, Usage: true} }

// Usagef is the error of a command line that cannot be meant.
func Usagef(format string, args ...any) error { return usageError(fmt.Errorf(format, args...)) }

func isUsage(err error) bool {
	var known *ExitError
	return errors.As(err, &known) && known.Usage
}

// isSilent says whether nothing is to be said: the error says so, or nobody reads the output any more.
func isSilent(err error) bool {
	var known *ExitError
	return errors.As(err, &known) && known.Silent || errors.Is(err, syscall.EPIPE)
}

// Refusedf is the error of a command that is refused, or stalled.
func Refusedf(format string, args ...any) error {
	return &ExitError{Code: ExitStalled, Err: fmt.Errorf(format, args...)}
}

// ErrInterrupted is what a command ends with after a signal.
var ErrInterrupted = errors.New("interrupted")

// Cause is why a context has ended: a timeout that knows its exit code, or a
// signal.
func Cause(ctx context.Context) error {
	var known *ExitError
	if cause := context.Cause(ctx); errors.As(cause, &known) {
		return cause
	}
	return ErrInterrupted
}

// Ended makes the error of a command whose context has ended say so: whatever it was
// doing then failed for that reason.
func Ended(ctx context.Context, err error) error {
	var known *ExitError
	if err == nil || ctx.Err() == nil || errors.As(err, &known) || errors.Is(err, ErrInterrupted) {
		return err
	}
	return Cause(ctx)
}
