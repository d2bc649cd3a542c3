// Package plan decides how the replicas of a StatefulSet move from a source slice to a
// destination slice, one ordinal at a time (KEP-3335, Motivation, steps 1 to 6).
//
// It is a function of small values: a Snapshot holds all that was seen of both sides, and
// Plan returns the one thing to do next. Who calls it observes, decides and does that: one
// write, refused by the API server when the object has changed since.
//
// Where a migration stands is read off the world. The application owns the
// ordinals [lo,hi); the source has one end of them and the destination the other:
//
//	HighestFirst   source [lo,k)    destination [k,hi)
//	LowestFirst    source [k,hi)    destination [lo,k)
//
// Between the two there may be a gap of one ordinal: the handoff. A direction says
// which side gives and which side takes; a rollback is the same plan with the two
// exchanged. An ordinal that belongs to
//
//	the giver   is gated, its budget reserved, its volumes secured, and stopped;
//	neither     has its volumes carried over, once nothing holds them, and is started;
//	the taker   is waited for until it is available.
//
// Invariants (tests cite the numbers): I1 no ordinal runs on both sides. I2 no
// disk is usable on both sides. I3 no data is lost. I4 replicas held down plus
// evictions allowed never exceed d. I5 no handoff begins while another replica is
// unavailable beyond the budget. I6 halt, never skip. I7 a crash changes nothing.
// I8 reversible until completed. I9 nothing is written that is not planned.
package plan

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Decision is what Plan returns. At most one of Record, Effect and Done is set;
// with none of them, Hold says what is waited for.
type Decision struct {
	// Record must be written down before anything else is done.
	Record *Record
	// Effect is the next write.
	Effect *Effect
	// Done is the reason of the condition Completed.
	Done string
	// Hold says what is waited for and why.
	Hold *Hold
	// Findings are all that the preflight found; Hold speaks of the first.
	Findings []Finding
	// Step is where the ordinal in flight is.
	Step api.Step
	// Wait is when to look again though nothing has changed; 0: only on a change.
	Wait time.Duration
}

// NeedsLiveRead says whether what is decided must be decided again on live reads: a
// cache may tell to wait, but nothing is written or concluded on its word.
func (d Decision) NeedsLiveRead() bool {
	return d.Record != nil || d.Effect != nil || d.Done != ""
}

// Hold is why nothing is done now.
type Hold struct {
	Reason  string
	Message string
	// Remedy is what a person can do, when it is theirs to do.
	Remedy string
	// Stalled is true when something outside must change first.
	Stalled bool
	// TurnBack is true when the user has asked for a rollback in this case.
	TurnBack bool
	// Until is when it is over by itself though nothing has changed; zero: nobody knows.
	Until time.Time
}

// Plan returns the next step of a migration. Same input, same output.
func Plan(s Snapshot) Decision { return viewOf(s).plan() }

// Knowing is Plan for who knows already which ordinals of both slices are down, ascending: they
// must be those that the snapshot shows. With nil they are looked for.
func Knowing(s Snapshot, downs map[SideName][]int32) Decision {
	v := viewOf(s)
	v.downs = downs
	return v.plan()
}

// Giver is the side that ordinals leave in the present direction.
func (s Snapshot) Giver() SideName { return viewOf(s).giverName }

// Begun says whether an ordinal has moved, or is on its way: the application may run with the copies.
func (s Snapshot) Begun() bool { return viewOf(s).begun() }

// View is a snapshot together with what follows from it at once. It decides nothing.
type View struct {
	Snapshot
	// layout is the position; valid only when a baseline is recorded.
	layout layout
	// giver and taker follow the direction.
	giver, taker *Side
	giverName    SideName
	takerName    SideName
	// downs are what down has found.
	downs map[SideName][]int32
}

func viewOf(s Snapshot) *View {
	p := &View{Snapshot: s}
	if p.direction() == api.Forward {
		p.giver, p.taker, p.giverName, p.takerName = &p.Source, &p.Destination, SourceSide, DestinationSide
	} else {
		p.giver, p.taker, p.giverName, p.takerName = &p.Destination, &p.Source, DestinationSide, SourceSide
	}
	if s.Record.Baseline != nil {
		p.layout = layoutOf(s)
	}
	return p
}

// stopped says whether an ordinal is down on its way: it is brought up before
// anything that may have to wait for somebody else.
func (p *View) stopped() bool {
	return p.Record.Handoff != nil && !p.giver.Set.Has(p.Record.Handoff.Ordinal)
}

// fence is the fence of the present epoch. It is on everything that is written in
// this epoch: both StatefulSets, the PodDisruptionBudgets and the volumes. What
// still has an older one is written again before anything is built upon it, so that
// the late write of an older epoch is refused.
func (p *View) fence() string { return Fence(p.UID, p.Record.Fence.Epoch) }

// command is what a person types about this migration.
func (p *View) command(verb string) string {
	return fmt.Sprintf("kubectl migrate %s %s -n %s", verb, p.Migration.Name, p.Migration.Namespace)
}

// at names the step of a decision, and gives a wait its deadline.
func (p *View) at(step api.Step, decision *Decision) *Decision {
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

// held is a wait in a step. It stalls when the step has taken too long (I6).
func (p *View) held(step api.Step, hold Hold) *Decision {
	decision := &Decision{Hold: &hold, Step: step, Wait: max(0, hold.Until.Sub(p.Now))}
	if p.Record.Handoff == nil {
		return decision
	}
	if left := p.Spec.Deadline - p.spent(step); left > 0 {
		decision.Wait = min(left, cmp.Or(decision.Wait, left))
		return decision
	}
	hold.Stalled = true
	hold.Message = fmt.Sprintf("ordinal %d has been at %s for longer than %s: %s", p.Record.Handoff.Ordinal, step, p.Spec.Deadline, hold.Message)
	return decision
}

// spent is how long the ordinal has been at a step, as far as it is recorded.
func (p *View) spent(step api.Step) time.Duration {
	handoff := p.Record.Handoff
	if handoff.Step != step || handoff.StepTime.IsZero() {
		return 0
	}
	return p.Now.Sub(handoff.StepTime.Time)
}

// next returns the ordinal that moves next in the plan's direction.
func (p *View) next() (int32, bool) {
	if p.direction() == api.Back {
		return p.layout.nextBack(), p.layout.moved > p.layout.initial
	}
	return p.layout.nextForward(), p.layout.moved < p.layout.target
}

// initially says whether the destination owned an ordinal before the migration began.
func (p *View) initially(ordinal int32) bool {
	if p.layout.lowest {
		return ordinal < p.layout.lo+p.layout.initial
	}
	return ordinal >= p.layout.hi-p.layout.initial
}

// direction is the way that ordinals take now. A pause keeps the direction, so
// that a handoff on its way ends where it was going.
func (p *View) direction() api.Direction {
	switch {
	case p.Spec.Mode == api.ModeRollback, p.Spec.Mode == api.ModeRecover:
		return api.Back
	case (p.Spec.Mode == api.ModePause || p.Deleting) && p.Record.Fence != nil:
		return p.Record.Fence.Direction
	default:
		return api.Forward
	}
}

// resting says whether no handoff may begin.
func (p *View) resting() bool { return p.Spec.Mode == api.ModePause || p.Deleting }

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

// whole says whether the destination owns the whole application.
func (p *View) whole() bool { return p.layout.moved == p.layout.hi-p.layout.lo }

func (p *View) plan() Decision {
	whole := planner{p}
	for _, stage := range []func() *Decision{
		lossPlanner{p}.recoverable, whole.finished, whole.reachable, foreignPlanner{p}.countable, whole.accept, lossPlanner{p}.lost, fencePlanner{p}.ensureFence,
		foreignPlanner{p}.foreign, writerPlanner{p}.pause, destinationPlanner{p}.prepare, handoffOf(p).handoff, healthPlanner{p}.end, hookPlanner{p}.end, settleOf(p).settle,
	} {
		if decision := stage(); decision != nil {
			return *decision
		}
	}
	if p.Focused {
		return *done()
	}
	next := p.Record
	next.Completed = p.outcome()
	return Decision{Record: &next}
}

// planner decides what concerns a migration as a whole. What it decides in between is its
// stages', each a planner of its own on the same view.
type planner struct{ *View }

// finished cleans the source up and lets go of both StatefulSets once a migration
// has been completed, or is to end before it has begun. One that was rolled back may
// be run again: it begins anew.
func (p planner) finished() *Decision {
	reason := p.Record.Completed
	begun := p.Record.Baseline != nil
	if reason == "" {
		if begun || !p.Deleting && p.Spec.Mode != api.ModeRollback {
			return nil
		}
		reason = p.outcome()
	}
	settled, fences := settleOf(p.View), fencePlanner(p)
	stages := []func() *Decision{p.reachable, settled.cleanSource, writerPlanner(p).resume, fences.release, settled.handOver}
	switch {
	case begun:
	case p.reachable() != nil:
		stages = nil // nothing was written, and nothing can be
	default:
		stages = []func() *Decision{fences.release} // only a late write can have left a fence
	}
	for _, stage := range stages {
		if decision := stage(); decision != nil {
			return decision
		}
	}
	if reason == api.ReasonRolledBack && p.Spec.Mode == api.ModeRun && !p.Deleting {
		return &Decision{Record: &Record{Fence: p.Record.Fence, HookTurns: p.hookTurn()}}
	}
	decision := &Decision{Done: reason}
	if reason == api.ReasonMoved && p.Spec.Mode == api.ModeRollback {
		decision.Hold = &Hold{
			Reason:  api.ReasonAlreadyCompleted,
			Message: "the migration has been completed and what it had changed is restored; it cannot be rolled back any more",
			Remedy:  "create a Migration in the other direction",
		}
	}
	return decision
}

// reachable holds everything while one side cannot be read: unreachable is not
// absent. A cluster that is not the one where the migration began is as good as
// unreachable: what it lacks may run in the other one.
func (p planner) reachable() *Decision {
	for _, side := range []*Side{&p.Source, &p.Destination} {
		if side.Reach != Seen {
			return Stalled(api.ReasonClusterUnreachable,
				"cluster "+side.Cluster+" cannot be read: "+side.ReachError,
				RemedyUnreachable)
		}
	}
	if base := p.Record.Baseline; base != nil {
		return cmp.Or(replaced(p.Source, base.SourceCluster), replaced(p.Destination, base.DestinationCluster))
	}
	return nil
}

func replaced(side Side, id types.UID) *Decision {
	if side.ClusterID == id {
		return nil
	}
	return Stalled(api.ReasonClusterReplaced,
		fmt.Sprintf("the kubeconfig of cluster %s leads to another cluster than the one where the migration began: the UID of its namespace kube-system is %s instead of %s; ordinals that run there would be started again here", side.Cluster, side.ClusterID, id),
		"let it lead to the former cluster again; the migration then goes on by itself")
}

// Stalled is a decision to do nothing until something outside has changed.
func Stalled(reason, message, remedy string) *Decision {
	return &Decision{Hold: &Hold{Reason: reason, Message: message, Remedy: remedy, Stalled: true}}
}

// Listed names the first few of what a message is about, and says how many more there are: it ends up
// in a status, which is small however large the application is.
func Listed[T any](all []T) string {
	const shown = 5
	texts := make([]string, 0, shown)
	for _, one := range all[:min(shown, len(all))] {
		texts = append(texts, fmt.Sprint(one))
	}
	text := strings.Join(texts, ", ")
	if more := len(all) - shown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// Remedies of more than one hold.
const (
	// RemedyRights mends a missing right.
	RemedyRights = "bind the ClusterRoles sliceshift-mover and sliceshift-mover-cluster to the identity that is used there"
	// RemedyUnreachable is for a cluster that does not answer.
	RemedyUnreachable = "nothing is done on either side until it answers; check the cluster and the kubeconfig"
)

// done is for a snapshot of one ordinal when nothing is left to do for it: what is
// next must be decided on all of them.
func done() *Decision {
	return &Decision{Hold: &Hold{Reason: api.ReasonMoving, Message: "what was decided for one ordinal has been done already"}}
}

func effect(e Effect) *Decision { return &Decision{Effect: &e} }

// How kubectl calls the kinds of StatefulSet; the second is the short name of ours.
const (
	NativeResource = "sts"
	SliceResource  = "slice"
)
