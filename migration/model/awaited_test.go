package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/volumes"
)

// written returns the name of the watched object that an effect writes; empty if it writes none or deletes it.
func written(e *plan.Effect) string {
	if e == nil {
		return ""
	}
	switch e.Verb {
	case plan.WriteFence, plan.ReleaseFence, plan.CreateSet, plan.SetShare, plan.LiftShare, plan.ScaleDown, plan.ScaleUp:
		return setOn(e.Side)
	case plan.CreateBudget, plan.SetBudget, plan.RestoreBudget:
		return budgetOn(e.Side, e.Name)
	case plan.CarryVolume:
		if e.Volume.Verb == volumes.CreateClaim || e.Volume.Verb == volumes.MarkClaim {
			return claimOn(e.Side, e.Ordinal, e.Template)
		}
		return volumeOn(e.Side, e.Ordinal, e.Template)
	default:
		return ""
	}
}

func setOn(name plan.SideName) string { return "set on the " + string(name) }

func budgetOn(name plan.SideName, budget string) string {
	return fmt.Sprintf("budget %s on the %s", budget, name)
}

func claimOn(name plan.SideName, ordinal int32, template string) string {
	return fmt.Sprintf("claim %d %s on the %s", ordinal, template, name)
}

func volumeOn(name plan.SideName, ordinal int32, template string) string {
	return fmt.Sprintf("volume %d %s on the %s", ordinal, template, name)
}

// shownVersion returns the resourceVersion of an object in a snapshot, as a number; empty if the object does
// not exist or was not written since the beginning.
func shownVersion(s plan.Snapshot, object string) string {
	for _, name := range plan.SideNames {
		side := s.Side(name)
		if object == setOn(name) {
			return numberOf(side.Set.ResourceVersion)
		}
		for _, budget := range side.Budgets {
			if object == budgetOn(name, budget.Name) {
				return numberOf(budget.ResourceVersion)
			}
		}
		for i := range s.Volumes {
			v := &s.Volumes[i]
			switch object {
			case claimOn(name, v.Ordinal, v.Template):
				return numberOf(v.Holding(name).Claim.ResourceVersion)
			case volumeOn(name, v.Ordinal, v.Template):
				return numberOf(v.Holding(name).Volume.ResourceVersion)
			}
		}
	}
	return ""
}

func numberOf(version string) string {
	number, found := strings.CutPrefix(version, "v")
	if !found {
		return ""
	}
	return number
}

// catchUp makes each process see the current caches.
func (w *model) catchUp() {
	for i := range w.leaders {
		w.leaders[i].caughtUp(w.cached)
	}
}

// caughtUp removes the awaited objects that the caches already show: a cache that stops here still shows them.
func (p *process) caughtUp(cached func() plan.Snapshot) {
	if len(p.Awaited) == 0 {
		return
	}
	shown := cached()
	p.Awaited = slices.DeleteFunc(slices.Clone(p.Awaited), func(a planner.Awaited) bool {
		return planner.Shown(a.Version, shownVersion(shown, a.Object))
	})
}
