package plan

import (
	"github.com/sliceshift/sliceshift/migration/inplace"
	"github.com/sliceshift/sliceshift/volumes"
)

// Storage is what is observed of a migration in place, beside its set, pods, budgets and volumes.
type Storage struct {
	// Set holds the facts of the StatefulSet that a move between two does not need.
	Set inplace.Set
	// Wanted is the set with the claim templates that spec.volumes asks for, and Former the present set with the recorded
	// ones.
	Wanted, Former inplace.Manifest
	// Standard is the class that a claim template without a class means; empty if each names one, or if there is none.
	Standard string
	// Margin is storage.marginPercent.
	Margin int64
	// Left are the volumes that ordinals have left, once they are cleaned.
	Left []Left
	// Objections are the reasons against the change that the spec and the set show.
	Objections []Finding
}

// Left is a parked volume that an ordinal has left.
type Left struct {
	// Claim is the claim by which the ordinal used it.
	Claim  volumes.Ref
	Volume volumes.Volume
	// Twin is another volume of its disk; empty if there is none.
	Twin string
}
