package judge

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// allowedTogether adds up the evictions that all budgets allow. A budget that covers both sides counts once.
func allowedTogether(first, second [2]ReplicaSide) (int32, []string) {
	var total int32
	var shares []string
	var counted []types.UID
	for _, s := range BothSides() {
		for _, b := range first[s].Budgets {
			if slices.Contains(counted, b.UID) || !b.covers(first[s]) || !second[s].has(b) {
				continue
			}
			counted = append(counted, b.UID)
			n := b.allows(first)
			if b.ObservedGeneration != b.Generation {
				n = min(n, b.allows(second))
			}
			total += n
			shares = append(shares, fmt.Sprintf("%s/%s allows %d", s, b.Name, n))
		}
	}
	return total, shares
}

// covers reports whether the budget's selector matches the side's pods.
func (b DisruptionBudget) covers(side ReplicaSide) bool { return b.Covers(side.Set) }

// Covers reports whether the budget's selector matches the pods of a set.
func (b DisruptionBudget) Covers(set SliceState) bool {
	selector, err := metav1.LabelSelectorAsSelector(b.Selector)
	return err == nil && set.UID != "" && selector.Matches(labels.Set(set.Labels))
}

// allows returns the number of evictions that the budget grants now. While the disruption controller has not seen the
// latest spec, the API server refuses every eviction. The answer that follows from that spec is only a moment away, so
// it is used. Like the controller, it uses the pods as the watch saw them.
func (b DisruptionBudget) allows(sides [2]ReplicaSide) int32 {
	if b.ObservedGeneration == b.Generation {
		return max(0, b.Allowed)
	}
	var expected, healthy int32
	for _, s := range BothSides() {
		if !isCoveredBy(b, sides[s]) {
			continue
		}
		for _, p := range sides[s].Seen {
			if p.Available() {
				healthy++
			}
		}
		if len(sides[s].Seen) > 0 {
			expected += sides[s].Set.Replicas
		}
	}
	return max(0, healthy-b.desiredHealthy(expected))
}

// isCoveredBy reports whether the budget covers the side. A budget of another cluster does not, even if its selector
// matches.
func isCoveredBy(b DisruptionBudget, side ReplicaSide) bool {
	return b.covers(side) && slices.ContainsFunc(side.Budgets, func(o DisruptionBudget) bool { return o.UID == b.UID })
}

// desiredHealthy follows the API: percentages are of the expected pods and are rounded up.
func (b DisruptionBudget) desiredHealthy(expected int32) int32 {
	switch {
	case b.MaxUnavailable != nil:
		return max(0, expected-scaled(b.MaxUnavailable, expected))
	case b.MinAvailable != nil:
		return scaled(b.MinAvailable, expected)
	default:
		return 0
	}
}

func scaled(value *intstr.IntOrString, of int32) int32 {
	n, err := intstr.GetScaledValueFromIntOrPercent(value, int(of), true)
	if err != nil {
		return 0
	}
	return int32(n)
}

// BudgetInput is one sample of the application. Everything was read twice.
type BudgetInput struct {
	// Ordinals is the full range that the application had when the audit began.
	Ordinals      []int32
	First, Second [2]ReplicaSide
	// Served records on which side an ordinal was available since it entered that side's range.
	Served map[int32]SideIndex
	// Blamed ordinals were broken by hand, not by the move.
	Blamed map[int32]bool
	// Replaced is set for a migration in place, whose set keeps all ordinals in its range. It has the ordinals of which a
	// claim was deleted, and that were not available since they have all claims again.
	Replaced map[int32]bool
	// Budget is d.
	Budget int32
}

// BudgetVerdict is the sum that I4 compares with d. It counts only state that was the same in both phases, so at the
// instant between them it is at most the true sum. A sample during which something changed can still prove a
// violation, and never proves one wrongly.
type BudgetVerdict struct {
	Held    []int32
	Allowed int32
	// Shares lists each budget and its allowance.
	Shares []string
	Broken bool
}

// Budget judges I4.
func Budget(in BudgetInput) BudgetVerdict {
	v := BudgetVerdict{Held: held(in)}
	if in.Replaced != nil {
		v.Held = heldInPlace(in)
	}
	v.Allowed, v.Shares = allowedTogether(in.First, in.Second)
	v.Broken = int32(len(v.Held))+v.Allowed > in.Budget
	return v
}

// held returns the ordinals that the move holds down: in the range of neither side, or in a side's range without
// having been available there since.
func held(in BudgetInput) []int32 {
	for _, s := range BothSides() {
		if !in.First[s].Set.sameSpec(in.Second[s].Set) {
			return nil
		}
	}
	var down []int32
	for _, ordinal := range in.Ordinals {
		if in.Blamed[ordinal] {
			continue
		}
		owner := ownerOf(in.First, ordinal)
		if owner == Nowhere || in.Served[ordinal] != owner && isDown(in.First[owner], in.Second[owner], ordinal) {
			down = append(down, ordinal)
		}
	}
	return down
}

// isDown reports whether the side had no available pod of the ordinal between the phases. The pod did not exist, was
// not written between the phases, or was Terminating already, which is irreversible. A pod that was not read does not
// count as down.
func isDown(first, second ReplicaSide, ordinal int32) bool {
	a, b := first.pod(ordinal), second.pod(ordinal)
	return first.asked(ordinal) && second.asked(ordinal) && !a.Available() && a.UID == b.UID && (a.RV == b.RV || a.Terminating)
}

// ownerOf returns the side whose range has the ordinal. Overlapping ranges are judged by their pods (I1). Here the
// side whose pod is available counts.
func ownerOf(sides [2]ReplicaSide, ordinal int32) SideIndex {
	owner := Nowhere
	for _, s := range BothSides() {
		if sides[s].Set.Owns(ordinal) && (owner == Nowhere || sides[s].pod(ordinal).Available()) {
			owner = s
		}
	}
	return owner
}

// has reports whether the budget exists and was not written between the phases.
func (r ReplicaSide) has(b DisruptionBudget) bool {
	return slices.ContainsFunc(r.Budgets, func(o DisruptionBudget) bool { return o.UID == b.UID && o.RV == b.RV })
}

// Unchanged reports whether two phases of a sample read the same state. Then all of it held at one instant.
func Unchanged(first, second [2]ReplicaSide) bool {
	for _, s := range BothSides() {
		a, b := first[s], second[s]
		if !a.Set.sameSpec(b.Set) ||
			!slices.EqualFunc(a.Pods, b.Pods, func(p, q PodState) bool { return p == q }) ||
			!slices.EqualFunc(a.Budgets, b.Budgets, func(p, q DisruptionBudget) bool { return p.UID == q.UID && p.RV == q.RV }) {
			return false
		}
	}
	return true
}

// MostAvailable returns how many replicas can have been available at the instant between the phases: all except those
// that were down on both sides. When nothing changed, it is the exact number.
func MostAvailable(ordinals []int32, first, second [2]ReplicaSide) int32 {
	var n int32
	for _, ordinal := range ordinals {
		if !isDown(first[Source], second[Source], ordinal) || !isDown(first[Destination], second[Destination], ordinal) {
			n++
		}
	}
	return n
}
