package slices

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The machine is calm if its processors were almost idle for a while. An idle cluster uses about two hundredths of
// them.
const (
	calmFor  = 100 * time.Millisecond
	mostBusy = 20 * time.Millisecond
	calmWait = 10 * time.Second
)

// timed appends how long do takes, in seconds. It starts when the machine is calm. Otherwise one contender would pay
// for the remaining work of the previous one, such as the cleanup of deleted pods.
func timed(ctx context.Context, took *[]float64, do func() error) error {
	if err := calm(ctx); err != nil {
		return err
	}
	begin := time.Now()
	err := do()
	*took = append(*took, time.Since(begin).Seconds())
	return err
}

// calm waits until the machine is calm, at most for calmWait: some machines never are.
func calm(ctx context.Context) error {
	for end := time.Now().Add(calmWait); time.Now().Before(end); {
		before, err := busy()
		if err != nil {
			return err
		}
		pass(ctx, calmFor)
		after, err := busy()
		if err != nil || after-before <= mostBusy {
			return err
		}
	}
	return ctx.Err()
}

// busy returns how long all processors together have been busy since the machine started.
func busy() (time.Duration, error) {
	const path = "/proc/stat"
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	line, _, _ := strings.Cut(string(data), "\n")
	fields := strings.Fields(line)
	const kinds = 8 // proc(5): cpu, then user nice system idle iowait irq softirq steal
	if len(fields) <= kinds || fields[0] != "cpu" {
		return 0, fmt.Errorf("the first line of %s is not understood: %s", path, line)
	}
	const idle, iowait, tick = 4, 5, 10 * time.Millisecond
	var sum time.Duration
	for kind, field := range fields[1 : kinds+1] {
		if slices.Contains([]int{idle, iowait}, kind+1) {
			continue
		}
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", path, err)
		}
		sum += time.Duration(ticks) * tick
	}
	return sum, nil
}
