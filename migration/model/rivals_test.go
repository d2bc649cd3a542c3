package model

import (
	"fmt"
	"time"

	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// A random run also has another writer that starts an ordinal a second time, and objects that pods need and
// that are replaced at the source.

// replaceInMidMove replaces an immutable object at the source while ordinals move. It reverses the migration
// after the copy was deleted, or while an ordinal is in flight. After the migration's next pass, no pod at the
// destination lacks its copy, in any mode (H10).
func (r *run) replaceInMidMove(t *rapid.T) {
	r.t = t
	p := r.onward()
	r.approachTo(p, rapid.SampledFrom([]string{string(plan.ScaleDown), string(plan.ScaleUp), string(plan.SetBudget)}).Draw(t, "before"))
	r.passes(p, rapid.IntRange(0, 2).Draw(t, "passes"), r.laggards())
	if !r.replaceOrigin() {
		return
	}
	r.note("what pods need is replaced at the source")
	r.interleaved++
	r.remember()
	switch rapid.SampledFrom([]string{"", "made way", "turned"}).Draw(t, "since then") {
	case "made way": // and there is no new copy yet
		r.approachTo(p, string(plan.DeleteCopy))
		r.passes(p, 1, everyone)
	case "turned": // when the copy was about to be deleted, and once more while an ordinal moves back
		r.approachTo(p, string(plan.DeleteCopy))
		r.setMode(api.ModeRollback)
		r.approachTo(p, string(plan.ScaleDown))
		r.passes(p, rapid.IntRange(1, 2).Draw(t, "passes back"), r.laggards())
		r.setMode(api.ModeRun)
		r.passes(p, rapid.IntRange(1, 6).Draw(t, "passes forward"), r.laggards())
	default:
		r.passes(p, rapid.IntRange(0, 8).Draw(t, "passes since"), r.laggards())
	}
	r.setMode(rapid.SampledFrom([]api.Mode{api.ModeRun, api.ModePause, api.ModeRollback}).Draw(t, "mode"))
	r.passes(p, 12, everyone)
	if r.uncopied() != "" { // the last pass may have deleted it
		r.passes(p, 2, everyone)
	}
	if wrong := r.uncopied(); wrong != "" {
		r.breaks("%s", wrong)
	}
	r.verify()
}

// startTwice makes another writer scale the source of a set without claims up to the ordinal that the migration
// has started last. The migration withdraws its own start at once, and a user lets it continue (H9).
func (r *run) startTwice(t *rapid.T) {
	r.t = t
	p := r.onward()
	defer func(skew time.Duration) { p.skew = skew }(p.skew)
	p.skew = 0 // the time at which a pod became Ready is by the clock of its cluster
	r.approachTo(p, string(plan.ScaleUp))
	r.passes(p, rapid.IntRange(1, 4).Draw(t, "passes"), everyone)
	if !r.startAgain() {
		return
	}
	r.passes(p, rapid.IntRange(0, 2).Draw(t, "passes before its turn"), r.laggards())
	for range 20 {
		r.passes(p, 1, everyone)
		r.after(r.State.Spec.MinReady + time.Second)
	}
	if wrong := r.doubled(); wrong != "" {
		r.breaks("%s", wrong)
	}
	r.verify()
	r.comeHome()
	if rapid.Bool().Draw(t, "go on") {
		r.sayGoOn(p)
	}
}

// startAgain is the other writer.
func (r *run) startAgain() bool {
	source, destination := &r.State.Source.Set, r.State.Destination.Set
	fence := r.State.Record.Fence
	if r.State.Deleting || r.State.Record.Completed != "" || fence == nil || fence.Direction != api.Forward || source.Presence != plan.Seen || destination.Replicas == 0 {
		return false
	}
	k, start := destination.Start, source.Start
	if r.State.Spec.Order == api.LowestFirst {
		k = destination.End() - 1
		start = k
	}
	handoff := r.State.Record.Handoff
	if handoff != nil && !source.Has(handoff.Ordinal) && !destination.Has(handoff.Ordinal) || source.Replicas == 0 && start != k {
		return false // it would start another ordinal
	}
	if source.Has(k) || source.Replicas > 0 && source.End() != k && source.Start != k+1 {
		return false
	}
	source.Start, source.Replicas, source.Observed, source.ScalesBy = start, source.Replicas+1, false, "argocd"
	source.ResourceVersion = r.NewVersion()
	r.alien[spot{plan.SourceSide, k}], r.grace = true, true // another writer's pods change what a budget allows
	delete(r.held, k)
	delete(r.idle, k)
	r.note("another writer scales the source up to ordinal %d", k)
	r.interleaved++
	r.remember()
	return true
}

// runsTwice reports whether a stopped ordinal runs on the other side, where another writer has started it.
func (m *machine) runsTwice(e plan.Effect) bool {
	pod, found := m.State.Side(e.Side.Other()).Pod(e.Ordinal)
	return m.alien[spot{e.Side.Other(), e.Ordinal}] && found && pod.Ready && !pod.Terminating
}

// doubled returns an ordinal that a migration leaves running on both sides although it could withdraw its own
// start (I1).
func (m *machine) doubled() string {
	s := m.State
	fence := s.Record.Fence
	if len(s.Source.Set.Templates) > 0 || s.Spec.Mode != api.ModeRun || s.Deleting || fence == nil || fence.Direction == api.Back || s.Record.Completed != "" {
		return ""
	}
	source, destination := s.Source.Set, s.Destination.Set
	if source.ScalesBy == "" || destination.ScalesBy != "" || destination.Replicas == 0 || m.begin.Destination.Set.Replicas > 0 {
		return ""
	}
	k := destination.Start
	if s.Spec.Order == api.LowestFirst {
		k = destination.End() - 1
	}
	pod, found := s.Source.Pod(k)
	if !source.Has(k) || !found || !pod.Available(s.Now, max(s.Spec.MinReady, source.MinReady)) {
		return ""
	}
	return fmt.Sprintf("I1: ordinal %d runs on both sides, and the migration keeps its own start", k)
}

// comeHome ends the effect of another writer: its ordinals belong to the source again.
func (r *run) comeHome() {
	for at := range r.alien {
		if _, there := r.State.Side(at.side.Other()).Pod(at.ordinal); !there && !r.State.Side(at.side.Other()).Set.Has(at.ordinal) {
			delete(r.alien, at)
		}
	}
	r.settleAll(everyone, r.verify)
}

// sayGoOn pauses and resumes the migration, as a user does after stopping the other writer.
func (r *run) sayGoOn(p *process) {
	if r.State.Record.StartWithdrawn == nil {
		return
	}
	r.setMode(api.ModePause)
	r.passes(p, 3, everyone)
	r.setMode(api.ModeRun)
}
