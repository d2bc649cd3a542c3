package main

import (
	_ "embed" // the page
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"text/template"

	"github.com/sliceshift/sliceshift/internal/figures"
)

// patience is the longest time that clients may be without an acknowledged write, in seconds.
const patience = 2.0

// complaints returns the faults of a run.
func (r result) complaints() []string {
	all := r.Complaints()
	if r.Audit.FewestAvailable < members-1 {
		all = append(all, fmt.Sprintf("%d of %d members were Ready", r.Audit.FewestAvailable, members))
	}
	if gap := r.Figure("whole").ClientGap; gap > patience {
		all = append(all, fmt.Sprintf("a client waited %.2f s for an acknowledged write, more than %.0f s", gap, patience))
	}
	slices.Sort(all)
	return all
}

// linearizable counts the registers with a linearizable history.
func (r result) linearizable() int {
	n := 0
	for _, key := range r.Keys {
		if key.Verdict == "Ok" {
			n++
		}
	}
	return n
}

// rows returns the figures of all runs: a name, and a value for each run.
func rows(results []result) [][]string {
	var table [][]string
	add := func(name string, value func(r result) string) {
		row := []string{name}
		for _, r := range results {
			row = append(row, value(r))
		}
		table = append(table, row)
	}
	add("operations", func(r result) string { return strconv.Itoa(r.Operations) })
	add("acknowledged writes", func(r result) string { return strconv.Itoa(r.Acknowledged) })
	add("of these lost", func(r result) string { return strconv.Itoa(len(r.Lost)) })
	add("values that no client wrote", func(r result) string { return strconv.Itoa(len(r.Strange)) })
	add("writes with unknown outcome", func(r result) string { return fmt.Sprintf("%d, %d were done", r.Unknown, r.UnknownDone) })
	add("reads without an answer", func(r result) string { return strconv.Itoa(r.FailedReads) })
	add("registers with a linearizable history", func(r result) string { return fmt.Sprintf("%d of %d", r.linearizable(), len(r.Keys)) })
	add("longest time without an acknowledged write, all clients (s)", func(r result) string { return fmt.Sprintf("%.2f", r.Figure("whole").Gap) })
	add("the same for the client that waited longest (s)", func(r result) string { return fmt.Sprintf("%.2f", r.Figure("whole").ClientGap) })
	for _, name := range []string{"before", "during", "after"} {
		add("writes a second "+name, func(r result) string { return fmt.Sprintf("%.0f", r.Figure(name).WritesPerSecond) })
	}
	for _, name := range []string{"before", "during", "after"} {
		add("latency of a write "+name+", p50 / p99 (ms)", func(r result) string { return fmt.Sprintf("%.0f / %.0f", r.Figure(name).P50, r.Figure(name).P99) })
	}
	add("move, way back and second move together (s)", func(r result) string { return fmt.Sprintf("%.0f", r.Figure("during").Seconds) })
	add("down for each handoff (s)", func(r result) string { return r.downs() })
	add("processes that ran or waited on the machine's processors, mean of a minute", func(r result) string { return r.Load })
	add("fewest members Ready", func(r result) string { return fmt.Sprintf("%d of %d", r.Audit.FewestAvailable, r.Audit.Replicas) })
	add("auditor", func(r result) string { return map[bool]string{true: "OK", false: "REFUTED"}[r.Audit.OK()] })
	return table
}

func (r result) downs() string {
	var all []string
	for _, o := range r.Audit.Ordinals {
		all = append(all, fmt.Sprintf("%.1f", o.Down.Seconds()))
	}
	return strings.Join(all, " ")
}

func printTable(out io.Writer, results []result) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "\n")
	for _, r := range results {
		fmt.Fprintf(w, "\t%s", r.name)
	}
	fmt.Fprintln(w)
	for _, row := range rows(results) {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	_ = w.Flush()
}

//go:embed page.md.tmpl
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// page returns the documentation page of the demonstration, with the figures of these runs.
func page(results []result) (string, error) {
	var out strings.Builder
	err := pageTemplate.Execute(&out, map[string]any{"Runs": len(results), "Table": figures.Block("e2e-etcd", markdown(results)), "Patience": patience, "Cores": runtime.NumCPU()})
	return out.String(), err
}

// markdown returns the table of the figures.
func markdown(results []result) string {
	var out strings.Builder
	out.WriteString("| |")
	for _, r := range results {
		fmt.Fprintf(&out, " %s |", r.name)
	}
	out.WriteString("\n|---|" + strings.Repeat("---|", len(results)) + "\n")
	for _, row := range rows(results) {
		out.WriteString("| " + strings.Join(row, " | ") + " |\n")
	}
	return out.String()
}
