package model

import (
	"fmt"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/pdb"
	"github.com/sliceshift/sliceshift/volumes"
)

// enough is a number of passes that suffices for any migration of these tests, twice there and back.
const enough = 3000

// finish drives the migration without faults until it is done, and returns the last decision.
func (m *machine) finish(p *process, verify func()) plan.Decision {
	m.settleAll(everyone, verify)
	var last plan.Decision
	for range enough {
		last = m.pass(p, conditions{cached: m.Snapshot, between: func() {}})
		verify()
		if last.Done != "" {
			return last
		}
		m.State.Now = m.State.Now.Add(last.Wait)
		m.settleAll(everyone, verify)
	}
	return last
}

// ended returns the fault in a world in which a migration has ended; empty if there is none.
func (m *machine) ended(last plan.Decision) string {
	if m.tardy && m.State.Record.Baseline == nil {
		return m.placed() // it may be refused when it begins again
	}
	if last.Done == "" {
		return fmt.Sprintf("liveness: the migration does not end: %+v", last.Hold)
	}
	if api.FenceOwner(m.State.Source.Set.Fence) != "" || api.FenceOwner(m.State.Destination.Set.Fence) != "" {
		return "a fence is left: " + m.State.Source.Set.Fence + m.State.Destination.Set.Fence
	}
	if wrong := m.misnamed(last.Done); wrong != "" && !m.tardy {
		return wrong
	}
	if wrong := m.uncopied(); wrong != "" {
		return wrong
	}
	switch {
	case m.tardy:
		return m.placed()
	case last.Done == api.ReasonReleased:
		return m.released()
	case last.Done == api.ReasonRolledBack:
		return m.asInTheBeginning()
	default:
		return m.moved()
	}
}

// misnamed returns the ordinal whose name is not at the expected side at the end.
func (m *machine) misnamed(outcome string) string {
	if !m.State.Services().NamesOrdinals() || outcome == api.ReasonReleased {
		return ""
	}
	for _, name := range plan.SideNames {
		side := m.State.Side(name)
		for _, n := range side.Names {
			may := side.Set.Has(n.Ordinal) && !m.State.Spec.DropNames
			must := may && outcome == api.ReasonMoved && (name == plan.DestinationSide || m.State.Spec.Count > 0)
			if found := n.Service.Found && n.Export.Found; must && !found || !may && !m.strewn && (n.Service.Found && n.Service.Ours || n.Export.Found) {
				return fmt.Sprintf("ordinal %d on the %s has the name %+v", n.Ordinal, name, n)
			}
		}
	}
	return ""
}

// placed returns the ordinal that is not available on exactly one side.
func (m *machine) placed() string {
	start, replicas := m.begin.Extent()
	for ordinal := start; ordinal < start+replicas; ordinal++ {
		owners := 0
		for _, name := range plan.SideNames {
			if !m.State.Side(name).Set.Has(ordinal) {
				continue
			}
			owners++
			if pod, found := m.State.Side(name).Pod(ordinal); !found || !pod.Ready {
				return fmt.Sprintf("ordinal %d is not Ready on the %s", ordinal, name)
			}
		}
		if owners != 1 {
			return fmt.Sprintf("ordinal %d has %d owners", ordinal, owners)
		}
	}
	return ""
}

// released returns the fault after the Migration was deleted before its end.
func (m *machine) released() string {
	if wrong := m.placed(); wrong != "" {
		return wrong
	}
	moved := m.State.Destination.Set.Replicas
	_, replicas := m.begin.Extent()
	for _, name := range plan.SideNames {
		for _, b := range m.State.Side(name).Budgets {
			split := moved > 0 && moved < replicas && !m.State.Spec.SameNamespace
			if b.Fence != "" && !split {
				return fmt.Sprintf("the budget of the %s was not given back to its author", name)
			}
		}
	}
	return m.policiesLeft()
}

// policiesLeft returns the volume of a running ordinal that still has the mark of a Migration that was deleted
// before its end.
func (m *machine) policiesLeft() string {
	for _, v := range m.State.Volumes {
		for _, name := range plan.SideNames {
			if h := v.Holding(name); m.State.Side(name).Set.Has(v.Ordinal) && h.Bound() && h.Volume.Note.By == m.State.UID && !m.remade {
				return fmt.Sprintf("the volume of %s-%d on the %s was left with policy %s and the note %s", v.Template, v.Ordinal, name, h.Volume.Policy, h.Volume.Note)
			}
		}
	}
	return ""
}

// asInTheBeginning returns the state that a rollback has not restored.
func (m *machine) asInTheBeginning() string {
	if wrong := m.placed(); wrong != "" {
		return wrong
	}
	before, after := essence(*m.begin), essence(m.State)
	if base := m.State.Record.Baseline; base != nil && base.SourceUID == m.State.Source.Set.UID {
		before.Source.Set.UID = base.SourceUID // one that was recreated, and taken for the former one
	}
	if m.begin.Split() {
		before.Source.Budgets, before.Destination.Budgets, after.Source.Budgets, after.Destination.Budgets = nil, nil, nil, nil
		if wrong := m.budgetsMoved(false); wrong != "" {
			return wrong
		}
	}
	if m.spoken {
		before.Source.Budgets, before.Destination.Budgets, after.Source.Budgets, after.Destination.Budgets = nil, nil, nil, nil
		if wrong := m.budgetBack(); wrong != "" {
			return wrong
		}
	}
	if m.remade {
		before.Destination, after.Destination = plan.Side{}, plan.Side{}
		for _, list := range [][]plan.OrdinalVolume{before.Volumes, after.Volumes} {
			for i := range list {
				list[i].Destination = volumes.Holding{}
				source := &list[i].Source
				source.Claim.UID, source.Volume.UID, source.Volume.ClaimRef.UID = "", "", ""
				source.Claim.Ours, source.Volume.Ours, source.Volume.There = false, false, ""
				if !m.begin.Source.Set.Has(list[i].Ordinal) {
					*source = volumes.Holding{} // the record of one that was moved earlier
				}
			}
		}
	}
	for i, v := range m.State.Volumes {
		if !v.Separate() {
			continue
		}
		if wrong := m.settledVolume(i, plan.SourceSide); wrong != "" {
			return wrong
		}
		before.Volumes[i], after.Volumes[i] = plan.OrdinalVolume{}, plan.OrdinalVolume{}
	}
	return cmp.Diff(before, after, cmpopts.EquateEmpty())
}

// essence returns a snapshot without fields that change on their own.
func essence(s plan.Snapshot) plan.Snapshot {
	s = s.Clone()
	s.Now, s.Holder, s.Record, s.Spec.Mode, s.Engaged, s.Deleting = plantest.Epoch, "", plan.Record{}, "", false, false
	s.HookJobs, s.Spec.HookAnswer = plan.HookJobs{}, nil // the Jobs of hooks are kept
	s.Spec.Prefetch, s.Spec.Volumes = 0, nil             // set by the user
	for _, at := range []*plan.Side{&s.Source, &s.Destination} {
		at.Set.ResourceVersion, at.Set.ScalesBy, at.Set.Observed = "", "", true
		if at.Set.Replicas == 0 {
			at.Set.Start = 0
		}
		at.Names = nil // set by the user
		for i := range at.Pods {
			// A second migration may begin while a pod is starting. Whether all pods are up is checked
			// elsewhere.
			at.Pods[i] = plan.Pod{Ordinal: at.Pods[i].Ordinal}
		}
		for i := range at.Budgets {
			at.Budgets[i].UID, at.Budgets[i].ResourceVersion, at.Budgets[i].Disrupted, at.Budgets[i].Evictions = "", "", nil, 0
			at.Budgets[i].HandedOver = false                                                    // a user has set it
			at.Budgets[i].Generation, at.Budgets[i].Own, at.Budgets[i].WrittenBy = 0, false, "" // only its form counts
		}
	}
	// Other objects that the slice needs remain at the destination, where they are harmless.
	s.Destination.NamespaceFound, s.Destination.Service = true, plan.Dependent{}
	for i := range s.Volumes {
		for _, h := range []*volumes.Holding{&s.Volumes[i].Source, &s.Volumes[i].Destination} {
			h.Name = "" // it follows from other fields
			// The mark on a claim is the epoch in which the binder last looked at it.
			h.Claim.ResourceVersion, h.Volume.ResourceVersion, h.Claim.Fence, h.Volume.Attachments = "", "", "", nil
			if h.Parked() { // permanently, or until its owner needs it again
				h.Volume.Note, h.Volume.Fence, h.Volume.Phase, h.Claim.Phase = volumes.Note{}, "", "", ""
			}
		}
	}
	return s
}

// moved returns the fault after the requested ordinals have moved.
func (m *machine) moved() string {
	if wrong := m.placed(); wrong != "" {
		return wrong
	}
	lo, all := m.begin.Extent()
	had := all - m.begin.Source.Set.Replicas
	total := had + plan.Total(m.State.Spec, m.begin.Source.Set.Replicas)
	want := plan.Set{Start: lo + all - total, Replicas: total}
	if m.State.Spec.Order == api.LowestFirst {
		want.Start = lo
	}
	got := m.State.Destination.Set
	if got.Start != want.Start || got.Replicas != want.Replicas {
		return fmt.Sprintf("the destination owns %s instead of %s", plan.Span(got.Start, got.Replicas), plan.Span(want.Start, want.Replicas))
	}
	whole := total == all
	for i, v := range m.State.Volumes {
		if m.begin.Destination.Set.Has(v.Ordinal) && had > 0 {
			if m.forfeit[i] {
				continue
			}
			if !v.Destination.Bound() || v.Destination.Volume.Handle != m.disks[i] {
				return fmt.Sprintf("%s-%d, which was there before, is not bound", v.Template, v.Ordinal)
			}
			continue
		}
		if v.Separate() && want.Has(v.Ordinal) {
			if wrong := m.settledVolume(i, plan.DestinationSide); wrong != "" {
				return wrong
			}
			continue
		}
		if wrong := m.volumeMoved(v, m.begin.Volumes[i].Source, want.Has(v.Ordinal)); wrong != "" {
			return wrong
		}
	}
	if m.State.Spec.DeleteSource && whole && m.State.Source.Set.Presence != plan.Absent {
		return "the source was not deleted"
	}
	return m.budgetsMoved(whole)
}

// volumeMoved returns the fault of a volume after a migration has ended.
func (m *machine) volumeMoved(v plan.OrdinalVolume, begin volumes.Holding, moved bool) string {
	here, there := v.Source, v.Destination
	if moved {
		here, there = there, here
	}
	name := fmt.Sprintf("%s-%d", v.Template, v.Ordinal)
	switch {
	case !here.Bound():
		return name + " is not bound"
	case here.Volume.Policy != begin.Volume.Policy || here.Volume.Note.By == m.State.UID:
		return fmt.Sprintf("the volume of %s has policy %s (noted %s) instead of %s", name, here.Volume.Policy, here.Volume.Note, begin.Volume.Policy)
	case usable(there):
		return name + " is usable on both sides"
	case moved && !m.State.Spec.SameCluster && !m.State.Spec.DeleteSource && there.Volume.Found && !there.Parked():
		return "the source's volume of " + name + " is not parked"
	case moved && m.State.Spec.DeleteSource && there.Claim.Found:
		return "the source's claim of " + name + " was not deleted"
	case moved && m.State.Spec.DeleteSource && !m.State.Spec.SameCluster && there.Volume.Found:
		return "the source's volume of " + name + " was not deleted"
	}
	return ""
}

// budgetsMoved returns the fault of the PodDisruptionBudgets after a migration has ended. They must have the
// author's form if one of them covers the whole application, and shares if it remains split.
func (m *machine) budgetsMoved(whole bool) string {
	if m.author == nil {
		return ""
	}
	author := *m.author
	for _, name := range plan.SideNames {
		budgets := m.State.Side(name).Budgets
		if name == plan.SourceSide && whole && m.State.Spec.DeleteSource && !m.State.Spec.SameNamespace {
			if len(budgets) != 0 {
				return "the source's budget was not deleted"
			}
			continue
		}
		if len(budgets) == 0 && whole && m.remade && !m.State.Spec.SameNamespace {
			continue // another client deleted it when nothing was left to move
		}
		if len(budgets) != 1 {
			return fmt.Sprintf("the %s has %d budgets", name, len(budgets))
		}
		b := budgets[0]
		if whole || m.State.Spec.SameNamespace {
			if diff := cmp.Diff(author, b.Form); diff != "" || b.Fence != "" {
				return fmt.Sprintf("the budget of the %s is not in its author's form: %s", name, diff)
			}
			continue
		}
	}
	if whole || m.State.Spec.SameNamespace {
		return ""
	}
	return m.budgetsSplit()
}

// budgetsSplit returns the fault of the shares of an application that remains split. They must add up to d, and
// neither slice may be stuck at 0 if there is enough for both.
func (m *machine) budgetsSplit() string {
	if m.State.Record.Baseline == nil {
		return ""
	}
	d := m.allowance(m.State.Spec.MaxUnavailable)
	_, all := m.begin.Extent()
	proportional := m.State.Spec.SplitBudget == "" || m.State.Spec.SplitBudget == api.SplitBudgetProportional
	var total int32
	for _, name := range plan.SideNames {
		allows, err := pdb.Budget(m.State.Side(name).Budgets[0].Form, m.State.Side(name).Set.Replicas)
		if err != nil {
			return err.Error()
		}
		if allows == 0 && d > 1 && proportional {
			return fmt.Sprintf("the budget of the %s is stuck at 0 of %d", name, d)
		}
		total += allows
	}
	if total != min(d, all) {
		return fmt.Sprintf("both budgets allow %d instead of %d", total, d)
	}
	return ""
}
