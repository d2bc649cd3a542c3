package main

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

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
		"pending":         {errPending, 1},
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
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancelLate := context.WithTimeoutCause(t.Context(), 0, errTimeout(time.Minute))
	defer cancelLate()
	<-late.Done()
	broken := errors.New("broken")
	for name, tc := range map[string]struct {
		ctx  context.Context
		err  error
		want error
	}{
		"no error":             {cancelled, nil, nil},
		"context alive":        {t.Context(), broken, broken},
		"after a signal":       {cancelled, broken, errInterrupted},
		"after the timeout":    {late, broken, context.Cause(late)},
		"refused all the same": {cancelled, errPending, errPending},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ended(tc.ctx, tc.err); !errors.Is(got, tc.want) || (got == nil) != (tc.want == nil) {
				t.Errorf("ended = %v, want %v", got, tc.want)
			}
		})
	}
}
