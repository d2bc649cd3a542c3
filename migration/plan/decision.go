// Package plan holds the values of a plan. A Snapshot is the observed state of both sides, an Effect the next
// single write, and a Hold the reason to wait. A Finding is an objection to a move, and a Decision returns one of
// these. Package planner finds the objections in a snapshot, and decides the next step.
package plan

import (
	"fmt"
	"strings"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/shell"
	"github.com/sliceshift/sliceshift/volumes"
)

// Decision is the result of package planner. At most one of Record, Effect and Done is set; without any of them,
// Hold holds the reason to wait.
type Decision struct {
	// Record must be written to the status before anything else is done.
	Record *Record
	// Effect is the next write.
	Effect *Effect
	// Done is the reason of the condition Completed.
	Done string
	// Hold is the reason to wait.
	Hold *Hold
	// Findings lists everything that the preflight found; Hold reports the first.
	Findings []Finding
	// Step is the step of the ordinal in flight.
	Step api.Step
	// Wait is when to reconcile again although nothing has changed; 0: only on a change.
	Wait time.Duration
}

// NeedsLiveRead reports whether the decision must be repeated on live reads. A cache is good enough to wait, but
// not to write or to conclude.
func (d Decision) NeedsLiveRead() bool {
	return d.Record != nil || d.Effect != nil || d.Done != ""
}

// Hold is the reason that nothing is done now.
type Hold = volumes.Reason

// Stalled returns a decision to wait until something outside the migration has changed.
func Stalled(reason, message, remedy string) *Decision {
	return &Decision{Hold: volumes.Stalled(reason, message, remedy)}
}

// Finding is one result of the preflight.
type Finding struct {
	// Check is the name of the check that found it.
	Check string `json:"check,omitempty"`
	// Reason is a stable identifier.
	Reason string `json:"reason"`
	// Object names the object and its cluster.
	Object string `json:"object"`
	// Message states the problem and why it is unsafe.
	Message string `json:"message"`
	// Remedy is the fix, as text for people; shell.Commands extracts its commands.
	Remedy string `json:"remedy,omitempty"`
	// Warning is true when the migration may begin nevertheless.
	Warning bool `json:"warning,omitempty"`
}

// MarshalJSON adds the remedy's commands.
func (f Finding) MarshalJSON() ([]byte, error) {
	type bare Finding
	return shell.WithCommands(bare(f), f.Remedy)
}

// FindingOf returns what a reason means for an object: an objection if it stalls, else a warning.
func FindingOf(object string, why volumes.Reason) Finding {
	return Finding{Reason: why.Reason, Object: object, Message: why.Message, Remedy: why.Remedy, Warning: !why.Stalled}
}

// Hold returns a stall until the finding is fixed.
func (f Finding) Hold() *Hold { return volumes.Stalled(f.Reason, f.Message, f.Remedy) }

// Names of the checks of a snapshot.
const (
	CheckOrdinals    = "numbers of ordinals"
	CheckSource      = "source"
	CheckBudget      = "disruption budget"
	CheckForm        = "form of the budget"
	CheckDestination = "destination"
	CheckSplit       = "slices"
	CheckVolumes     = "claims"
	CheckStorage     = "storage in place"
	CheckServices    = "services of ordinals"
	CheckCopies      = "copies of dependencies"
	CheckSchedule    = "schedule"
	CheckWriters     = "paused writers"
)

// OfCheck sets the check of the findings.
func OfCheck(name string, findings ...Finding) []Finding {
	for i := range findings {
		findings[i].Check = name
	}
	return findings
}

// Listed formats the first five elements and the number of the rest. The text is part of a status, which must stay
// small however large the application is.
func Listed[T any](all []T) string {
	const shown = 5
	texts := make([]string, 0, shown)
	for _, one := range all[:min(shown, len(all))] {
		texts = append(texts, fmt.Sprint(one))
	}
	text := strings.Join(texts, ", ")
	if more := len(all) - shown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// RemedyUnreachable is for a cluster that does not answer.
const RemedyUnreachable = "nothing is done on either side until it answers; check the cluster and the kubeconfig"
