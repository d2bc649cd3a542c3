package judge

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// heardWithin is the time allowed for a stop that began before the author wrote. followedWithin is the time after
// which the budgets of the two sides must be within the author's latest form.
const (
	heardWithin    = 2 * time.Second
	followedWithin = time.Minute
)

// Word is the latest form that the author of the PodDisruptionBudgets wrote.
type Word struct {
	Min, Max *intstr.IntOrString
	// Budget is d.
	Budget int32
	At     time.Time
	// held are the ordinals that the move already held down.
	held []int32
}

// Follow returns the word after a version of a budget was seen. A form that the move wrote changes nothing, nor does
// one equal to the author's last form.
func (w *Word) Follow(b DisruptionBudget, replicas int32, now time.Time) *Word {
	if b.WrittenBy == "" || w != nil && same(w.Min, b.MinAvailable) && same(w.Max, b.MaxUnavailable) {
		return w
	}
	return &Word{Min: b.MinAvailable, Max: b.MaxUnavailable, Budget: max(0, replicas-b.desiredHealthy(replicas)), At: now}
}

func same(a, b *intstr.IntOrString) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

// Breaks reports whether the move exceeds the author's latest form: it stops an ordinal that it did not hold down
// then. Evictions that the author may do under a form that is a moment old are not caused by the move.
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
