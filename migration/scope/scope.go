// Package scope says what must be read live before what was decided is carried out.
package scope

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// Reads says what to look at. The zero value is everything, from the caches: they
// may tell to wait, but nothing is written on their word.
type Reads struct {
	// Live reads both StatefulSets from the API servers, object by object, and
	// besides them what the next fields say.
	Live bool
	// Ordinal limits claims and volumes to one ordinal's; nil: all of them, cached.
	Ordinal *int32
	// Next is one more ordinal, whose claims and volumes are taken from the caches: when its
	// handoff begins as that of the other one ends, its volumes are recorded, and where it does
	// not begin, they may be why. They are read live before it is stopped.
	Next *int32
	// pods, budgets and volumes are of that ordinal, read live. Other pods come from the
	// watch.
	Pods, Budgets, Volumes bool
	// Gate lists all pods exactly as they are: before one is stopped, none may be down that
	// a watch has not told of, and none may use its claims. Such a list may wait 100 ms for
	// the watch cache of the API server (kubernetes apiserver, cacher/progress,
	// progressRequestPeriod): at once it is served only when none was asked for shortly before.
	Gate bool
	// Users lists them as the watch cache of the API server has them, which waits for
	// nothing: a watch of our own may stand still.
	Users bool
	// Left is the side whose pods are listed exactly, as they are or were at any time since
	// the ordinal's volumes were taken from it: no pod can mount them there since, so who did
	// not use them then never will. What is attached there is read after that.
	Left plan.SideName
	// Wide lists everything live that a migration is concluded from.
	Wide bool
	// Namespace looks for that of a destination without a StatefulSet: nothing watches it.
	Namespace bool
	// Identity are the sides that are asked again which cluster they are in.
	Identity Sides
	// Dependencies looks at all that is copied; else it is enough that it was looked at lately.
	Dependencies bool
	// Arrival asks the side that takes an ordinal whether it would run there.
	Arrival *int32
	// Looks asks that of the next ordinal, once the migration has begun. No stop rests on the answer, and the identity that asks may
	// have fewer rights than the mover.
	Looks bool
	// Spared is what comes from the caches all the same: see Lean. With Wide it counts, too.
	Spared Spared
}

// Near is what a pass begins with: all that the caches show; while an ordinal is on its way, what they
// show of that one's volumes, so that a handoff costs the same however many others there are.
func Near(record plan.Record) Reads {
	if record.Handoff == nil {
		return Reads{}
	}
	return Reads{Live: true, Ordinal: &record.Handoff.Ordinal, Volumes: true, Spared: butFor(Spared{})}
}

// NeedsAll says whether what was decided on the volumes of one ordinal may be another thing when all of
// them are looked at: a disk that another one has lost keeps the next one from its stop (I3), and nothing
// is recorded or called a stall before that was seen. What is down is brought up all the same.
func NeedsAll(s plan.Snapshot, d plan.Decision) bool {
	switch {
	case d.Record != nil || d.Done != "" || s.Record.Handoff == nil || s.Side(planner.Giver(s)).Set.Has(s.Record.Handoff.Ordinal):
		return true
	case d.Effect != nil:
		return false
	default:
		return d.Hold == nil || d.Hold.Stalled || d.Hold.Reason == api.ReasonMoving
	}
}

// For is what must be read live before a decision is carried out.
func For(s plan.Snapshot, decision plan.Decision) Reads {
	if !decision.NeedsLiveRead() {
		return readsForHold(s, decision.Hold)
	}
	if s.Early != nil { // what is copied is always read live, and of the ordinal only where it runs, and on what
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
		sc.Wide = effect.Verb == plan.DeleteSet || effect.Verb == plan.SetShare
		return sc
	}
	sc.Ordinal, sc.Volumes, sc.Pods, sc.Namespace = &effect.Ordinal, true, true, false
	sc.Gate = effect.Verb == plan.ScaleDown
	if effect.Verb == plan.ScaleUp && len(s.Source.Set.Templates) > 0 {
		sc.Users, sc.Left = true, effect.Side.Other()
	}
	switch {
	case effect.Verb == plan.CarryVolume && (effect.Volume.Verb == volumes.Secure || effect.Volume.Verb == volumes.CreateVolume || effect.Volume.Verb == volumes.CreateClaim):
		// What these make is of no use by itself.
		sc.Pods, sc.Budgets = false, false
	case effect.Verb == plan.CarryVolume, effect.Verb == plan.ScaleUp:
		sc.Budgets = false
	}
	return sc
}

// fills says whether a second volume is being filled for the ordinal. What else is done meanwhile is decided on how far
// that is, and a look that leaves it out would find that nothing of it was there.
func fills(handoff *api.Handoff) bool {
	return slices.ContainsFunc(handoff.Volumes, func(v api.HandoffVolume) bool { return v.Copy.Number > 0 })
}

// readsForHold is what must be read live before something is said that frightens people: a cluster
// may have been mistaken, and one cache may be behind another.
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

// ofRecord is the scope of a decision that writes a record, or ends.
func (sc Reads) ofRecord(s plan.Snapshot, decision plan.Decision) Reads {
	// The budgets are read again before the next ordinal is stopped.
	next := decision.Record
	sc.Budgets = sc.Ordinal == nil || heeds(s, next)
	sc.Dependencies = dependsOn(s, next)
	// What begins or ends a migration is concluded from all there is.
	sc.Wide = decision.Done != "" || next.Baseline == nil || s.Record.Baseline == nil || next.Completed != "" || takesForAnother(s, decision)
	if sc.Wide {
		sc.Ordinal, sc.Pods, sc.Volumes = nil, false, false
		return sc
	}
	if sc.Ordinal == nil {
		return sc
	}
	another := next.Handoff == nil || next.Handoff.Ordinal != *sc.Ordinal
	switch upcoming, more := planner.NextOrdinal(s); {
	case another && next.Handoff != nil:
		sc.Next = &next.Handoff.Ordinal
	case another && more && upcoming != *sc.Ordinal: // whether that one may begin is decided on its volumes, too
		sc.Next = &upcoming
	}
	// A handoff ends only where the ordinal has its volumes, and what they are is not
	// recorded on a cache's word.
	sc.Volumes = sc.Volumes || another || !slices.Equal(next.Handoff.Volumes, s.Record.Handoff.Volumes)
	if !another && listsLeft(s, next.Handoff) {
		sc.Users, sc.Left = true, planner.Giver(s)
	}
	return sc
}

// listsLeft reports whether a record says which pods may have a volume that was taken from the giver.
func listsLeft(s plan.Snapshot, next *api.Handoff) bool {
	return slices.ContainsFunc(next.Volumes, func(v api.HandoffVolume) bool {
		return v.Left.Side != "" && v.Left != s.Record.Handoff.Volume(v.ClaimTemplate).Left
	})
}

// proven are the sides whose StatefulSet shows which cluster it is in: it carries this migration's
// fence, or it is the very one that the record names. Where one is missing, it may run elsewhere.
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

// recordedSet is the UID of the StatefulSet with which a migration began on a side; empty: there is
// none yet.
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

// Covers says whether all that a wider scope asks for has been read.
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

// kinds says whether all kinds of objects that a scope asks for have been read.
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

// Sides are sides of which something is read.
type Sides uint8

// The sides, as a set.
const (
	NoSide        Sides = 0
	OfSource      Sides = 1 << 0
	OfDestination Sides = 1 << 1
	BothSides           = OfSource | OfDestination
)

// Of is the set of one side.
func Of(name plan.SideName) Sides {
	if name == plan.SourceSide {
		return OfSource
	}
	return OfDestination
}

// Has says whether a side is one of them.
func (s Sides) Has(name plan.SideName) bool { return s&Of(name) != 0 }

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

// Lean is For less what the next write does not depend on, for a process whose caches show
// all that it has written itself. The write's own object needs no live read: another UID or
// resourceVersion is refused, so that it is written as it was judged or not at all. What remains is
// what makes the write wrong when it has changed:
//
//   - before a volume is parked, that the ordinal has no pod where its volume is taken from, and
//     before it is pointed elsewhere, that the other side's is parked;
//   - before a volume is given to movers, returned or taken over as a copy, the pods, claims and volumes of the
//     ordinal on both sides. Movers, and what they mount, are always read live. That nobody else drives the
//     migration by now the volume shows itself: whoever takes over writes its fence on it before it
//     builds upon where it is (volumes.Pair), and a newer fence is not written over
//     (planner.Plan);
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
// refusals in a row a write is judged on For.
func Lean(s plan.Snapshot, decision plan.Decision) Reads {
	sc := For(s, decision)
	switch {
	case !sc.Live || s.Spec.SameCluster || s.Destination.Lost:
		return sc
	case sc.Ordinal == nil:
		return leanWhole(sc, s, decision)
	case s.Early != nil, sc.Identity != NoSide:
		return sc
	case s.Record.StartWithdrawn != nil && decision.Effect != nil && decision.Effect.Verb == plan.ScaleDown:
		return sc // a start is taken back: what the other slice owns is why
	case decision.Record != nil:
		return leanRecord(sc, s, *decision.Record)
	case decision.Effect != nil:
		return leanOrdinal(sc, planner.Giver(s), *decision.Effect)
	default:
		return sc
	}
}

// leanWhole is for what is not of one ordinal.
func leanWhole(sc Reads, s plan.Snapshot, decision plan.Decision) Reads {
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
	case effect != nil && effect.Copies():
		// The copy is written as it was judged, of an origin as it was judged, or not at all.
		sc.Budgets, sc.Namespace, sc.Spared.Sets = false, false, BothSides
	case effect == nil && heeds(s, decision.Record):
		// The form that is recorded is the one that its author wrote last.
		sc.Namespace = false
	case effect == nil, effect.RunsHook(), effect.Verb == plan.WriteFence, effect.Verb == plan.ReleaseFence:
		// No record says more of the budgets than that they are written next.
		sc.Budgets, sc.Namespace = false, false
	case effect.Verb == plan.SetBudget || effect.Verb == plan.RestoreBudget:
		sc.Spared.Budgets = Of(effect.Side)
	case creates(effect.Verb) && sc.Identity.Has(effect.Side):
		// It is as if it came late, which nothing keeps a creation from.
		sc.Budgets, sc.Spared.Sets = false, BothSides
	}
	return sc
}

// leanRecord is for a record in mid-handoff.
func leanRecord(sc Reads, s plan.Snapshot, next plan.Record) Reads {
	name := planner.Giver(s).Other()
	taker := Of(name)
	switch {
	case sc.Next != nil && next.Handoff != nil && s.Record.Baseline.Budget > 1:
		// A cache may show the pod from before its ordinal was down, and the next stop does not wait for it.
		sc.Spared = butFor(Spared{Pods: taker, Claims: taker})
	case sc.Next != nil && next.Handoff != nil:
		sc.Spared = butFor(Spared{Claims: taker})
	case next.Handoff == nil && s.Side(name).Set.Has(*sc.Ordinal):
		sc.Spared = butFor(Spared{Pods: taker, Claims: taker})
	case !sc.Volumes: // it says nothing of the ordinal
		sc.Spared.Pods = BothSides
	}
	return sc
}

// leanOrdinal is for a write on behalf of one ordinal.
func leanOrdinal(sc Reads, from plan.SideName, effect plan.Effect) Reads {
	giver, taker := Of(from), Of(from.Other())
	switch effect.Verb {
	case plan.ScaleDown:
		sc.Spared = butFor(Spared{Sets: taker, Budgets: BothSides, Pods: BothSides, Claims: giver, Volumes: giver})
	case plan.ScaleUp:
		pods := BothSides
		if sc.Users {
			pods = NoSide // they are in the lists of users
		}
		sc.Spared = butFor(Spared{Sets: giver, Pods: pods, Claims: taker})
	case plan.RestorePolicy:
		sc.Budgets, sc.Spared = false, butFor(Spared{Claims: Of(effect.Side)})
	case plan.SetBudget, plan.RestoreBudget:
		sc.Spared.Budgets = Of(effect.Side)
	case plan.CarryVolume:
		sc.Spared = butFor(leanCarry(effect.Volume.Verb, giver))
	default: // as For says
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
	case volumes.Release, volumes.PointBack, volumes.TakeOver, volumes.Loosen, volumes.DeleteDropped:
		return Spared{Pods: BothSides, Claims: BothSides, Volumes: BothSides}
	default:
		return Spared{Sets: BothSides, Budgets: BothSides, Pods: BothSides, Claims: BothSides, Volumes: BothSides}
	}
}

// creates says whether a verb makes what the destination needs before the first ordinal comes:
// nothing of it runs a pod.
func creates(verb plan.Verb) bool {
	switch verb {
	case plan.CreateNamespace, plan.CreateService, plan.CreateBudget, plan.CreateSet:
		return true
	default:
		return false
	}
}
