package many

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

// options are the flags.
type options struct {
	migrations, ordinals, pairs int
	limit                       time.Duration
	only                        string
}

// usual are the options for the figures of the documentation.
var usual = options{migrations: 100, ordinals: 10, pairs: 1, limit: 8 * time.Minute}

// Flags declares the flags, and returns the run.
func Flags(set *flag.FlagSet) measure.Run {
	o := usual
	set.IntVar(&o.migrations, "migrations", o.migrations, "how many Migrations run at once")
	set.IntVar(&o.ordinals, "ordinals", o.ordinals, "how many ordinals each of them moves")
	set.IntVar(&o.pairs, "pairs", o.pairs, "over how many destination clusters the Migrations are spread")
	set.DurationVar(&o.limit, "limit", o.limit, "how long the Migrations of a part may take")
	set.StringVar(&o.only, "only", o.only, "measure one part only (alone, growth, one_namespace or many_namespaces) and write no file")
	return func(ctx context.Context) error { return run(ctx, o) }
}

func run(ctx context.Context, o options) error {
	if o.migrations < 1 || o.ordinals < 1 || o.pairs < 1 {
		return errors.New("-migrations, -ordinals and -pairs must be at least 1")
	}
	b := &bench{Workshop: measure.Workshop{Progress: measure.NewProgress(os.Stderr)}, options: o}
	if err := b.measure(ctx); err != nil {
		return err
	}
	b.Say("done")
	b.figures.Seconds = b.Seconds()
	if err := b.write(); err != nil {
		return err
	}
	fmt.Fprintf(os.Stdout, "%d destination clusters on this machine, %d cores.\n\n", o.pairs, b.figures.Cores)
	if !measure.Show(os.Stdout, b.figures.rows()) {
		return measure.ErrMissed
	}
	return nil
}

// write writes the figures of a whole run to the file. Those that were measured with the usual options go into the
// documentation.
func (b *bench) write() error {
	if b.options.only != "" {
		return nil
	}
	if err := measure.WriteJSON("bench-many", &b.figures); err != nil {
		return err
	}
	if b.options != usual {
		return nil
	}
	return pages.Write("bench-many", b.figures.page())
}
