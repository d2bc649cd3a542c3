package plan

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// foreignPlanner finds what somebody else has changed in mid-move (I1, I9).
type foreignPlanner struct{ *View }

// layout is where a migration stands, read off the two slices.
type layout struct {
	// lo and hi bound the application's ordinals: [lo,hi).
	lo, hi int32
	// moved is how many ordinals the destination owns; initial how many it owned before,
	// which is where a rollback ends, and target how many it shall own in the end.
	moved, initial, target int32
	// gap is the ordinal that neither slice owns.
	gap *int32
	// broken says why the slices are not two ends of [lo,hi); empty when they are.
	broken string
	lowest bool
}

func layoutOf(s Snapshot) layout {
	base := s.Record.Baseline
	l := layout{
		lo: base.Start, hi: base.Start + base.Replicas,
		moved: s.Destination.Set.Replicas, initial: base.DestinationReplicas,
		target: base.DestinationReplicas + Total(s.Spec, base.Replicas-base.DestinationReplicas),
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
	case left < 0 || left > 1:
		l.broken = fmt.Sprintf("the slices own %d and %d ordinals of %d", source.Replicas, destination.Replicas, base.Replicas)
	case l.moved > 0 && destination.Start != l.destinationStart():
		l.broken = fmt.Sprintf("the destination owns %s instead of %s", Span(destination.Start, destination.Replicas), Span(l.destinationStart(), l.moved))
	case source.Replicas > 0 && source.Start != l.sourceStart(left):
		l.broken = fmt.Sprintf("the source owns %s instead of %s", Span(source.Start, source.Replicas), Span(l.sourceStart(left), source.Replicas))
	case left == 1:
		ordinal := l.nextForward()
		l.gap = &ordinal
	}
	return l
}

// Extent is the range of the whole application: what was recorded, or else what the source
// owns, and with it a destination that owns the rest.
func (s Snapshot) Extent() (start, replicas int32) {
	if base := s.Record.Baseline; base != nil {
		return base.Start, base.Replicas
	}
	source, destination := s.Source.Set, s.Destination.Set
	start, replicas = source.Start, source.Replicas
	if s.Split() {
		start, replicas = min(start, destination.Start), replicas+destination.Replicas
	}
	return start, replicas
}

// Split says whether both slices own ordinals, and side by side: then they are one
// application, which another migration has left so (KEP-3335, story 1).
func (s Snapshot) Split() bool {
	source, destination := s.Source.Set, s.Destination.Set
	return source.Presence == Seen && destination.Presence == Seen && source.Replicas > 0 && destination.Replicas > 0 &&
		(destination.Start == source.End() || source.Start == destination.End())
}

// Ordinals are those of the whole application, ascending; none where its numbers are no application's.
func (s Snapshot) Ordinals() []int32 {
	if s.Unbounded() != nil {
		return nil
	}
	start, replicas := s.Extent()
	ordinals := make([]int32, 0, replicas)
	for ordinal := start; ordinal < start+replicas; ordinal++ {
		ordinals = append(ordinals, ordinal)
	}
	return ordinals
}

// Total is how many ordinals of a source of so many replicas shall move.
func Total(spec Spec, replicas int32) int32 {
	if spec.Count > 0 {
		return min(spec.Count, replicas)
	}
	return replicas
}

// Span is a range of ordinals, as people read it.
func Span(start, replicas int32) string { return fmt.Sprintf("[%d,%d)", start, start+replicas) }

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

// nextForward is the ordinal next to the destination's end, on its way out.
func (l layout) nextForward() int32 {
	if l.lowest {
		return l.lo + l.moved
	}
	return l.hi - l.moved - 1
}

// nextBack is the ordinal at the destination's end, on its way back.
func (l layout) nextBack() int32 {
	if l.lowest {
		return l.lo + l.moved - 1
	}
	return l.hi - l.moved
}

// emptyStart is the start of a destination without replicas.
func (l layout) emptyStart() int32 {
	if l.lowest {
		return l.lo
	}
	return l.hi
}

// without returns the range of a slice that gives an ordinal at one of its ends.
func without(set Set, ordinal int32) (start, replicas int32) {
	if ordinal == set.Start && set.Replicas > 1 {
		return set.Start + 1, set.Replicas - 1
	}
	return set.Start, set.Replicas - 1
}

// with returns the range of a slice that takes an ordinal next to one of its ends.
func with(set Set, ordinal int32) (start, replicas int32) {
	if set.Replicas == 0 || ordinal < set.Start {
		return ordinal, set.Replicas + 1
	}
	return set.Start, set.Replicas + 1
}

// foreign stalls when somebody else has changed what the migration owns (I9): the
// existence and the ranges of both StatefulSets, and the budgets.
//
// A Migration that is being deleted lets go instead: its user has given it up, and
// it can do nothing safely any more.
func (p foreignPlanner) foreign() *Decision {
	decision := cmp.Or(p.reserved(), lossPlanner(p).lostDisks(), p.foreignSets())
	if decision == nil && !p.stopped() {
		decision = p.foreignBudgets()
	}
	if decision == nil || !p.Deleting {
		return decision
	}
	return lossPlanner(p).letGo()
}

func (p foreignPlanner) foreignBudgets() *Decision {
	for _, side := range []*Side{&p.Source, &p.Destination} {
		if len(side.Budgets) > 1 {
			return severalBudgets(*side)
		}
		for _, budget := range side.Budgets {
			if writer := cmp.Or(budget.EditedBy, budget.RevertedBy); writer != "" {
				return Stalled(api.ReasonForeignBudget,
					fmt.Sprintf("%s was changed by %q while the migration owns it", side.budgetNamed(budget.Name), writer),
					fmt.Sprintf("stop that writer, then hand the budget back: kubectl annotate pdb -n %s %s --overwrite %s=%s", side.Namespace, budget.Name, api.BudgetAnnotationKey, api.BudgetHandedOver))
			}
		}
	}
	return nil
}

// whatKeepsIt shows why a StatefulSet that is being deleted is still there.
func (s Side) whatKeepsIt() string {
	return fmt.Sprintf("a deletion cannot be taken back; wait until it is gone, and see what keeps it: kubectl get %s -n %s %s -o yaml", s.Set.resource(), s.Namespace, s.Set.Name)
}

func (p foreignPlanner) foreignSets() *Decision {
	source, destination := p.Source.Set, p.Destination.Set
	switch {
	case source.Terminating && !p.Spec.DeleteSource:
		return Stalled(api.ReasonSourceBeingDeleted, p.Source.object()+" is being deleted: its pods may all go at any moment", p.Source.whatKeepsIt())
	case destination.Terminating && p.direction() == api.Forward:
		return Stalled(api.ReasonDestinationDeleted, p.Destination.object()+" is being deleted: what is started there would be stopped again", p.Destination.whatKeepsIt())
	}
	broken := p.layout.broken
	if gap := p.layout.gap; broken == "" && gap != nil && (p.Record.Handoff == nil || p.Record.Handoff.Ordinal != *gap) {
		broken = fmt.Sprintf("neither slice owns ordinal %d, and it is not on its way", *gap)
	}
	if broken == "" {
		broken = p.startedEarly()
	}
	if broken == "" {
		return nil
	}
	return Stalled(api.ReasonForeignScale,
		fmt.Sprintf("replicas or ordinals were changed%s: %s", p.scaledBy(), broken),
		"stop that writer and write the former values back; the migration then goes on by itself")
}

// startedEarly says that the ordinal on its way was started by somebody else where its
// volume is not; empty when it was not. Its pod waits for a volume that does not come,
// or runs on an empty one (I3).
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
	for _, side := range []*Side{&p.Source, &p.Destination} {
		if side.Set.ScalesBy != "" {
			writers = append(writers, fmt.Sprintf(" by %q on %s", side.Set.ScalesBy, side.object()))
		}
	}
	if len(writers) == 0 {
		return " by another writer"
	}
	return strings.Join(writers, " and")
}

// NextOrdinal is the one that moves next in the direction of the moment; false: none is left to move.
func NextOrdinal(s Snapshot) (ordinal int32, more bool) { return viewOf(s).next() }

// What one migration may be about. Its numbers come from objects that others write, and
// memory and time are taken in proportion to them: nothing is, before they are bounded.
const (
	// MaxOrdinals bounds the replicas of one slice and of the whole application. It is far
	// above what a cluster runs: 150000 pods (kubernetes.io, Considerations for large clusters).
	MaxOrdinals = 1_000_000
	// MaxClaims bounds the claims of all ordinals: each is compared with its volumes on both
	// sides, and a pod for each of them would be more than a cluster runs.
	MaxClaims = 150_000
)

// bounded says whether a range of ordinals can be one: none is negative, and the end of it
// is a number, too (apps/v1, StatefulSetOrdinals, is of 32 bits).
func bounded(start, replicas int32) bool {
	return start >= 0 && replicas >= 0 && replicas <= MaxOrdinals && start <= math.MaxInt32-replicas
}

// Unbounded refuses the numbers of a snapshot that nothing may be counted up to; nil: they
// are such as an application has.
func (s Snapshot) Unbounded() *Finding {
	for _, side := range []Side{s.Source, s.Destination} {
		if finding := side.unbounded(); finding != nil {
			return finding
		}
	}
	base := s.Record.Baseline
	switch {
	case base != nil && (!bounded(base.Start, base.Replicas) || base.DestinationReplicas < 0 || base.DestinationReplicas > base.Replicas):
		return &Finding{
			Reason: api.ReasonOrdinalsUnbounded, Object: "Migration " + s.Migration.String(),
			Message: fmt.Sprintf("the record of migration %s says that the application began with %d replicas from ordinal %d, %d of them at the destination: no application has those", s.Migration, base.Replicas, base.Start, base.DestinationReplicas),
			Remedy:  "somebody else has written status.baseline: write the former values back, or delete the migration",
		}
	case !bounded(s.Extent()):
		start, replicas := s.Extent()
		finding := s.Source.tooMany(start, replicas)
		return &finding
	}
	if _, replicas := s.Extent(); int64(replicas)*int64(len(s.Source.Set.Templates)) > MaxClaims {
		return &Finding{
			Reason: api.ReasonOrdinalsUnbounded, Object: s.Source.object(),
			Message: fmt.Sprintf("%s has %d claims for each of %d replicas: more than %d cannot be kept apart", s.Source.object(), len(s.Source.Set.Templates), replicas, MaxClaims),
			Remedy:  s.Source.scaleDown(),
		}
	}
	return nil
}

// unbounded refuses the range of one slice.
func (s Side) unbounded() *Finding {
	if bounded(s.Set.Start, s.Set.Replicas) {
		return nil
	}
	finding := s.tooMany(s.Set.Start, s.Set.Replicas)
	return &finding
}

func (s Side) tooMany(start, replicas int32) Finding {
	return Finding{
		Reason: api.ReasonOrdinalsUnbounded, Object: s.object(),
		Message: fmt.Sprintf("%s has %d replicas from ordinal %d: neither may be negative, more than %d replicas cannot be moved, and the last ordinal must be below %d", s.object(), replicas, start, MaxOrdinals, math.MaxInt32),
		Remedy:  s.scaleDown(),
	}
}

func (s Side) scaleDown() string {
	return fmt.Sprintf("see who wrote it, and write the former numbers back: kubectl get %s -n %s %s --show-managed-fields -o yaml", s.Set.resource(), s.Namespace, s.Set.Name)
}

// countable holds while the numbers are such that nothing may be counted up to them. A
// Migration that is being deleted lets go.
func (p foreignPlanner) countable() *Decision {
	finding := p.Unbounded()
	switch {
	case finding == nil:
		return nil
	case p.Deleting && p.Record.Baseline != nil:
		return lossPlanner(p).letGo()
	}
	return &Decision{Findings: []Finding{*finding}, Hold: finding.Hold()}
}

// BeginsAbove says whether the destination is given a slice that begins above 0, of an
// application that begins with the ordinal lo.
func (s Spec) BeginsAbove(lo int32) bool { return s.Order != api.LowestFirst || lo > 0 }

// reserved stalls when a slice of our own kind has been told to skip ordinals: it then owns
// as many more beyond its end, and those run on the other side (I1).
func (p foreignPlanner) reserved() *Decision {
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
