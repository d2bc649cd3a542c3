package planner

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// lossPlanner detects losses: of a side, a StatefulSet, or a disk (I3).
type lossPlanner struct{ *View }

// lost stalls, before any write to it, when one of the StatefulSets is no longer the one with which the migration
// began. A Migration that is being deleted completes.
func (p lossPlanner) lost() *plan.Decision {
	decision := cmp.Or(p.lostSource(), p.otherClaims(), p.lostDestination())
	if decision == nil || !p.Deleting || decision.Record != nil {
		return decision
	}
	return p.letGo()
}

// letGo completes a Migration that is being deleted and can no longer do anything safely.
func (p lossPlanner) letGo() *plan.Decision {
	next := p.Record
	next.Completed = api.ReasonReleased
	return &plan.Decision{Record: &next}
}

func (p lossPlanner) lostSource() *plan.Decision {
	source := p.Source.Set
	emptied := p.layout.broken == "" && p.whole()
	if source.Presence == plan.Absent && (!emptied || !p.Spec.DeleteSource) {
		return plan.Stalled(api.ReasonSourceMissing,
			fmt.Sprintf("%s does not exist any more%s", p.Source.Object(), againPlanner(p).between()),
			"create it again with the same ordinals, claim templates and claims: it then counts as the former one; else delete this Migration; for the ordinals that the source still had: kubectl migrate explain SourceReplaced")
	}
	return againPlanner(p).madeAgain()
}

// lostDestination stalls when the StatefulSet that has taken ordinals is deleted, or was recreated and its pods
// may run on other disks. A recreated one is accepted if it had no ordinals, or if it has exactly the disks that
// were moved there.
func (p lossPlanner) lostDestination() *plan.Decision {
	set, known := p.Destination.Set, p.Record.Baseline.DestinationUID
	if known == "" || p.Destination.Lost || set.Presence == plan.Seen && set.UID == known {
		return nil
	}
	given := p.given()
	switch {
	case set.Presence == plan.Seen && len(given) == 0:
		return p.takenFor(set.UID)
	case set.Presence == plan.Seen && !p.Focused && p.layout.broken == "" && p.anotherDisk() == nil:
		return p.takenFor(set.UID)
	case set.Presence == plan.Seen:
		return plan.Stalled(api.ReasonDestinationReplaced,
			fmt.Sprintf("%s was deleted and created again since it took ordinal %s: its pods may run on other disks", p.Destination.Object(), plan.Listed(given)),
			"give it its former ordinals, on claims that are bound to their former disks, and the migration continues; else return to the disks that the source has kept: "+p.command("recover"))
	case len(given) == 0:
		return nil // it is created again
	}
	return plan.Stalled(api.ReasonDestinationMissing,
		fmt.Sprintf("%s was deleted, and it owned ordinal %s", p.Destination.Object(), plan.Listed(given)),
		fmt.Sprintf("if its claims are still there, create it again with the same ordinals; if cluster %s or its data is lost for good: %s", p.Destination.Cluster, p.command("recover")))
}

// otherClaims stalls while the destination's claim templates differ from the source's, which only a recreated
// StatefulSet can cause. Pods started there would use new, empty disks, whatever its claims are bound to (I3).
// During a rollback no pod is started there.
func (p lossPlanner) otherClaims() *plan.Decision {
	if p.Template.Claims == "" || p.Destination.Lost || p.direction() == api.Back || p.Record.Idle() && p.whole() {
		return nil
	}
	return plan.Stalled(api.ReasonDestinationReplaced,
		fmt.Sprintf("%s was deleted and created again with other claim templates (%s): its pods would start on other disks", p.Destination.Object(), p.Template.Claims),
		fmt.Sprintf("create it again with those of the source and the ordinals that it has; without ordinals it is enough to delete it, which keeps its claims: %s; or go back: %s", p.Destination.Kubectl().Do("delete", p.Destination.Set.ResourceName(), "-n", p.Destination.Namespace, p.Destination.Set.Name, "--cascade=orphan"), p.command("rollback")))
}

// takenFor records the UID of the destination's StatefulSet; empty: there is none any more.
func (p lossPlanner) takenFor(uid types.UID) *plan.Decision {
	next, base := p.Record, *p.Record.Baseline
	base.DestinationUID = uid
	next.Baseline = &base
	return &plan.Decision{Record: &next}
}

// given returns the ordinals that the destination must own: those that the source does not own and that are not in
// flight.
func (p lossPlanner) given() []int32 {
	return slices.DeleteFunc(p.away(), p.Record.Moves)
}

// away returns the ordinals that the source does not own, including the ordinal in flight, which may run at the
// destination.
func (p lossPlanner) away() []int32 {
	var away []int32
	for ordinal := p.layout.lo; ordinal < p.layout.hi; ordinal++ {
		if p.Source.Set.Presence != plan.Seen || !p.Source.Set.Has(ordinal) {
			away = append(away, ordinal)
		}
	}
	return away
}

// lostDisks stalls when a moved ordinal is not on its disk (I3): its claim was deleted and recreated, empty.
// Nothing more is stopped then, nothing is completed, and no record of the disk is deleted.
func (p lossPlanner) lostDisks() *plan.Decision {
	if p.Focused || p.Destination.Lost {
		return nil
	}
	problem := p.anotherDisk()
	if problem == nil {
		return nil
	}
	problem.Remedy += "; to use the disk in the state that the source left: " + p.command("recover")
	return &plan.Decision{Hold: problem}
}

// anotherDisk returns a problem if an ordinal that the destination must own is not on its disk.
func (p lossPlanner) anotherDisk() *volumes.Reason {
	given := map[int32]bool{}
	for _, ordinal := range p.given() {
		given[ordinal] = true
	}
	for _, v := range p.Volumes {
		if !given[v.Ordinal] || !p.Destination.Set.Has(v.Ordinal) && !p.left(v) {
			continue
		}
		moved := volumes.Pair{Shared: v.Shared(p.Spec), Carried: !p.initially(v.Ordinal), Giver: v.Source, Taker: v.Destination}
		if problem, _ := v.Way().Check(moved, volumes.AfterArrival); problem != nil {
			return problem
		}
	}
	return nil
}

// left reports whether the volume of an ordinal was moved away from the source. Scaling down the source by hand
// moves no volume.
func (p lossPlanner) left(v plan.OrdinalVolume) bool {
	volume := v.Source.Volume
	return !volume.Found || !volume.ClaimRef.Names(v.Source.Ref)
}

// offItsDisk stalls when the ordinal that was just started is no longer on its disk. Its claim was deleted in the
// meantime, and its controller has created an empty one.
func (p lossPlanner) offItsDisk(k int32) *plan.Decision {
	if p.Focused && !p.VolumesRead {
		return nil
	}
	for _, v := range p.Volumes {
		if v.Ordinal != k {
			continue
		}
		pair := p.pair(v)
		pair.Carried = p.takerName == plan.DestinationSide
		if problem, _ := v.Way().Check(pair, volumes.AfterArrival); problem != nil {
			return p.at(api.StepAwaitReadiness, &plan.Decision{Hold: problem})
		}
	}
	return nil
}

// recoverable precedes everything else in mode Recover. It requires the user's confirmation that the destination
// is off. It resumes a completed migration as long as the source still has its parked disks and no ordinal was
// moved on since.
func (p lossPlanner) recoverable() *plan.Decision {
	if p.Spec.Mode != api.ModeRecover || p.Deleting {
		return nil
	}
	base := p.Record.Baseline
	switch {
	case p.Record.Completed == api.ReasonRecovered, p.Record.Completed == api.ReasonRolledBack:
		return nil
	case base == nil:
		return plan.Stalled(api.ReasonNothingToRecover, "no ordinal has left the source: the migration has not begun", "set spec.mode to Run, or delete this Migration")
	case p.Spec.SameCluster || base.SourceCluster == base.DestinationCluster:
		return plan.Stalled(api.ReasonNothingToRecover, "source and destination are in one cluster, and share their volumes: data lost there are lost here too",
			"set spec.mode to Rollback, which reads both sides")
	case p.MovedOn != "":
		return p.movedOn()
	case p.Spec.Recovery != base.DestinationCluster:
		return p.unconfirmed()
	case p.Record.Completed == api.ReasonMoved && p.Spec.DeleteSource:
		return plan.Stalled(api.ReasonNothingToRecover, "the migration was completed, and the source was deleted as requested: no record of the disks is left there",
			"restore the application from a backup")
	case p.Record.Completed == api.ReasonMoved && !p.Spec.NothingMovedOn:
		return p.unsettled()
	case p.Record.Completed == api.ReasonMoved:
		next := p.Record
		next.Completed = ""
		return &plan.Decision{Record: &next}
	}
	return nil
}

func (p lossPlanner) unconfirmed() *plan.Decision {
	id := p.Record.Baseline.DestinationCluster
	return plan.Stalled(api.ReasonRecoveryUnconfirmed,
		fmt.Sprintf("recovery would start ordinal %s at the source without asking cluster %s; if it still runs there, it runs twice, on one disk, and destroys the data%s", plan.Listed(p.away()), p.Destination.Cluster, p.overtaken()),
		fmt.Sprintf("turn off the nodes of that cluster, or disconnect them from the storage; then: %s, or spec.recovery.destinationIsOff: %s", p.command("recover"), id))
}

// overtaken names the claim templates whose disks at the source are in the state in which the ordinals left them.
func (p lossPlanner) overtaken() string {
	var templates []string
	for _, v := range p.Volumes {
		if v.Separate() && !slices.Contains(templates, v.Template) {
			templates = append(templates, v.Template)
		}
	}
	if len(templates) == 0 {
		return ""
	}
	return fmt.Sprintf("; each side has its own disks of claim template %s, and data written since the ordinals left the source are lost", strings.Join(templates, ", "))
}

// movedOn stalls while another migration has moved ordinals on from the destination: they run, or may run, on the
// disks that are parked at the source (I1, I2).
func (p lossPlanner) movedOn() *plan.Decision {
	return plan.Stalled(api.ReasonMovedOn,
		fmt.Sprintf("%s has moved ordinals on from %s: recovery would start ordinal %s at the source, and an ordinal that runs elsewhere would run twice, on one disk", p.MovedOn, p.Destination.Object(), plan.Listed(p.away())),
		fmt.Sprintf("leave them where they are: %s; to return them to the source, create a Migration from there; this one continues only when all ordinals of the other are rolled back or recovered", p.command("resume")))
}

// unsettled requires confirmation that a completed migration was the last one. Ordinals that another migration has
// since moved on from the destination run on the disks that are parked at the source. That migration may be
// deleted, and nothing here shows it.
func (p lossPlanner) unsettled() *plan.Decision {
	return plan.Stalled(api.ReasonRecoveryUnconfirmed,
		fmt.Sprintf("the migration was completed, and it is not confirmed that no ordinal was moved on from cluster %s since; such an ordinal runs elsewhere, and would run twice, on one disk", p.Destination.Cluster),
		"check every cluster where ordinals of it may run, on these disks or on others; if none runs: "+p.command("recover")+", or spec.recovery.nothingMovedOn: true")
}

// DestinationSlice returns the slice of the destination. For a lost destination, that is the ordinals that are
// neither back nor in flight.
func DestinationSlice(s plan.Snapshot) plan.Set {
	if s.Destination.Lost && s.Record.Baseline != nil {
		return lostSlice(s)
	}
	return s.Destination.Set
}

// lostSlice returns the slice of a lost destination: the ordinals that the source does not own and that are not
// moving back.
func lostSlice(s plan.Snapshot) plan.Set {
	base, source := s.Record.Baseline, s.Source.Set
	moved := base.Replicas
	if source.Presence == plan.Seen {
		moved -= source.Replicas
	}
	for _, handoff := range s.Record.InFlight() {
		if source.Presence != plan.Seen || !source.Has(handoff.Ordinal) {
			moved--
		}
	}
	moved = max(0, moved)
	slice := plan.Set{Presence: plan.Seen, Start: base.Start, Replicas: moved}
	if s.Spec.Order != api.LowestFirst {
		slice.Start = base.Start + base.Replicas - moved
	}
	return slice
}

// StartedByHand returns a text if the source owns ordinals of a lost destination that no handoff has moved back.
// They may run on empty disks, while their own volumes are parked (I3).
func StartedByHand(s plan.Snapshot) string {
	given := s.Record.Given
	if !s.Destination.Lost || given == nil {
		return ""
	}
	if lostSlice(s).Replicas >= *given-s.Record.CountInFlight() {
		return ""
	}
	return fmt.Sprintf("the source owns %s, and %d ordinals were at the destination that is lost", plan.Span(s.Source.Set.Start, s.Source.Set.Replicas), *given)
}

// DestinationCount returns the number of ordinals that the destination owns, for the record.
func DestinationCount(s plan.Snapshot) *int32 {
	if StartedByHand(s) != "" {
		return s.Record.Given
	}
	return new(DestinationSlice(s).Replicas)
}
