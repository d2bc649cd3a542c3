package planner

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// Rebuild returns the lost record of a migration, as far as both sides still show it: s has the migration's UID,
// and no record. It returns an error if the two sides cannot belong to one migration. The range is derived from
// both slices and the marks, the ordinal that is down from the gap between the slices, and its disks from their
// volumes.
func Rebuild(s plan.Snapshot) (plan.Record, error) {
	r := rebuilder{s}
	lo, hi, err := r.extent()
	if err != nil {
		return plan.Record{}, err
	}
	gaps, err := r.gaps(lo, hi)
	if err != nil {
		return plan.Record{}, err
	}
	if err := r.unproven(); err != nil {
		return plan.Record{}, err
	}
	initial, err := r.initial()
	if err != nil {
		return plan.Record{}, err
	}
	services := s.Spec.Services()
	base := &api.Baseline{
		Start: lo, Replicas: hi - lo, DestinationReplicas: initial, SourceUID: s.Source.Set.UID, StartTime: metav1.NewTime(s.Now),
		SourceCluster: s.Source.ClusterID, DestinationCluster: s.Destination.ClusterID, Services: &services,
	}
	if s.Destination.Set.Replicas > 0 || len(gaps) > 0 {
		base.DestinationUID = s.Destination.Set.UID
	}
	for _, template := range s.Source.Set.Templates {
		base.Volumes = append(base.Volumes, api.AskedOf(s.Spec.Volumes, template))
	}
	if len(s.Source.Budgets) == 1 {
		author := s.Source.Budgets[0].AuthorForm()
		base.DisruptionBudget = &api.DisruptionBudget{Name: s.Source.Budgets[0].Name, MinAvailable: author.MinAvailable, MaxUnavailable: author.MaxUnavailable}
	}
	s.Record.Baseline = base // the budget covers the whole application
	allowed, finding := Allowance(s)
	if finding != nil {
		return plan.Record{}, fmt.Errorf("%s; %s", finding.Message, finding.Remedy)
	}
	base.Budget = allowed
	record := plan.Record{Baseline: base, Accepted: true}
	for _, k := range gaps {
		handoff, err := r.handoff(k)
		if err != nil {
			return plan.Record{}, err
		}
		record.Further = append(record.Further, *handoff)
	}
	return record.Stored(s.Spec.Order), nil
}

// rebuilder derives a record from the state of both sides.
type rebuilder struct{ plan.Snapshot }

// extent returns the range of the whole application.
func (r rebuilder) extent() (lo, hi int32, err error) {
	source, destination := r.Source.Set, r.Destination.Set
	switch {
	case source.Presence != plan.Seen || destination.Presence != plan.Seen:
		return 0, 0, fmt.Errorf("%s and %s must both exist: nothing else shows what the migration had moved", r.Source.Object(), r.Destination.Object())
	case r.Unbounded() != nil:
		return 0, 0, fmt.Errorf("%s", r.Unbounded().Message)
	case !r.marked():
		return 0, 0, fmt.Errorf("no object on either side has the mark of a migration with UID %s", r.UID)
	}
	lo, hi = source.Start, source.End()
	if source.Replicas == 0 {
		lo, hi = destination.Start, destination.End()
	}
	if destination.Replicas > 0 {
		lo, hi = min(lo, destination.Start), max(hi, destination.End())
	}
	for _, stranded := range StrandedOrdinals(r.Snapshot) {
		if stranded.By == r.UID {
			lo, hi = min(lo, stranded.Ordinal), max(hi, stranded.Ordinal+1)
		}
	}
	return lo, hi, nil
}

// marked reports whether any object has a mark of the migration.
func (r rebuilder) marked() bool {
	for _, side := range []plan.Side{r.Source, r.Destination} {
		if api.FenceOwner(side.Set.Fence) == r.UID || side.Set.Owner == r.UID {
			return true
		}
		if slices.ContainsFunc(side.Marks, func(mark plan.Mark) bool { return mark.By == r.UID }) {
			return true
		}
	}
	return false
}

// gaps returns the ordinals that neither slice owns, ascending.
func (r rebuilder) gaps(lo, hi int32) ([]int32, error) { //nolint:gocyclo // one condition after the other, each a line
	var gap *int32
	var all []int32
	most := InFlightOf(r.Spec.MaxInFlight, hi-lo)
	for k := lo; k < hi; k++ {
		switch inSource, inDestination := r.Source.Set.Has(k), r.Destination.Set.Has(k); {
		case inSource && inDestination:
			return nil, fmt.Errorf("both slices own ordinal %d: scale the one down that a person has scaled up", k)
		case inSource || inDestination:
		case gap != nil && most == 1:
			return nil, fmt.Errorf("neither slice owns ordinals %d and %d: a migration stops one at a time; write the former ranges back", *gap, k)
		case len(all) == int(most):
			return nil, fmt.Errorf("neither slice owns ordinals %d to %d: this migration stops at most %d at once (handoff.maxInFlight); write the former ranges back", *gap, k, most)
		default:
			gap, all = cmp.Or(gap, &k), append(all, k)
		}
	}
	source, destination := r.Source.Set, r.Destination.Set
	below := gap != nil && source.Replicas > 0 && *gap < source.Start || destination.Replicas > 0 && source.Replicas > 0 && destination.Start < source.Start
	above := gap != nil && source.Replicas > 0 && *gap >= source.End() || destination.Replicas > 0 && source.Replicas > 0 && destination.Start > source.Start
	switch {
	case below && r.Spec.Order != api.LowestFirst:
		return nil, errors.New("the migration moved the lowest ordinals first: give --order lowest-first")
	case above && r.Spec.Order == api.LowestFirst:
		return nil, errors.New("the migration moved the highest ordinals first: give --order highest-first, or none")
	}
	return all, nil
}

// initial returns how many ordinals the destination owned before: those whose volumes the migration has not moved.
func (r rebuilder) initial() (int32, error) {
	set := r.Destination.Set
	switch {
	case set.Replicas == 0 || set.Owner == r.UID:
		return 0, nil
	case len(r.Source.Set.Templates) == 0:
		return 0, fmt.Errorf("%s existed before the migration, and without claims nothing shows which of its ordinals were moved to it", r.Destination.Object())
	}
	initial := int32(0)
	for k := set.Start; k < set.End(); k++ {
		brought := slices.ContainsFunc(slices.Concat(r.Source.Marks, r.Destination.Marks), func(mark plan.Mark) bool { return mark.Ordinal == k && mark.By == r.UID })
		if !brought {
			initial++
		}
	}
	return initial, nil
}

// unproven returns an error if a volume that an ordinal has left was to be read whole after the start (copy.verify: Later).
// The digest of the copy was in the record alone, so the migration would be completed without the proof.
func (r rebuilder) unproven() error {
	for _, side := range []struct{ left, runs plan.Side }{{r.Source, r.Destination}, {r.Destination, r.Source}} {
		for _, mark := range side.left.Marks {
			if mark.By == r.UID && mark.Filled && side.runs.Set.Has(mark.Ordinal) {
				return fmt.Errorf("no object shows whether the copy of claim template %s, on which ordinal %d runs, equals volume %s, which the ordinal has left; compare the two, then confirm it: %s",
					mark.Template, mark.Ordinal, mark.Volume, side.left.Kubectl().Do("annotate", "pv", mark.Volume, api.ReleasedAnnotationKey+"-"))
			}
		}
	}
	return nil
}

// handoff returns the handoff of the ordinal that is down, with its disks.
func (r rebuilder) handoff(k int32) (*api.Handoff, error) {
	handoff := &api.Handoff{Ordinal: k, Step: api.StepAwaitRelease, StartTime: metav1.NewMicroTime(r.Now), Attempts: 1}
	for _, template := range r.Source.Set.Templates {
		asked := api.AskedOf(r.Spec.Volumes, template)
		mark := cmp.Or(find(r.Source.Marks, k, template), find(r.Destination.Marks, k, template))
		switch {
		case mark == nil:
			return nil, fmt.Errorf("no volume shows which disk ordinal %d had for claim template %s", k, template)
		case mark.Filled || asked.Method != api.MethodRebind && asked.Method != "":
			return nil, fmt.Errorf("claim template %s of ordinal %d moves by a copy to a second volume, and no object shows the progress of the copy: volume %s holds the data from the ordinal's stop", template, k, mark.Volume)
		}
		handoff.Volumes = append(handoff.Volumes, api.HandoffVolume{ClaimTemplate: template, Name: mark.Volume, Disk: mark.Disk})
	}
	return handoff, nil
}

func find(marks []plan.Mark, k int32, template string) *plan.Mark {
	at := slices.IndexFunc(marks, func(mark plan.Mark) bool { return mark.Ordinal == k && mark.Template == template })
	if at < 0 {
		return nil
	}
	return &marks[at]
}
