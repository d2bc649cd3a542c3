package handoff

import (
	"context"
	"flag"
	"os"
	"time"

	"github.com/sliceshift/sliceshift/e2e/measure"
	pages "github.com/sliceshift/sliceshift/internal/figures"
)

// limit bounds the whole run.
const limit = 15 * time.Minute

// usualPlan is the number of ordinals whose plan is timed for the documentation.
const usualPlan = 1000

// options are the flags.
type options struct {
	rounds int
	only   string
	trace  bool
	// planned is how many ordinals the application has whose plan is timed.
	planned int
}

// Flags declares the flags, and returns the run.
func Flags(set *flag.FlagSet) measure.Run {
	var o options
	set.IntVar(&o.rounds, "rounds", 3, "how often each contender moves its application")
	set.StringVar(&o.only, "only", "", "measure one part only (handoff, manager or plan) and write no file")
	set.IntVar(&o.planned, "planned", usualPlan, "of how many ordinals a plan is timed")
	set.BoolVar(&o.trace, "trace", false, "print where a handoff of sliceshift spends its time")
	return func(ctx context.Context) error { return run(ctx, o) }
}

func run(ctx context.Context, o options) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	b := &bench{Workshop: measure.Workshop{Progress: measure.NewProgress(os.Stderr)}, rounds: o.rounds, planned: int32(o.planned)}
	if err := b.measure(ctx, o.only); err != nil {
		return err
	}
	b.Say("done")
	b.figures.Seconds = b.Seconds()
	if o.only == "" && o.planned == usualPlan {
		if err := measure.WriteJSON("bench", &b.figures); err != nil {
			return err
		}
		if err := pages.Write("bench", b.figures.page()); err != nil {
			return err
		}
	}
	if o.trace {
		b.trace.show(os.Stdout)
	}
	if !b.figures.show(os.Stdout) {
		return measure.ErrMissed
	}
	return nil
}
