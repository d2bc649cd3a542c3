package auditor

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
)

// clockFormat is fine enough to tell the events of one handoff apart.
const clockFormat = "15:04:05.000"

// String prints the report for people.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "audit of %s -> %s\n", r.Source, r.Destination)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, invariant := range []Invariant{I1, I2, I3, I4} {
		fmt.Fprintln(w, r.line(invariant))
	}
	_ = w.Flush() // a strings.Builder takes everything
	fmt.Fprintf(&b, "fewest available  %d of %d", r.FewestAvailable, r.Replicas)
	if !r.FewestAt.IsZero() {
		fmt.Fprintf(&b, " at %s", r.FewestAt.Format(clockFormat))
	}
	fmt.Fprintf(&b, "\nvolumes verified  %d\n", r.VolumesVerified)
	for _, o := range r.Ordinals {
		fmt.Fprintf(&b, "ordinal %-9d %s -> %s, down %.3f s, Ready at %s\n",
			o.Ordinal, o.From, o.To, o.Down.Seconds(), o.Ready.Format(clockFormat))
	}
	writeFindings(&b, "VIOLATION", r.Violations)
	writeFindings(&b, "UNPROVED", r.Unproved)
	b.WriteString(r.verdict())
	b.WriteByte('\n')
	return b.String()
}

// line is the row of one invariant.
func (r Report) line(invariant Invariant) string {
	names := map[Invariant]string{
		I1: "at most one",
		I2: "exclusive volume",
		I3: "no data lost",
		I4: fmt.Sprintf("budget d=%d", r.Budget),
	}
	if !slices.Contains(r.Applies, invariant) {
		return fmt.Sprintf("%s  %s\tdoes not apply", invariant, names[invariant])
	}
	line := fmt.Sprintf("%s  %s\t%d checks\t%d violations", invariant, names[invariant],
		r.Checks[invariant], count(r.Violations, invariant))
	if n := count(r.Unproved, invariant); n > 0 {
		line += fmt.Sprintf("\t%d unproved", n)
	}
	return line
}

func (r Report) verdict() string {
	switch never := r.Unchecked(); {
	case len(r.Violations) > 0:
		return fmt.Sprintf("REFUTED: %d violations", len(r.Violations))
	case len(never) > 0:
		return fmt.Sprintf("NOT PROVED: never checked: %v", never)
	case len(r.Unproved) > 0:
		return fmt.Sprintf("NOT PROVED: %d checks could not be made", len(r.Unproved))
	default:
		return fmt.Sprintf("OK: %d of %d ordinals moved", r.Moved, r.Replicas)
	}
}

func count(findings []Finding, invariant Invariant) int {
	n := 0
	for _, f := range findings {
		if f.Invariant == invariant {
			n++
		}
	}
	return n
}

func writeFindings(b *strings.Builder, word string, findings []Finding) {
	for _, f := range findings {
		about := "whole set"
		if f.Ordinal != WholeSet {
			about = fmt.Sprintf("ordinal %d", f.Ordinal)
		}
		fmt.Fprintf(b, "%s %s %s at %s: %s\n", word, f.Invariant, about, f.Time.Format(clockFormat), f.Message)
	}
}
