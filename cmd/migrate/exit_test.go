package main

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

// pending is an error that says nothing.
var pending = &exitError{code: exitFailure, err: errors.New("steps are pending"), silent: true}

func TestExitCode(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want int
	}{
		"done":            {nil, 0},
		"an error":        {errors.New("broken"), 1},
		"usage":           {usagef("no such flag"), 2},
		"refused":         {refusedf("not healthy"), 3},
		"timeout":         {errTimeout(time.Minute), 4},
		"pending":         {pending, 1},
		"interrupted":     {errInterrupted, 1},
		"wrapped":         {fmt.Errorf("run: %w", refusedf("stalled")), 3},
		"wrapped twice":   {fmt.Errorf("a: %w", fmt.Errorf("b: %w", errTimeout(time.Second))), 4},
		"given a code":    {withCode(4, errors.New("late")), 4},
		"keeps its code":  {withCode(1, refusedf("stalled")), 3},
		"nothing to code": {withCode(1, nil), 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := exitCode(tc.err); got != tc.want {
				t.Errorf("exitCode(%v) = %d, want %d", tc.err, got, tc.want)
			}
		})
	}
}

func TestEnded(t *testing.T) {
	broken := errors.New("broken")
	alive := t.Context()
	cancelled, cancel := context.WithCancel(alive)
	cancel()
	late, cancelLate := context.WithTimeoutCause(alive, 0, errTimeout(time.Minute))
	defer cancelLate()
	<-late.Done()
	for name, tc := range map[string]struct{ got, want error }{
		"no error":             {ended(cancelled, nil), nil},
		"context alive":        {ended(alive, broken), broken},
		"after a signal":       {ended(cancelled, broken), errInterrupted},
		"after the timeout":    {ended(late, broken), context.Cause(late)},
		"refused all the same": {ended(cancelled, pending), pending},
	} {
		t.Run(name, func(t *testing.T) {
			if !errors.Is(tc.got, tc.want) || (tc.got == nil) != (tc.want == nil) {
				t.Errorf("ended = %v, want %v", tc.got, tc.want)
			}
		})
	}
}
