package plan

import "github.com/sliceshift/sliceshift/volumes"

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
