package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

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
