package model

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// A random run also has a volume that a former migration has left, pods of others that name claims, finalizers
// of others, clocks that differ, and long idle times.

// keeper is a finalizer of another controller.
const keeper = "example.com/keep"

// former is the UID of a migration whose record was deleted.
const former = "former"

// leaveVolume adds an ordinal next to the range that a former migration has left down (H1).
func (r *run) leaveVolume(t *rapid.T) {
	if len(r.State.Volumes) == 0 || len(r.yards) > 0 || rapid.IntRange(0, 5).Draw(t, "former life") > 0 {
		return
	}
	name := rapid.SampledFrom(plan.SideNames).Draw(t, "left on")
	r.State.Side(name).Marks = []plan.Mark{{Ordinal: r.begin.Source.Set.End(), Template: r.State.Volumes[0].Template, Volume: "pv-former", Disk: "disk-former", By: former}}
	r.note("a former migration has left ordinal %d down", r.begin.Source.Set.End())
}

// left reports whether an ordinal of a former migration is still down.
func (r *run) left() bool { return len(r.State.Source.Marks)+len(r.State.Destination.Marks) > 0 }

// bringBack rebuilds the former migration's record, and lets it end, as a user does.
func (r *run) bringBack(t *rapid.T) {
	if !r.left() {
		t.SkipNow()
	}
	r.State.Source.Marks, r.State.Destination.Marks = nil, nil
	r.note("the former migration has ended")
	r.remember()
}

// refuses checks that no move begins that would leave an ordinal out (I6).
func (r *run) refuses() {
	if r.left() && r.State.Record.Baseline != nil {
		r.breaks("I6: a move has begun although a former migration has left ordinal %d down", r.begin.Source.Set.End())
	}
}

// nameClaim creates a pod of another user that names a claim at the source whose volume was moved away (H4).
func (r *run) nameClaim(t *rapid.T) {
	r.t = t
	p := r.onward()
	r.approachTo(p, rapid.SampledFrom([]string{string(volumes.CreateVolume), string(volumes.Point), string(volumes.CreateClaim), string(plan.ScaleUp)}).Draw(t, "before"))
	for i := range r.State.Volumes {
		h := r.State.Volumes[i].Source
		if r.State.Spec.DeleteSource || !h.Claim.Found || h.Claim.Terminating || !h.Volume.Found || h.Volume.ClaimRef.Names(h.Ref) {
			continue
		}
		r.State.Volumes[i].Source.Claim.Users = []string{"backup"}
		r.note("a pod names claim %s at the source", h.Ref.Name)
		r.interleaved++
		r.remember()
	}
	if rapid.Bool().Draw(t, "turned") {
		r.turnMode(t)
	}
	r.passes(p, rapid.IntRange(1, 8).Draw(t, "passes"), r.laggards())
}

// leave deletes the pods that name a claim which they could mount again.
func (r *run) leave() {
	for i := range r.State.Volumes {
		h := &r.State.Volumes[i].Source
		if slices.Contains(h.Claim.Users, "backup") && h.Volume.ClaimRef.Names(h.Ref) {
			h.Claim.Users = nil
		}
	}
}

// keepClaim sets a finalizer of another controller on the destination's claim of the ordinal in flight, and
// rolls the move back (H7).
func (r *run) keepClaim(t *rapid.T) {
	r.t = t
	p := r.onward()
	var claim *volumes.Claim
	for range 30 {
		if claim = r.claimOnItsWay(); claim != nil {
			break
		}
		r.passes(p, 1, everyone)
	}
	if claim == nil {
		return
	}
	claim.Keeps, claim.ResourceVersion = []string{keeper}, r.NewVersion()
	r.note("another controller sets a finalizer on the destination's claim of ordinal %d", r.State.Record.Handoff.Ordinal)
	r.interleaved++
	r.remember()
	r.setMode(api.ModeRollback)
	if rapid.Bool().Draw(t, "deleted") {
		r.approachTo(p, string(plan.DeleteClaim))
	}
	r.passes(p, rapid.IntRange(1, 12).Draw(t, "passes back"), everyone)
	r.setMode(api.ModeRun)
	r.passes(p, rapid.IntRange(1, 8).Draw(t, "passes"), everyone)
}

// claimOnItsWay returns the destination's claim of the ordinal in flight; nil if it has none.
func (r *run) claimOnItsWay() *volumes.Claim {
	handoff := r.State.Record.Handoff
	for i := range r.State.Volumes {
		v := &r.State.Volumes[i]
		if handoff != nil && v.Ordinal == handoff.Ordinal && v.Destination.Claim.Found && !v.Destination.Claim.Terminating {
			return &v.Destination.Claim
		}
	}
	return nil
}

// bindClaims lets the volume controller act. It removes no claim with a finalizer of others.
func (m *machine) bindClaims(name plan.SideName) bool {
	var kept []*volumes.Claim
	for i := range m.State.Volumes {
		claim := &m.State.Volumes[i].Holding(name).Claim
		if claim.Terminating && slices.Contains(claim.Keeps, keeper) {
			claim.Terminating = false
			kept = append(kept, claim)
		}
	}
	changed := m.BindClaims(name)
	for _, claim := range kept {
		claim.Terminating = true
	}
	return changed
}

// unkept checks that no ordinal is stopped while its claim at the other side is being deleted and kept by a
// finalizer (I6).
func (m *machine) unkept(e plan.Effect) {
	for i := range m.State.Volumes {
		v := &m.State.Volumes[i]
		claim := v.Holding(e.Side.Other()).Claim
		if v.Ordinal == e.Ordinal && claim.Terminating && slices.Contains(claim.Keeps, keeper) && !goesBackDown(m.State, e) {
			m.breaks("I6: %s while its claim on the other side is being deleted", e)
		}
	}
}

// onward returns a process that drives the migration forward.
func (r *run) onward() *process {
	p := r.anyone()
	r.setMode(api.ModeRun)
	r.renew(p)
	return p
}

// renew restarts a process with the same clock.
func (r *run) renew(p *process) {
	skew := p.skew
	r.restart(p)
	p.skew = skew
}

// skewClocks gives each process its own clock, if nothing is due at a time.
func (r *run) skewClocks(t *rapid.T) {
	if r.State.Spec.MinReady > 0 || r.limited() {
		return
	}
	for _, p := range r.processes {
		p.skew = rapid.SampledFrom([]time.Duration{0, 0, 10 * time.Minute, -10 * time.Minute}).Draw(t, "clock")
	}
}

// letPass lets time pass without any event.
func (r *run) letPass(t *rapid.T) {
	r.after(rapid.SampledFrom([]time.Duration{5 * time.Second, time.Minute, 10 * time.Minute, 3 * time.Hour}).Draw(t, "later"))
}

func (r *run) after(d time.Duration) {
	r.State.Now = r.State.Now.Add(d)
	r.note("%s later", d)
	r.remember()
}

// slowStart makes a mover next to its ordinal's pod take long to start (H5).
func (r *run) slowStart(t *rapid.T) {
	r.t = t
	p := r.onward()
	acts := func(s step) bool { return s.kind != moverStarts || s.side != plan.SourceSide }
	for range 60 {
		if r.startsSlowly() {
			break
		}
		r.passes(p, 1, acts)
	}
	for range rapid.IntRange(1, 3).Draw(t, "looks") {
		r.after(time.Duration(rapid.IntRange(3, 9).Draw(t, "minutes")) * time.Minute)
		r.passes(p, rapid.IntRange(1, 3).Draw(t, "passes"), acts)
	}
}

// startsSlowly reports whether a mover next to an ordinal's pod has not started yet.
func (r *run) startsSlowly() bool {
	return slices.ContainsFunc(r.yards, func(y yard) bool {
		return slices.ContainsFunc(y.movers, func(m mover) bool { return m.role == volumes.RoleWarm && m.Key == "" && !m.Terminating && m.Node != "" })
	})
}

// patient checks that no pod that starts slowly is taken for one that cannot mount its volume (I6).
func (m *machine) patient(next plan.Record) {
	var all []api.HandoffVolume
	for _, handoff := range next.InFlight() {
		all = append(all, handoff.Volumes...)
	}
	for _, ahead := range next.Ahead {
		all = append(all, ahead.Volumes...)
	}
	for _, v := range all {
		if v.Copy.Warm.Refused != "" {
			m.breaks("I6: a pod of claim template %s has not started yet, and that is taken for a refusal: %s", v.ClaimTemplate, v.Copy.Warm.Refused)
		}
	}
}

// times records since when a handoff is at its step, and since when its ordinal is down, as the status does.
func (r *run) times(p *process, decision plan.Decision) {
	was := r.State.Record.Handoff
	if !r.limited() || was == nil || r.State.Record.Completed != "" {
		return
	}
	now, changed := metav1.NewMicroTime(r.State.Now), false
	if stopped := r.State.Record.Stopped; r.State.Source.Set.Has(was.Ordinal) {
		changed, r.State.Record.Stopped = stopped != nil, nil
	} else if !r.State.Destination.Set.Has(was.Ordinal) && (stopped == nil || stopped.Ordinal != was.Ordinal) {
		changed, r.State.Record.Stopped = true, &api.StoppedOrdinal{Ordinal: was.Ordinal, StopTime: now}
	}
	if decision.Step != "" && was.Step != decision.Step {
		next := *was
		next.Step, next.StepTime, changed = decision.Step, now, true
		r.State.Record.Handoff = &next
	}
	if changed {
		r.version++
		r.reread(p)
	}
}

// takeLong keeps an ordinal down for longer than downtimeLimit, at any step of its handoff, or in several
// shorter ones (H12).
func (r *run) takeLong(t *rapid.T) {
	r.t = t
	if !r.limited() || r.State.Deleting {
		t.SkipNow()
	}
	p := r.onward()
	for range 3 { // a copy takes many passes before its ordinal is stopped
		r.approachTo(p, string(plan.ScaleDown))
	}
	lags := rapid.SampledFrom([][]kind{{ends, bytesArrive}, {ends, bytesArrive}, {ends, moverStarts}, {bytesArrive}, {moverStarts}, {ends}}).Draw(t, "lags")
	limit := r.State.Volumes[0].Copy.Asked.Limit
	for i, lag := range lags {
		acts := func(s step) bool { return s.kind != lag && (i > 0 || !slices.Contains(lags, s.kind)) }
		r.passes(p, 3, acts)
		r.after(limit * 6 / 10)
		if len(lags) == 1 {
			r.after(limit)
		}
	}
	last := lags[len(lags)-1]
	r.passes(p, 12, func(s step) bool { return s.kind != last })
	if r.overdue() {
		r.breaks("I6: ordinal %d is down since %s, may be so for %s, and is not taken back", r.State.Record.Handoff.Ordinal, r.State.Record.Stopped.StopTime, limit)
	}
	r.verify()
}

// overdue reports whether the ordinal in flight is down for longer than downtimeLimit while the destination has
// nothing of it yet.
func (r *run) overdue() bool {
	record := r.State.Record
	if record.Handoff == nil || record.Stopped == nil || record.Stopped.Ordinal != record.Handoff.Ordinal || record.TurnedBack != nil || record.Fence == nil || record.Fence.Direction == api.Back {
		return false
	}
	late := r.State.Now.Sub(record.Stopped.StopTime.Time) > r.State.Volumes[0].Copy.Asked.Limit
	return late && !slices.ContainsFunc(r.State.Volumes, func(v plan.OrdinalVolume) bool {
		return v.Ordinal == record.Handoff.Ordinal && (v.Source.Parked() || v.Destination.Claim.Found)
	})
}

// allLeave ends the interference of others.
func (r *run) allLeave() {
	r.State.Source.Marks, r.State.Destination.Marks = nil, nil
	r.handOver()
	r.takeClaims()
	for i := range r.State.Volumes {
		for _, name := range plan.SideNames {
			if claim := &r.State.Volumes[i].Holding(name).Claim; slices.Contains(claim.Keeps, keeper) {
				claim.Keeps, claim.ResourceVersion = nil, r.NewVersion()
			}
		}
	}
}

// strange adds the external events of a random run.
func (r *run) strange(actions map[string]func(*rapid.T)) {
	actions["later"], actions["refused"], actions["remedy"] = r.letPass, r.refuseWrites, r.follow
	if r.author != nil {
		actions["tool"] = r.putBackBudget
	}
	if len(r.State.Dependencies.List) > 0 && !r.State.Spec.SameNamespace {
		actions["origin"] = r.replaceInMidMove
	}
	switch {
	case len(r.State.Volumes) == 0:
		actions["rival"] = r.startTwice
	case len(r.yards) > 0:
		actions["slow starts"], actions["takes long"] = r.slowStart, r.takeLong
	case len(r.State.Volumes) > 0 && !slices.ContainsFunc(r.State.Volumes, plan.OrdinalVolume.Separate):
		actions["backup"], actions["keeper"], actions["former"], actions["claim"] = r.nameClaim, r.keepClaim, r.bringBack, r.leaveClaim
	}
}
