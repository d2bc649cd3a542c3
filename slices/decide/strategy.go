package decide

import (
	"cmp"
	"slices"

	api "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// strategy is what sets one way of updating apart from the others.
type strategy struct {
	// order sorts the pods to be updated, the first one first; nil: none is updated.
	order func(a, b *Pod) int
	// batches is true when the pods updated last must all be available before others
	// are; otherwise each one that gets available makes room for the next.
	batches bool
	// together is true when all pods are removed at once, and none is made before the
	// last of them is gone.
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

// ordered updates the highest ordinals first, in batches of maxUnavailable (KEP-961);
// sliding does so without waiting for a batch.
var (
	ordered = strategy{order: highestFirst, batches: true}
	sliding = strategy{order: highestFirst}
)

func highestFirst(a, b *Pod) int { return cmp.Compare(b.Ordinal, a.Ordinal) }

// unordered updates the pods of the highest priority first, and among equals the
// highest ordinal.
var unordered = strategy{order: func(a, b *Pod) int {
	return cmp.Or(slices.Compare(b.Priority, a.Priority), highestFirst(a, b))
}}

// onDelete leaves it to whoever deletes a pod.
var onDelete = strategy{}

// recreate stops all pods of old revisions before one of the new is started.
var recreate = strategy{order: highestFirst, together: true}
