package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// lost stalls when one of the StatefulSets is not the one any more with which the migration
// began, before anything is written on it. A Migration that is being deleted lets go.
func (p *planner) lost() *Decision {
	decision := cmp.Or(p.lostSource(), p.lostDestination())
	if decision == nil || !p.Deleting || decision.Record != nil {
		return decision
	}
	return p.letGo()
}

// letGo ends a Migration that is being deleted and can do nothing safely any more.
func (p *planner) letGo() *Decision {
	next := p.Record
	next.Completed = api.ReasonReleased
	return &Decision{Record: &next}
}

func (p *planner) lostSource() *Decision {
	source := p.Source.Set
	emptied := p.layout.broken == "" && p.whole()
	switch {
	case source.Presence == Absent && (!emptied || !p.Spec.DeleteSource):
		return Stalled(api.ReasonSourceMissing,
			fmt.Sprintf("StatefulSet %s/%s does not exist in cluster %s any more", p.Source.Namespace, source.Name, p.Source.Cluster),
			"no other one can take its place: delete this Migration, and see the runbook for the ordinals that the source still had")
	case source.Presence == Seen && source.UID != p.Record.Baseline.SourceUID:
		return Stalled(api.ReasonSourceReplaced,
			fmt.Sprintf("StatefulSet %s/%s in cluster %s was deleted and created again since the migration began", p.Source.Namespace, source.Name, p.Source.Cluster),
			"delete this Migration and create a new one")
	}
	return nil
}

// lostDestination stalls when the StatefulSet that has taken ordinals is gone, or is another
// one whose pods may run on other disks. Another one in the place of one without ordinals,
// or on the very disks that were carried over, is taken for it from then on.
func (p *planner) lostDestination() *Decision {
	set, known := p.Destination.Set, p.Record.Baseline.DestinationUID
	given := p.given()
	switch {
	case known == "" || p.Destination.Lost || set.Presence == Seen && set.UID == known:
		return nil
	case set.Presence == Seen && len(given) == 0:
		return p.takenFor(set.UID)
	case set.Presence == Seen && !p.Focused && p.layout.broken == "" && p.anotherDisk() == nil:
		return p.takenFor(set.UID)
	case set.Presence == Seen:
		return Stalled(api.ReasonDestinationReplaced,
			fmt.Sprintf("%s was deleted and created again since it took ordinal %s: its pods may run on other disks", p.Destination.object(), listOrdinals(given)),
			"give it the ordinals that it had, on claims that are bound to the disks they had, and the migration goes on; else go back to the disks as they were left: "+p.command("recover"))
	case len(given) == 0:
		return nil // it is made again
	}
	return Stalled(api.ReasonDestinationMissing,
		fmt.Sprintf("%s was deleted, and ordinal %s was its own", p.Destination.object(), listOrdinals(given)),
		fmt.Sprintf("if its claims are still there, create it again with the same ordinals; if cluster %s or its data is lost for good: %s", p.Destination.Cluster, p.command("recover")))
}

// takenFor records which StatefulSet is the destination; empty: none any more.
func (p *planner) takenFor(uid types.UID) *Decision {
	next, base := p.Record, *p.Record.Baseline
	base.DestinationUID = uid
	next.Baseline = &base
	return &Decision{Record: &next}
}

// given are the ordinals that the destination must have: those that the source does not
// own and that are not on their way.
func (p *planner) given() []int32 {
	moving := func(ordinal int32) bool { return p.Record.Handoff != nil && p.Record.Handoff.Ordinal == ordinal }
	return slices.DeleteFunc(p.away(), moving)
}

// away are the ordinals that the source does not own: the one that is on its way may run at
// the destination, too.
func (p *planner) away() []int32 {
	var away []int32
	for ordinal := p.layout.lo; ordinal < p.layout.hi; ordinal++ {
		if p.Source.Set.Presence != Seen || !p.Source.Set.Has(ordinal) {
			away = append(away, ordinal)
		}
	}
	return away
}

func listOrdinals(ordinals []int32) string {
	const shown = 5
	texts := make([]string, 0, shown)
	for _, ordinal := range ordinals[:min(shown, len(ordinals))] {
		texts = append(texts, strconv.Itoa(int(ordinal)))
	}
	text := strings.Join(texts, ", ")
	if more := len(ordinals) - shown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// lostDisks stalls when an ordinal that has moved is not on the disk that it had (I3): its
// claim was deleted and made again, empty. Nothing more is stopped then, nothing is
// completed, and no record of the disk is deleted.
func (p *planner) lostDisks() *Decision {
	if p.Focused || p.Destination.Lost {
		return nil
	}
	problem := p.anotherDisk()
	if problem == nil {
		return nil
	}
	return Stalled(problem.Reason, problem.Message, fmt.Sprintf("%s; if the disk is to be used as the source left it: %s", problem.Remedy, p.command("recover")))
}

// anotherDisk says which of the ordinals that the destination must have is not on its disk.
func (p *planner) anotherDisk() *volumes.Problem {
	given := map[int32]bool{}
	for _, ordinal := range p.given() {
		given[ordinal] = true
	}
	for _, v := range p.Volumes {
		if !given[v.Ordinal] || !p.Destination.Set.Has(v.Ordinal) && !p.left(v) {
			continue
		}
		taken := volumes.Taken{Shared: p.Spec.SameCluster, Made: !p.initially(v.Ordinal), From: v.Source, At: v.Destination}
		if problem := taken.Check(); problem != nil {
			return problem
		}
	}
	return nil
}

// left says whether the volume of an ordinal was carried away from the source: somebody who
// scales the source down takes none of them along.
func (p *planner) left(v OrdinalVolume) bool {
	volume := v.Source.Volume
	return !volume.Found || !volume.ClaimRef.Names(v.Source.Ref)
}

// offItsDisk stalls when the ordinal that has just been started is not on its disk any more:
// its claim was deleted meanwhile, and its controller has made an empty one.
func (p *planner) offItsDisk(k int32) *Decision {
	if p.Focused && !p.VolumesRead {
		return nil
	}
	for _, v := range p.Volumes {
		if v.Ordinal != k {
			continue
		}
		pair := p.pair(v)
		taken := volumes.Taken{Shared: pair.Shared, Made: p.takerName == DestinationSide, From: pair.Giver, At: pair.Taker}
		if problem := taken.Check(); problem != nil {
			return p.at(api.StepAwaitReadiness, Stalled(problem.Reason, problem.Message, problem.Remedy))
		}
	}
	return nil
}

// initially says whether the destination owned an ordinal before the migration began.
func (p *planner) initially(ordinal int32) bool {
	if p.layout.lowest {
		return ordinal < p.layout.lo+p.layout.initial
	}
	return ordinal >= p.layout.hi-p.layout.initial
}

// reserved stalls when a slice of our own kind has been told to skip ordinals: it then owns
// as many more beyond its end, and those run on the other side (I1).
func (p *planner) reserved() *Decision {
	for _, side := range []*Side{&p.Source, &p.Destination} {
		if side.Set.Presence != Seen || !side.Set.Reserves {
			continue
		}
		return Stalled(api.ReasonForeignScale,
			fmt.Sprintf("reserveOrdinals of %s was changed by %q: its slice now owns ordinals beyond its end, which may run on the other side", side.object(), cmp.Or(side.Set.ReservesBy, "unknown")),
			fmt.Sprintf("clear it: kubectl patch %s -n %s %s --type=merge -p '{\"spec\":{\"reserveOrdinals\":null}}'; the migration then goes on by itself", side.Set.resource(), side.Namespace, side.Set.Name))
	}
	return nil
}
