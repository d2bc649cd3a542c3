package decide

import (
	"cmp"
	"slices"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// strategy holds the differences between the update strategies.
type strategy struct {
	// order sorts the pods to update. nil means that none is updated.
	order func(a, b *Pod) int
	// batches is true when all pods of the last batch must be available before others are updated. Otherwise each pod that
	// becomes available makes room for the next.
	batches bool
	// together is true when all old pods are removed at once, and no new pod is created before the last of them is deleted.
	together bool
}

func strategyOf(spec Spec) strategy {
	switch {
	case spec.Strategy == api.OnDelete:
		return onDelete
	case spec.Strategy == api.Recreate:
		return recreate
	case spec.Unordered:
		return unordered
	case spec.Parallel:
		return sliding
	default:
		return ordered
	}
}

// ordered updates the highest ordinals first, in batches of maxUnavailable (KEP-961). sliding does the same without batches.
var (
	ordered = strategy{order: highestFirst, batches: true}
	sliding = strategy{order: highestFirst}
)

func highestFirst(a, b *Pod) int { return cmp.Compare(b.Ordinal, a.Ordinal) }

// unordered updates the pods of the highest priority first, and among equals the highest ordinal.
var unordered = strategy{order: func(a, b *Pod) int {
	return cmp.Or(slices.Compare(b.Priority, a.Priority), highestFirst(a, b))
}}

// onDelete updates a pod when the user deletes it.
var onDelete = strategy{}

// recreate stops all pods of old revisions before it starts a pod of the new revision.
var recreate = strategy{order: highestFirst, together: true}
