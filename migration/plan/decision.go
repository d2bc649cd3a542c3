// Package plan has what a plan is made of: what was observed of both sides (Snapshot), the one write that is next (Effect), why
// nothing is done now (Hold), what speaks against a move (Finding), and the Decision that says one of them. They are values.
// Package checks finds in a snapshot what stands in the way of a move; package planner decides what is next.
package plan

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/sliceshift/sliceshift/internal/shell"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Decision is what package planner returns. At most one of Record, Effect and Done is set;
// with none of them, Hold says what is waited for.
type Decision struct {
	// Record must be written down before anything else is done.
	Record *Record
	// Effect is the next write.
	Effect *Effect
	// Done is the reason of the condition Completed.
	Done string
	// Hold says what is waited for and why.
	Hold *Hold
	// Findings are all that the preflight found; Hold speaks of the first.
	Findings []Finding
	// Step is where the ordinal in flight is.
	Step api.Step
	// Wait is when to look again though nothing has changed; 0: only on a change.
	Wait time.Duration
}

// NeedsLiveRead says whether what is decided must be decided again on live reads: a
// cache may tell to wait, but nothing is written or concluded on its word.
func (d Decision) NeedsLiveRead() bool {
	return d.Record != nil || d.Effect != nil || d.Done != ""
}

// Hold is why nothing is done now.
type Hold struct {
	Reason  string
	Message string
	// Remedy is what a person can do, when it is theirs to do.
	Remedy string
	// Stalled is true when something outside must change first.
	Stalled bool
	// TurnBack is true when the user has asked for a rollback in this case, and By is the gate or the hook that has.
	TurnBack bool
	By       string
	// Until is when it is over by itself though nothing has changed; zero: nobody knows.
	Until time.Time
}

// Stalled is a decision to do nothing until something outside has changed.
func Stalled(reason, message, remedy string) *Decision {
	return &Decision{Hold: &Hold{Reason: reason, Message: message, Remedy: remedy, Stalled: true}}
}

// Finding is something that the preflight found.
type Finding struct {
	// Check is the name of the check that found it.
	Check string `json:"check,omitempty"`
	// Reason is stable.
	Reason string `json:"reason"`
	// Object names the object and its cluster.
	Object string `json:"object"`
	// Message says what was found and why it is unsafe.
	Message string `json:"message"`
	// Remedy is the way out: text for people, with the commands as shell.Commands finds them.
	Remedy string `json:"remedy,omitempty"`
	// Warning is true when the migration may begin all the same.
	Warning bool `json:"warning,omitempty"`
}

// MarshalJSON adds the commands of the remedy.
func (f Finding) MarshalJSON() ([]byte, error) {
	type bare Finding
	return json.Marshal(struct {
		bare
		Commands []string `json:"commands,omitempty"`
	}{bare(f), shell.Commands(f.Remedy)})
}

// Hold waits for somebody to mend what was found.
func (f Finding) Hold() *Hold {
	return &Hold{Reason: f.Reason, Message: f.Message, Remedy: f.Remedy, Stalled: true}
}

// Names of the checks of a snapshot.
const (
	CheckOrdinals    = "numbers of ordinals"
	CheckSource      = "source"
	CheckBudget      = "disruption budget"
	CheckForm        = "form of the budget"
	CheckDestination = "destination"
	CheckSplit       = "slices"
	CheckVolumes     = "claims"
	CheckServices    = "services of ordinals"
	CheckCopies      = "copies of dependencies"
	CheckSchedule    = "schedule"
	CheckWriters     = "paused writers"
)

// OfCheck says of findings which check has made them.
func OfCheck(name string, findings ...Finding) []Finding {
	for i := range findings {
		findings[i].Check = name
	}
	return findings
}

// Listed names the first few of what a message is about, and says how many more there are: it ends up
// in a status, which is small however large the application is.
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
