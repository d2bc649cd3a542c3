package judge

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// heardWithin is how long a stop may take that was begun before the author wrote; followedWithin is when the budgets of both
// sides must be within the author's latest form, too.
const (
	heardWithin    = 2 * time.Second
	followedWithin = time.Minute
)

// Word is the last form of the author of the PodDisruptionBudgets.
type Word struct {
	Min, Max *intstr.IntOrString
	// Budget is d.
	Budget int32
	At     time.Time
	// held are the ordinals that the move held down already.
	held []int32
}

// Follow is the word after a version of a budget was seen. A form of the move says nothing, and neither does one that its author
// has written before.
func (w *Word) Follow(b DisruptionBudget, replicas int32, now time.Time) *Word {
	if b.WrittenBy == "" || w != nil && same(w.Min, b.MinAvailable) && same(w.Max, b.MaxUnavailable) {
		return w
	}
	return &Word{Min: b.MinAvailable, Max: b.MaxUnavailable, Budget: max(0, replicas-b.desiredHealthy(replicas)), At: now}
}

func same(a, b *intstr.IntOrString) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

// Breaks says whether the move goes beyond what the author has written last: it stops an ordinal that it did not hold down then.
// What its author may evict under a form that is a moment old is not the move's doing.
func (w *Word) Breaks(v BudgetVerdict, now time.Time) bool {
	if now.Sub(w.At) <= heardWithin {
		w.held = append(w.held, v.Held...)
	}
	w.held = slices.DeleteFunc(w.held, func(ordinal int32) bool { return !slices.Contains(v.Held, ordinal) })
	if int32(len(v.Held))+v.Allowed <= w.Budget {
		return false
	}
	return now.Sub(w.At) > followedWithin || slices.ContainsFunc(v.Held, func(ordinal int32) bool { return !slices.Contains(w.held, ordinal) })
}
