package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/sliceshift/sliceshift/e2e/cluster"
)

// bench is one run.
type bench struct {
	progress io.Writer
	begin    time.Time
	rounds   int

	// dir holds the programs, and goes away with the run.
	dir                 string
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

// say prints a line of progress.
func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(b.progress, "%5.1f s  %s\n", time.Since(b.begin).Seconds(), fmt.Sprintf(format, args...))
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
	if b.dir, err = os.MkdirTemp("", "sliceshift-bench-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
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
	binary, err := cluster.Build(ctx, b.progress)
	if err != nil {
		return err
	}
	b.say("starting two clusters, east and west")
	both, err := cluster.StartAll(ctx, cluster.Options{Binary: binary}, "east", "west")
	if err != nil {
		return err
	}
	b.east, b.west = both[0], both[1]
	b.source = kubernetes.NewForConfigOrDie(b.east.RESTConfig())
	b.destination = kubernetes.NewForConfigOrDie(b.west.RESTConfig())
	return nil
}
