package plan

import "k8s.io/apimachinery/pkg/types"

// Mark is an ordinal's PersistentVolume on one side, as found after the record of a move was lost.
type Mark struct {
	Ordinal  int32
	Template string
	// Volume is the volume's name, Disk the identity of its disk.
	Volume, Disk string
	// By is the UID of the migration whose mark the volume has; empty: it has none.
	By types.UID
	// AtRest is true when the volume is bound to the ordinal's claim and has no mark: no migration moves it.
	AtRest bool
	// Filled is true when a second volume was being filled from it, by a copy or a snapshot.
	Filled bool
	// LeftOut is true when a user has confirmed that the ordinal is left out on purpose.
	LeftOut bool
}
