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

// ExitError is an error with the exit code of the process.
type ExitError struct {
	Code int
	Err  error
	// Usage is true when the command line was wrong.
	Usage bool
	// Silent is true when no message is needed.
	Silent bool
}

// Error implements error.
func (e *ExitError) Error() string { return e.Err.Error() }

// Unwrap returns the cause, for errors.Is and errors.As.
func (e *ExitError) Unwrap() error { return e.Err }

// WithCode gives an error an exit code, unless it already has one.
func WithCode(code int, err error) error {
	var known *ExitError
	if err == nil || errors.As(err, &known) {
		return err
	}
	return &ExitError{Code: code, Err: err}
}

// ExitCode returns the exit code for an error.
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

// usageError returns an error for a wrong command line.
func usageError(err error) error { return &ExitError{Code: ExitUsage, Err: err, Usage: true} }

// Usagef returns the error of a wrong command line.
func Usagef(format string, args ...any) error { return usageError(fmt.Errorf(format, args...)) }

func isUsage(err error) bool {
	var known *ExitError
	return errors.As(err, &known) && known.Usage
}

// isSilent reports whether no message is printed: the error is Silent, or the output has no reader any more.
func isSilent(err error) bool {
	var known *ExitError
	return errors.As(err, &known) && known.Silent || errors.Is(err, syscall.EPIPE)
}

// Refusedf returns the error of a command that is refused or stalled.
func Refusedf(format string, args ...any) error {
	return &ExitError{Code: ExitStalled, Err: fmt.Errorf(format, args...)}
}

// ErrInterrupted is the error of a command that a signal ended.
var ErrInterrupted = errors.New("interrupted")

// Cause returns why a context has ended: a timeout with its exit code, or ErrInterrupted.
func Cause(ctx context.Context) error {
	var known *ExitError
	if cause := context.Cause(ctx); errors.As(cause, &known) {
		return cause
	}
	return ErrInterrupted
}

// Ended replaces err by Cause if the context has ended, because err is then only a consequence.
func Ended(ctx context.Context, err error) error {
	var known *ExitError
	if err == nil || ctx.Err() == nil || errors.As(err, &known) || errors.Is(err, ErrInterrupted) {
		return err
	}
	return Cause(ctx)
}
