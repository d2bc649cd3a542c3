// Package planner decides how the replicas of a StatefulSet move from a source slice to a destination slice, one
// ordinal at a time (KEP-3335, Motivation, steps 1 to 6).
//
// It is a function of small values, those of package plan: a Snapshot holds the observed state of both sides, and
// Plan returns the single next step. The caller observes, decides and performs that step: one write, which the API
// server refuses if the object has changed since.
//
// The position of a migration is derived from the observed state. The application owns the ordinals [lo,hi). The
// source owns one end of them and the destination the other:
//
//	HighestFirst   source [lo,k)    destination [k,hi)
//	LowestFirst    source [k,hi)    destination [lo,k)
//
// Between the two there may be a gap: the ordinal of the handoff, or several of them (see inflight.go). The direction
// determines which side gives and which side takes. A rollback is the same plan with the two exchanged. An ordinal that belongs to
//
//	the giver   is gated, its budget reserved, its volumes secured, and stopped;
//	neither     has its volumes carried over, once nothing holds them, and is started;
//	the taker   is waited for until it is available.
//
// Invariants (tests cite the numbers): I1 no ordinal runs on both sides. I2 no disk is usable on both sides. I3 no
// data is lost. I4 replicas held down plus evictions allowed never exceed d. I5 no handoff begins while another
// replica is unavailable beyond the budget. I6 halt, never skip. I7 a crash changes nothing. I8 reversible until
// completed. I9 nothing is written that is not planned.
package planner

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// Plan returns the next step of a migration. Same input, same output.
func Plan(s plan.Snapshot) plan.Decision { return viewOf(s).plan() }

// Knowing is Plan for callers that have already computed the unavailable ordinals of both slices, ascending. They
// must be those of the snapshot. With nil, they are computed.
func Knowing(s plan.Snapshot, downs map[plan.SideName][]int32) plan.Decision {
	v := viewOf(s)
	v.downs = downs
	return v.plan()
}

// Giver returns the side that ordinals leave in the current direction.
func Giver(s plan.Snapshot) plan.SideName { return viewOf(s).giverName }

// Begun reports whether an ordinal has moved, or is in flight: the application may run with the copies.
func Begun(s plan.Snapshot) bool { return viewOf(s).begun() }

// View is a snapshot together with values that follow directly from it. It decides nothing.
type View struct {
	plan.Snapshot
	// layout is the position; valid only when a baseline is recorded.
	layout layout
	// giver and taker follow the direction.
	giver, taker *plan.Side
	giverName    plan.SideName
	takerName    plan.SideName
	// turns is the number of turns until the ordinal that is copied early.
	turns int32
	// downs caches the results of down, and claims the volumes of ordinals.
	downs  map[plan.SideName][]int32
	claims map[int32][]plan.OrdinalVolume
}

func viewOf(s plan.Snapshot) *View {
	p := &View{Snapshot: s}
	if p.direction() == api.Forward {
		p.giver, p.taker, p.giverName, p.takerName = &p.Source, &p.Destination, plan.SourceSide, plan.DestinationSide
	} else {
		p.giver, p.taker, p.giverName, p.takerName = &p.Destination, &p.Source, plan.DestinationSide, plan.SourceSide
	}
	if s.Record.Baseline != nil {
		p.layout = layoutOf(s)
	}
	return p
}

// stopped reports whether the ordinal that the decision is about has left its giver. It is started before any step that
// may wait for another party. Others may be down beside it: see downInFlight. One that still runs waits nevertheless,
// because a block that follows the other always has one down.
func (p *View) stopped() bool {
	return p.Record.Handoff != nil && !p.giver.Set.Has(p.Record.Handoff.Ordinal)
}

// fence returns the fence of the current epoch. It is on every object written in this epoch: both StatefulSets,
// the PodDisruptionBudgets and the volumes. An object that still has an older fence is written again before any
// step relies on it, so that the late write of an older epoch is refused.
func (p *View) fence() string { return Fence(p.UID, p.Record.Fence.Epoch) }

// command returns a kubectl migrate command for this migration, in the source's cluster, which holds the record.
func (p *View) command(verb string, words ...string) string {
	return plan.Kubectl("", p.Source.Flags).Migrate(verb, append(words, p.Migration.Name, "-n", p.Migration.Namespace)...)
}

// at sets the step of a decision, and gives a wait its deadline.
func (p *View) at(step api.Step, decision *plan.Decision) *plan.Decision {
	if decision.Hold == nil || decision.Hold.Stalled {
		decision.Step = step
		return decision
	}
	sooner := decision.Wait
	decision = p.held(step, *decision.Hold)
	if sooner > 0 {
		decision.Wait = min(sooner, cmp.Or(decision.Wait, sooner))
	}
	return decision
}

// held returns a wait in a step. It stalls when the step has taken too long (I6). It does not stall while the
// ordinal runs, or before a later end of the wait itself, such as that of a pod's grace period.
func (p *View) held(step api.Step, hold plan.Hold) *plan.Decision {
	decision := &plan.Decision{Hold: &hold, Step: step, Wait: max(0, hold.Until.Sub(p.Now))}
	if p.Record.Handoff == nil || step == api.StepCopyAhead { // nothing is down
		return decision
	}
	if left := max(p.Spec.Deadline-p.spent(step), hold.Until.Sub(p.Now)); left > 0 {
		decision.Wait = min(left, cmp.Or(decision.Wait, left))
		return decision
	}
	hold.Stalled = true
	hold.Message = fmt.Sprintf("ordinal %d has been at %s for longer than %s: %s", p.Record.Handoff.Ordinal, step, p.Spec.Deadline, hold.Message)
	return decision
}

// next returns the ordinal that moves next in the plan's direction. It skips those that are in flight beside the one in
// focus.
func (p *View) next() (int32, bool) {
	k, more := p.layout.nextForward(), p.layout.moved < p.layout.target
	if p.direction() == api.Back {
		k, more = p.layout.nextBack(), p.layout.moved > p.layout.initial
	}
	if len(p.Record.Further) == 0 {
		return k, more
	}
	for slices.ContainsFunc(p.Record.Further, func(h api.Handoff) bool { return h.Ordinal == k }) {
		if p.nearer(k, k-1) {
			k--
		} else {
			k++
		}
	}
	return k, more && p.toMove(k)
}

// toMove reports whether the ordinal moves in the plan's direction, now or later.
func (p *View) toMove(k int32) bool {
	l := p.layout
	within := k >= l.lo && k < l.hi
	switch {
	case p.direction() == api.Back:
		return within && !p.initially(k)
	case l.lowest:
		return within && k < l.lo+l.target
	default:
		return within && k >= l.hi-l.target
	}
}

// initially reports whether the destination owned an ordinal before the migration began.
func (p *View) initially(ordinal int32) bool {
	if p.layout.lowest {
		return ordinal < p.layout.lo+p.layout.initial
	}
	return ordinal >= p.layout.hi-p.layout.initial
}

// direction returns the direction in which ordinals move now. A pause keeps the direction, so that a handoff in
// flight completes in it. An ordinal that is rolled back automatically moves back alone.
func (p *View) direction() api.Direction {
	switch {
	case p.Spec.Mode == api.ModeRollback, p.Spec.Mode == api.ModeRecover:
		return api.Back
	case p.takenBack():
		return api.Back
	case p.resting() && p.Record.Fence != nil:
		return p.Record.Fence.Direction
	default:
		return api.Forward
	}
}

// resting reports whether no handoff may begin.
func (p *View) resting() bool { return p.Spec.Mode == api.ModePause || p.Deleting || p.turned() }

func (p *View) outcome() string {
	switch {
	case p.Deleting:
		return api.ReasonReleased
	case p.Spec.Mode == api.ModeRecover:
		return api.ReasonRecovered
	case p.direction() == api.Back:
		return api.ReasonRolledBack
	default:
		return api.ReasonMoved
	}
}

// whole reports whether the destination owns the whole application.
func (p *View) whole() bool { return p.layout.moved == p.layout.hi-p.layout.lo }

// plan returns the decision, with a record that keeps the highest number of any attempt.
func (p *View) plan() plan.Decision {
	decision := p.decide()
	if decision.Record != nil {
		next := *decision.Record
		next.LastAttempt = max(highestAttempt(p.Record), highestAttempt(next))
		decision.Record = &next
	}
	return decision
}

// highestAttempt returns the highest number of any attempt in a record, including the recorded former maximum.
func highestAttempt(record plan.Record) int32 {
	highest := record.LastAttempt
	count := func(all []api.HandoffVolume) {
		for i := range all {
			highest = max(highest, all[i].Copy.Number)
		}
	}
	for _, h := range record.InFlight() {
		count(h.Volumes)
	}
	for _, beside := range [][]api.CopyAhead{record.Ahead, record.Proofs} {
		for _, each := range beside {
			count(each.Volumes)
		}
	}
	return highest
}

func (p *View) decide() plan.Decision {
	if p.Early != nil {
		return earlyPlanner{p}.plan(*p.Early)
	}
	for _, stage := range p.stages() {
		if decision := stage(); decision != nil {
			if decision.Effect != nil {
				decision.Effect.OneSet = p.Storage != nil
			}
			return turnPlanner{p}.remember(*decision)
		}
	}
	if p.Focused {
		return *done()
	}
	next := p.Record
	next.Completed = p.outcome()
	return plan.Decision{Record: &next}
}

// stages lists the stages of a migration, in order: those of a move between two StatefulSets, or in place.
func (p *View) stages() []func() *plan.Decision {
	if p.Storage != nil {
		return storagePlanner{p}.stages()
	}
	whole := wholePlanner{p}
	return []func() *plan.Decision{
		turnPlanner{p}.forget, lossPlanner{p}.recoverable, whole.finished, whole.reachable, foreignPlanner{p}.countable, whole.accept, lossPlanner{p}.lost, fencePlanner{p}.ensureFence,
		turnPlanner{p}.due, foreignPlanner{p}.foreign, writerPlanner{p}.pause, destinationPlanner{p}.prepare, proofPlanner{p}.stands, handoffOf(p).handoff,
		healthPlanner{p}.end, hookPlanner{p}.end, proofPlanner{p}.end, settleOf(p).settle,
	}
}

// wholePlanner decides what concerns a migration as a whole. The steps in between belong to the stages, each a
// planner of its own on the same view.
type wholePlanner struct{ *View }

// finished cleans up the source and releases both StatefulSets, once a migration has completed, or ends before it
// has begun. A migration that was rolled back may run again, from the start.
func (p wholePlanner) finished() *plan.Decision {
	reason := p.Record.Completed
	begun := p.Record.Baseline != nil
	if reason == "" {
		if begun || !p.Deleting && p.Spec.Mode != api.ModeRollback {
			return nil
		}
		reason = p.outcome()
	}
	settled, fences := settleOf(p.View), fencePlanner(p)
	stages := []func() *plan.Decision{p.reachable, settled.cleanSource, writerPlanner(p).resume, fences.release, settled.handOver}
	switch {
	case begun:
	case p.reachable() != nil:
		stages = nil // nothing was written, and nothing can be
	default:
		stages = []func() *plan.Decision{fences.release} // only a late write can have left a fence
	}
	for _, stage := range stages {
		if decision := stage(); decision != nil {
			return decision
		}
	}
	return p.concluded(reason, "every ordinal runs at the source", "create a Migration in the other direction")
}

// concluded returns the end of a migration, or its restart after a rollback. back says where its ordinals are after a
// rollback, undo what undoes a migration that has completed.
func (p wholePlanner) concluded(reason, back, undo string) *plan.Decision {
	decision := &plan.Decision{Done: reason}
	switch {
	case reason == api.ReasonRolledBack && p.Spec.Mode == api.ModeRun && !p.Deleting && p.turned():
		decision.Hold = turnPlanner(p).reverted(back + ", and the migration does not start again")
	case reason == api.ReasonRolledBack && p.Spec.Mode == api.ModeRun && !p.Deleting:
		return &plan.Decision{Record: &plan.Record{Fence: p.Record.Fence, HookTurns: p.hookTurn()}} // plan keeps the other counters
	case reason == api.ReasonMoved && p.Spec.Mode == api.ModeRollback:
		decision.Hold = &plan.Hold{
			Reason:  api.ReasonAlreadyCompleted,
			Message: "the migration is completed and its changes to settings are restored; it can no longer be rolled back",
			Remedy:  undo,
		}
	}
	return decision
}

// reachable holds everything while one side cannot be read, because unreachable is not absent. A cluster other
// than the one in which the migration began counts as unreachable: objects that it lacks may exist in the original
// one.
func (p wholePlanner) reachable() *plan.Decision {
	for _, side := range []*plan.Side{&p.Source, &p.Destination} {
		if side.Reach != plan.Seen {
			return plan.Stalled(api.ReasonClusterUnreachable,
				"cluster "+side.Cluster+" cannot be read: "+side.ReachError,
				plan.RemedyUnreachable)
		}
	}
	if base := p.Record.Baseline; base != nil {
		return cmp.Or(replaced(p.Source, base.SourceCluster), replaced(p.Destination, base.DestinationCluster))
	}
	return nil
}

func replaced(side plan.Side, id types.UID) *plan.Decision {
	if side.ClusterID == id {
		return nil
	}
	return plan.Stalled(api.ReasonClusterReplaced,
		fmt.Sprintf("the kubeconfig of cluster %s points to another cluster than at the start of the migration: the UID of its namespace kube-system is %s instead of %s; ordinals that run there would be started again here", side.Cluster, side.ClusterID, id),
		"make it point to the former cluster again; the migration then continues")
}

// done returns the decision for a snapshot of one ordinal when nothing is left to do for it. The next step must be
// decided on all ordinals.
func done() *plan.Decision {
	return &plan.Decision{Hold: &plan.Hold{Reason: api.ReasonMoving, Message: "the decision for this ordinal is already carried out"}}
}

func effect(e plan.Effect) *plan.Decision { return &plan.Decision{Effect: &e} }

// writeSet returns the decision to write a StatefulSet in its observed version, with the state that edit leaves.
func writeSet(s plan.Set, e plan.Effect, edit func(*plan.SetState)) *plan.Decision {
	e.Name, e.UID, e.ResourceVersion, e.Before, e.After = s.Name, s.UID, s.ResourceVersion, s.State(), s.State()
	edit(&e.After)
	return effect(e)
}

// scale returns the decision to stop or to start an ordinal at one end of a slice.
func scale(verb plan.Verb, name plan.SideName, s plan.Set, k int32) *plan.Decision {
	return writeSet(s, plan.Effect{Verb: verb, Side: name, Ordinal: k}, func(state *plan.SetState) {
		if verb == plan.ScaleDown {
			state.Start, state.Replicas = without(s, k)
		} else {
			state.Start, state.Replicas = with(s, k)
		}
	})
}

// stalledBy stalls until the finding is fixed.
func stalledBy(finding plan.Finding) *plan.Decision { return &plan.Decision{Hold: finding.Hold()} }
