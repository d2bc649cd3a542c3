package world

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
)

// Snapshot reads both sides concurrently and returns them as values. An error of a side makes that side Unreachable;
// a partial read is not used.
func (e *Observer) Snapshot(ctx context.Context, m *api.Migration, sc planner.Reads) plan.Snapshot {
	source, destination := e.sidesOf(m)
	e.identify(ctx, source, destination, sc.Identity)
	both(source, destination, func(f *observed) error { return f.read(ctx, sc) })
	if sc.Ordinal == nil {
		e.readWhole(ctx, source, destination, sc)
	}
	if handoff := m.Status.Handoff; sc.Recent && handoff != nil && source.err == nil {
		source.fail(source.readAlone(ctx, *handoff))
	}
	if sc.Live && !sc.Wide {
		e.readOrdinal(ctx, source, destination, sc)
	}
	e.readMore(ctx, m, source, destination, sc)
	s := e.snapshotOf(m, source, destination, sc)
	if s.Source.Reach != plan.Seen || s.Destination.Reach != plan.Seen {
		return s
	}
	return e.beyondSides(ctx, m, s, map[plan.SideName]*observed{plan.SourceSide: source, plan.DestinationSide: destination}, sc)
}

// sidesOf returns both sides of a migration, before anything is read of them.
func (e *Observer) sidesOf(m *api.Migration) (source, destination *observed) {
	var recorded []api.HandoffVolume
	if m.Status.Handoff != nil {
		recorded = m.Status.Handoff.Volumes
	}
	now := e.Clock.Now()
	source = &observed{endpoint: e.Source, recorded: recorded, owner: m.UID, now: now}
	destination = &observed{endpoint: e.Destination, recorded: recorded, owner: m.UID, now: now, lost: Recovers(m)}
	if destination.lost && m.Status.Baseline != nil {
		destination.endpoint.ID = m.Status.Baseline.DestinationCluster
		e.Destination.ID = destination.endpoint.ID
	}
	source.inPlace, destination.inPlace = m.Spec.Storage != nil, m.Spec.Storage != nil
	if m.Status.Handoff != nil {
		source.inFlight = &m.Status.Handoff.Ordinal
	}
	expectCopies(m, source, destination)
	return source, destination
}

// readWhole reads the objects of all ordinals.
func (e *Observer) readWhole(ctx context.Context, source, destination *observed, sc planner.Reads) {
	both(source, destination, func(f *observed) error { return f.readRest(ctx, sc, source.set) })
	destination.fail(e.readNamespace(ctx, destination, sc))
	e.readNamed(ctx, source, destination, sc)
	both(source, destination, func(f *observed) error { return f.readCopies(ctx) })
	readTwins(ctx, source, destination)
}

// readOrdinal reads, object by object, what a write depends on.
func (e *Observer) readOrdinal(ctx context.Context, source, destination *observed, sc planner.Reads) {
	for _, f := range []*observed{source, destination} {
		if sc.Gate && !f.lost {
			f.listing, f.allPods = e.ahead.gateOf(ctx, f.endpoint), sc.Pods
		} else {
			f.listing = e.ahead.leftOf(f.endpoint.Side, sc)
		}
	}
	readLive(ctx, source, destination, sc)
}

// readMore reads what depends on the objects of both sides.
func (e *Observer) readMore(ctx context.Context, m *api.Migration, source, destination *observed, sc planner.Reads) {
	if !e.SameCluster() {
		carried := map[plan.SideName]map[string]*corev1.PersistentVolume{plan.SourceSide: destination.volumes, plan.DestinationSide: source.volumes}
		both(source, destination, func(f *observed) error { return f.readDuplicates(ctx, e.Policy, carried[f.endpoint.Side]) })
	}
	readSnapshotting(ctx, m, source, destination)
	source.labels, destination.labels = destination.podLabels(), source.podLabels()
	both(source, destination, func(f *observed) error { return f.readAround(ctx, sc) })
	readExports(ctx, m, source, destination)
	readNames(ctx, m, source, destination, sc)
}

// snapshotOf returns the values of both sides.
func (e *Observer) snapshotOf(m *api.Migration, source, destination *observed, sc planner.Reads) plan.Snapshot {
	s := plan.Snapshot{
		Now: e.Clock.Now(), Migration: client.ObjectKeyFromObject(m), UID: m.UID, Deleting: !m.DeletionTimestamp.IsZero(),
		Spec: SpecOf(m, e.SameCluster()), Record: RecordOf(m), Focused: sc.Ordinal != nil, VolumesRead: sc.Volumes,
		RollbackWritten: rollbackWritten(m), ModeWriter: modeWriter(m),
	}
	s.Spec.SameNamespace = s.Spec.SameCluster && e.Source.Namespace == e.Destination.Namespace
	source.now, destination.now = s.Now, s.Now
	if s.Spec.SameNamespace {
		source.sibling, destination.sibling = destination.endpoint.Set, source.endpoint.Set
	}
	s.Source, s.Destination = sideOf(m, source), sideOf(m, destination)
	s.Destination.Service = governing(source, destination)
	s.Source.Service = governing(source, source)
	return s
}

// beyondSides adds to a snapshot of two reachable sides what concerns both, or objects beside them.
func (e *Observer) beyondSides(ctx context.Context, m *api.Migration, s plan.Snapshot, sides map[plan.SideName]*observed, sc planner.Reads) plan.Snapshot {
	source, destination := sides[plan.SourceSide], sides[plan.DestinationSide]
	if m.Spec.Storage != nil {
		return e.beyondInPlace(ctx, m, s, source, destination, sc)
	}
	s.Dependencies, s.HookJobs = e.dependencies(ctx, m, s, source.set, sc), e.hookJobs(ctx, s)
	s.Writers = e.writers(ctx, m, source.set, sc)
	var err error
	if s.Numbers, err = e.KeepsSlice(ctx, s, source.set, sc.Arrival != nil); err != nil {
		unreachable(&s.Destination, err)
		return s
	}
	s.Template = changeOf(source.set, destination.set)
	s.Source.Set.Templates = ClaimTemplates(source.set)
	if s.Services().NamesOrdinals() {
		s.Source.Names, s.Destination.Names = source.names(m, OrdinalsOf(s, sc)), destination.names(m, OrdinalsOf(s, sc))
	}
	if s.Record.Baseline == nil && sc.Ordinal == nil {
		s.Source.Marks, s.Destination.Marks = source.marks(s.Source.Set.Templates), destination.marks(s.Source.Set.Templates)
	}
	ordinals := OrdinalsOf(s, sc)
	if sc.Next != nil {
		ordinals = append(ordinals, *sc.Next)
	}
	s.Volumes = e.volumesOf(m, source, destination, ordinals)
	if s.Arrival, err = e.arrival(ctx, m, s, sides, sc); err != nil {
		unreachable(s.Side(planner.Giver(s).Other()), err)
	}
	s.Refused = e.refused(ctx, s, sides[planner.Giver(s).Other()])
	return s
}

// unreachable marks a side whose cluster did not answer.
func unreachable(side *plan.Side, err error) {
	side.Reach, side.ReachError = plan.Unreachable, endpoint.OneLine(err)
}
