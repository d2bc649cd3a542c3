// Package slices compares our own StatefulSet kind with Kubernetes' native controller on one embedded cluster. It
// measures the time of whole operations, the writes of an update, and the memory of a manager with many pods.
package slices

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/sliceshift/sliceshift/e2e/measure"
	pages "github.com/sliceshift/sliceshift/internal/figures"
)

// Flags declares the flags, and returns the run.
func Flags(set *flag.FlagSet) measure.Run {
	rounds := set.Int("rounds", 6, "how often each contender does each operation; a multiple of three lets each be the first equally often")
	only := set.String("only", "", "measure one part only (times or memory) and write no file")
	return func(ctx context.Context) error { return run(ctx, *rounds, *only) }
}

func run(ctx context.Context, rounds int, only string) error {
	b, err := newBench(ctx)
	if err != nil {
		return err
	}
	defer b.close()
	if only != "memory" {
		if err := b.times(ctx, rounds); err != nil {
			return err
		}
	}
	if only != "times" {
		if err := b.memory(ctx); err != nil {
			return err
		}
	}
	if only == "" {
		if err := b.figures.write(); err != nil {
			return err
		}
	}
	if !b.figures.report(os.Stdout) {
		return measure.ErrMissed
	}
	return nil
}

func (f figures) write() error {
	return errors.Join(measure.WriteJSON("bench-slices", f), pages.Write("bench-slices", f.page()))
}

// say prints the progress of the run.
func (b *bench) say(format string, args ...any) {
	fmt.Printf("%5.1f s  %s\n", time.Since(b.begun).Seconds(), fmt.Sprintf(format, args...))
}
