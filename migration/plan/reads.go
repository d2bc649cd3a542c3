package plan

import (
	"slices"

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
	// handoff begins as that of the other one ends, its volumes are recorded. They are read
	// live before it is stopped.
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
	// not use them then never will.
	Left SideName
	// Wide lists everything live.
	Wide bool
	// Identity asks again which clusters these are.
	Identity bool
	// Spared is what comes from the caches all the same: see Lean.
	Spared Spared
}

// ReadsFor is what must be read live before a decision is carried out.
func ReadsFor(s Snapshot, decision Decision) Reads {
	if !decision.NeedsLiveRead() {
		return readsForHold(decision.Hold)
	}
	sc := Reads{Live: true, Budgets: true, Identity: !proven(s)}
	if handoff := s.Record.Handoff; handoff != nil {
		sc.Ordinal, sc.Pods = &handoff.Ordinal, true
	}
	effect := decision.Effect
	if effect == nil {
		return sc.ofRecord(s, decision)
	}
	if !effect.OfOrdinal() {
		sc.Wide = effect.Verb == DeleteSet || effect.Verb == SetShare
		return sc
	}
	sc.Ordinal, sc.Volumes, sc.Pods = &effect.Ordinal, true, true
	sc.Gate = effect.Verb == ScaleDown
	if effect.Verb == ScaleUp && len(s.Source.Set.Templates) > 0 {
		sc.Users, sc.Left = true, effect.Side.Other()
	}
	switch {
	case effect.Verb == CarryVolume && (effect.Volume.Verb == volumes.Secure || effect.Volume.Verb == volumes.CreateVolume || effect.Volume.Verb == volumes.CreateClaim):
		// What these make is of no use by itself.
		sc.Pods, sc.Budgets = false, false
	case effect.Verb == CarryVolume, effect.Verb == ScaleUp:
		sc.Budgets = false
	}
	return sc
}

// readsForHold is what must be read live before something is said that frightens people: a cluster
// may have been mistaken, and one cache may be behind another.
func readsForHold(hold *Hold) Reads {
	switch {
	case hold == nil:
		return Reads{}
	case hold.Reason == api.ReasonClusterReplaced:
		return Reads{Live: true, Identity: true}
	case slices.Contains([]string{api.ReasonDestinationMissing, api.ReasonDestinationReplaced, volumes.ReasonAnotherDisk}, hold.Reason):
		return Reads{Live: true, Wide: true}
	default:
		return Reads{}
	}
}

// ofRecord is the scope of a decision that writes a record, or ends.
func (sc Reads) ofRecord(s Snapshot, decision Decision) Reads {
	// The budgets are read again before the next ordinal is stopped.
	sc.Budgets = sc.Ordinal == nil
	next := decision.Record
	// What begins or ends a migration is concluded from all there is.
	sc.Wide = decision.Done != "" || next.Baseline == nil || s.Record.Baseline == nil || next.Completed != "" || takesForAnother(s, decision)
	if sc.Wide {
		sc.Ordinal, sc.Pods = nil, false
		return sc
	}
	if sc.Ordinal == nil {
		return sc
	}
	another := next.Handoff == nil || next.Handoff.Ordinal != *sc.Ordinal
	if another && next.Handoff != nil {
		sc.Next = &next.Handoff.Ordinal
	}
	// A handoff ends only where the ordinal has its volumes, and what they are is not
	// recorded on a cache's word.
	sc.Volumes = another || !slices.Equal(next.Handoff.Volumes, s.Record.Handoff.Volumes)
	return sc
}

// proven says whether both StatefulSets carry this migration's fence: then they are
// in the clusters where it was written. Where one is missing, it may run elsewhere.
func proven(s Snapshot) bool {
	ours := func(set Set) bool { return set.Presence == Seen && api.FenceOwner(set.Fence) == s.UID }
	return s.UID != "" && ours(s.Source.Set) && (ours(s.Destination.Set) || s.Destination.Lost)
}

// Covers says whether all that a wider scope asks for has been read.
func (sc Reads) Covers(need Reads) bool {
	switch {
	case !need.Live:
		return true
	case need.Identity && !sc.Identity:
		return false
	case !need.Spared.holds(sc.Spared):
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

// takesForAnother says whether a record takes one StatefulSet for another one.
func takesForAnother(s Snapshot, decision Decision) bool {
	was := s.Record.Baseline.DestinationUID
	return was != "" && decision.Record.Baseline.DestinationUID != was
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
func Of(name SideName) Sides {
	if name == SourceSide {
		return OfSource
	}
	return OfDestination
}

// Has says whether a side is one of them.
func (s Sides) Has(name SideName) bool { return s&Of(name) != 0 }

// Spared are the sides of which each kind of object comes from the caches, although its Reads ask
// for it live. What is attached is read with the pods.
type Spared struct{ Sets, Pods, Claims, Volumes Sides }

// holds says whether all that another one spares is spared here too.
func (s Spared) holds(other Spared) bool {
	within := func(a, b Sides) bool { return a&^b == 0 }
	return within(other.Sets, s.Sets) && within(other.Pods, s.Pods) && within(other.Claims, s.Claims) && within(other.Volumes, s.Volumes)
}

// butFor spares all but these.
func butFor(live Spared) Spared {
	return Spared{Sets: BothSides &^ live.Sets, Pods: BothSides &^ live.Pods, Claims: BothSides &^ live.Claims, Volumes: BothSides &^ live.Volumes}
}

// Lean is ReadsFor less what the next write does not depend on, for a process whose caches show
// all that it has written itself. The write's own object needs no live read: another UID or
// resourceVersion is refused. What remains is what makes the write wrong when it has changed:
//
//   - before a volume is parked or pointed elsewhere, that nobody else drives the migration by now:
//     whoever takes over writes a new fence on both StatefulSets before anything else, so one of
//     them shows it. And that the ordinal has no pod where its volume is taken from, and that it is
//     parked there before it can be used elsewhere;
//   - before a stop and before a start, which nothing takes back, both StatefulSets, the pods of
//     both sides, what the budgets allow, and the volume at the side that gives it away;
//   - before a volume gets the reclaim policy back that it had, both StatefulSets, and the claims and
//     volumes of both sides: none of it depends on pods or budgets;
//   - before an arrival is recorded, that the pod is available, on the claim that was bound.
//
// What only creates, or only sets a volume to Retain, is of no use to anybody by itself. After two
// refusals in a row a write is judged on ReadsFor.
func Lean(s Snapshot, decision Decision) Reads {
	sc := ReadsFor(s, decision)
	if !sc.Live || sc.Wide || sc.Identity || sc.Ordinal == nil || s.Spec.SameCluster || s.Destination.Lost {
		return sc
	}
	v := viewOf(s)
	giver, taker := Of(v.giverName), Of(v.takerName)
	effect := decision.Effect
	switch {
	case decision.Record != nil && sc.Next != nil:
		sc.Spared = butFor(Spared{Pods: taker, Claims: taker})
	case effect == nil:
	case effect.Verb == ScaleDown:
		sc.Spared = butFor(Spared{Sets: BothSides, Pods: BothSides, Claims: giver, Volumes: giver})
	case effect.Verb == ScaleUp:
		pods := BothSides
		if sc.Users {
			pods = giver // the list of users shows those of the taker
		}
		sc.Spared = butFor(Spared{Sets: BothSides, Pods: pods, Claims: taker, Volumes: giver})
	case effect.Verb == RestorePolicy:
		sc.Budgets, sc.Spared = false, Spared{Pods: BothSides}
	case effect.Verb == CarryVolume:
		sc.Spared = butFor(leanCarry(effect.Volume.Verb, giver, taker))
	}
	return sc
}

// leanCarry is what is read live for a step of a volume on its way.
func leanCarry(verb volumes.Verb, giver, taker Sides) Spared {
	switch verb {
	case volumes.Secure, volumes.CreateVolume, volumes.CreateClaim:
		return Spared{}
	case volumes.Park:
		return Spared{Sets: giver, Pods: giver}
	case volumes.Point:
		return Spared{Sets: taker, Volumes: BothSides}
	default:
		return Spared{Sets: BothSides, Pods: BothSides, Claims: BothSides, Volumes: BothSides}
	}
}
