// Reads are the live reads that are needed before a decision is carried out.

package planner

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// Reads selects what to read. The zero value is everything, from the caches: a cache is good enough to wait, but
// nothing is written based on it alone.
type Reads struct {
	// Live reads both StatefulSets from the API servers, object by object, and also the objects that the next
	// fields select.
	Live bool
	// Ordinal limits claims and volumes to those of one ordinal; nil: all of them, cached.
	Ordinal *int32
	// Next is one more ordinal, whose claims and volumes are read from the caches. When its handoff begins as the
	// other one ends, its volumes are recorded. When it does not begin, they may be the reason. They are read live
	// before the ordinal is stopped.
	Next *int32
	// Pods, Budgets and Volumes read those of that ordinal live. Other pods are read from the watch.
	Pods, Budgets, Volumes bool
	// Gate lists all pods in their current state. Before an ordinal is stopped, no pod may be down that a watch
	// has not reported, and none may use the ordinal's claims. Such a list may wait 100 ms for the watch cache of
	// the API server (kubernetes apiserver, cacher/progress, progressRequestPeriod). It is served at once only if
	// none was requested shortly before.
	Gate bool
	// Users lists the pods from the API server's watch cache, which waits for nothing: our own watch may be stuck.
	Users bool
	// Left is the side whose pods are listed in a state not older than the removal of the ordinal's volumes from
	// it. No pod can mount them there since, so a pod that did not use them then never will. Attachments there are
	// read after that.
	Left plan.SideName
	// Wide lists everything live from which the state of the whole migration is concluded.
	Wide bool
	// Namespace reads the namespace of a destination without a StatefulSet: nothing watches it.
	Namespace bool
	// Identity selects the sides whose cluster UID is read again.
	Identity Sides
	// Dependencies reads everything that is copied; otherwise a recent read is enough.
	Dependencies bool
	// Arrival is the ordinal for which the taking side dry-runs the pod.
	Arrival *int32
	// Looks dry-runs the next ordinal's pod once the migration has begun. No stop depends on the result, and the
	// identity may have fewer permissions than the mover.
	Looks bool
	// Spared selects what is read from the caches nevertheless: see Lean. It also applies with Wide.
	Spared Spared
}

// Near returns the reads with which a pass begins: everything, from the caches. While an ordinal is in flight, it
// is only that ordinal's volumes, so that the cost of a handoff does not depend on the number of other ordinals.
func Near(record plan.Record) Reads {
	if record.Handoff == nil {
		return Reads{}
	}
	return Reads{Live: true, Ordinal: &record.Handoff.Ordinal, Volumes: true, Spared: butFor(Spared{})}
}

// NeedsAll reports whether a decision on the volumes of one ordinal may differ once all volumes are read. A disk
// that another ordinal has lost prevents the next stop (I3), and nothing is recorded or reported as a stall before
// that was checked. An ordinal that is down is started nevertheless.
func NeedsAll(s plan.Snapshot, d plan.Decision) bool {
	switch {
	case d.Record != nil || d.Done != "" || s.Record.Handoff == nil || s.Side(Giver(s)).Set.Has(s.Record.Handoff.Ordinal):
		return true
	case d.Effect != nil:
		return false
	default:
		return d.Hold == nil || d.Hold.Stalled || d.Hold.Reason == api.ReasonMoving
	}
}

// For returns the live reads that are needed before a decision is carried out.
func For(s plan.Snapshot, decision plan.Decision) Reads {
	if !decision.NeedsLiveRead() {
		return readsForHold(s, decision.Hold)
	}
	if s.Early != nil { // copies are always read live; of the ordinal, only its location and its volumes matter
		return Reads{Live: true, Ordinal: s.Early, Pods: true, Volumes: true, Identity: BothSides &^ proven(s)}
	}
	sc := Reads{Live: true, Budgets: true, Namespace: s.Destination.Set.Presence == plan.Absent, Identity: BothSides &^ proven(s), Arrival: arriving(s, decision)}
	if handoff := s.Record.Handoff; handoff != nil {
		sc.Ordinal, sc.Pods, sc.Namespace, sc.Volumes = &handoff.Ordinal, true, false, fills(handoff)
	}
	effect := decision.Effect
	if effect == nil {
		return sc.ofRecord(s, decision)
	}
	if !effect.OfOrdinal() {
		sc.Wide = effect.Wide()
		return sc
	}
	sc.Ordinal, sc.Volumes, sc.Pods, sc.Namespace = &effect.Ordinal, true, true, false
	sc.Gate = effect.Stops()
	if effect.Starts() && len(s.Source.Set.Templates) > 0 {
		sc.Users, sc.Left = true, effect.Side.Other()
	}
	switch {
	case effect.Carries() && effect.Volume.Needs() == volumes.NeedsNothing:
		sc.Pods, sc.Budgets = false, false
	case effect.Carries(), effect.Starts():
		sc.Budgets = false
	}
	return sc
}

// fills reports whether a second volume is being filled for the ordinal. Other decisions depend on its progress,
// and a read without it would find no copy.
func fills(handoff *api.Handoff) bool {
	return slices.ContainsFunc(handoff.Volumes, func(v api.HandoffVolume) bool { return v.Copy.Number > 0 })
}

// readsForHold returns the live reads that are needed before an alarming hold is reported. A cluster may have been
// confused with another, and one cache may lag behind another.
func readsForHold(s plan.Snapshot, hold *plan.Hold) Reads {
	switch {
	case hold == nil:
		return Reads{}
	case s.Spec.Dependencies.Copy && aboutDependencies(hold.Reason):
		return Reads{Live: true, Dependencies: true}
	case hold.Reason == api.ReasonClusterReplaced:
		return Reads{Live: true, Identity: BothSides}
	case slices.Contains([]string{api.ReasonSourceReplaced, api.ReasonDestinationMissing, api.ReasonDestinationReplaced, volumes.ReasonAnotherDisk}, hold.Reason):
		return Reads{Live: true, Wide: true}
	default:
		return Reads{}
	}
}

// ofRecord returns the scope of a decision that writes a record, or ends.
func (sc Reads) ofRecord(s plan.Snapshot, decision plan.Decision) Reads {
	// The budgets are read again before the next ordinal is stopped.
	next := decision.Record
	sc.Budgets = sc.Ordinal == nil || heeds(s, next)
	sc.Dependencies = dependsOn(s, next)
	// The begin and the end of a migration are concluded from everything.
	sc.Wide = decision.Done != "" || next.Baseline == nil || s.Record.Baseline == nil || next.Completed != "" || takesForAnother(s, decision)
	if sc.Wide {
		sc.Ordinal, sc.Pods, sc.Volumes = nil, false, false
		return sc
	}
	if sc.Ordinal == nil {
		return sc
	}
	another := next.Handoff == nil || next.Handoff.Ordinal != *sc.Ordinal
	switch upcoming, more := NextOrdinal(s); {
	case another && next.Handoff != nil:
		sc.Next = &next.Handoff.Ordinal
	case another && more && upcoming != *sc.Ordinal: // whether that handoff may begin also depends on its volumes
		sc.Next = &upcoming
	}
	// A handoff ends only if the ordinal has its volumes, and its volumes are not recorded based on a cache alone.
	sc.Volumes = sc.Volumes || another || !slices.Equal(next.Handoff.Volumes, s.Record.Handoff.Volumes)
	if !another && listsLeft(s, next.Handoff) {
		sc.Users, sc.Left = true, Giver(s)
	}
	return sc
}

// listsLeft reports whether a record lists the pods that may use a volume that was taken from the giver.
func listsLeft(s plan.Snapshot, next *api.Handoff) bool {
	return slices.ContainsFunc(next.Volumes, func(v api.HandoffVolume) bool {
		return v.Left.Side != "" && v.Left != s.Record.Handoff.Volume(v.ClaimTemplate).Left
	})
}

// proven returns the sides whose StatefulSet proves which cluster it is in: it has this migration's fence, or the
// recorded UID. If it is missing, it may run in another cluster.
func proven(s plan.Snapshot) Sides {
	sides := NoSide
	for _, name := range plan.SideNames {
		set, known := s.Side(name).Set, recordedSet(s.Record, name)
		ours := s.UID != "" && api.FenceOwner(set.Fence) == s.UID || known != "" && set.UID == known
		if s.Side(name).Lost || set.Presence == plan.Seen && ours {
			sides |= Of(name)
		}
	}
	return sides
}

// recordedSet returns the UID of the StatefulSet with which a migration began on a side; empty: there is none yet.
func recordedSet(record plan.Record, name plan.SideName) types.UID {
	switch {
	case record.Baseline == nil:
		return ""
	case name == plan.SourceSide:
		return record.Baseline.SourceUID
	default:
		return record.Baseline.DestinationUID
	}
}

// Covers reports whether everything in need has been read.
func (sc Reads) Covers(need Reads) bool {
	switch {
	case !need.Live:
		return true
	case need.Identity&^sc.Identity != NoSide, need.Dependencies && !sc.Dependencies:
		return false
	case need.Namespace && !sc.Namespace, !need.Spared.holds(sc.Spared), !sc.asksOf(need):
		return false
	case sc.Wide:
		return true
	case need.Wide || !sc.Live:
		return false
	case need.Ordinal != nil && sc.Ordinal != nil && *need.Ordinal != *sc.Ordinal:
		return false
	case need.Next != nil && (sc.Next == nil || *need.Next != *sc.Next):
		return false
	case need.Ordinal == nil && sc.Ordinal != nil || need.Volumes && sc.Ordinal == nil:
		return false
	}
	return sc.kinds(need)
}

// kinds reports whether all kinds of objects in need have been read.
func (sc Reads) kinds(need Reads) bool {
	listed := (sc.Gate || !need.Gate) && (sc.Gate || sc.Users || !need.Users) && (sc.Gate || need.Left == "" || sc.Left == need.Left)
	return listed && (sc.Pods || !need.Pods) && (sc.Budgets || !need.Budgets) && (sc.Volumes || !need.Volumes)
}

// heeds reports whether a record has another form of an author's PodDisruptionBudget.
func heeds(s plan.Snapshot, next *plan.Record) bool {
	was := s.Record.Baseline
	if next == nil || was == nil || next.Baseline == nil {
		return false
	}
	return next.Baseline.DisruptionBudget != was.DisruptionBudget
}

// Sides is a set of sides of which something is read.
type Sides uint8

// Sets of sides.
const (
	NoSide        Sides = 0
	OfSource      Sides = 1 << 0
	OfDestination Sides = 1 << 1
	BothSides           = OfSource | OfDestination
)

// Of returns the set of one side.
func Of(name plan.SideName) Sides {
	if name == plan.SourceSide {
		return OfSource
	}
	return OfDestination
}

// Has reports whether the set contains a side.
func (s Sides) Has(name plan.SideName) bool { return s&Of(name) != 0 }

// Spared selects, for each kind of object, the sides that are read from the caches although the Reads request it
// live. Attachments are read with the pods.
type Spared struct{ Sets, Budgets, Pods, Claims, Volumes Sides }

// holds reports whether everything that other spares is spared here too.
func (s Spared) holds(other Spared) bool {
	within := func(a, b Sides) bool { return a&^b == 0 }
	return within(other.Sets, s.Sets) && within(other.Budgets, s.Budgets) && within(other.Pods, s.Pods) &&
		within(other.Claims, s.Claims) && within(other.Volumes, s.Volumes)
}

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
