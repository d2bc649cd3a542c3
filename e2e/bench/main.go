package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/sliceshift/sliceshift/e2e/measure"
	pages "github.com/sliceshift/sliceshift/internal/figures"
)

// limit bounds the whole run.
const limit = 15 * time.Minute

// errMissed is what a run ends with whose figures are not all good enough.
var errMissed = errors.New("a goal was missed")

func main() {
	ctrl.SetLogger(logr.Discard()) // what the libraries say would run through the lines of progress
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out, progress io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	rounds := flags.Int("rounds", 3, "how often each contender moves its application")
	only := flags.String("only", "", "measure one part only (handoff, manager or plan) and write no file")
	trace := flags.Bool("trace", false, "print where a handoff of sliceshift spends its time")
	path := flags.String("out", "out/bench.json", "the file to write")
	if err := flags.Parse(args); err != nil {
		return err
	}
	b := &bench{Workshop: measure.Workshop{Progress: measure.NewProgress(progress)}, rounds: *rounds}
	if err := b.measure(ctx, *only); err != nil {
		return err
	}
	b.Say("done")
	b.figures.Seconds = b.Seconds()
	if *only == "" {
		if err := measure.WriteJSON(*path, &b.figures); err != nil {
			return err
		}
		if err := pages.Write("README.md", "bench", b.figures.page()); err != nil {
			return err
		}
	}
	if *trace {
		b.trace.show(out)
	}
	if !b.figures.show(out) {
		return errMissed
	}
	return nil
}
