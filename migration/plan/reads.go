package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

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
	Left SideName
	// Wide lists everything live that a migration is concluded from.
	Wide bool
	// Namespace looks for that of a destination without a StatefulSet: nothing watches it.
	Namespace bool
	// Identity are the sides that are asked again which cluster they are in.
	Identity Sides
	// Spared is what comes from the caches all the same: see Lean. With Wide it counts, too.
	Spared Spared
}

// ReadsFor is what must be read live before a decision is carried out.
func ReadsFor(s Snapshot, decision Decision) Reads {
	if !decision.NeedsLiveRead() {
		return readsForHold(decision.Hold)
	}
	sc := Reads{Live: true, Budgets: true, Namespace: s.Destination.Set.Presence == Absent, Identity: BothSides &^ proven(s)}
	if handoff := s.Record.Handoff; handoff != nil {
		sc.Ordinal, sc.Pods, sc.Namespace = &handoff.Ordinal, true, false
	}
	effect := decision.Effect
	if effect == nil {
		return sc.ofRecord(s, decision)
	}
	if !effect.OfOrdinal() {
		sc.Wide = effect.Verb == DeleteSet || effect.Verb == SetShare
		return sc
	}
	sc.Ordinal, sc.Volumes, sc.Pods, sc.Namespace = &effect.Ordinal, true, true, false
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
		return Reads{Live: true, Identity: BothSides}
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
	switch upcoming, more := viewOf(s).next(); {
	case another && next.Handoff != nil:
		sc.Next = &next.Handoff.Ordinal
	case another && more && upcoming != *sc.Ordinal: // whether that one may begin is decided on its volumes, too
		sc.Next = &upcoming
	}
	// A handoff ends only where the ordinal has its volumes, and what they are is not
	// recorded on a cache's word.
	sc.Volumes = another || !slices.Equal(next.Handoff.Volumes, s.Record.Handoff.Volumes)
	return sc
}

// proven are the sides whose StatefulSet shows which cluster it is in: it carries this migration's
// fence, or it is the very one that the record names. Where one is missing, it may run elsewhere.
func proven(s Snapshot) Sides {
	sides := NoSide
	for _, name := range SideNames {
		set, known := s.Side(name).Set, recordedSet(s.Record, name)
		ours := s.UID != "" && api.FenceOwner(set.Fence) == s.UID || known != "" && set.UID == known
		if s.Side(name).Lost || set.Presence == Seen && ours {
			sides |= Of(name)
		}
	}
	return sides
}

// recordedSet is the UID of the StatefulSet with which a migration began on a side; empty: there is
// none yet.
func recordedSet(record Record, name SideName) types.UID {
	switch {
	case record.Baseline == nil:
		return ""
	case name == SourceSide:
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
	case need.Identity&^sc.Identity != NoSide:
		return false
	case need.Namespace && !sc.Namespace, !need.Spared.holds(sc.Spared):
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
