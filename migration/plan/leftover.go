package plan

import "k8s.io/apimachinery/pkg/types"

// Leftover is an object of another migration that is for an ordinal of a side.
type Leftover struct {
	// Resource and Name are how kubectl finds it. Global is true of an object without a namespace.
	Resource, Name string
	Global         bool
	Ordinal        int32
	// By is the UID of the migration that has created it.
	By types.UID
	// Filling is true of what exists only while a second volume is filled: claims, pods, Services and snapshots.
	Filling bool
}
