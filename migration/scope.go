package migration

import (
	"slices"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// scope says what to look at. The zero value is everything, from the caches: they
// may tell to wait, but nothing is written on their word.
type scope struct {
	// live reads both StatefulSets from the API servers, object by object, and
	// besides them what the next fields say.
	live bool
	// ordinal limits claims and volumes to one ordinal's; nil: all of them, cached.
	ordinal *int32
	// next is one more ordinal, whose claims and volumes are taken from the caches: when its
	// handoff begins as that of the other one ends, its volumes are recorded. They are read
	// live before it is stopped.
	next *int32
	// pods, budgets and volumes are of that ordinal, read live. Other pods come from the
	// watch.
	pods, budgets, volumes bool
	// gate lists all pods exactly as they are: before one is stopped, none may be down that
	// a watch has not told of, and none may use its claims. Such a list may wait 100 ms for
	// the watch cache of the API server (kubernetes apiserver, cacher/progress,
	// progressRequestPeriod): at once it is served only when none was asked for shortly before.
	gate bool
	// users lists them as the watch cache of the API server has them, which waits for
	// nothing: a watch of our own may stand still.
	users bool
	// left is the side whose pods are listed exactly, as they are or were at any time since
	// the ordinal's volumes were taken from it: no pod can mount them there since, so who did
	// not use them then never will.
	left SideName
	// wide lists everything live.
	wide bool
	// identity asks again which clusters these are.
	identity bool
}

// scopeOf is what must be read live before a decision is carried out.
func scopeOf(s Snapshot, decision Decision) scope {
	if !decision.NeedsLiveRead() {
		return scopeOfHold(decision.Hold)
	}
	sc := scope{live: true, budgets: true, identity: !proven(s)}
	if handoff := s.Record.Handoff; handoff != nil {
		sc.ordinal, sc.pods = &handoff.Ordinal, true
	}
	effect := decision.Effect
	if effect == nil {
		return sc.ofRecord(s, decision)
	}
	if !effect.OfOrdinal() {
		sc.wide = effect.Verb == DeleteSet || effect.Verb == SetShare
		return sc
	}
	sc.ordinal, sc.volumes, sc.pods = &effect.Ordinal, true, true
	sc.gate = effect.Verb == ScaleDown
	if effect.Verb == ScaleUp && len(s.Source.Set.Templates) > 0 {
		sc.users, sc.left = true, otherSide(effect.Side)
	}
	switch {
	case effect.Verb == CarryVolume && (effect.Volume.Verb == volumes.Secure || effect.Volume.Verb == volumes.CreateVolume || effect.Volume.Verb == volumes.CreateClaim):
		// What these make is of no use by itself.
		sc.pods, sc.budgets = false, false
	case effect.Verb == CarryVolume, effect.Verb == ScaleUp:
		sc.budgets = false
	}
	return sc
}

// scopeOfHold is what must be read live before something is said that frightens people: a cluster
// may have been mistaken, and one cache may be behind another.
func scopeOfHold(hold *Hold) scope {
	switch {
	case hold == nil:
		return scope{}
	case hold.Reason == api.ReasonClusterReplaced:
		return scope{live: true, identity: true}
	case slices.Contains([]string{api.ReasonDestinationMissing, api.ReasonDestinationReplaced, volumes.ReasonAnotherDisk}, hold.Reason):
		return scope{live: true, wide: true}
	default:
		return scope{}
	}
}

// ofRecord is the scope of a decision that writes a record, or ends.
func (sc scope) ofRecord(s Snapshot, decision Decision) scope {
	// The budgets are read again before the next ordinal is stopped.
	sc.budgets = sc.ordinal == nil
	next := decision.Record
	// What begins or ends a migration is concluded from all there is.
	sc.wide = decision.Done != "" || next.Baseline == nil || s.Record.Baseline == nil || next.Completed != "" || takesForAnother(s, decision)
	if sc.wide {
		sc.ordinal, sc.pods = nil, false
		return sc
	}
	if sc.ordinal == nil {
		return sc
	}
	another := next.Handoff == nil || next.Handoff.Ordinal != *sc.ordinal
	if another && next.Handoff != nil {
		sc.next = &next.Handoff.Ordinal
	}
	// A handoff ends only where the ordinal has its volumes, and what they are is not
	// recorded on a cache's word.
	sc.volumes = another || !slices.Equal(next.Handoff.Volumes, s.Record.Handoff.Volumes)
	return sc
}

// takesAway says whether an effect takes a volume from the side that had it. Between clusters it
// is parked there; in one cluster it is given to the other side by the same write.
func takesAway(effect Effect, sameCluster bool) bool {
	verb := volumes.Park
	if sameCluster {
		verb = volumes.Point
	}
	return effect.Verb == CarryVolume && effect.Volume.Verb == verb
}

// proven says whether both StatefulSets carry this migration's fence: then they are
// in the clusters where it was written. Where one is missing, it may run elsewhere.
func proven(s Snapshot) bool {
	ours := func(set Set) bool { return set.Presence == Seen && FenceOwner(set.Fence) == s.UID }
	return s.UID != "" && ours(s.Source.Set) && (ours(s.Destination.Set) || s.Destination.Lost)
}

// covers says whether all that a wider scope asks for has been read.
func (sc scope) covers(need scope) bool {
	switch {
	case !need.live:
		return true
	case need.identity && !sc.identity:
		return false
	case sc.wide:
		return true
	case need.wide || !sc.live:
		return false
	case need.ordinal != nil && sc.ordinal != nil && *need.ordinal != *sc.ordinal:
		return false
	case need.next != nil && (sc.next == nil || *need.next != *sc.next):
		return false
	case need.ordinal == nil && sc.ordinal != nil || need.volumes && sc.ordinal == nil:
		return false
	}
	return sc.reads(need)
}

// reads says whether all kinds of objects that a scope asks for have been read.
func (sc scope) reads(need scope) bool {
	listed := (sc.gate || !need.gate) && (sc.gate || sc.users || !need.users) && (sc.gate || need.left == "" || sc.left == need.left)
	return listed && (sc.pods || !need.pods) && (sc.budgets || !need.budgets) && (sc.volumes || !need.volumes)
}

// takesForAnother says whether a record takes one StatefulSet for another one.
func takesForAnother(s Snapshot, decision Decision) bool {
	was := s.Record.Baseline.DestinationUID
	return was != "" && decision.Record.Baseline.DestinationUID != was
}
