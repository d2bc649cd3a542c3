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
	// Wide lists everything live from which the state of the whole migration is concluded. With Recent, the lists may be as old
	// as the watch caches of the API servers, which wait for nothing (see Gate), and the objects of the ordinal in flight are
	// read one by one.
	Wide, Recent bool
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
	switch {
	case record.Storage != nil: // see storagePlanner.reads
		return Reads{Live: true, Wide: true, Budgets: true}
	case record.Handoff == nil:
		return Reads{}
	}
	return Reads{Live: true, Ordinal: &record.Handoff.Ordinal, Volumes: true, Spared: butFor(Spared{})}
}

// NeedsAll reports whether a decision on the volumes of one ordinal may differ once all volumes are read. A disk
// that another ordinal has lost prevents the next stop (I3), and nothing is recorded or reported as a stall before
// that was checked. An ordinal that is down is started nevertheless. An ordinal that waits for the step of a neighbor in
// flight is not: that step was decided on all volumes, and so is the next one after it.
func NeedsAll(s plan.Snapshot, d plan.Decision) bool {
	switch {
	case OnlyHolds(d) && len(s.Record.Further) > 0 && forNeighbor(*d.Hold):
		return false
	case d.Record != nil || d.Done != "" || s.Record.Handoff == nil || s.Side(Giver(s)).Set.Has(s.Record.Handoff.Ordinal):
		return true
	case d.Effect != nil:
		return false
	default:
		return d.Hold == nil || d.Hold.Stalled || d.Hold.Reason == api.ReasonMoving
	}
}

// forNeighbor reports whether a hold ends with a step of another ordinal in flight, or once its controller has observed
// that step.
func forNeighbor(hold plan.Hold) bool {
	return !hold.Stalled && (hold.Reason == api.ReasonNeighborFirst || hold.Reason == api.ReasonControllerBehind)
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
	case need.Identity&^sc.Identity != NoSide, need.Dependencies && !sc.Dependencies, sc.Recent && !need.Recent:
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
