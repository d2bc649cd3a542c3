package many

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/e2e/measure"
)

// bench is one run.
type bench struct {
	measure.Workshop
	options options
	// controlPlane and manager are the paths of programs.
	controlPlane, manager string
	figures               figures
}

// part is one thing to measure.
type part struct {
	name string
	// destinations is the number of destination clusters of the moves.
	destinations int
	run          func(context.Context, *stage) error
}

func (b *bench) parts() []part {
	o := b.options
	few := max(1, o.migrations/10)
	return []part{
		{"alone", 1, b.alone},
		{"growth", o.pairs, func(ctx context.Context, s *stage) (err error) {
			if b.figures.Few, err = s.layout(ctx, oneNamespace("many", few, o.ordinals)); err != nil {
				return err
			}
			b.figures.Longer, err = s.layout(ctx, oneNamespace("longer", few, 2*o.ordinals))
			return err
		}},
		{"one_namespace", o.pairs, func(ctx context.Context, s *stage) (err error) {
			b.figures.OneNamespace, err = s.layout(ctx, oneNamespace("many", o.migrations, o.ordinals))
			return err
		}},
		{"many_namespaces", o.pairs, func(ctx context.Context, s *stage) (err error) {
			b.figures.ManyNamespaces, err = s.layout(ctx, manyNamespaces(o.migrations, o.ordinals))
			return err
		}},
	}
}

// measure builds the programs, and measures all parts or the requested part.
func (b *bench) measure(ctx context.Context) (err error) {
	parts := slices.DeleteFunc(b.parts(), func(p part) bool { return b.options.only != "" && b.options.only != p.name })
	if len(parts) == 0 {
		return fmt.Errorf("no part is called %q", b.options.only)
	}
	b.figures.Cores = runtime.NumCPU()
	workshop, remove, err := measure.NewWorkshop(b.Progress)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	b.Workshop = workshop
	if b.controlPlane, err = cluster.Build(ctx, b.Out); err != nil {
		return err
	}
	if b.manager, err = b.Command(ctx, "manager"); err != nil {
		return err
	}
	for _, p := range parts {
		if err := b.measurePart(ctx, p); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	b.figures.compare()
	return nil
}

func (b *bench) measurePart(ctx context.Context, p part) (err error) {
	b.Say("%s: starting clusters", p.name)
	s, err := b.start(ctx, p.destinations)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	return p.run(ctx, s)
}
