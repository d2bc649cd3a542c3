package handoff

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"k8s.io/client-go/kubernetes"

	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/e2e/measure"
)

// bench is one run.
type bench struct {
	measure.Workshop
	rounds              int
	planned             int32
	east, west          *cluster.Cluster
	source, destination kubernetes.Interface

	figures figures
	trace   trace
}

// part is one thing to measure.
type part struct {
	name string
	run  func(context.Context) error
}

// measure starts the clusters, measures all parts or one of them, and cleans up.
func (b *bench) measure(ctx context.Context, only string) (err error) {
	var chosen []part
	for _, p := range []part{{"handoff", b.handoffs}, {"manager", b.manager}, {"plan", b.plan}} {
		if only == "" || only == p.name {
			chosen = append(chosen, p)
		}
	}
	if len(chosen) == 0 {
		return fmt.Errorf("no part is called %q", only)
	}
	b.figures.Cores = runtime.NumCPU()
	workshop, remove, err := measure.NewWorkshop(b.Progress)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	b.Workshop = workshop
	if err := b.start(ctx); err != nil {
		return err
	}
	defer func() {
		for _, c := range []*cluster.Cluster{b.east, b.west} {
			err = errors.Join(err, c.Stop())
		}
	}()
	for _, p := range chosen {
		if err := p.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

func (b *bench) start(ctx context.Context) error {
	binary, err := cluster.Build(ctx, b.Out)
	if err != nil {
		return err
	}
	b.Say("starting two clusters, east and west")
	both, err := cluster.StartAll(ctx, cluster.Options{Binary: binary}, "east", "west")
	if err != nil {
		return err
	}
	b.east, b.west = both[0], both[1]
	b.source = kubernetes.NewForConfigOrDie(b.east.RESTConfig())
	b.destination = kubernetes.NewForConfigOrDie(b.west.RESTConfig())
	return nil
}
