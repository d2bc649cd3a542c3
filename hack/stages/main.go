// Command stages runs the stages of a plan, each a target of the Makefile. It prints a table of the stages with their
// duration, and why others did not run. Stages named as arguments are the only ones. Of the stages that take turns, it
// runs as many as there is time for, beginning at the one that the commit's hash selects.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/sliceshift/sliceshift/internal/program"
)

type options struct {
	plan, dir  string
	everything bool
	test, rest bool
	turns      time.Duration
	limit      time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.plan, "plan", ".ci/stages.yaml", "the stages")
	flag.StringVar(&o.dir, "dir", "out/stages", "for the events of the tests, a file of go test -json for each stage")
	flag.BoolVar(&o.everything, "everything", false, "run every part, and go on when a stage fails; one that is not run is a failure")
	flag.BoolVar(&o.test, "test", false, "run the stages of make test alone")
	flag.BoolVar(&o.rest, "rest", false, "leave out the stages of make test")
	flag.DurationVar(&o.turns, "turns", 20*time.Minute, "how much time there is for stages that take turns")
	flag.DurationVar(&o.limit, "limit", 0, "leave out what takes turns and would not end within this time")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code, err := o.run(ctx, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "stages:", err)
	}
	os.Exit(code)
}

func (o options) run(ctx context.Context, targets []string) (code int, err error) {
	const failed, usage = 1, 2
	p, err := load(o.plan)
	if err != nil {
		return usage, err
	}
	if o.test {
		targets = append(targets, p.ofTest()...)
	}
	for _, target := range targets {
		if !slices.ContainsFunc(p.Stages, func(s stage) bool { return s.Target == target }) {
			return usage, fmt.Errorf("%s has no stage with the target %s", o.plan, target)
		}
	}
	r := &run{plan: p, keepGoing: o.everything, begin: time.Now(), turns: o.turns}
	r.now = situation{Targets: targets, Rest: o.rest, Everything: o.everything, Limit: o.limit, Since: since(ctx)}
	if r.commit, err = git(ctx, "rev-parse", "HEAD"); err == nil {
		err = r.chooseTurns()
	}
	if err != nil && !o.everything && len(targets) == 0 {
		return usage, err
	}
	if r.dir, err = filepath.Abs(o.dir); err == nil {
		err = errors.Join(os.RemoveAll(r.dir), os.MkdirAll(r.dir, 0o755))
	}
	if err != nil {
		return usage, err
	}
	r.all(ctx)
	fmt.Fprintln(os.Stdout)
	if len(targets) == 0 {
		fmt.Fprintf(os.Stdout, "By hand alone, for hours or for figures: make %s\n", strings.Join(p.ByHand, ", make "))
	}
	ok, whole := printTable(os.Stdout, r.rows, time.Since(r.begin))
	if !ok || o.everything && !whole || ctx.Err() != nil {
		return failed, ctx.Err()
	}
	return 0, nil
}

// since returns the base commit of the change: where it left the main branch, or the previous commit. It is empty if
// neither exists here.
func since(ctx context.Context) string {
	head, _ := git(ctx, "rev-parse", "HEAD")
	if base, err := git(ctx, "merge-base", "HEAD", "origin/main"); err == nil && base != head {
		return base
	}
	before, err := git(ctx, "rev-parse", "--verify", "--quiet", "HEAD^")
	if err != nil {
		return ""
	}
	return before
}

func git(ctx context.Context, args ...string) (string, error) {
	return program.In{}.Output(ctx, "git", args...)
}

// row is the result of one stage.
type row struct {
	Stage string
	// NotRun is why it did not run, or empty.
	NotRun string
	// Failed is how it failed, or empty.
	Failed string
	Tested []tested
	Took   time.Duration
}

// long is the duration from which a package's tests get a line of their own.
const long = 10 * time.Second

// printTable prints the stages with their duration, and why others did not run. ok is true if none failed, and whole if
// all ran.
func printTable(out io.Writer, rows []row, took time.Duration) (ok, whole bool) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "stage\tpassed\tfailed\tskipped\tseconds\tresult")
	var total counts
	var failed, left []string
	for _, r := range rows {
		total = total.plus(sum(r.Tested))
		switch {
		case r.NotRun != "":
			left = append(left, r.Stage)
		case r.Failed != "":
			failed = append(failed, r.Stage)
		}
		r.print(w)
	}
	_ = w.Flush()
	printFailures(out, rows)
	fmt.Fprintf(out, "Tests: %d passed, %d failed, %d skipped\n", total.Passed, total.Failed, total.Skipped)
	fmt.Fprintf(out, "==> %s after %d s\n", verdict(len(rows), failed, left), seconds(took))
	return len(failed) == 0, len(left) == 0
}

func verdict(stages int, failed, left []string) string {
	switch {
	case len(failed) > 0:
		return fmt.Sprintf("FAILED: %s; %d of %d stages were NOT RUN", strings.Join(failed, ", "), len(left), stages)
	case len(left) > 0:
		return fmt.Sprintf("ok, but %d of %d stages were NOT RUN", len(left), stages)
	}
	return fmt.Sprintf("ok: all of %d stages", stages)
}

func (r row) print(w io.Writer) {
	result := "ok"
	switch {
	case r.NotRun != "":
		fmt.Fprintf(w, "%s\t\t\t\t\tNOT RUN: %s\n", r.Stage, r.NotRun)
		return
	case r.Failed != "":
		result = "FAILED: " + r.Failed
	}
	fmt.Fprintf(w, "%s\t%s\t%d\t%s\n", r.Stage, cells(r.Tested), seconds(r.Took), result)
	for _, each := range r.Tested {
		if len(r.Tested) > 1 && (each.Took >= long || each.Broken) {
			fmt.Fprintf(w, "  %s\t%s\t%d\t\n", strings.TrimPrefix(each.Package, module+"/"), cells([]tested{each}), seconds(each.Took))
		}
	}
}

const module = "github.com/sliceshift/sliceshift"

// cells returns the numbers of tests; a stage without tests has none.
func cells(all []tested) string {
	if len(all) == 0 {
		return "\t\t"
	}
	c := sum(all)
	return strings.Join([]string{strconv.Itoa(c.Passed), strconv.Itoa(c.Failed), strconv.Itoa(c.Skipped)}, "\t")
}

func seconds(d time.Duration) int { return int(d.Round(time.Second).Seconds()) }
