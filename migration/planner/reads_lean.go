package planner

import (
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// butFor spares everything except the given objects.
func butFor(live Spared) Spared {
	return Spared{
		Sets: BothSides &^ live.Sets, Budgets: BothSides &^ live.Budgets, Pods: BothSides &^ live.Pods,
		Claims: BothSides &^ live.Claims, Volumes: BothSides &^ live.Volumes,
	}
}

// Lean is For without the objects on which the next write does not depend, for a process whose caches show all of
// its own writes. The write's own object needs no live read: with another UID or resourceVersion the write is
// refused. The remaining reads are those whose change would make the write wrong:
//
//   - before a volume is parked: that the ordinal has no pod on the side from which the volume is taken;
//     before a volume is pointed elsewhere: that the other side's volume is parked;
//   - before a volume is released for movers, returned or taken over as a copy: the pods, claims and volumes of
//     the ordinal on both sides. Movers, and the volumes that they mount, are always read live. The volume itself
//     shows that no other process drives the migration by now. A process that takes over writes its fence on the
//     volume before it relies on its place (volumes.Pair), and a newer fence is not overwritten (planner.Plan);
//   - before a stop, which is irreversible: the other StatefulSet, the pods of both sides, the evictions that the
//     budgets allow, and the claim and the volume that are taken away;
//   - before a start: the other StatefulSet, the claim that was bound, and its users on either side. A pod on the
//     other side has no volume there since the volume was parked;
//   - before a volume's former reclaim policy is restored: that its claim exists;
//   - before an arrival is recorded: that the ordinal uses the claim that was bound. Its pod is listed before the
//     next stop, and read if none follows;
//   - before a budget is written: the other budget, and both StatefulSets.
//
// A write that only creates an object, or only sets a volume to Retain, has no effect on its own. After two
// consecutive refusals a write is decided on For.
func Lean(s plan.Snapshot, decision plan.Decision) Reads {
	sc := For(s, decision)
	switch {
	case !sc.Live || s.Spec.SameCluster || s.Destination.Lost:
		return sc
	case sc.Ordinal == nil:
		return leanWhole(sc, s, decision)
	case s.Early != nil, sc.Identity != NoSide:
		return sc
	case s.Record.StartWithdrawn != nil && decision.Effect != nil && decision.Effect.Stops():
		return sc // the reason to undo a start is the other slice's range
	case decision.Record != nil:
		return leanRecord(sc, s, *decision.Record)
	case decision.Effect != nil:
		return leanOrdinal(sc, Giver(s), *decision.Effect)
	default:
		return sc
	}
}

// leanWhole returns the reads for a decision that does not concern one ordinal.
func leanWhole(sc Reads, s plan.Snapshot, decision plan.Decision) Reads {
	switch effect := decision.Effect; {
	case decision.Done != "":
		// The end was recorded based on everything. A later deletion is irreversible if a cache lacks an object.
		sc.Wide, sc.Budgets = s.Record.Completed == "" || s.Spec.DeleteSource, false
	case decision.Record != nil && s.Record.Baseline == nil:
		// The record concerns the StatefulSets and the budgets. Other findings are checked again before each stop.
		sc.Spared = Spared{Pods: BothSides, Claims: BothSides, Volumes: BothSides}
	case sc.Wide && decision.Record != nil && decision.Record.Completed != "":
		sc.Spared.Pods = BothSides // the arrival of each ordinal was observed
	case sc.Wide:
	case effect != nil && effect.Copies():
		// The copy is written in the version and with the origin that were judged, or refused.
		sc.Budgets, sc.Namespace, sc.Spared.Sets = false, false, BothSides
	case effect == nil && heeds(s, decision.Record):
		// The recorded form is the one that its author wrote last.
		sc.Namespace = false
	case effect == nil, effect.RunsHook(), effect.OnlyFences():
		// Such a record says only that the budgets are written next.
		sc.Budgets, sc.Namespace = false, false
	case effect.Does(volumes.Updates, plan.KindBudget):
		sc.Spared.Budgets = Of(effect.Side)
	case creates(*effect) && sc.Identity.Has(effect.Side):
		// It equals a late create, which cannot be prevented anyway.
		sc.Budgets, sc.Spared.Sets = false, BothSides
	}
	return sc
}

// leanRecord returns the reads for a record during a handoff.
func leanRecord(sc Reads, s plan.Snapshot, next plan.Record) Reads {
	name := Giver(s).Other()
	taker := Of(name)
	switch {
	case sc.Next != nil && next.Handoff != nil && s.Record.Baseline.Budget > 1:
		// A cache may show the pod in the state before its ordinal was down, and the next stop does not wait for
		// it.
		sc.Spared = butFor(Spared{Pods: taker, Claims: taker})
	case sc.Next != nil && next.Handoff != nil:
		sc.Spared = butFor(Spared{Claims: taker})
	case next.Handoff == nil && s.Side(name).Set.Has(*sc.Ordinal):
		sc.Spared = butFor(Spared{Pods: taker, Claims: taker})
	case !sc.Volumes: // the record does not concern the ordinal's volumes
		sc.Spared.Pods = BothSides
	}
	return sc
}

// leanOrdinal returns the reads for a write for one ordinal.
func leanOrdinal(sc Reads, from plan.SideName, effect plan.Effect) Reads {
	giver, taker := Of(from), Of(from.Other())
	switch {
	case effect.Stops():
		sc.Spared = butFor(Spared{Sets: taker, Budgets: BothSides, Pods: BothSides, Claims: giver, Volumes: giver})
	case effect.Starts():
		pods := BothSides
		if sc.Users {
			pods = NoSide // the lists of users include them
		}
		sc.Spared = butFor(Spared{Sets: giver, Pods: pods, Claims: taker})
	case effect.Restores():
		sc.Budgets, sc.Spared = false, butFor(Spared{Claims: Of(effect.Side)})
	case effect.Does(volumes.Updates, plan.KindBudget):
		sc.Spared.Budgets = Of(effect.Side)
	case effect.Carries():
		sc.Spared = butFor(leanCarry(effect.Volume.Needs(), giver))
	}
	return sc
}

// leanCarry returns the live reads for a step of moving a volume.
func leanCarry(needs volumes.Needs, giver Sides) Spared {
	switch needs {
	case volumes.NeedsNothing:
		return Spared{}
	case volumes.NeedsPods:
		return Spared{Pods: giver}
	case volumes.NeedsVolume:
		return Spared{Volumes: giver}
	case volumes.NeedsOrdinal:
		return Spared{Pods: BothSides, Claims: BothSides, Volumes: BothSides}
	default:
		return Spared{Sets: BothSides, Budgets: BothSides, Pods: BothSides, Claims: BothSides, Volumes: BothSides}
	}
}

// creates reports whether an effect creates an object that the destination needs before the first ordinal arrives.
// None of these objects starts a pod.
func creates(e plan.Effect) bool {
	switch kind := e.On(); {
	case e.Change() != volumes.Creates || e.OfOrdinal():
		return false
	default:
		return kind == plan.KindNamespace || kind == volumes.KindService || kind == plan.KindBudget || kind == plan.KindSet
	}
}
