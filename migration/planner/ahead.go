package planner

import (
	"cmp"
	"slices"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// EarlyLook is the interval at which the early copies of later ordinals are checked.
const EarlyLook = 2 * time.Second

// earlyPlanner copies the volumes of an ordinal before its turn, while another ordinal is in flight. It takes
// nothing from the ordinal, and nothing else waits for it.
type earlyPlanner struct{ *View }

// plan returns the next step of that ordinal's early copy, and of nothing else.
func (p earlyPlanner) plan(k int32) plan.Decision {
	whole, foreign := wholePlanner(p), foreignPlanner(p)
	stages := []func() *plan.Decision{whole.finished, whole.reachable, foreign.countable, whole.accept, lossPlanner(p).lost, fencePlanner(p).ensureFence}
	proves := aheadAt(p.Record.Proofs, k) >= 0
	if !proves || !p.Deleting { // otherwise the migration is given up once the proof has ended
		stages = append(stages, foreign.foreign)
	}
	for _, stage := range stages {
		if stage() != nil {
			return plan.Decision{Wait: EarlyLook} // the pass of the migration itself handles this
		}
	}
	s, turns := p.Snapshot, p.turnsUntil(k)
	s.Record = AsHandoff(s.Record, k)
	inner := earlyPlanner{viewOf(s)}
	inner.turns = turns
	var decision *plan.Decision
	switch {
	case proves:
		decision = proofPlanner(inner).step(k)
	case turns > 0 && !p.resting() && !p.takenBack() && p.Record.Handoff != nil:
		decision = inner.copy(k, turns)
	default:
		decision = inner.keep(k, turns)
	}
	switch {
	case decision == nil:
		return plan.Decision{Wait: EarlyLook}
	case decision.Record != nil:
		next := p.Record
		list := &next.Ahead
		if aheadAt(next.Proofs, k) >= 0 {
			list = &next.Proofs
		}
		*list = withAhead(*list, k, decision.Record.Handoff)
		return plan.Decision{Record: &next}
	}
	told := plan.Decision{Effect: decision.Effect, Wait: cmp.Or(decision.Wait, EarlyLook)}
	if hold := decision.Hold; hold != nil && hold.Stalled {
		told.Hold = hold
	}
	return told
}

// copy returns the next step of the early copies of an ordinal; nil: there is none. A copy that is blocked does
// not block the others. The reason is returned if there is nothing else to do.
func (p earlyPlanner) copy(k, turns int32) *plan.Decision {
	if decision := carryPlanner(p).sameVolumes(k); decision != nil {
		return decision
	}
	held, hold := p.volumesOf(k)
	if hold != nil {
		return nil
	}
	claim := func(v plan.OrdinalVolume) volumes.Verdict {
		if !p.prefetched(k, turns) {
			return volumes.Verdict{}
		}
		return carryPlanner(p).claim(v)
	}
	decision := carryPlanner(p).together(held, claim, func(v plan.OrdinalVolume) volumes.Verdict { return p.early(v, turns) })
	if decision == nil || decision.Hold != nil && !decision.Hold.Stalled {
		return nil
	}
	return decision
}

// early returns the next step of a volume whose ordinal is some turns away.
func (p earlyPlanner) early(v plan.OrdinalVolume, turns int32) volumes.Verdict {
	if v.Copy == nil {
		return volumes.Verdict{}
	}
	method, pair := v.Way(), p.pair(v)
	if v.Copy.Asked.Prefetch >= turns {
		return method.Ahead(pair, volumes.Warm)
	}
	return volumes.First(
		func() volumes.Verdict { return method.Ahead(pair, volumes.Placed) },
		func() volumes.Verdict { return method.Ahead(pair, volumes.Withdrawn) }, // prefetch may have been larger before
	)
}

// prefetched reports whether any volume of an ordinal is copied that number of turns in advance.
func (p earlyPlanner) prefetched(k, turns int32) bool {
	return slices.ContainsFunc(p.Volumes, func(v plan.OrdinalVolume) bool {
		return v.Ordinal == k && v.FillsAhead() && v.Copy != nil && v.Copy.Asked.Prefetch >= turns
	})
}

// keep stops the copies that are running. It keeps the copied data of an ordinal whose turn is still to come, and
// otherwise removes it.
func (p earlyPlanner) keep(k, turns int32) *plan.Decision {
	ahead := aheadPlanner(p)
	if decision := ahead.withdraw(k); decision != nil || turns > 0 {
		return decision
	}
	if decision := ahead.drop(k); decision != nil {
		return decision
	}
	next := p.Record
	next.Handoff = nil
	return &plan.Decision{Record: &next}
}

// turnsUntil returns the number of turns until the ordinal's own turn, counted from the last ordinal in flight, or else
// from the last one that has arrived. 0: it has no turn, or the turn is too far away for an early copy.
func (p *View) turnsUntil(k int32) int32 {
	l, most := p.layout, p.Spec.Prefetch
	last, moves := p.outermost()
	if !moves {
		last = l.nextForward()
	}
	turns, comes := last-k, k >= l.hi-l.target
	if l.lowest {
		turns, comes = k-last, k < l.lo+l.target
	}
	if !moves {
		turns, most = turns+1, most+1
	}
	back := p.Spec.Mode == api.ModeRollback || p.Spec.Mode == api.ModeRecover // neither a single rollback nor a pause ends anything
	if p.Deleting || back || !comes || turns < 1 || turns > most {
		return 0
	}
	return turns
}

// EarlyOrdinals returns the ordinals beside those in flight whose copies must be checked: those already copied, those
// that are due, and those whose copies are being proven.
func EarlyOrdinals(s plan.Snapshot) []int32 {
	p := viewOf(s)
	var all []int32
	for _, ahead := range s.Record.Ahead {
		all = append(all, ahead.Ordinal)
	}
	all = append(all, proofPlanner{p}.proving()...)
	last, moves := p.outermost()
	if s.Record.Baseline == nil || !moves || p.resting() || p.layout.broken != "" {
		return all
	}
	for i := range s.Spec.Prefetch {
		k := last - 1 - i
		if p.layout.lowest {
			k = last + 1 + i
		}
		if p.turnsUntil(k) > 0 && !slices.Contains(all, k) {
			all = append(all, k)
		}
	}
	return all
}

// aheadPlanner does the work for an ordinal that its volumes' method does while the ordinal still runs. Until that
// is done, no budget is reserved, and nothing is taken from the ordinal.
type aheadPlanner struct{ *View }

// asked reports whether an ordinal may have such work.
func (p aheadPlanner) asked(k int32) bool {
	return slices.ContainsFunc(p.Volumes, func(v plan.OrdinalVolume) bool { return v.Ordinal == k && v.FillsAhead() })
}

// begun reports whether work has been done that would be lost with the handoff.
func (p aheadPlanner) begun() bool {
	handoff := p.Record.Handoff
	return handoff != nil && slices.ContainsFunc(handoff.Volumes, func(v api.HandoffVolume) bool { return v.Copy.Number > 0 })
}

// step returns the next step of the work; nil: it is done.
func (p aheadPlanner) step(k int32) *plan.Decision {
	return p.work(k, carryPlanner(p).claim, carryPlanner(p).towards(volumes.Warm))
}

// standby returns the next step until the movers of the last passes stand by; nil: they do.
func (p aheadPlanner) standby(k int32) *plan.Decision {
	return p.work(k, carryPlanner(p).claim, carryPlanner(p).towards(volumes.Standby))
}

// work returns the next step towards some goals; nil: they are reached. The volumes of an ordinal do not wait for
// each other.
func (p aheadPlanner) work(k int32, judges ...func(plan.OrdinalVolume) volumes.Verdict) *plan.Decision {
	if !p.asked(k) {
		return nil
	}
	held, hold := p.volumesOf(k)
	if hold != nil {
		return p.held(api.StepCopyAhead, *hold)
	}
	decision := carryPlanner(p).together(held, judges...)
	if decision == nil {
		return nil
	}
	if decision.Hold != nil {
		decision = cmp.Or(budgetPlanner(p).whileRunning(k), decision)
	}
	return p.at(api.StepCopyAhead, decision)
}

// withdraw stops running copies, whatever the current direction; nil: none is running, or all are already
// stopping.
func (p aheadPlanner) withdraw(k int32) *plan.Decision {
	for _, v := range p.Volumes {
		if v.Ordinal != k || !v.FillsAhead() {
			continue
		}
		if verdict := v.Way().Ahead(p.pair(v), volumes.Withdrawn); verdict.Action != nil {
			return p.at(api.StepCopyAhead, carryPlanner(p).volumeDecision(v, verdict))
		}
	}
	return nil
}

// drop removes the copies of an ordinal that stays at the giver; nil: none is left.
func (p aheadPlanner) drop(k int32) *plan.Decision {
	for _, v := range p.Volumes {
		if v.Ordinal != k {
			continue
		}
		if decision := carryPlanner(p).volumeDecision(v, v.Way().Ahead(p.pair(v), volumes.Dropped)); decision != nil {
			return p.at(api.StepCopyAhead, decision)
		}
	}
	return nil
}

// AsHandoff returns the record as if the ordinal, whose volumes are copied before its turn or proven after it, were in
// flight.
func AsHandoff(record plan.Record, k int32) plan.Record {
	record.Handoff = &api.Handoff{Ordinal: k, Step: api.StepCopyAhead}
	if at := aheadAt(record.Proofs, k); at >= 0 {
		record.Handoff.Step, record.Handoff.Volumes = api.StepProveCopy, record.Proofs[at].Volumes
		return record
	}
	if at := aheadAt(record.Ahead, k); at >= 0 {
		record.Handoff.Volumes = record.Ahead[at].Volumes
	}
	return record
}

func aheadAt(all []api.CopyAhead, k int32) int {
	return slices.IndexFunc(all, func(a api.CopyAhead) bool { return a.Ordinal == k })
}

// withAhead returns the list of early copies with the ordinal's entry replaced; now is nil: with the entry
// removed.
func withAhead(all []api.CopyAhead, k int32, now *api.Handoff) []api.CopyAhead {
	at := aheadAt(all, k)
	if now == nil && at < 0 {
		return all
	}
	all = slices.Clone(all)
	switch {
	case now == nil && len(all) == 1:
		return nil
	case now == nil:
		return slices.Delete(all, at, at+1)
	case at < 0:
		return append(all, api.CopyAhead{Ordinal: k, Volumes: now.Volumes})
	}
	all[at].Volumes = now.Volumes
	return all
}
