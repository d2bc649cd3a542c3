// Package migration drives the replicas of a StatefulSet from a source slice to a destination
// slice, one ordinal at a time.
//
// An Engine does it in passes: it reads both sides into a plan.Snapshot, asks planner.Plan for the
// one thing to do next, and does it. A Reconciler has an Engine for each Migration of a manager's
// cluster; a Loop drives a single one. The invariants are listed in package planner.
package migration

import (
	"cmp"
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/health"
	"github.com/sliceshift/sliceshift/migration/observe"
	"github.com/sliceshift/sliceshift/migration/pass"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/preflight"
	"github.com/sliceshift/sliceshift/migration/relay"
	"github.com/sliceshift/sliceshift/migration/scope"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/workload"
)

// Records keeps what cannot be observed again.
type Records interface {
	// Save writes the status, and only over the resourceVersion that it was read
	// with; it leaves the new one in m. Where not all of it was stored, the error is a
	// records.NotStoredError.
	Save(ctx context.Context, m *api.Migration) error
	// Stores is a Save that writes nothing: nil: all of it would be stored.
	Stores(ctx context.Context, m *api.Migration) error
	// TurnBack writes the mode Rollback and for which automatic rollback of the status that is, at once, and only over the
	// resourceVersion that m was read with; it leaves the new one in m.
	TurnBack(ctx context.Context, m *api.Migration) error
}

// Engine drives one migration. It is not safe for concurrent use.
type Engine struct {
	clock       clock.PassiveClock
	records     Records
	notify      func()
	world       World
	sides       *endpoint.Pair
	observer    *observe.Observer
	inspector   *preflight.Inspector
	policy      volumes.Policy
	connections map[plan.SideName]*clusters.Connection
	leave       []func()
	watching    bool
	// queued is why a migration that has not begun may not begin yet; nil: it may.
	queued *plan.Hold
	// movedOn names who may have moved ordinals on from the destination of a migration that is to be recovered. It is known by onward,
	// which has been asked, or whoever drives several migrations sets it.
	movedOn     string
	onward      Onward
	onwardAsked bool
	// asked are the sides that were asked in this pass which cluster they are in; exportsAsked is when they were asked
	// last which ServiceExports they serve.
	asked        scope.Sides
	exportsAsked time.Time
	// state is what the pass protocol remembers.
	state pass.State
	// heart writes that this process drives the migration.
	heart heart
	// saved is the migration as it was last written; a cache may still show an older one.
	saved *api.Migration
	// unstored is true once not all of a status was stored: each is tried from then on before it is written.
	unstored bool
	// kept is what the status was before one of which not all was stored, until it is so again; nil: it is.
	kept *api.Migration
	// askers make who asks a health gate, and gates ask what is to be known.
	askers askers
	gates  *inquiries
	// relays connect movers that do not reach each other.
	relays *relay.Set
	// traffic is what handoffs share; nil: nothing is bounded.
	traffic Traffic
	// earlyDue is when the copies of ordinals whose turn is to come are looked at again.
	earlyDue time.Time
	// held is what holds these copies, by ordinal; nil: none was tried yet.
	held map[int32]heldCopy
	// fewest and down are what was seen of the handoff under way.
	fewest fewest
	down   downtime
	// clients measure what clients of the application see.
	clients clients
	// written are the objects whose writes the caches have not shown yet, by their names.
	written map[string]watchedObject
	// parked is the volume that was parked last, and parkedAt is its side.
	parked   *corev1.PersistentVolume
	parkedAt plan.SideName
}

// watchedObject is an object of a side that its view shows.
type watchedObject struct {
	client.Object
	side plan.SideName
}

// Options say what an Engine works with.
type Options struct {
	// Source and Destination are the clusters. A destination that is lost for good is
	// clusters.Off: in the mode Recover nothing is asked of it, in every other mode the engine
	// then waits as for a cluster that does not answer.
	Source, Destination *clusters.Connection
	Records             Records
	// Holder identifies this process; it must differ from every other one's.
	Holder string
	// Notify is called when something that is watched has changed. It must not block.
	Notify func()
	// Policy says which volumes may be made in the other cluster.
	Policy volumes.Policy
	// Secrets are those of the migration's namespace, for its health gates. Addresses are where these may ask a Prometheus.
	Secrets   health.Secrets
	Addresses health.Addresses
	// Probes are where probes may lead.
	Probes health.Addresses
	// Traffic is what handoffs of all migrations share; nil: nothing is bounded.
	Traffic Traffic
	// Relays bounds the relays of all migrations; nil: nothing does.
	Relays *relay.Bound
	// Onward finds out who has moved ordinals on from the destination of a migration that is to be recovered; nil: it is not asked here.
	Onward Onward
	// ServerTime is the time of the API server that keeps the migration at a local time; nil: both are the same.
	ServerTime func(time.Time) time.Time
	// Clock is the time; nil: the real one.
	Clock clock.PassiveClock
	// World is what is read and written; nil: the clusters.
	World World
}

// NewEngine prepares the engine of one migration. It talks to no cluster yet.
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
		clock: options.Clock, traffic: options.Traffic, records: told{options.Records}, notify: options.Notify, state: pass.State{Holder: options.Holder}, sides: sides, policy: options.Policy, onward: options.Onward, heart: newHeart(options),
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
	e.observer = &observe.Observer{Pair: sides, Clock: options.Clock, Policy: options.Policy, Identify: e.identifyAgain, KeepsSlice: e.inspector.KeepsSlice, LetsIn: e.inspector.LetsIn}
	if e.world = options.World; e.world == nil {
		e.world = inClusters{e}
	}
	return e
}

// Close stops watching, asks no gate and no probe any more, and connects no movers.
func (e *Engine) Close() {
	e.gates.close()
	e.clients.close()
	e.relays.Close()
	for _, leave := range e.leave {
		leave()
	}
	e.leave, e.watching, e.sides.Source.Cached, e.sides.Destination.Cached = nil, false, nil, nil
}

// Outcome is what one pass came to.
type Outcome struct {
	Snapshot plan.Snapshot
	Decision plan.Decision
	// Done is true when nothing is left to do.
	Done bool
	// Wrote is true when the effect of the decision was carried out.
	Wrote bool
	// Saved is true when the status was written.
	Saved bool
	// Stalls is true when the status that was written says Stalled, and the one before
	// did not, or for another reason.
	Stalls bool
	// Waits is true when the status that was written names a reason to wait that the one before did not.
	// GoesOn is true when the one before said Stalled, and it does not any more.
	Waits, GoesOn bool
	// AheadHeld is the reason for which copies for later turns are refused, when the status that was written says so
	// and the one before did not.
	AheadHeld string
	// RequeueAfter is when to look again at the latest.
	RequeueAfter time.Duration
	// Finished is the handoff that this pass has brought to its end, if any.
	Finished *api.Handoff
	// Clients are what requests of the probe came to so far; nil: there are none. The status has them as they were when it was written.
	Clients *api.ProbeStatus
}

// Pass does one step: it observes, decides, and writes at most once, as package pass says. It
// changes the status of m. An error means that the record could not be written.
func (e *Engine) Pass(ctx context.Context, m *api.Migration) (Outcome, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	e.newest(m)
	e.recall(m)
	step := e.state.Begin(e.clock.Now(), observe.RecordOf(m), func(object string) string { return e.observed(ctx, object) })
	if step.Do == pass.Rest {
		return Outcome{RequeueAfter: step.RequeueAfter}, nil
	}
	findings, err := e.world.Engage(ctx, m)
	if err == nil {
		err = e.learnOnward(ctx, m)
	}
	switch {
	case err != nil:
		step = pass.Stall(*unreachable(err).Hold)
	case e.notify != nil && !e.watching:
		// A right is missing: nothing can be watched, and little be read.
		step = pass.Stall(*findings[0].Hold())
	}
	for step.Do == pass.Read {
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
		e.world.EndPass() // what was asked for after a write is of another ordinal than the one on its way
	}
	return outcome, err
}

// Look observes everything and decides, and writes nothing: the dry run. m need not
// have been written anywhere.
func (e *Engine) Look(ctx context.Context, m *api.Migration) (plan.Snapshot, error) {
	if m.UID == "" {
		m = m.DeepCopy()
		m.UID = observe.Unborn
	}
	findings, err := e.world.Engage(ctx, m)
	if err != nil {
		return plan.Snapshot{}, err
	}
	snapshot := e.world.Snapshot(ctx, m, scope.Reads{Live: true, Wide: true, Namespace: true, Looks: true})
	snapshot.Preflight = findings
	return e.state.Sign(snapshot), nil
}

// newest makes m the younger one of what the caller has read and what was written.
func (e *Engine) newest(m *api.Migration) {
	if e.saved == nil || e.saved.UID != m.UID {
		return
	}
	if e.state.Outdated(m.ResourceVersion) {
		e.saved.DeepCopyInto(m)
	}
}

// observed is the resourceVersion that the cache shows of an object that was written; empty: it
// shows none.
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
