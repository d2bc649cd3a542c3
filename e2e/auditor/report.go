package auditor

import (
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

// Finding is one violation, or one check that could not be made.
type Finding struct {
	Invariant Invariant `json:"invariant"`
	// Ordinal is the replica, or WholeSet.
	Ordinal int32  `json:"ordinal"`
	Message string `json:"message"`
	// Time at which the auditor noticed it.
	Time time.Time `json:"time"`
}

// Report is what the auditor found.
type Report struct {
	Source      string `json:"source"`
	Destination string `json:"destination"`
	// Violations are proven.
	Violations []Finding `json:"violations,omitempty"`
	// Unproved are the checks that could not be made.
	Unproved []Finding `json:"unproved,omitempty"`
	// Applies lists the invariants that this run could break: I2 and I3 only with
	// volumes, I4 only with a budget.
	Applies []Invariant `json:"applies"`
	// Checks counts the checks that were made, per invariant.
	Checks map[Invariant]int `json:"checks"`
	// TornSamples were taken while something changed. Only what did not change
	// was judged, and they are taken again at once.
	TornSamples int `json:"tornSamples"`
	// Interruptions counts the watches that broke off. Each goes on where it
	// stopped if the API server still knows that place; otherwise what came and
	// went meanwhile was not seen.
	Interruptions int `json:"interruptions"`
	// Replicas is the size of the application when the audit began.
	Replicas int32 `json:"replicas"`
	// Moved counts the ordinals that changed sides at least once.
	Moved int `json:"moved"`
	// FewestAvailable is the lowest number of available replicas (Ready, not
	// Terminating) of both sides together that a sample proved, and FewestAt when
	// that was. Dips between two samples are not seen.
	FewestAvailable int32     `json:"fewestAvailable"`
	FewestAt        time.Time `json:"fewestAt"`
	// Ordinals are the moves in the order in which they ended.
	Ordinals []judge.OrdinalTime `json:"ordinals,omitempty"`
	// VolumesVerified counts the volumes (ordinals times templates) that were
	// found bound with the recorded handle on the side that they were moved to.
	VolumesVerified int `json:"volumesVerified"`
	// ContentsCompared counts the volumes that a pod was found on with the content of the one that it had before.
	ContentsCompared int `json:"contentsCompared,omitempty"`
	// Budget is d; 0 when I4 was skipped.
	Budget int32 `json:"budget"`
}

// OK says whether the auditor agrees: nothing was violated, every check could be
// made, and, if an ordinal moved, every invariant that applies was checked.
func (r Report) OK() bool {
	if len(r.Violations) > 0 || len(r.Unproved) > 0 {
		return false
	}
	return len(r.Unchecked()) == 0
}

// Unchecked returns the invariants that apply to a run that moved ordinals and
// were never checked: an auditor that saw nothing may not agree.
func (r Report) Unchecked() []Invariant {
	var never []Invariant
	for _, invariant := range r.Applies {
		if r.Moved > 0 && r.Checks[invariant] == 0 {
			never = append(never, invariant)
		}
	}
	return never
}
