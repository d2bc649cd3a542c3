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
