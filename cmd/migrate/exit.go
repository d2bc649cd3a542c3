package main

import (
	"context"
	"errors"
	"fmt"
)

// The exit codes.
const (
	exitDone    = 0
	exitFailure = 1
	exitUsage   = 2
	exitStalled = 3
	exitTimeout = 4
)

// exitError is an error that knows the exit code it ends the process with.
type exitError struct {
	code int
	err  error
	// usage is true when the command line was wrong.
	usage bool
	// silent is true when nothing needs to be said.
	silent bool
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// withCode gives an error a code, unless it has one.
func withCode(code int, err error) error {
	var known *exitError
	if err == nil || errors.As(err, &known) {
		return err
	}
	return &exitError{code: code, err: err}
}

// exitCode is what the process ends with.
func exitCode(err error) int {
	var known *exitError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &known):
		return known.code
	default:
		return exitFailure
	}
}

// usageError says that the command line was wrong.
func usageError(err error) error { return &exitError{code: exitUsage, err: err, usage: true} }

func usagef(format string, args ...any) error { return usageError(fmt.Errorf(format, args...)) }

func isUsage(err error) bool {
	var known *exitError
	return errors.As(err, &known) && known.usage
}

func isSilent(err error) bool {
	var known *exitError
	return errors.As(err, &known) && known.silent
}

func refusedf(format string, args ...any) error {
	return &exitError{code: exitStalled, err: fmt.Errorf(format, args...)}
}

// errInterrupted is what a verb ends with after a signal.
var errInterrupted = errors.New("interrupted")

// causeOf is why a context has ended: a timeout that knows its exit code, or a
// signal.
func causeOf(ctx context.Context) error {
	var known *exitError
	if cause := context.Cause(ctx); errors.As(cause, &known) {
		return cause
	}
	return errInterrupted
}

// ended makes the error of a verb whose context has ended say so: whatever it was
// doing then failed for that reason.
func ended(ctx context.Context, err error) error {
	var known *exitError
	if err == nil || ctx.Err() == nil || errors.As(err, &known) || errors.Is(err, errInterrupted) {
		return err
	}
	return causeOf(ctx)
}
