package planner

import (
	"cmp"
	"fmt"
	"strings"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// foreignPlanner detects changes by other writers during the move (I1, I9).
type foreignPlanner struct{ *View }

// layout is the position of a migration, derived from the two slices.
type layout struct {
	// lo and hi bound the application's ordinals: [lo,hi).
	lo, hi int32
	// moved is how many ordinals the destination owns. initial is how many it owned before, which is where a
	// rollback ends. target is how many it will own at the end.
	moved, initial, target int32
	// gap is the ordinal that neither slice owns, and next to the destination; gaps is how many there are.
	gap  *int32
	gaps int32
	// broken is the reason that the slices are not the two ends of [lo,hi); empty: they are.
	broken string
	lowest bool
}

func layoutOf(s plan.Snapshot) layout {
	base := s.Record.Baseline
	l := layout{
		lo: base.Start, hi: base.Start + base.Replicas,
		moved: s.Destination.Set.Replicas, initial: base.DestinationReplicas,
		target: base.DestinationReplicas + plan.Total(s.Spec, base.Replicas-base.DestinationReplicas),
		lowest: s.Spec.Order == api.LowestFirst,
	}
	source, destination := s.Source.Set, s.Destination.Set
	if s.Destination.Lost {
		destination = lostSlice(s)
		l.moved, l.initial = destination.Replicas, 0
	}
	left := base.Replicas - l.moved - source.Replicas
	switch unbounded := s.Unbounded(); {
	case unbounded != nil:
		l.broken = unbounded.Message
	case StartedByHand(s) != "":
		l.broken = StartedByHand(s)
	case left < 0 || left > max(1, s.Record.CountInFlight()):
		l.broken = fmt.Sprintf("the slices own %d and %d ordinals of %d", source.Replicas, destination.Replicas, base.Replicas)
	case l.moved > 0 && destination.Start != l.destinationStart():
		l.broken = fmt.Sprintf("the destination owns %s instead of %s", plan.Span(destination.Start, destination.Replicas), plan.Span(l.destinationStart(), l.moved))
	case source.Replicas > 0 && source.Start != l.sourceStart(left):
		l.broken = fmt.Sprintf("the source owns %s instead of %s", plan.Span(source.Start, source.Replicas), plan.Span(l.sourceStart(left), source.Replicas))
	case left > 0:
		ordinal := l.nextForward()
		l.gap, l.gaps = &ordinal, left
	}
	return l
}

func (l layout) destinationStart() int32 {
	if l.lowest {
		return l.lo
	}
	return l.hi - l.moved
}

func (l layout) sourceStart(left int32) int32 {
	if l.lowest {
		return l.lo + l.moved + left
	}
	return l.lo
}

// nextForward returns the ordinal next to the destination's end, which moves next in direction Forward.
func (l layout) nextForward() int32 {
	if l.lowest {
		return l.lo + l.moved
	}
	return l.hi - l.moved - 1
}

// between returns the ordinals that neither slice owns, the one next to the destination first.
func (l layout) between() []int32 {
	var all []int32
	for i := range l.gaps {
		if l.lowest {
			all = append(all, *l.gap+i)
		} else {
			all = append(all, *l.gap-i)
		}
	}
	return all
}

// nextBack returns the ordinal at the destination's end, which moves next in direction Back.
func (l layout) nextBack() int32 {
	if l.lowest {
		return l.lo + l.moved - 1
	}
	return l.hi - l.moved
}

// emptyStart returns the start of a destination without replicas.
func (l layout) emptyStart() int32 {
	if l.lowest {
		return l.lo
	}
	return l.hi
}

// without returns the range of a slice that gives an ordinal at one of its ends.
func without(set plan.Set, ordinal int32) (start, replicas int32) {
	if ordinal == set.Start && set.Replicas > 1 {
		return set.Start + 1, set.Replicas - 1
	}
	return set.Start, set.Replicas - 1
}

// with returns the range of a slice that takes an ordinal next to one of its ends.
func with(set plan.Set, ordinal int32) (start, replicas int32) {
	if set.Replicas == 0 || ordinal < set.Start {
		return ordinal, set.Replicas + 1
	}
	return set.Start, set.Replicas + 1
}

// foreign stalls when another writer has changed the state that the migration owns (I9): the existence and the
// ranges of both StatefulSets, and the budgets.
//
// A Migration that is being deleted completes instead: its user has given it up, and it can no longer do anything
// safely.
func (p foreignPlanner) foreign() *plan.Decision {
	decision := cmp.Or(p.reserved(), lossPlanner(p).lostDisks(), p.foreignSets())
	if decision == nil {
		return p.heed()
	}
	if decision.Record != nil || !p.Deleting {
		return decision
	}
	return p.giveUp()
}

// giveUp completes a Migration that is being deleted. First, no volume that an ordinal has left is read any more, and all
// of them are parked again: nothing else would end their readers.
func (p foreignPlanner) giveUp() *plan.Decision {
	return cmp.Or(proofPlanner(p).lent(), lossPlanner(p).letGo())
}

// heed follows the changes of the budgets' authors. A Migration that is being deleted does not wait for them. It
// leaves the forms of other writers, and restores its own ones and the reclaim policies of the volumes.
func (p foreignPlanner) heed() *plan.Decision {
	decision := wordPlanner{p.View, budgetPlanner(p)}.heed()
	if decision == nil || decision.Record != nil || !p.Deleting {
		return decision
	}
	if p.downInFlight() > 0 { // an ordinal beside this one starts first
		return nil
	}
	if p.Focused { // a decision about the budgets needs all ordinals
		return cmp.Or(settleOf(p.View).keepPolicies(), done())
	}
	return cmp.Or(budgetPlanner(p).restoreOwn(), settleOf(p.View).keepPolicies(), p.giveUp())
}

func (p foreignPlanner) foreignSets() *plan.Decision {
	source, destination := p.Source.Set, p.Destination.Set
	switch {
	case source.Terminating && !p.mayGo():
		return plan.Stalled(api.ReasonSourceBeingDeleted, p.Source.Object()+" is being deleted: all of its pods may be deleted at any moment", p.Source.WhatKeepsIt())
	case destination.Terminating && p.direction() == api.Forward:
		return plan.Stalled(api.ReasonDestinationDeleted, p.Destination.Object()+" is being deleted: pods started there would be stopped again", p.Destination.WhatKeepsIt())
	}
	broken := p.layout.broken
	if broken == "" {
		broken = p.strays()
	}
	if broken != "" && !p.Deleting {
		if decision := p.takeStartBack(); decision != nil {
			return decision
		}
	}
	if broken == "" {
		broken = p.startedEarly()
	}
	if broken == "" {
		return nil
	}
	return plan.Stalled(api.ReasonForeignScale,
		fmt.Sprintf("replicas or ordinals were changed%s: %s", p.scaledBy(), broken),
		"stop that writer and restore the former values; the migration then continues")
}

// strays returns a text if neither slice owns an ordinal that is not in flight; empty: there is none.
func (p *View) strays() string {
	for _, k := range p.layout.between() {
		if !p.Record.Moves(k) {
			return fmt.Sprintf("neither slice owns ordinal %d, and no handoff of it is in progress", k)
		}
	}
	return ""
}

// mayGo reports whether the source may be deleted: the spec requests it, and nothing is left to move there or to
// move back.
func (p foreignPlanner) mayGo() bool {
	return p.Spec.DeleteSource && p.whole() && p.direction() == api.Forward
}

// startedEarly returns a text if another writer has started the ordinal in flight on a side without its volume;
// empty: none has. Its pod waits for a volume that does not arrive, or runs on an empty one (I3).
func (p foreignPlanner) startedEarly() string {
	if p.Record.Handoff == nil {
		return ""
	}
	k := p.Record.Handoff.Ordinal
	for _, v := range p.Volumes {
		if v.Ordinal != k {
			continue
		}
		pair := p.pair(v)
		side := p.taker
		if p.giver.Set.Has(k) {
			side, pair.Giver, pair.Taker = p.giver, pair.Taker, pair.Giver
		}
		if side.Set.Has(k) && pair.Misplaced() && !pair.Taker.Bound() {
			return fmt.Sprintf("ordinal %d was started in cluster %s, where claim %s/%s is without its volume", k, side.Cluster, pair.Taker.Ref.Namespace, pair.Taker.Ref.Name)
		}
	}
	return ""
}

func (p foreignPlanner) scaledBy() string {
	var writers []string
	for _, side := range []*plan.Side{&p.Source, &p.Destination} {
		if side.Set.ScalesBy != "" {
			writers = append(writers, fmt.Sprintf(" by %q on %s", side.Set.ScalesBy, side.Object()))
		}
	}
	if len(writers) == 0 {
		return " by another writer"
	}
	return strings.Join(writers, " and")
}

// NextOrdinal returns the ordinal that moves next in the current direction; false: none is left to move.
func NextOrdinal(s plan.Snapshot) (ordinal int32, more bool) { return viewOf(s).next() }

// countable holds while the numbers are too large, or not valid, to iterate over. A Migration that is being
// deleted completes.
func (p foreignPlanner) countable() *plan.Decision {
	finding := p.Unbounded()
	switch {
	case finding == nil:
		return nil
	case p.Deleting && p.Record.Baseline != nil:
		return lossPlanner(p).letGo()
	}
	return &plan.Decision{Findings: []plan.Finding{*finding}, Hold: finding.Hold()}
}

// reserved stalls when a slice of our own kind skips ordinals. It then owns the same number of ordinals beyond its
// end, which may run on the other side (I1).
func (p foreignPlanner) reserved() *plan.Decision {
	for _, side := range []*plan.Side{&p.Source, &p.Destination} {
		if side.Set.Presence != plan.Seen || !side.Set.Reserves {
			continue
		}
		return plan.Stalled(api.ReasonForeignScale,
			fmt.Sprintf("reserveOrdinals of %s was changed by %q: its slice now owns ordinals beyond its end, which may run on the other side", side.Object(), cmp.Or(side.Set.ReservesBy, "unknown")),
			fmt.Sprintf("clear it: %s; the migration then continues", side.Kubectl().Do("patch", side.Set.ResourceName(), "-n", side.Namespace, side.Set.Name, "--type=merge", "-p", `{"spec":{"reserveOrdinals":null}}`)))
	}
	return nil
}
