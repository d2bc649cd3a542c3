package plan

import (
	"github.com/sliceshift/sliceshift/volumes"
)

// Spared are the sides of which each kind of object comes from the caches, although its Reads ask
// for it live. What is attached is read with the pods.
type Spared struct{ Sets, Budgets, Pods, Claims, Volumes Sides }

// holds says whether all that another one spares is spared here too.
func (s Spared) holds(other Spared) bool {
	within := func(a, b Sides) bool { return a&^b == 0 }
	return within(other.Sets, s.Sets) && within(other.Budgets, s.Budgets) && within(other.Pods, s.Pods) &&
		within(other.Claims, s.Claims) && within(other.Volumes, s.Volumes)
}

// butFor spares all but these.
func butFor(live Spared) Spared {
	return Spared{
		Sets: BothSides &^ live.Sets, Budgets: BothSides &^ live.Budgets, Pods: BothSides &^ live.Pods,
		Claims: BothSides &^ live.Claims, Volumes: BothSides &^ live.Volumes,
	}
}

// Lean is ReadsFor less what the next write does not depend on, for a process whose caches show
// all that it has written itself. The write's own object needs no live read: another UID or
// resourceVersion is refused, so that it is written as it was judged or not at all. What remains is
// what makes the write wrong when it has changed:
//
//   - before a volume is parked, that the ordinal has no pod where its volume is taken from, and
//     before it is pointed elsewhere, that the other side's is parked. That nobody else drives the
//     migration by now the volume shows itself: whoever takes over writes its fence on it before it
//     builds upon where it is (volumes.Pair), and a newer fence is not written over
//     (fencePlanner.newest);
//   - before a stop, which nothing takes back, the other StatefulSet, the pods of both sides, what the
//     budgets allow, and the claim and the volume that are taken away;
//   - before a start, the other StatefulSet, the claim that was bound, and who uses it on either side;
//     a pod on the other side has no volume there since its was parked;
//   - before a volume gets the reclaim policy back that it had, that its claim is there;
//   - before an arrival is recorded, that the ordinal is on the claim that was bound. Its pod is
//     listed before the next stop, and read where none follows;
//   - before a budget is written, the other one, and both StatefulSets.
//
// What only creates, or only sets a volume to Retain, is of no use to anybody by itself. After two
// refusals in a row a write is judged on ReadsFor.
func Lean(s Snapshot, decision Decision) Reads {
	sc := ReadsFor(s, decision)
	switch {
	case !sc.Live || s.Spec.SameCluster || s.Destination.Lost:
		return sc
	case sc.Ordinal == nil:
		return leanWhole(sc, s, decision)
	case sc.Identity != NoSide:
		return sc
	case decision.Record != nil:
		return leanRecord(sc, viewOf(s), *decision.Record)
	case decision.Effect != nil:
		return leanOrdinal(sc, viewOf(s), *decision.Effect)
	default:
		return sc
	}
}

// leanWhole is for what is not of one ordinal.
func leanWhole(sc Reads, s Snapshot, decision Decision) Reads {
	switch effect := decision.Effect; {
	case decision.Done != "":
		// It was concluded from all there is when the end was noted; what is deleted after it is
		// gone for good where a cache does not show it.
		sc.Wide, sc.Budgets = s.Record.Completed == "" || s.Spec.DeleteSource, false
	case decision.Record != nil && s.Record.Baseline == nil:
		// What is recorded is of the StatefulSets and the budgets. What else may be found is
		// looked for again before each stop.
		sc.Spared = Spared{Pods: BothSides, Claims: BothSides, Volumes: BothSides}
	case sc.Wide && decision.Record != nil && decision.Record.Completed != "":
		sc.Spared.Pods = BothSides // each ordinal was seen to arrive
	case sc.Wide:
	case effect == nil, effect.Verb == WriteFence, effect.Verb == ReleaseFence:
		// No record says more of the budgets than that they are written next.
		sc.Budgets, sc.Namespace = false, false
	case effect.Verb == SetBudget || effect.Verb == RestoreBudget:
		sc.Spared.Budgets = Of(effect.Side)
	case effect.creates() && sc.Identity.Has(effect.Side):
		// It is as if it came late, which nothing keeps a creation from.
		sc.Budgets, sc.Spared.Sets = false, BothSides
	}
	return sc
}

// leanRecord is for a record in mid-handoff.
func leanRecord(sc Reads, v *View, next Record) Reads {
	taker := Of(v.takerName)
	switch {
	case sc.Next != nil && next.Handoff != nil:
		sc.Spared = butFor(Spared{Claims: taker})
	case next.Handoff == nil && v.taker.Set.Has(*sc.Ordinal):
		sc.Spared = butFor(Spared{Pods: taker, Claims: taker})
	case !sc.Volumes: // it says nothing of the ordinal
		sc.Spared.Pods = BothSides
	}
	return sc
}

// leanOrdinal is for a write on behalf of one ordinal.
func leanOrdinal(sc Reads, v *View, effect Effect) Reads {
	giver, taker := Of(v.giverName), Of(v.takerName)
	switch effect.Verb {
	case ScaleDown:
		sc.Spared = butFor(Spared{Sets: taker, Budgets: BothSides, Pods: BothSides, Claims: giver, Volumes: giver})
	case ScaleUp:
		pods := BothSides
		if sc.Users {
			pods = NoSide // they are in the lists of users
		}
		sc.Spared = butFor(Spared{Sets: giver, Pods: pods, Claims: taker})
	case RestorePolicy:
		sc.Budgets, sc.Spared = false, butFor(Spared{Claims: Of(effect.Side)})
	case SetBudget, RestoreBudget:
		sc.Spared.Budgets = Of(effect.Side)
	case CarryVolume:
		sc.Spared = butFor(leanCarry(effect.Volume.Verb, giver))
	default: // as ReadsFor says
	}
	return sc
}

// leanCarry is what is read live for a step of a volume on its way.
func leanCarry(verb volumes.Verb, giver Sides) Spared {
	switch verb {
	case volumes.Secure, volumes.CreateVolume, volumes.CreateClaim:
		return Spared{}
	case volumes.Park:
		return Spared{Pods: giver}
	case volumes.Point:
		return Spared{Volumes: giver}
	default:
		return Spared{Sets: BothSides, Budgets: BothSides, Pods: BothSides, Claims: BothSides, Volumes: BothSides}
	}
}
