package plan

import (
	"fmt"
	"math"
	"slices"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// Extent returns the range of the whole application: the recorded one, or else the range of the source, joined
// with a destination that owns the rest.
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

// Split reports whether both slices own ordinals, and the ranges are adjacent. They are then one application that
// another migration has left split (KEP-3335, story 1).
func (s Snapshot) Split() bool {
	source, destination := s.Source.Set, s.Destination.Set
	return source.Presence == Seen && destination.Presence == Seen && source.Replicas > 0 && destination.Replicas > 0 &&
		(destination.Start == source.End() || source.Start == destination.End())
}

// Ordinals returns the ordinals of the whole application, ascending; none if its numbers are not valid.
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

// OrdinalsToMove returns the ordinals that a migration that has not begun will move, in their order.
func (s Snapshot) OrdinalsToMove() []int32 {
	if s.Unbounded() != nil {
		return nil
	}
	var ordinals []int32
	for ordinal := s.Source.Set.Start; ordinal < s.Source.Set.End(); ordinal++ {
		if s.ToMove(ordinal) {
			ordinals = append(ordinals, ordinal)
		}
	}
	if s.Spec.Order != api.LowestFirst {
		slices.Reverse(ordinals)
	}
	return ordinals
}

// ToMove reports whether a migration that has not begun will move the ordinal.
func (s Snapshot) ToMove(ordinal int32) bool {
	set, total := s.Source.Set, Total(s.Spec, s.Source.Set.Replicas)
	if s.Spec.Order == api.LowestFirst {
		return set.Start <= ordinal && ordinal < set.Start+total
	}
	return set.End()-total <= ordinal && ordinal < set.End()
}

// Total returns how many ordinals of a source with that number of replicas will move.
func Total(spec Spec, replicas int32) int32 {
	if spec.Count > 0 {
		return min(spec.Count, replicas)
	}
	return replicas
}

// Span formats a range of ordinals for people.
func Span(start, replicas int32) string { return fmt.Sprintf("[%d,%d)", start, start+replicas) }

// Limits of one migration. Its numbers are read from objects that others write, and it uses memory and time in
// proportion to them. They are checked before that.
const (
	// MaxOrdinals bounds the replicas of one slice and of the whole application. It is far above the size of a
	// cluster: 150000 pods (kubernetes.io, Considerations for large clusters).
	MaxOrdinals = 1_000_000
	// MaxClaims bounds the claims of all ordinals. Each claim is compared with its volumes on both sides, and a
	// pod for each would exceed the size of a cluster.
	MaxClaims = 150_000
)

// bounded reports whether a range of ordinals is valid: it has no negative number, and its end fits into 32 bits,
// as in StatefulSetOrdinals of apps/v1.
func bounded(start, replicas int32) bool {
	return start >= 0 && replicas >= 0 && replicas <= MaxOrdinals && start <= math.MaxInt32-replicas
}

// Unbounded returns a finding if the numbers of a snapshot are too large, or not valid, to iterate over; nil: they
// are valid.
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
			Remedy:  "another client has changed status.baseline: restore the former values, or delete the migration",
		}
	case !bounded(s.Extent()):
		start, replicas := s.Extent()
		finding := s.Source.tooMany(start, replicas)
		return &finding
	}
	if _, replicas := s.Extent(); int64(replicas)*int64(len(s.Source.Set.Templates)) > MaxClaims {
		return &Finding{
			Reason: api.ReasonOrdinalsUnbounded, Object: s.Source.Object(),
			Message: fmt.Sprintf("%s has %d claims for each of %d replicas: more than %d cannot be kept apart", s.Source.Object(), len(s.Source.Set.Templates), replicas, MaxClaims),
			Remedy:  s.Source.scaleDown(),
		}
	}
	return nil
}

// unbounded returns a finding if the range of one slice is not valid.
func (s Side) unbounded() *Finding {
	if bounded(s.Set.Start, s.Set.Replicas) {
		return nil
	}
	finding := s.tooMany(s.Set.Start, s.Set.Replicas)
	return &finding
}

func (s Side) tooMany(start, replicas int32) Finding {
	return Finding{
		Reason: api.ReasonOrdinalsUnbounded, Object: s.Object(),
		Message: fmt.Sprintf("%s has %d replicas from ordinal %d: neither may be negative, more than %d replicas cannot be moved, and the last ordinal must be below %d", s.Object(), replicas, start, MaxOrdinals, math.MaxInt32),
		Remedy:  s.scaleDown(),
	}
}

func (s Side) scaleDown() string {
	return "find the client that wrote it, and restore the former numbers: " + s.Kubectl().Do("get", s.Set.ResourceName(), "-n", s.Namespace, s.Set.Name, "--show-managed-fields", "-o", "yaml")
}
