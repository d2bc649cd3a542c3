package preview

import (
	"fmt"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/simulate"
	"github.com/sliceshift/sliceshift/pdb"
)

// Split describes an application whose ordinals [Start,Start+Replicas) are split over both slices.
type Split struct {
	Start    int32 `json:"start"`
	Replicas int32 `json:"replicas"`
	// Budget is d, which both sides share; 0 if unknown.
	Budget      int32 `json:"budget"`
	Source      Share `json:"source"`
	Destination Share `json:"destination"`
	// Common is true if one PodDisruptionBudget selects pods of the two slices.
	Common bool `json:"common,omitempty"`
	// Remedy is the command to run before a drain that would otherwise wait forever after the move.
	Remedy string `json:"remedy,omitempty"`
}

// Share is the part of one side: its slice, and how many of its replicas may be unavailable.
type Share struct {
	Cluster  string `json:"cluster"`
	Start    int32  `json:"start"`
	Replicas int32  `json:"replicas"`
	// MaxUnavailable is how many its PodDisruptionBudget allows to be unavailable; absent without a budget.
	MaxUnavailable *int32 `json:"maxUnavailable,omitempty"`
}

// addSplits sets whether the application is split before and after the move.
func (d *Plan) addSplits(s plan.Snapshot) {
	if s.Destination.Lost {
		return
	}
	now := shares(s)
	d.Split = splitOf(s, now[0], now[1], d.Summary.Budget)
	if d.Refused || d.Outcome != api.ReasonMoved {
		return
	}
	if len(d.Steps) > 0 {
		for i, forecast := range []*simulate.Forecast{d.Steps[len(d.Steps)-1].Source, d.Steps[len(d.Steps)-1].Destination} {
			if forecast == nil {
				return
			}
			now[i].Start, now[i].Replicas = forecast.Start, forecast.Replicas
			if forecast.MaxUnavailable != nil { // else the budget has not been written
				now[i].MaxUnavailable = forecast.MaxUnavailable
			}
		}
	}
	if d.SplitAfter = splitOf(s, now[0], now[1], d.Summary.Budget); d.SplitAfter != nil {
		d.SplitAfter.Remedy = d.SplitAfter.remedy(s.Source)
	}
}

// shares returns the current share of each side.
func shares(s plan.Snapshot) [2]Share {
	var both [2]Share
	for i, side := range []plan.Side{s.Source, s.Destination} {
		both[i] = Share{Cluster: side.Cluster}
		if side.Set.Presence != plan.Seen {
			continue
		}
		both[i].Start, both[i].Replicas = side.Set.Start, side.Set.Replicas
		if len(side.Budgets) == 1 {
			if allows, err := pdb.Budget(side.Budgets[0].Form, side.Set.Replicas); err == nil {
				both[i].MaxUnavailable = &allows
			}
		}
	}
	return both
}

func splitOf(s plan.Snapshot, source, destination Share, budget int32) *Split {
	aside := source.Start+source.Replicas == destination.Start || destination.Start+destination.Replicas == source.Start
	if source.Replicas == 0 || destination.Replicas == 0 || !aside {
		return nil
	}
	return &Split{
		Start: min(source.Start, destination.Start), Replicas: source.Replicas + destination.Replicas,
		Budget: budget, Source: source, Destination: destination, Common: s.Spec.SameNamespace,
	}
}

// Text describes the shares of a split application, and what a drain may do on each side.
func (s Split) Text() []string {
	lines := []string{fmt.Sprintf("ordinals %s; the source owns %s, the destination %s", plan.Span(s.Start, s.Replicas), plan.Span(s.Source.Start, s.Source.Replicas), plan.Span(s.Destination.Start, s.Destination.Replicas))}
	if s.Budget > 0 {
		lines[0] += fmt.Sprintf("; %d of the whole may be unavailable at once", s.Budget)
	}
	switch {
	case s.Common:
		return append(lines, "one PodDisruptionBudget covers both slices: kubectl drain on either side draws from it")
	case s.Source.MaxUnavailable == nil && s.Destination.MaxUnavailable == nil:
		return append(lines, "no PodDisruptionBudget bounds evictions: kubectl drain evicts every replica that it meets, on both sides")
	}
	return append(lines, s.Source.drain("source"), s.Destination.drain("destination"))
}

// drain returns what kubectl drain may do to the replicas of a side.
func (p Share) drain(side string) string {
	name := fmt.Sprintf("%s (cluster %s)", side, p.Cluster)
	switch {
	case p.MaxUnavailable == nil:
		return name + ": no PodDisruptionBudget there bounds kubectl drain"
	case *p.MaxUnavailable == 0:
		return name + ": 0 may be unavailable; kubectl drain of a node with one of its replicas waits"
	}
	return fmt.Sprintf("%s: %d may be unavailable; kubectl drain evicts that many at a time", name, *p.MaxUnavailable)
}

// waits returns the side on which a drain would wait forever, if any.
func (s Split) waits() (side string, waits bool) {
	switch none := func(p Share) bool { return p.MaxUnavailable != nil && *p.MaxUnavailable == 0 }; {
	case s.Common:
		return "", false
	case none(s.Source):
		return "source", true
	default:
		return "destination", none(s.Destination)
	}
}

// remedy returns the command that prevents a drain from waiting forever.
func (s Split) remedy(source plan.Side) string {
	side, waits := s.waits()
	if !waits {
		return ""
	}
	budget := plan.Kubectl("", source.Flags).Migrate("budget", source.Set.Name, "-n", source.Namespace, "--to", side)
	return fmt.Sprintf("before maintenance of the %s: %s; or begin with --split-budget %s", side, budget, side)
}

// Equal reports whether both sides have the same MaxUnavailable in the other split.
func (s Split) Equal(other Split) bool {
	same := func(a, b *int32) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }
	return same(s.Source.MaxUnavailable, other.Source.MaxUnavailable) && same(s.Destination.MaxUnavailable, other.Destination.MaxUnavailable)
}
