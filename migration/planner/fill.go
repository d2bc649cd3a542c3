package planner

import (
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// towards returns the judge of volumes that asks for the next step towards a goal before they are carried over.
func (p carryPlanner) towards(goal volumes.Goal) func(plan.OrdinalVolume) volumes.Verdict {
	return func(v plan.OrdinalVolume) volumes.Verdict { return v.Way().Ahead(p.pair(v), goal) }
}

// together returns the next step of volumes of an ordinal that do not wait for each other; nil: there is none. The
// judges are evaluated in order, each for all volumes. Without an action, it returns a hold, preferably a stalled
// one, and the earliest time to reconcile again.
func (p carryPlanner) together(held []plan.OrdinalVolume, judges ...func(plan.OrdinalVolume) volumes.Verdict) *plan.Decision {
	var waits *plan.Decision
	for _, judge := range judges {
		for _, v := range held {
			decision := p.volumeDecision(v, judge(v))
			switch {
			case decision == nil:
			case decision.Hold == nil:
				return decision
			case waits == nil:
				waits = decision
			default:
				waits = waiting(waits, decision)
			}
		}
	}
	return waits
}

// claim returns the next step until the claim exists that a volume is filled in. All such claims of an ordinal
// exist before any gets a pod. If the class of one does not wait for a pod, its driver chooses where to create the
// volume, and the other volumes are created in the same place.
func (p carryPlanner) claim(v plan.OrdinalVolume) volumes.Verdict {
	if v.Copy == nil || p.Destination.Lost || !p.severalClaimed(v.Ordinal) {
		return volumes.Verdict{} // nothing is copied from a lost side
	}
	return v.Way().Ahead(p.pair(v), volumes.Claimed)
}

// severalClaimed reports whether an ordinal has several volumes whose claims are created before they are filled.
func (p carryPlanner) severalClaimed(k int32) bool {
	count := 0
	for _, v := range p.Volumes {
		if v.Ordinal == k && v.FillsAhead() {
			count++
		}
	}
	return count > 1
}

// waiting merges two waits: it returns the stalled hold of the two, and the earlier of the two times.
func waiting(one, other *plan.Decision) *plan.Decision {
	told := *one
	if other.Hold.Stalled && !one.Hold.Stalled {
		told = *other
	}
	if told.Wait = min(one.Wait, other.Wait); told.Wait == 0 {
		told.Wait = max(one.Wait, other.Wait)
	}
	return &told
}
