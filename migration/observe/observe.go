// Package observe reads both sides of a migration and makes a plan.Snapshot of what it finds. It
// writes nothing and decides nothing: what cannot be read makes a side Unreachable.
package observe

import (
	"context"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/migration/scope"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// observed is what was read of one side, before it is made into small values.
type observed struct {
	endpoint endpoint.Endpoint
	err      error
	// lost is true for a side that is not to be looked at.
	lost bool
	set  *appsv1.StatefulSet
	// object is the set as it is of its kind.
	object client.Object
	pods   []corev1.Pod
	// allPods is true where these are all of the namespace. Else they are those that are of the set or
	// mount its claims, and otherPods are others that its budgets select.
	allPods   bool
	otherPods []corev1.Pod
	budgets   []policyv1.PodDisruptionBudget
	claims    map[string]*corev1.PersistentVolumeClaim
	volumes   map[string]*corev1.PersistentVolume
	attached  map[string][]volumes.Attachment
	// duplicateHandles are volumes of this side that are the disk of one that the other side would
	// bring here, by the name of that one.
	duplicateHandles map[string]string
	// mountedBy are the pods that name a claim, by its name, once the pods were read. noneLeft is true where a list has shown that
	// no pod named the claims of the ordinal once no pod could mount its volumes here any more.
	mountedBy map[string][]*corev1.Pod
	noneLeft  bool
	// recorded are the volumes of the ordinal on its way, as they were recorded.
	recorded []api.HandoffVolume
	// owner is the UID of the migration.
	owner types.UID
	// copying is what of a copy is on this side, by claim template, and snapshots what its cluster can do with these.
	copying   map[string]*copyPart
	snapshots snapshotAPI
	// deleting are the StorageClasses whose volumes go with their claims.
	deleting map[string]bool
	// listing is a list of the pods that was asked for before; nil: there is none.
	listing *listing
	service *corev1.Service
	// lacksNamespace is true when the namespace is known not to exist.
	lacksNamespace bool
	// labels are those of the slice's pods when its StatefulSet does not exist.
	labels labels.Set
	// now is when it was read.
	now time.Time
	// sibling is the other StatefulSet when it is in the same namespace.
	sibling string
	export  plan.Export
	// services and exports are those of the namespace that may bear an ordinal's name.
	services map[string]*corev1.Service
	exports  map[string]plan.Export
}

// Observer reads both sides of a migration. It is not safe for concurrent use.
type Observer struct {
	*endpoint.Pair
	Clock  clock.PassiveClock
	Policy volumes.Policy
	// Identify finds out which cluster a side is in.
	Identify func(context.Context, *endpoint.Endpoint) error
	// KeepsSlice asks the destination whether it keeps the slice that it is to have.
	// The last argument is true where a stop rests on the answer.
	KeepsSlice func(context.Context, plan.Snapshot, *appsv1.StatefulSet, bool) (*plan.Finding, error)
	// LetsIn asks a side whether an ordinal would run there; nil: it does. An error means that it did not answer.
	LetsIn func(context.Context, Arriving) (*plan.Finding, error)
	// arrived is its last answer, and refusals are why the last ordinal that was to arrive has no pod.
	arrived  arrived
	refusals refusals
	// ahead are the lists of pods that are on their way.
	ahead ahead
	// copies is what was read of the dependencies.
	copies copies
	// seenWriters is what was read of who else writes the source.
	seenWriters seenWriters
	// namespaceSeen is when the destination's namespace was last looked for, and was there.
	namespaceSeen time.Time
}

// Snapshot reads both sides at once and makes a Snapshot of what it finds. An error
// of a side makes that side Unreachable; nothing is concluded from half a read.
func (e *Observer) Snapshot(ctx context.Context, m *api.Migration, sc scope.Reads) plan.Snapshot { //nolint:gocyclo,funlen // one condition after the other, each a line
	var recorded []api.HandoffVolume
	if m.Status.Handoff != nil {
		recorded = m.Status.Handoff.Volumes
	}
	now := e.Clock.Now()
	source, destination := &observed{endpoint: e.Source, recorded: recorded, owner: m.UID, now: now}, &observed{endpoint: e.Destination, recorded: recorded, owner: m.UID, now: now, lost: Recovers(m)}
	if destination.lost && m.Status.Baseline != nil {
		destination.endpoint.ID = m.Status.Baseline.DestinationCluster
		e.Destination.ID = destination.endpoint.ID
	}
	expectCopies(m, source, destination)
	e.identify(ctx, source, destination, sc.Identity)
	both(source, destination, func(f *observed) error { return f.read(ctx, sc) })
	if sc.Ordinal == nil {
		both(source, destination, func(f *observed) error { return f.readRest(ctx, sc, source.set) })
		destination.fail(e.readNamespace(ctx, destination, sc))
		readNamed(ctx, source, destination, sc)
		both(source, destination, func(f *observed) error { return f.readCopies(ctx) })
		readTwins(ctx, source, destination)
	}
	if sc.Live && !sc.Wide {
		for _, f := range []*observed{source, destination} {
			if sc.Gate && !f.lost {
				f.listing, f.allPods = e.ahead.gateOf(ctx, f.endpoint), sc.Pods
			} else {
				f.listing = e.ahead.leftOf(f.endpoint.Side, sc)
			}
		}
		readLive(ctx, source, destination, sc)
	}
	if !e.SameCluster() {
		carried := map[plan.SideName]map[string]*corev1.PersistentVolume{plan.SourceSide: destination.volumes, plan.DestinationSide: source.volumes}
		both(source, destination, func(f *observed) error { return f.readDuplicates(ctx, e.Policy, carried[f.endpoint.Side]) })
	}
	readSnapshotting(ctx, m, source, destination)
	source.labels, destination.labels = destination.podLabels(), source.podLabels()
	both(source, destination, func(f *observed) error { return f.readAround(ctx, sc) })
	readExports(ctx, m, source, destination)
	readNames(ctx, m, source, destination, sc)

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
	if s.Source.Reach != plan.Seen || s.Destination.Reach != plan.Seen {
		return s
	}
	s.Dependencies, s.HookJobs = e.dependencies(ctx, m, s, source.set, sc), e.hookJobs(ctx, s)
	s.Writers = e.writers(ctx, m, source.set, sc)
	var err error
	if s.Numbers, err = e.KeepsSlice(ctx, s, source.set, sc.Arrival != nil); err != nil {
		s.Destination.Reach, s.Destination.ReachError = plan.Unreachable, endpoint.OneLine(err)
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
	sides := map[plan.SideName]*observed{plan.SourceSide: source, plan.DestinationSide: destination}
	if s.Arrival, err = e.arrival(ctx, m, s, sides, sc); err != nil {
		taker := s.Side(planner.Giver(s).Other())
		taker.Reach, taker.ReachError = plan.Unreachable, endpoint.OneLine(err)
	}
	s.Refused = e.refused(ctx, s, sides[planner.Giver(s).Other()])
	return s
}

// identify asks sides which cluster they are in.
func (e *Observer) identify(ctx context.Context, source, destination *observed, sides scope.Sides) {
	if sides == scope.NoSide {
		return
	}
	both(source, destination, func(f *observed) error {
		if !sides.Has(f.endpoint.Side) {
			return nil
		}
		return e.Identify(ctx, &f.endpoint)
	})
	e.Source.ID, e.Destination.ID = source.endpoint.ID, destination.endpoint.ID
}

// both reads two sides at the same time. What failed before stays failed, and one that is
// lost is not looked at.
func both(source, destination *observed, read func(*observed) error) {
	var group sync.WaitGroup
	for _, f := range []*observed{source, destination} {
		if f.err == nil && !f.lost {
			group.Go(func() { f.err = read(f) })
		}
	}
	group.Wait()
}

// fail notes the first error of a side.
func (f *observed) fail(err error) {
	if f.err == nil {
		f.err = err
	}
}

// readerOf is the cache or the API server, which lists a kind of object where all is read live and
// this side's is not spared. A side that is not watched yet is read live.
func (f *observed) readerOf(sc scope.Reads, spared scope.Sides) client.Reader {
	if f.endpoint.Cached == nil || sc.Wide && !spared.Has(f.endpoint.Side) {
		return f.endpoint.Live
	}
	return f.endpoint.Cached
}

// around is the cache, or the API server where there is none: for what no migration is concluded from,
// and what a write depends on is read for that write.
func (f *observed) around() client.Reader {
	if f.endpoint.Cached == nil {
		return f.endpoint.Live
	}
	return f.endpoint.Cached
}

// read reads the slice of one side: its StatefulSet, and after it pods and budgets,
// and what is attached in its cluster.
func (f *observed) read(ctx context.Context, sc scope.Reads) (err error) {
	if err := f.readSet(ctx, f.readerOf(sc, sc.Spared.Sets)); err != nil {
		return err
	}
	return endpoint.Together(
		func() error { return f.readUse(ctx, f.readerOf(sc, sc.Spared.Pods)) },
		func() error { return f.listBudgets(ctx, f.readerOf(sc, sc.Spared.Budgets)) },
	)
}

// listBudgets reads all PodDisruptionBudgets of the slice's namespace.
func (f *observed) listBudgets(ctx context.Context, reader client.Reader) error {
	var budgets policyv1.PodDisruptionBudgetList
	err := reader.List(ctx, &budgets, client.InNamespace(f.endpoint.Namespace))
	f.budgets = budgets.Items
	return err
}

// readSet reads the side's StatefulSet, whichever kind it is of.
func (f *observed) readSet(ctx context.Context, reader client.Reader) (err error) {
	f.set, f.object, err = f.endpoint.GetBoth(ctx, reader)
	return err
}

// readUse reads the pods, which may use a claim, and after them the attachments of volumes:
// those of a pod that was not there yet may not have been there either. Both come from the same place: a write for one ordinal may be
// decided on what was read of all (I2).
func (f *observed) readUse(ctx context.Context, reader client.Reader) error {
	if err := f.listPods(ctx, reader); err != nil {
		return err
	}
	return f.listAttachments(ctx, reader)
}

func (f *observed) listPods(ctx context.Context, reader client.Reader, options ...client.ListOption) error {
	var pods corev1.PodList
	err := reader.List(ctx, &pods, append(options, f.ofSet(reader)...)...)
	f.pods, f.allPods = pods.Items, !f.isView(reader)
	return err
}

// readRest reads what is not of one ordinal: the governing Service of the source, and all claims
// and volumes.
func (f *observed) readRest(ctx context.Context, sc scope.Reads, source *appsv1.StatefulSet) error {
	return endpoint.Together(
		func() error { return f.readAllVolumes(ctx, sc) },
		func() (err error) {
			if source != nil && source.Spec.ServiceName != "" {
				f.service, err = endpoint.Get[corev1.Service](ctx, f.around(), f.endpoint.Key(source.Spec.ServiceName))
			}
			return err
		},
	)
}

func (f *observed) readAllVolumes(ctx context.Context, sc scope.Reads) error {
	var claims corev1.PersistentVolumeClaimList
	var pvs corev1.PersistentVolumeList
	err := endpoint.Together(
		func() error {
			reader := f.readerOf(sc, sc.Spared.Claims)
			return reader.List(ctx, &claims, f.ofSet(reader)...)
		},
		func() error {
			reader := f.readerOf(sc, sc.Spared.Volumes)
			if f.isView(reader) {
				return nil // they are read by name, once all claims are known: see readNamed
			}
			return reader.List(ctx, &pvs)
		},
	)
	f.claims = make(map[string]*corev1.PersistentVolumeClaim, len(claims.Items))
	for i := range claims.Items {
		f.claims[claims.Items[i].Name] = &claims.Items[i]
	}
	f.volumes = make(map[string]*corev1.PersistentVolume, len(pvs.Items))
	for i := range pvs.Items {
		f.volumes[pvs.Items[i].Name] = &pvs.Items[i]
	}
	return err
}

// governing is the Service that the destination needs: the source's.
func governing(source, destination *observed) plan.Dependent {
	if source.set == nil || source.set.Spec.ServiceName == "" {
		return plan.Dependent{}
	}
	return plan.Dependent{Needed: source.service != nil, Found: destination.service != nil, Name: source.set.Spec.ServiceName}
}

// OrdinalOf returns the ordinal of a pod named <set>-<ordinal>.
func OrdinalOf(set, pod string) (int32, bool) {
	rest, found := strings.CutPrefix(pod, set+"-")
	if !found || rest == "" || len(rest) > 1 && rest[0] == '0' {
		return 0, false
	}
	var ordinal int64
	for _, c := range rest {
		if c < '0' || c > '9' || ordinal > 1<<31-1 {
			return 0, false
		}
		ordinal = ordinal*10 + int64(c-'0')
	}
	return int32(ordinal), ordinal <= 1<<31-1
}

// OrdinalsOf are those whose volumes and names are read.
func OrdinalsOf(s plan.Snapshot, sc scope.Reads) []int32 {
	if sc.Ordinal != nil {
		return []int32{*sc.Ordinal}
	}
	return s.Ordinals()
}

// Recovers says whether a migration goes on without its destination. One that has not begun
// has nothing to recover.
func Recovers(m *api.Migration) bool {
	return m.Spec.Mode == api.ModeRecover && m.Status.Baseline != nil && m.DeletionTimestamp.IsZero()
}

// Unborn is the UID of a migration that is only looked at: an empty one would own
// every object that nobody owns.
const Unborn = types.UID("unborn")
