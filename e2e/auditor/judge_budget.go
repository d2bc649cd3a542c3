package auditor

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// budgetInput is one instant of the application.
type budgetInput struct {
	// Ordinals is the full range that the application had when the audit began.
	Ordinals []int32
	Sides    [2]replicaSide
	// Served says on which side an ordinal was available since that side's range
	// took it in.
	Served map[int32]sideIndex
	// Blamed ordinals were broken by hand and are not the move's doing.
	Blamed map[int32]bool
	// Budget is d.
	Budget int32
}

// budgetVerdict is the sum that I4 compares with d.
type budgetVerdict struct {
	Held    []int32
	Allowed int32
	// Shares says which budget allows how much.
	Shares []string
	Broken bool
}

// judgeBudget judges I4.
func judgeBudget(in budgetInput) budgetVerdict {
	v := budgetVerdict{Held: held(in)}
	v.Allowed, v.Shares = allowedTogether(in.Sides)
	v.Broken = int32(len(v.Held))+v.Allowed > in.Budget
	return v
}

// held returns the ordinals that the move holds down: in the range of neither
// side, or in a side's range without having been available there since.
func held(in budgetInput) []int32 {
	var down []int32
	for _, ordinal := range in.Ordinals {
		if in.Blamed[ordinal] {
			continue
		}
		owner := ownerOf(in.Sides, ordinal)
		if owner == nowhere || in.Served[ordinal] != owner && !in.Sides[owner].pod(ordinal).available() {
			down = append(down, ordinal)
		}
	}
	return down
}

// ownerOf is the side whose range has the ordinal. Ranges that overlap are judged
// by their pods (I1); here the side whose pod is available counts.
func ownerOf(sides [2]replicaSide, ordinal int32) sideIndex {
	owner := nowhere
	for _, s := range bothSides() {
		if sides[s].Set.owns(ordinal) && (owner == nowhere || sides[s].pod(ordinal).available()) {
			owner = s
		}
	}
	return owner
}

// allowedTogether adds up what all budgets allow; a budget that covers both sides
// counts once.
func allowedTogether(sides [2]replicaSide) (int32, []string) {
	var total int32
	var shares []string
	var counted []types.UID
	for _, s := range bothSides() {
		for _, b := range sides[s].Budgets {
			if slices.Contains(counted, b.UID) || !b.covers(sides[s]) {
				continue
			}
			counted = append(counted, b.UID)
			n := b.allows(sides)
			total += n
			shares = append(shares, fmt.Sprintf("%s/%s allows %d", s, b.Name, n))
		}
	}
	return total, shares
}

// covers says whether the budget's selector matches the side's pods.
func (b disruptionBudget) covers(side replicaSide) bool {
	selector, err := metav1.LabelSelectorAsSelector(b.Selector)
	return err == nil && side.Set.UID != "" && selector.Matches(labels.Set(side.Set.Labels))
}

// allows is the number of evictions that the budget grants now. While the
// disruption controller has not seen the latest spec the API server refuses every
// eviction, but the answer that follows from that spec is only a moment away, so
// that answer is taken.
func (b disruptionBudget) allows(sides [2]replicaSide) int32 {
	if b.ObservedGeneration == b.Generation {
		return max(0, b.Allowed)
	}
	var expected, healthy int32
	for _, s := range bothSides() {
		if !isCoveredBy(b, sides[s]) {
			continue
		}
		for _, p := range sides[s].Pods {
			if p.available() {
				healthy++
			}
		}
		if len(sides[s].Pods) > 0 {
			expected += sides[s].Set.Replicas
		}
	}
	return max(0, healthy-b.desiredHealthy(expected))
}

// isCoveredBy looks the budget up among those that the side can see: a budget of
// another cluster does not cover this side, whatever its selector says.
func isCoveredBy(b disruptionBudget, side replicaSide) bool {
	return b.covers(side) && slices.ContainsFunc(side.Budgets, func(o disruptionBudget) bool { return o.UID == b.UID })
}

// desiredHealthy follows the API: percentages are of the expected pods and are
// rounded up.
func (b disruptionBudget) desiredHealthy(expected int32) int32 {
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

// unchanged says whether two phases of a sample read the same: then all of it held
// at one instant.
func unchanged(first, second [2]replicaSide) bool {
	for _, s := range bothSides() {
		a, b := first[s], second[s]
		if a.Set.UID != b.Set.UID || a.Set.Generation != b.Set.Generation ||
			!slices.EqualFunc(a.Pods, b.Pods, func(p, q podState) bool { return p == q }) ||
			!slices.EqualFunc(a.Budgets, b.Budgets, func(p, q disruptionBudget) bool { return p.UID == q.UID && p.RV == q.RV }) {
			return false
		}
	}
	return true
}

// availableReplicas counts the ordinals that have an available pod on any side.
func availableReplicas(ordinals []int32, sides [2]replicaSide) int32 {
	var n int32
	for _, ordinal := range ordinals {
		if sides[source].pod(ordinal).available() || sides[destination].pod(ordinal).available() {
			n++
		}
	}
	return n
}
