package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// patience is the longest time that clients may be without an acknowledged write, in seconds.
const patience = 2.0

// complaints returns the faults of a run.
func (r result) complaints() []string {
	var all []string
	if !r.audit.OK() {
		all = append(all, "the auditor does not agree")
	}
	if r.audit.FewestAvailable < members-1 {
		all = append(all, fmt.Sprintf("%d of %d members were Ready", r.audit.FewestAvailable, members))
	}
	for what, list := range map[string][]string{"acknowledged writes are lost": r.Lost, "values were found that nobody wrote": r.Strange} {
		if len(list) > 0 {
			all = append(all, fmt.Sprintf("%d %s: %s", len(list), what, strings.Join(list[:min(3, len(list))], ", ")))
		}
	}
	for _, key := range r.Keys {
		if key.Verdict != "Ok" {
			all = append(all, fmt.Sprintf("the history of %s is not linearizable: %s", key.Key, key.Verdict))
		}
	}
	if gap := r.figure("whole").ClientGap; gap > patience {
		all = append(all, fmt.Sprintf("a client waited %.2f s for an acknowledged write, more than %.0f s", gap, patience))
	}
	slices.Sort(all)
	return all
}

// figure returns the measurements of a phase.
func (r result) figure(name string) figure {
	i := slices.IndexFunc(r.Phases, func(f figure) bool { return f.Name == name })
	return r.Phases[i]
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
	add("values that nobody wrote", func(r result) string { return strconv.Itoa(len(r.Strange)) })
	add("writes with unknown outcome", func(r result) string { return fmt.Sprintf("%d, %d were done", r.Unknown, r.UnknownDone) })
	add("reads without an answer", func(r result) string { return strconv.Itoa(r.FailedReads) })
	add("registers with a linearizable history", func(r result) string { return fmt.Sprintf("%d of %d", r.linearizable(), len(r.Keys)) })
	add("longest time without an acknowledged write, all clients (s)", func(r result) string { return fmt.Sprintf("%.2f", r.figure("whole").Gap) })
	add("the same for the client that waited longest (s)", func(r result) string { return fmt.Sprintf("%.2f", r.figure("whole").ClientGap) })
	for _, name := range []string{"before", "during", "after"} {
		add("writes a second "+name, func(r result) string { return fmt.Sprintf("%.0f", r.figure(name).WritesPerSecond) })
	}
	for _, name := range []string{"before", "during", "after"} {
		add("latency of a write "+name+", p50 / p99 (ms)", func(r result) string { return fmt.Sprintf("%.0f / %.0f", r.figure(name).P50, r.figure(name).P99) })
	}
	add("move, way back and second move together (s)", func(r result) string { return fmt.Sprintf("%.0f", r.figure("during").Seconds) })
	add("down for each handoff (s)", func(r result) string { return r.downs() })
	add("processes that ran or waited on the machine's processors, mean of a minute", func(r result) string { return r.load })
	add("fewest members Ready", func(r result) string { return fmt.Sprintf("%d of %d", r.audit.FewestAvailable, r.audit.Replicas) })
	add("auditor", func(r result) string { return agreement(r.audit.OK()) })
	return table
}

func (r result) downs() string {
	var all []string
	for _, o := range r.audit.Ordinals {
		all = append(all, fmt.Sprintf("%.1f", o.Down.Seconds()))
	}
	return strings.Join(all, " ")
}

func agreement(ok bool) string {
	if ok {
		return "OK"
	}
	return "REFUTED"
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
