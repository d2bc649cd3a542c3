// Package engine drives the replicas of a StatefulSet from a source slice to a destination slice, one
// ordinal at a time.
//
// An Engine works in passes: it reads both sides into a plan.Snapshot, calls planner.Plan for the next action,
// and carries it out. A Reconciler runs one Engine for each Migration of the manager's cluster; a Loop runs a
// single one. Package planner lists the invariants.
package engine

import (
	"context"
	"slices"
	"time"

	"k8s.io/utils/clock"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/migration/relay"
	"github.com/sliceshift/sliceshift/migration/world"
)

// Engine drives one migration. It is not safe for concurrent use.
type Engine struct {
	clock clock.PassiveClock
	// world is read and written: the clusters, unless Options name another one.
	world    World
	clusters *inClusters
	// state is the state of the pass protocol.
	state  planner.State
	status statusStore
	// gates holds the open questions to health gates.
	gates *inquiries
	// relays connects movers that cannot reach each other.
	relays *relay.Set
	others others
	early  earlyCopies
	seen   observations
}

// NewEngine returns the engine of one migration. It sends no request to a cluster yet.
func NewEngine(m *api.Migration, options Options) *Engine {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	both := newInClusters(m, options)
	e := &Engine{
		clock: options.Clock, world: options.World, clusters: both, state: planner.State{Holder: options.Holder},
		status: statusStore{records: told{options.Records}, heart: newHeart(options)},
		gates:  newInquiries(options.Clock, both.links.askers(options.Access), options.Notify),
		relays: relay.NewSet(both.links.dialMover, relay.Options{Namespace: m.Namespace, Bound: options.Relays, Notify: options.Notify}),
		others: others{onward: options.Onward, traffic: options.Traffic},
		seen:   observations{clients: clients{clock: options.Clock, access: options.Access}},
	}
	both.inspector.Gate = e.gates.fault
	if e.world == nil {
		e.world = both
	}
	return e
}

// Close stops all watches, gates, probes and relays.
func (e *Engine) Close() {
	e.gates.close()
	e.seen.clients.close()
	e.relays.Close()
	e.clusters.watches.close()
}

// Outcome is the result of one pass.
type Outcome struct {
	Snapshot plan.Snapshot
	Decision plan.Decision
	// Done is true when nothing is left to do.
	Done bool
	// Wrote is true when the effect of the decision was carried out.
	Wrote bool
	// Saved is true when the status was written.
	Saved bool
	// Stalls is true when the written status has the condition Stalled, and the previous one did not or had
	// another reason.
	Stalls bool
	// Waits is true when the written status has a reason to wait that the previous one had not. GoesOn is true
	// when the previous status had the condition Stalled and the written one does not.
	Waits, GoesOn bool
	// AheadHeld is the reason why copies ahead of their turns are held, if the written status has it and the
	// previous one had not.
	AheadHeld string
	// RequeueAfter is the longest time until the next pass.
	RequeueAfter time.Duration
	// Finished is the handoff that ended in this pass, if any.
	Finished *api.Handoff
	// Clients is the current result of the probe's requests; nil means none. The status has the result as of
	// its last write.
	Clients *api.ProbeStatus
}

// Pass observes, decides, and writes at most once, as planner.State requires. It changes the status of m. An
// error means that the record could not be written.
func (e *Engine) Pass(ctx context.Context, m *api.Migration) (Outcome, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	e.newest(m)
	e.status.recall(m, e.state.Holder)
	step := e.state.Begin(e.clock.Now(), world.RecordOf(m), func(object string) string { return e.clusters.watches.shown(ctx, object) })
	if step.Do == planner.Rest {
		return Outcome{RequeueAfter: step.RequeueAfter}, nil
	}
	findings, err := e.world.Engage(ctx, m)
	if err == nil {
		err = e.others.learn(ctx, m)
	}
	switch {
	case err != nil:
		step = planner.Stall(*unreachable(err).Hold)
	case e.clusters.watches.refused():
		// A right is missing: nothing can be watched, and little can be read.
		step = planner.Stall(*findings[0].Hold())
	}
	for step.Do == planner.Read {
		snapshot := e.world.Snapshot(ctx, step.Focus.On(m), step.Reads)
		snapshot.Preflight, snapshot.Gates = findings, e.gates.known(m.Spec.Gates)
		e.others.show(&snapshot)
		e.hampered(&snapshot)
		e.relay(snapshot)
		step = e.state.Next(step, snapshot)
	}
	e.world.EndPass()
	if step.Snapshot.Source.Reach == plan.Seen && step.Snapshot.Destination.Reach == plan.Seen {
		e.gates.want(step.Snapshot)
	}
	outcome, err := e.conclude(ctx, m, step)
	e.seen.clients.follow(m)
	outcome.Clients = e.seen.clients.figures(e.clock.Now())
	if err == nil && outcome.Decision.Hold != nil && !outcome.Done {
		err = e.copyEarly(ctx, m, &outcome)
		e.world.EndPass() // it has read for another ordinal than that of the current handoff
	}
	return outcome, err
}

// Look observes everything and decides, but writes nothing: the dry run. m need not exist in any cluster.
func (e *Engine) Look(ctx context.Context, m *api.Migration) (plan.Snapshot, error) {
	if m.UID == "" {
		m = m.DeepCopy()
		m.UID = world.Unborn
	}
	findings, err := e.world.Engage(ctx, m)
	if err != nil {
		return plan.Snapshot{}, err
	}
	snapshot := e.world.Snapshot(ctx, m, planner.Reads{Live: true, Wide: true, Namespace: true, Looks: true})
	snapshot.Preflight = findings
	return e.state.Sign(snapshot), nil
}

// newest replaces m by the last written version if m is older.
func (e *Engine) newest(m *api.Migration) { e.status.newest(m, e.state.Outdated) }

// relay connects the movers that a snapshot requires, and disconnects all others of the ordinals that the
// snapshot covers. Copies ahead of their ordinals' turns, and those of the other ordinals in flight, are covered by other
// snapshots.
func (e *Engine) relay(s plan.Snapshot) {
	wanted, known := planner.Relays(s)
	if !known {
		return
	}
	early := planner.EarlyOrdinals(s)
	e.relays.Keep(wanted, func(ordinal int32) bool {
		if s.Focused || s.Early != nil {
			return slices.ContainsFunc(s.Volumes, func(v plan.OrdinalVolume) bool { return v.Ordinal == ordinal })
		}
		further := slices.ContainsFunc(s.Record.Further, func(h api.Handoff) bool { return h.Ordinal == ordinal })
		return !further && !slices.Contains(early, ordinal)
	})
}

// hampered adds the errors of relays to a snapshot.
func (e *Engine) hampered(s *plan.Snapshot) {
	for i := range s.Volumes {
		if v := &s.Volumes[i]; v.Copy != nil {
			v.Copy.RelayTrouble = e.relays.Trouble(v.Ordinal, v.Template)
		}
	}
}
