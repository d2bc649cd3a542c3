package command

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

// pending is a silent error.
var pending = &ExitError{Code: ExitFailure, Err: errors.New("steps are pending"), Silent: true}

func TestExitCode(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want int
	}{
		"done":            {nil, 0},
		"an error":        {errors.New("broken"), 1},
		"usage":           {Usagef("no such flag"), 2},
		"refused":         {Refusedf("not healthy"), 3},
		"timeout":         {TimeoutError(time.Minute), 4},
		"pending":         {pending, 1},
		"interrupted":     {ErrInterrupted, 1},
		"wrapped":         {fmt.Errorf("run: %w", Refusedf("stalled")), 3},
		"wrapped twice":   {fmt.Errorf("a: %w", fmt.Errorf("b: %w", TimeoutError(time.Second))), 4},
		"given a code":    {WithCode(4, errors.New("late")), 4},
		"keeps its code":  {WithCode(1, Refusedf("stalled")), 3},
		"nothing to code": {WithCode(1, nil), 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ExitCode(tc.err); got != tc.want {
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
	late, cancelLate := context.WithTimeoutCause(alive, 0, TimeoutError(time.Minute))
	defer cancelLate()
	<-late.Done()
	for name, tc := range map[string]struct{ got, want error }{
		"no error":             {Ended(cancelled, nil), nil},
		"context alive":        {Ended(alive, broken), broken},
		"after a signal":       {Ended(cancelled, broken), ErrInterrupted},
		"after the timeout":    {Ended(late, broken), context.Cause(late)},
		"refused all the same": {Ended(cancelled, pending), pending},
	} {
		t.Run(name, func(t *testing.T) {
			if !errors.Is(tc.got, tc.want) || (tc.got == nil) != (tc.want == nil) {
				t.Errorf("ended = %v, want %v", tc.got, tc.want)
			}
		})
	}
}
