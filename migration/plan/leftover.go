package plan

import "k8s.io/apimachinery/pkg/types"

// Leftover is another migration's object for an ordinal of a side.
type Leftover struct {
	// Resource and Name are the arguments for kubectl. Global is true for an object without a namespace.
	Resource, Name string
	Global         bool
	Ordinal        int32
	// By is the UID of the migration that created it.
	By types.UID
	// Filling is true for an object that exists only while a second volume is filled: claims, pods, Services and
	// snapshots.
	Filling bool
}
