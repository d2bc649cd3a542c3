// Package engine drives the replicas of a StatefulSet from a source slice to a destination slice, one
// ordinal at a time.
//
// An Engine works in passes: it reads both sides into a plan.Snapshot, calls planner.Plan for the next action,
// and carries it out. A Reconciler runs one Engine for each Migration of the manager's cluster; a Loop runs a
// single one. Package planner lists the invariants.
package engine

import (
	"cmp"
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/health"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/migration/preflight"
	"github.com/sliceshift/sliceshift/migration/relay"
	"github.com/sliceshift/sliceshift/migration/world"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/workload"
)

// Records stores the state that cannot be observed again.
type Records interface {
	// Save writes the status, but only over the resourceVersion that m was read with, and sets the new
	// resourceVersion in m. If only part of the status was stored, the error is a records.NotStoredError.
	Save(ctx context.Context, m *api.Migration) error
	// Stores dry-runs Save. It returns nil if all of the status would be stored.
	Stores(ctx context.Context, m *api.Migration) error
	// TurnBack writes spec.mode: Rollback at once, with the automatic rollback of the status that is the
	// reason. It writes only over the resourceVersion that m was read with, and sets the new one in m.
	TurnBack(ctx context.Context, m *api.Migration) error
}

// Engine drives one migration. It is not safe for concurrent use.
type Engine struct {
	clock       clock.PassiveClock
	records     Records
	notify      func()
	world       World
	sides       *endpoint.Pair
	observer    *world.Observer
	inspector   *preflight.Inspector
	policy      volumes.Policy
	connections map[plan.SideName]*clusters.Connection
	leave       []func()
	watching    bool
	// queued is the reason why a migration may not begin yet; nil means that it may begin, or has begun.
	queued *plan.Hold
	// movedOn names the migration that may have moved ordinals on from the destination of a migration to
	// recover. It is set by onward, after it was called, or by the reconciler.
	movedOn     string
	onward      Onward
	onwardAsked bool
	// asked holds the sides whose cluster was identified in this pass. exportsAsked is the last time when the
	// served ServiceExport versions were discovered.
	asked        planner.Sides
	exportsAsked time.Time
	// state is the state of the pass protocol.
	state planner.State
	// heart writes the heartbeat of this process.
	heart heart
	// saved is the Migration as this engine last wrote it; a cache may still show an older version.
	saved *api.Migration
	// unstored is true after part of a status was not stored. From then on each status is dry-run before it is
	// written.
	unstored bool
	// kept is the Migration before a status of which only part was stored. It is kept until it is stored again;
	// nil means that nothing is pending.
	kept *api.Migration
	// askers creates the client of a health gate; gates holds the open questions.
	askers askers
	gates  *inquiries
	// relays connects movers that cannot reach each other.
	relays *relay.Set
	// traffic holds the limits that handoffs share; nil means no limits.
	traffic Traffic
	// earlyDue is when the copies made ahead of their ordinals' turns are checked next.
	earlyDue time.Time
	// held maps an ordinal to the reason that holds its copy ahead of its turn; nil means that none was tried
	// yet.
	held map[int32]heldCopy
	// fewest and down hold observations of the current handoff.
	fewest fewest
	down   downtime
	// clients measures availability for clients of the application.
	clients clients
	// written holds the written objects that the caches do not show yet, by name.
	written map[string]watchedObject
	// parked is the volume that was parked last, and parkedAt is its side.
	parked   *corev1.PersistentVolume
	parkedAt plan.SideName
}

// watchedObject is an object of a side that is visible in the side's cache.
type watchedObject struct {
	client.Object
	side plan.SideName
}

// Options configures an Engine.
type Options struct {
	// Source and Destination are the clusters. A permanently lost destination is clusters.Off. Mode Recover
	// sends no request to it; in every other mode the engine waits as for a cluster that does not answer.
	Source, Destination *clusters.Connection
	Records             Records
	// Holder identifies this process; it must be unique.
	Holder string
	// Notify is called when a watched object has changed. It must not block.
	Notify func()
	// Policy restricts which volumes may be created in the other cluster.
	Policy volumes.Policy
	// Secrets reads Secrets of the migration's namespace for its health gates. Addresses restricts the
	// Prometheus servers that gates may query.
	Secrets   health.Secrets
	Addresses health.Addresses
	// Probes restricts the addresses that probes may request.
	Probes health.Addresses
	// Traffic holds the limits that the handoffs of all migrations share; nil means no limits.
	Traffic Traffic
	// Relays bounds the relays of all migrations; nil means no limit.
	Relays *relay.Bound
	// Onward finds the migration that has moved ordinals on from the destination of a migration to recover; nil
	// disables the search.
	Onward Onward
	// ServerTime converts a local time to the time of the API server that stores the migration; nil means that
	// both are equal.
	ServerTime func(time.Time) time.Time
	// Clock is the time source; nil means the real clock.
	Clock clock.PassiveClock
	// World reads and writes both sides; nil means the clusters.
	World World
}

// NewEngine returns the engine of one migration. It sends no request to a cluster yet.
func NewEngine(m *api.Migration, options Options) *Engine {
	source := endpoint.Endpoint{Side: plan.SourceSide, Cluster: options.Source.Name(), Flags: options.Source.Flags(), Namespace: m.Spec.Source.Namespace, Set: m.Spec.Source.Name, Live: clusters.Judged(options.Source.Live()), Lender: options.Source.Lender, Skew: options.Source.Skew}
	destination := endpoint.Endpoint{Side: plan.DestinationSide, Cluster: options.Destination.Name(), Flags: options.Destination.Flags(), Namespace: m.Spec.Destination.Namespace, Set: m.Spec.Destination.Name, Live: clusters.Judged(options.Destination.Live()), Lender: options.Destination.Lender, Skew: options.Destination.Skew}
	for _, p := range []*endpoint.Endpoint{&source, &destination} {
		if p.Namespace == "" {
			p.Namespace = m.Namespace
		}
	}
	if destination.Set == "" {
		destination.Set = source.Set
	}
	source.APIVersion = cmp.Or(m.Spec.Source.APIVersion, workload.NativeVersion)
	destination.APIVersion = cmp.Or(m.Spec.Destination.APIVersion, source.APIVersion)
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	sides := &endpoint.Pair{Source: source, Destination: destination}
	e := &Engine{
		clock: options.Clock, traffic: options.Traffic, records: told{options.Records}, notify: options.Notify, state: planner.State{Holder: options.Holder}, sides: sides, policy: options.Policy, onward: options.Onward, heart: newHeart(options),
		clients:     clients{clock: options.Clock, allowed: options.Probes, servers: options.Addresses, secrets: options.Secrets},
		connections: map[plan.SideName]*clusters.Connection{plan.SourceSide: options.Source, plan.DestinationSide: options.Destination},
	}
	e.askers = func(gate api.HealthGate) (health.Asker, error) {
		return health.New(gate, health.Sides{
			Source:      health.Side{Connection: options.Source, Namespace: source.Namespace, StatefulSet: source.Set},
			Destination: health.Side{Connection: options.Destination, Namespace: destination.Namespace, StatefulSet: destination.Set},
			Secrets:     options.Secrets, Addresses: options.Addresses,
		})
	}
	e.gates = newInquiries(options.Clock, e.askers, options.Notify)
	e.relays = relay.NewSet(e.dialMover, relay.Options{Namespace: m.Namespace, Bound: options.Relays, Notify: options.Notify})
	e.inspector = &preflight.Inspector{Pair: sides, Clock: options.Clock, Policy: options.Policy, Connections: e.connections, Gate: e.wrongGate}
	e.observer = &world.Observer{Pair: sides, Clock: options.Clock, Policy: options.Policy, Identify: e.identifyAgain, KeepsSlice: e.inspector.KeepsSlice, LetsIn: e.inspector.LetsIn}
	if e.world = options.World; e.world == nil {
		e.world = inClusters{e}
	}
	return e
}

// Close stops all watches, gates, probes and relays.
func (e *Engine) Close() {
	e.gates.close()
	e.clients.close()
	e.relays.Close()
	for _, leave := range e.leave {
		leave()
	}
	e.leave, e.watching, e.sides.Source.Cached, e.sides.Destination.Cached = nil, false, nil, nil
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
	e.recall(m)
	step := e.state.Begin(e.clock.Now(), world.RecordOf(m), func(object string) string { return e.observed(ctx, object) })
	if step.Do == planner.Rest {
		return Outcome{RequeueAfter: step.RequeueAfter}, nil
	}
	findings, err := e.world.Engage(ctx, m)
	if err == nil {
		err = e.learnOnward(ctx, m)
	}
	switch {
	case err != nil:
		step = planner.Stall(*unreachable(err).Hold)
	case e.notify != nil && !e.watching:
		// A right is missing: nothing can be watched, and little can be read.
		step = planner.Stall(*findings[0].Hold())
	}
	for step.Do == planner.Read {
		snapshot := e.world.Snapshot(ctx, m, step.Reads)
		snapshot.Preflight, snapshot.Queued, snapshot.Gates = findings, e.queued, e.gates.known(m.Spec.Gates)
		snapshot.MovedOn = e.movedOn
		snapshot.Load = e.load()
		e.hampered(&snapshot)
		e.relay(snapshot)
		step = e.state.Next(step, snapshot)
	}
	e.world.EndPass()
	if step.Snapshot.Source.Reach == plan.Seen && step.Snapshot.Destination.Reach == plan.Seen {
		e.gates.want(step.Snapshot)
	}
	outcome, err := e.conclude(ctx, m, step)
	e.clients.follow(m)
	outcome.Clients = e.clients.figures(e.clock.Now())
	if err == nil && outcome.Decision.Hold != nil && !outcome.Done {
		err = e.early(ctx, m, &outcome)
		e.world.EndPass() // early has read for another ordinal than that of the current handoff
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
func (e *Engine) newest(m *api.Migration) {
	if e.saved == nil || e.saved.UID != m.UID {
		return
	}
	if e.state.Outdated(m.ResourceVersion) {
		e.saved.DeepCopyInto(m)
	}
}

// observed returns the resourceVersion of a written object that the cache shows; empty if it shows none.
func (e *Engine) observed(ctx context.Context, name string) string {
	object, found := e.written[name]
	cached := e.sides.At(object.side).Cached
	if !found || cached == nil {
		return ""
	}
	shown, _ := object.DeepCopyObject().(client.Object)
	if err := cached.Get(ctx, client.ObjectKeyFromObject(shown), shown); err != nil {
		return ""
	}
	return shown.GetResourceVersion()
}
