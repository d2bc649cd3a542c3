package judge

import "slices"

// BudgetInput is one sample of the application. Everything was read twice.
type BudgetInput struct {
	// Ordinals is the full range that the application had when the audit began.
	Ordinals      []int32
	First, Second [2]ReplicaSide
	// Served records on which side an ordinal was available since it entered that side's range.
	Served map[int32]SideIndex
	// Blamed ordinals were broken by hand, not by the move.
	Blamed map[int32]bool
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
