package report

import (
	"context"
	"log/slog"
	"time"
)

// State is the progress of a mover, for a line in its log.
type State struct {
	// Step is the present step.
	Step string
	// Done and Total are in bytes; a total of 0 is not known yet.
	Done, Total int64
	// Entries and Files are the counts so far.
	Entries, Files int64
}

// Progress logs a line every interval, until the context ends.
func Progress(ctx context.Context, log *slog.Logger, interval time.Duration, state func() State) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	var last int64
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			now := state()
			log.Info("progress", Line(now, now.Done-last, interval)...)
			last = now.Done
		}
	}
}

// Line returns the values of a line of progress; by is the number of bytes done in the interval.
func Line(now State, by int64, interval time.Duration) []any {
	rate := float64(max(by, 0)) / interval.Seconds()
	values := []any{"step", now.Step, "bytes", now.Done, "entries", now.Entries, "files", now.Files, "bytesPerSecond", int64(rate)}
	if left := now.Total - now.Done; now.Total > 0 && left >= 0 {
		values = append(values, "bytesLeft", left)
		if rate > 0 {
			values = append(values, "secondsLeft", int64(float64(left)/rate))
		}
	}
	return values
}
