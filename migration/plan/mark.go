package plan

import "k8s.io/apimachinery/pkg/types"

// Mark is a PersistentVolume of an ordinal, on one side, as it is found when the record of a move was lost.
type Mark struct {
	Ordinal  int32
	Template string
	// Volume is its name, and Disk is its disk.
	Volume, Disk string
	// By is the UID of the migration that has marked it; empty: it has no mark.
	By types.UID
	// AtRest is true when it is bound to the ordinal's claim and has no mark: no migration moves it.
	AtRest bool
	// Filled is true when a copy or a snapshot was to fill a second volume from it.
	Filled bool
	// LeftOut is true when a person has said that the ordinal is left out on purpose.
	LeftOut bool
}
