package planner

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/inplace"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// storagePlanner is a migration in place: the volumes of the source are replaced under its own name. Package inplace
// decides its steps. Gates, hooks, windows, pauses and the fence are those of a move, because the snapshot shows the set as
// two slices: see AsSlices.
type storagePlanner struct{ *View }

// stages lists the stages of a migration in place.
func (p storagePlanner) stages() []func() *plan.Decision {
	whole := wholePlanner(p)
	return []func() *plan.Decision{
		turnPlanner(p).forget, p.finished, whole.reachable, foreignPlanner(p).countable, whole.accept, fencePlanner(p).ensureFence,
		turnPlanner(p).due, p.recreated, p.scaled, writerPlanner(p).pause, p.shift,
		healthPlanner(p).end, hookPlanner(p).end,
	}
}

// reads returns what is read for a decision: everything live, because the caches lack the forms of claims.
func (p storagePlanner) reads(decision plan.Decision) Reads {
	sc := Reads{Live: true, Wide: true, Budgets: true, Recent: p.down() && alone(p.Record, decision)}
	if decision.NeedsLiveRead() {
		sc.Identity = BothSides &^ proven(p.Snapshot)
	}
	if effect := decision.Effect; effect != nil && p.stops(effect.Verb) {
		sc.Arrival = &effect.Ordinal
	}
	return sc
}

// stops reports whether a write is one of those by which an ordinal that still runs is stopped.
func (p storagePlanner) stops(verb plan.Verb) bool {
	return slices.Contains([]plan.Verb{plan.HoldClaim, plan.EndClaim, plan.EvictPod}, verb) && p.observed().Where() == inplace.Before
}

// down reports whether the ordinal in flight is down, or starts.
func (p storagePlanner) down() bool {
	at := p.observed().Where()
	return at == inplace.Between || at == inplace.After
}

// alone reports whether a decision about an ordinal that is down relies on its own objects only, and on those of its movers.
// The eviction of its pod, the release of its old volume, and a start on that volume depend on all pods and attachments.
func alone(record plan.Record, decision plan.Decision) bool {
	switch effect, next := decision.Effect, decision.Record; {
	case decision.Done != "" || record.Storage == nil || record.Storage.Handoff == nil:
		return false
	case next != nil:
		return next.Handoff != nil && next.Storage != nil && next.Storage.Handoff != nil && next.Storage.Replace == nil
	case effect == nil:
		return decision.Hold != nil && !decision.Hold.Stalled
	case effect.Verb == plan.FreeClaim:
		return !record.Storage.Handoff.Turned
	default:
		return effect.Verb == plan.PokeSet || effect.Carries() && slices.Contains([]volumes.Verb{
			volumes.CreateOutgoing, volumes.CreateMover, volumes.MarkMover, volumes.TellMover, volumes.DeleteMover, volumes.Secure, volumes.Point, volumes.CreateClaim,
		}, effect.Volume.Verb)
	}
}

// finished releases the set once the migration has completed, or ends before it has begun.
func (p storagePlanner) finished() *plan.Decision {
	reason, begun := p.Record.Completed, p.Record.Baseline != nil
	if reason == "" {
		if begun || !p.Deleting && p.Spec.Mode != api.ModeRollback {
			return nil
		}
		reason = p.outcome()
	}
	stages := []func() *plan.Decision{fencePlanner(p).release}
	switch {
	case begun:
		stages = []func() *plan.Decision{wholePlanner(p).reachable, writerPlanner(p).resume, p.clean, fencePlanner(p).release}
	case wholePlanner(p).reachable() != nil:
		stages = nil
	}
	for _, stage := range stages {
		if decision := stage(); decision != nil {
			return decision
		}
	}
	return wholePlanner(p).concluded(reason, "every ordinal runs on its former volume", "create a Migration with the former storage")
}

// recreated records the UID of the set after it was recreated, by this migration or by another writer.
func (p storagePlanner) recreated() *plan.Decision {
	set := p.Source.Set
	if set.Presence != plan.Seen || set.UID == p.Record.Baseline.SourceUID || p.Record.Storage == nil {
		return nil
	}
	next, base := p.Record, *p.Record.Baseline
	base.SourceUID, base.DestinationUID = set.UID, set.UID
	next.Baseline = &base
	return &plan.Decision{Record: &next}
}

// scaled stalls if another writer has changed the ordinals of the set. An ordinal that is down, or starts, is brought up first:
// its controller may have to be poked.
func (p storagePlanner) scaled() *plan.Decision {
	base, whole := p.Record.Baseline, p.Storage.Set
	switch reserves := p.reserves(); {
	case p.Deleting, p.down():
		return nil
	case reserves != nil:
		return &plan.Decision{Hold: reserves.Hold()}
	case !whole.Found, whole.Start == base.Start && whole.Replicas == base.Replicas:
		return nil
	}
	return plan.Stalled(api.ReasonForeignScale,
		"replicas or ordinals of "+p.Source.Object()+" were changed"+foreignPlanner(p).scaledBy()+": it owns "+plan.Span(whole.Start, whole.Replicas)+" instead of "+plan.Span(base.Start, base.Replicas),
		"stop that writer and restore the former values; the migration then continues")
}

// shift takes the next step of package inplace.
func (p storagePlanner) shift() *plan.Decision {
	s := p.observed()
	if p.Deleting && s.Record.Handoff == nil && s.Record.Replace == nil {
		s.Mode = api.ModePause
	}
	decision := inplace.Plan(s, p)
	switch {
	case decision.Done:
		return nil
	case decision.Hold != nil:
		if p.Deleting && decision.Hold.Reason == api.ReasonPaused {
			return nil
		}
		return p.waits(s, decision)
	case decision.Attempt != nil:
		return p.attempt(s, decision)
	case decision.Record != nil:
		return p.record(s, *decision.Record)
	}
	decided := p.effect(s, decision)
	if effect := decided.Effect; effect != nil && p.stops(effect.Verb) {
		return cmp.Or(p.beforeStop(s), decided)
	}
	return decided
}

// waits returns the decision to wait, with the deadline of the step.
func (p storagePlanner) waits(s inplace.Snapshot, decision inplace.Decision) *plan.Decision {
	hold := decision.Hold
	if s.Record.Handoff == nil {
		return &plan.Decision{Hold: hold, Wait: decision.Wait}
	}
	view := p.facing(s.Record.Handoff)
	k, side := s.Record.Handoff.Ordinal, view.taker
	if _, found := view.giver.Pod(k); found {
		side = view.giver
	}
	switch hold.Reason { // a move that waits for the same shows the trouble of the pod, the end of its grace period, and the way out
	case api.ReasonPodTerminating:
		hold = cmp.Or(stopping(*side, k), hold)
	case api.ReasonPodMissing, api.ReasonPodNotReady:
		if coming := handoffOf(view).comingUp(side, k); coming != nil {
			if decision.Wait > 0 {
				coming.Wait = min(decision.Wait, cmp.Or(coming.Wait, decision.Wait))
			}
			return coming
		}
	}
	return p.at(stepOfWait(s.Where(), hold.Reason), &plan.Decision{Hold: hold, Wait: decision.Wait})
}

// stepOfWait returns the step of the ordinal in flight at which the migration waits.
func stepOfWait(at inplace.Place, reason string) api.Step {
	switch {
	case at == inplace.After:
		return api.StepAwaitReadiness
	case at == inplace.Before:
		return api.StepCopyAhead
	case slices.Contains([]string{api.ReasonPodTerminating, api.ReasonVolumeAttached, api.ReasonClaimInUse}, reason):
		return api.StepAwaitRelease
	case reason == api.ReasonPodMissing, reason == api.ReasonPodNotReady, reason == api.ReasonAwaitingDeletion:
		return api.StepScaleUp
	}
	return api.StepCarryVolumes
}

// attempt records the progress of a copy.
func (p storagePlanner) attempt(s inplace.Snapshot, decision inplace.Decision) *plan.Decision {
	attempt := *decision.Attempt
	if attempt.Giver == "" {
		attempt.Giver = string(giverOf(s.Record.Handoff))
	}
	next, handoff := p.Record, *p.Record.Handoff
	handoff.Volumes = slices.Clone(handoff.Volumes)
	at := slices.IndexFunc(handoff.Volumes, func(v api.HandoffVolume) bool { return v.ClaimTemplate == decision.Template })
	if at < 0 {
		return plan.Stalled(api.ReasonVolumesChanged, "status.handoff has no volume of claim template "+decision.Template, "another client has changed the status: restore it")
	}
	handoff.Volumes[at].Copy = attempt
	next.Handoff = &handoff
	step := api.StepCarryVolumes
	if s.Where() == inplace.Before {
		step = api.StepCopyAhead
	}
	return &plan.Decision{Record: &next, Step: step}
}

// record records a new position. A handoff begins when no gate holds and its hooks have run.
func (p storagePlanner) record(s inplace.Snapshot, next inplace.Record) *plan.Decision {
	was, is := s.Record.Handoff, next.Handoff
	record := p.Record
	record.Storage = next.Status()
	switch {
	case was == nil && is != nil:
		if waits := p.begins(is.Ordinal); waits != nil {
			return waits
		}
		record.Handoff, record.Hooks, record.TurnedBack = p.begun(*is), hookPlanner(p).begun(is.Ordinal), nil
		return &plan.Decision{Record: &record, Step: api.StepCopyAhead}
	case was != nil && is == nil:
		if !was.Turned && p.podOf(was.Ordinal).Available {
			record.Pace, record.Hooks = p.paceWith(*p.Record.Handoff), hookPlanner(p).arrived(was.Ordinal)
		}
		record.Handoff = nil
		return &plan.Decision{Record: &record, Step: api.StepAwaitReadiness}
	}
	return &plan.Decision{Record: &record}
}

// begins returns why the handoff of an ordinal does not begin yet.
func (p storagePlanner) begins(k int32) *plan.Decision {
	hooks, gates := hookPlanner(p), gatePlanner(p)
	if waits := hooks.early(k); waits != nil {
		return waits
	}
	if hold := gates.gate(k); hold != nil {
		return &plan.Decision{Hold: hold}
	}
	return nil
}

// begun returns the handoff of an ordinal at its beginning.
func (p storagePlanner) begun(h inplace.Handoff) *api.Handoff {
	handoff := &api.Handoff{Ordinal: h.Ordinal, Step: api.StepCopyAhead, StartTime: metav1.NewMicroTime(p.Now), Attempts: 1, Load: loadPlanner(p).loadOf(h.Ordinal)}
	for _, slot := range h.Slots {
		v := api.HandoffVolume{ClaimTemplate: slot.Template, Name: slot.Old}
		for _, seen := range p.claimsOf(h.Ordinal) {
			if holding := seen.Holding(giverOf(&h)); seen.Template == slot.Template && holding.Volume.Found {
				v.Disk = volumes.Disk(holding.Volume.Handle)
			}
		}
		handoff.Volumes = append(handoff.Volumes, v)
	}
	return handoff
}

// beforeStop returns why the ordinal in flight, which still runs, is not to be stopped. The hooks before the stop run right
// before it.
func (p storagePlanner) beforeStop(s inplace.Snapshot) *plan.Decision {
	k := s.Record.Handoff.Ordinal
	if hold := gatePlanner(p).gate(k); hold != nil {
		return cmp.Or(p.withdraw(s), p.held(api.StepCopyAhead, *hold))
	}
	return hookPlanner(p).late(k)
}

// withdraw ends the work of a pass while a gate holds. Its results are kept.
func (p storagePlanner) withdraw(s inplace.Snapshot) *plan.Decision {
	for _, o := range s.Ordinals {
		if o.Ordinal != s.Record.Handoff.Ordinal {
			continue
		}
		for _, slot := range o.Slots {
			if verdict := p.Ahead(o.Ordinal, slot, volumes.Withdrawn); verdict.Action != nil {
				return p.filling(s, slot.Template, *verdict.Action)
			}
		}
	}
	return nil
}
