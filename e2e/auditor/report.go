package auditor

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/sliceshift/sliceshift/e2e/auditor/judge"
)

// Invariant is the number of an invariant of the design.
type Invariant string

// The invariants that the auditor judges.
const (
	I1 Invariant = "I1"
	I2 Invariant = "I2"
	I3 Invariant = "I3"
	I4 Invariant = "I4"
)

// WholeSet is the Ordinal of a finding that belongs to no single ordinal.
const WholeSet int32 = -1

// Finding is one violation, or one check that could not be completed.
type Finding struct {
	Invariant Invariant `json:"invariant"`
	// Ordinal is the replica, or WholeSet.
	Ordinal int32  `json:"ordinal"`
	Message string `json:"message"`
	// Time is when the auditor noticed it.
	Time time.Time `json:"time"`
}

// Report holds the results of an audit.
type Report struct {
	Source      string `json:"source"`
	Destination string `json:"destination"`
	// Violations are proven.
	Violations []Finding `json:"violations,omitempty"`
	// Unproved are the checks that could not be completed.
	Unproved []Finding `json:"unproved,omitempty"`
	// Applies lists the invariants that this run could break: I2 and I3 only with
	// volumes, I4 only with a budget.
	Applies []Invariant `json:"applies"`
	// Checks counts the completed checks of each invariant.
	Checks map[Invariant]int `json:"checks"`
	// TornSamples counts the samples during which something changed. Only unchanged state was judged, and these
	// samples were repeated immediately.
	TornSamples int `json:"tornSamples"`
	// Interruptions counts the watches that broke off. Each continues where it stopped if the API server still has
	// that resourceVersion. Otherwise objects that appeared and disappeared in between were not seen.
	Interruptions int `json:"interruptions"`
	// Replicas is the size of the application when the audit began.
	Replicas int32 `json:"replicas"`
	// Moved counts the ordinals that changed sides at least once. InPlace is true for a migration in place: Moved then counts
	// those that have started on other volumes, and Returned those that have started on their first ones again.
	Moved    int  `json:"moved"`
	InPlace  bool `json:"inPlace,omitempty"`
	Returned int  `json:"returned,omitempty"`
	// FewestAvailable is the lowest number of available replicas (Ready, not Terminating), over the two sides
	// together, that a sample proved. FewestAt is the time of that sample. Dips between two samples are not seen.
	FewestAvailable int32     `json:"fewestAvailable"`
	FewestAt        time.Time `json:"fewestAt"`
	// Ordinals are the moves in the order in which they ended.
	Ordinals []judge.OrdinalTime `json:"ordinals,omitempty"`
	// VolumesVerified counts the volumes (ordinals times templates) that were found bound, with the recorded handle,
	// on the side that they were moved to.
	VolumesVerified int `json:"volumesVerified"`
	// ContentsCompared counts the volumes that were found under a pod with the content of its previous volume.
	ContentsCompared int `json:"contentsCompared,omitempty"`
	// ContentsSealed counts the ordinals' volumes that were found with that content before a pod existed, or, in place, when it
	// started.
	ContentsSealed int `json:"contentsSealed,omitempty"`
	// Budget is d; 0 when I4 was skipped.
	Budget int32 `json:"budget"`
}

// OK reports whether nothing was violated, every check completed and, if an ordinal moved, every invariant that
// applies was checked.
func (r Report) OK() bool {
	if len(r.Violations) > 0 || len(r.Unproved) > 0 {
		return false
	}
	return len(r.Unchecked()) == 0
}

// Unchecked returns the invariants that apply to a run that moved ordinals and were never checked. An auditor that saw
// nothing must not approve the move.
func (r Report) Unchecked() []Invariant {
	var never []Invariant
	for _, invariant := range r.Applies {
		if r.Moved > 0 && r.Checks[invariant] == 0 {
			never = append(never, invariant)
		}
	}
	return never
}

// clockFormat is fine enough to distinguish the events of one handoff.
const clockFormat = "15:04:05.000"

// String formats the report as text.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "audit of %s -> %s\n", r.Source, r.Destination)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, invariant := range []Invariant{I1, I2, I3, I4} {
		fmt.Fprintln(w, r.line(invariant))
	}
	_ = w.Flush() // a strings.Builder accepts everything
	fmt.Fprintf(&b, "fewest available  %d of %d", r.FewestAvailable, r.Replicas)
	if !r.FewestAt.IsZero() {
		fmt.Fprintf(&b, " at %s", r.FewestAt.Format(clockFormat))
	}
	b.WriteByte('\n')
	if !r.InPlace {
		fmt.Fprintf(&b, "volumes verified  %d\n", r.VolumesVerified)
	}
	if r.ContentsCompared > 0 {
		fmt.Fprintf(&b, "contents compared %d\n", r.ContentsCompared)
	}
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

// line returns the row of one invariant.
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
		return fmt.Sprintf("NOT PROVED: %d checks were not possible", len(r.Unproved))
	case r.InPlace:
		return fmt.Sprintf("OK: of %d ordinals %d started on other volumes, and %d again on their own", r.Replicas, r.Moved, r.Returned)
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
