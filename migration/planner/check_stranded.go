package planner

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// Stranded is an ordinal that no slice owns, and that a migration had stopped before its record was lost.
type Stranded struct {
	Ordinal int32
	// By is the UID of that migration, and What is the evidence.
	By   types.UID
	What string
	// side and object identify the object that a user annotates to leave the ordinal out.
	side   plan.Side
	object []string
}

// StrandedOrdinals returns the ordinals next to the slices, or between them, that a former migration has left down. A
// move that started without them would end without them.
func StrandedOrdinals(s plan.Snapshot) []Stranded {
	var found []Stranded
	for _, side := range []plan.Side{s.Source, s.Destination} {
		for _, mark := range side.Marks {
			owned := s.Source.Set.Has(mark.Ordinal) || s.Destination.Set.Has(mark.Ordinal)
			known := slices.ContainsFunc(found, func(other Stranded) bool { return other.Ordinal == mark.Ordinal })
			if owned || known || mark.By == "" || mark.LeftOut || atRest(s, mark) {
				continue
			}
			found = append(found, Stranded{
				Ordinal: mark.Ordinal, By: mark.By, side: side, object: []string{"pv", mark.Volume},
				What: fmt.Sprintf("volume %s in cluster %s has the mark of the migration with UID %s", mark.Volume, side.Cluster, mark.By),
			})
		}
	}
	if gap := gapBeside(s); gap != nil && !slices.ContainsFunc(found, func(other Stranded) bool { return other.Ordinal == gap.Ordinal }) {
		found = append(found, *gap)
	}
	slices.SortFunc(found, func(a, b Stranded) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	return found
}

// atRest reports whether the claim of a mark is bound on either side to a volume without a mark. The ordinal was then
// scaled down, and no migration moves it.
func atRest(s plan.Snapshot, mark plan.Mark) bool {
	return slices.ContainsFunc(slices.Concat(s.Source.Marks, s.Destination.Marks), func(other plan.Mark) bool {
		return other.AtRest && other.Ordinal == mark.Ordinal && other.Template == mark.Template
	})
}

// gapBeside returns the single ordinal between the source and a slice that a migration has created, or holds. For a
// set without claims there is no other evidence.
func gapBeside(s plan.Snapshot) *Stranded {
	source, destination := s.Source.Set, s.Destination.Set
	by := cmp.Or(destination.Owner, api.FenceOwner(destination.Fence))
	if source.Presence != plan.Seen || destination.Presence != plan.Seen || by == "" || destination.LeftOut || len(source.Templates) > 0 {
		return nil
	}
	var gap int32
	switch {
	case destination.Start == source.End()+1:
		gap = source.End()
	case destination.End()+1 == source.Start:
		gap = destination.End()
	default:
		return nil
	}
	return &Stranded{
		Ordinal: gap, By: by, side: s.Destination, object: []string{destination.ResourceName(), "-n", s.Destination.Namespace, destination.Name},
		What: fmt.Sprintf("%s was created by the migration with UID %s, and neither slice owns the ordinal beside it", s.Destination.Object(), by),
	}
}

// LeftOut refuses a move that would leave out an ordinal that a former migration has left down.
func LeftOut(s plan.Snapshot) []plan.Finding {
	var findings []plan.Finding
	for _, stranded := range StrandedOrdinals(s) {
		if stranded.By == s.UID {
			continue
		}
		findings = append(findings, stranded.refused(s.Source))
	}
	return findings
}

// refused returns the finding about the ordinal.
func (o Stranded) refused(source plan.Side) plan.Finding {
	return plan.Finding{
		Reason: api.ReasonOrdinalLeftOut, Object: source.Object(),
		Message: fmt.Sprintf("ordinal %d is down and belongs to no slice: %s; this move would end without it", o.Ordinal, o.What),
		Remedy: fmt.Sprintf("rebuild that migration's record, and let it end: %s. Only if the ordinal is left out on purpose: %s",
			Rebuilds(source, o.By), o.side.Kubectl().Do("annotate", append(o.object, api.LeftOutAnnotationKey+"=true")...)),
	}
}

// Rebuilds returns the command that rebuilds the record of a migration that does not exist any more.
func Rebuilds(source plan.Side, by types.UID) string {
	return plan.Kubectl("", source.Flags).Migrate("run", source.Set.Name, "-n", source.Namespace, "--resume-uid", string(by)) + ", with the other flags of that move"
}
