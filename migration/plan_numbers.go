package migration

import (
	"fmt"
	"math"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

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

// unbounded refuses the numbers of a snapshot that nothing may be counted up to; nil: they
// are such as an application has.
func (s Snapshot) unbounded() *Finding {
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
	case !bounded(s.extent()):
		start, replicas := s.extent()
		finding := s.Source.tooMany(start, replicas)
		return &finding
	}
	if _, replicas := s.extent(); int64(replicas)*int64(len(s.Source.Set.Templates)) > MaxClaims {
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
func (p *planner) countable() *Decision {
	finding := p.unbounded()
	switch {
	case finding == nil:
		return nil
	case p.Deleting && p.Record.Baseline != nil:
		return p.letGo()
	}
	return &Decision{Findings: []Finding{*finding}, Hold: finding.hold()}
}
