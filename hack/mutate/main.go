// Command mutate creates every small fault that its operators know in the code that decides,
// and runs the tests on each. A fault that no test notices shows a missing test, or has no observable effect;
// equivalent.yaml lists the latter with reasons.
//
// Faults are not compiled one by one. One test binary of each package contains all of them, each behind a switch that an
// environment variable turns on. Each is tried only with the tests that reach it, the fastest first.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/sliceshift/sliceshift/internal/figures"
)

// options are the command-line options.
type options struct {
	since  string
	only   string
	tests  string
	fast   bool
	page   string
	kept   string
	again  bool
	list   bool
	report bool
	model  bool
	budget time.Duration
	least  float64
}

func main() {
	var o options
	flag.StringVar(&o.since, "since", "", "a commit: only the files that differ from it")
	flag.StringVar(&o.only, "only", "", "a regular expression: only the files that match")
	flag.StringVar(&o.tests, "tests", "", "a regular expression: ask only the tests that match, which is soon done while one writes them")
	flag.BoolVar(&o.fast, "fast", false, "ask only the tests that are fast alone")
	flag.StringVar(&o.page, "o", "", "the report that is written, with the figures of docs/engineering/figures.md")
	flag.StringVar(&o.kept, "kept", "out/mutants.json", "where the verdicts are kept")
	flag.BoolVar(&o.again, "again", false, "try only faults that those verdicts do not know to be killed")
	flag.BoolVar(&o.list, "list", false, "list the faults that are not known to be killed or equivalent, and try nothing")
	flag.BoolVar(&o.report, "report", false, "write the report of the verdicts that are kept, and try nothing")
	flag.BoolVar(&o.model, "model", false, "let TestModel of package model judge what nothing else has killed")
	flag.DurationVar(&o.budget, "budget", 0, "stop after this time, and not before faults were tried for a minute; the commit's hash chooses the faults")
	flag.Float64Var(&o.least, "least", 95, "fail when fewer percent are killed, or a sample shows that by more than chance")
	flag.Parse()
	if err := run(context.Background(), o); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	begin := time.Now()
	commit, err := head(ctx)
	if err != nil {
		return err
	}
	sources, err := inScope(ctx, o.since, o.only)
	if err != nil {
		return err
	}
	if len(sources) == 0 {
		fmt.Fprintln(os.Stderr, "NOT RUN: there is no fault to try, because no file has changed that only decides")
		return nil
	}
	mutants, err := plantAll(sources)
	if err != nil {
		return err
	}
	if err := readEquivalents(mutants, sources); err != nil {
		return err
	}
	if o.list {
		return list(o.kept, mutants)
	}
	if o.report {
		err = recall(o.kept, mutants)
	} else {
		err = try(ctx, o, begin, commit, sources, mutants)
	}
	if err != nil {
		return err
	}
	r := &report{mutants: mutants, took: time.Since(begin), partly: o.again || o.report}
	r.print(os.Stderr)
	if o.page != "" {
		if err := errors.Join(os.WriteFile(o.page, []byte(r.page()), 0o644), figures.Write("mutants", r.table())); err != nil {
			return err
		}
	}
	return r.wrong(o.least)
}

// recall sets the stored verdicts of mutants.
func recall(kept string, mutants []*mutant) error {
	before, err := known(kept)
	for _, m := range mutants {
		m.verdict = before[m.key()]
	}
	return err
}

// list prints the mutants that are neither known to be killed nor equivalent.
func list(kept string, mutants []*mutant) error {
	before, err := known(kept)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, m := range mutants {
		if v := before[m.key()]; v.Fate != killed && m.why == "" {
			fmt.Fprintf(os.Stdout, "%s: %s\n", cmp.Or(v.Fate, "untried"), m)
		}
	}
	return nil
}
