package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The machine is calm when its processors did next to nothing for a while. A cluster at rest
// takes some two hundredths of them.
const (
	calmFor  = 100 * time.Millisecond
	mostBusy = 20 * time.Millisecond
	calmWait = 10 * time.Second
)

// timed adds how long something takes, in seconds. It begins when the machine is calm: what
// came before has work left over, such as to clear the pods that it deleted, and of two
// contenders not the one may pay for the other.
func timed(ctx context.Context, took *[]float64, do func() error) error {
	if err := calm(ctx); err != nil {
		return err
	}
	begin := time.Now()
	err := do()
	*took = append(*took, time.Since(begin).Seconds())
	return err
}

// calm waits until the machine is calm, or as long as calmWait: some never are.
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

// busy is how long the processors have been busy since the machine began, all together.
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
