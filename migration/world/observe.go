// Package world is the two sides of a migration. An Observer reads them and returns them as a plan.Snapshot; a failed
// read makes a side Unreachable. An Executor performs one effect of a plan: one write, to the object that the decision
// was based on. Neither decides anything.
package world

import (
	"context"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/volumes"
)

// observed holds the objects that were read of one side, before they are converted to values.
type observed struct {
	endpoint endpoint.Endpoint
	err      error
	// lost is true for a side that must not be read.
	lost bool
	set  *appsv1.StatefulSet
	// object is the set in its own kind.
	object client.Object
	pods   []corev1.Pod
	// allPods is true if pods holds all pods of the namespace. Otherwise it holds the pods of the set and those that
	// mount its claims, and otherPods holds others that its budgets select.
	allPods   bool
	otherPods []corev1.Pod
	budgets   []policyv1.PodDisruptionBudget
	claims    map[string]*corev1.PersistentVolumeClaim
	volumes   map[string]*corev1.PersistentVolume
	attached  map[string][]volumes.Attachment
	// duplicateHandles holds volumes of this side that have the disk of a volume that the other side would move here,
	// by the name of the latter.
	duplicateHandles map[string]string
	// mountedBy holds the pods that reference a claim, by its name, after the pods were read. noneLeft is true if a
	// list has proven that no pod referenced the claims of the ordinal after pods could no longer mount its volumes
	// here.
	mountedBy map[string][]*corev1.Pod
	noneLeft  bool
	// recent is true if lists may be as old as the watch cache of the API server.
	recent bool
	// recorded holds the recorded volumes of the moving ordinal.
	recorded []api.HandoffVolume
	// owner is the UID of the migration.
	owner types.UID
	// copying holds the objects of copies on this side, by claim template; snapshots holds the snapshot features of
	// its cluster.
	copying   map[string]*copyPart
	snapshots snapshotAPI
	// deleting marks the StorageClasses that delete the volume with its claim.
	deleting map[string]bool
	// listing is a list of the pods that was started earlier; nil if there is none.
	listing *listing
	service *corev1.Service
	// lacksNamespace is true when the namespace is known not to exist.
	lacksNamespace bool
	// labels are those of the slice's pods if its StatefulSet does not exist.
	labels labels.Set
	// now is when it was read.
	now time.Time
	// inPlace is true for a migration in place. The caches lack fields that it needs, so it reads the volumes of its ordinals by
	// name from the API server, and the attachments only while an ordinal is in flight.
	inPlace bool
	// inFlight is the ordinal whose volumes a migration in place replaces, or nil. Only the source has it.
	inFlight *int32
	// sibling is the other StatefulSet when it is in the same namespace.
	sibling string
	export  plan.Export
	// services and exports are those of the namespace that may have the name of an ordinal.
	services map[string]*corev1.Service
	exports  map[string]plan.Export
}

// Observer reads both sides of a migration. It is not safe for concurrent use.
type Observer struct {
	*endpoint.Pair
	Clock  clock.PassiveClock
	Policy volumes.Policy
	// Identify determines which cluster a side is in.
	Identify func(context.Context, *endpoint.Endpoint) error
	// KeepsSlice checks whether the destination keeps all fields of its future slice. The last argument is true if a
	// stop depends on the answer.
	KeepsSlice func(context.Context, plan.Snapshot, *appsv1.StatefulSet, bool) (*plan.Finding, error)
	// LetsIn checks whether an ordinal would run at a side; a nil finding means that it would. An error means that
	// the side did not answer.
	LetsIn func(context.Context, Arriving) (*plan.Finding, error)
	// arrived is the last answer of LetsIn, and refusals holds by name the missing pods of arriving ordinals.
	arrived  arrived
	refusals map[string]refusal
	// ahead holds the lists of pods in progress.
	ahead ahead
	// copies caches the dependencies that were read.
	copies copies
	// ownVolumes caches the volumes of a migration in place.
	ownVolumes ownVolumes
	// seenWriters caches the other writers of the source.
	seenWriters seenWriters
	// rereads counts the reads of a set that was recreated while it was read.
	rereads int
	// namespaceSeen is when the destination's namespace was last read and existed.
	namespaceSeen time.Time
}

// identify determines which clusters the sides are in.
func (e *Observer) identify(ctx context.Context, source, destination *observed, sides planner.Sides) {
	if sides == planner.NoSide {
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

// both reads two sides concurrently. A side with an earlier error keeps it, and a lost side is not read.
func both(source, destination *observed, read func(*observed) error) {
	var group sync.WaitGroup
	for _, f := range []*observed{source, destination} {
		if f.err == nil && !f.lost {
			group.Go(func() { f.err = read(f) })
		}
	}
	group.Wait()
}

// fail records the first error of a side.
func (f *observed) fail(err error) {
	if f.err == nil {
		f.err = err
	}
}

// readerOf returns the cache or the API server. The API server is used if all reads are live and this kind is not
// spared on this side, and for a side that is not watched yet.
func (f *observed) readerOf(sc planner.Reads, spared planner.Sides) client.Reader {
	if f.endpoint.Cached == nil || sc.Wide && !spared.Has(f.endpoint.Side) {
		return f.endpoint.Live
	}
	return f.endpoint.Cached
}

// around returns the cache, or the API server without one. It is for objects from which nothing is concluded, and
// those that are read again for a write that depends on them.
func (f *observed) around() client.Reader {
	if f.endpoint.Cached == nil {
		return f.endpoint.Live
	}
	return f.endpoint.Cached
}

// read reads the slice of one side: its StatefulSet, then its pods and budgets, and the attachments in its cluster.
func (f *observed) read(ctx context.Context, sc planner.Reads) (err error) {
	if err := f.readSet(ctx, f.readerOf(sc, sc.Spared.Sets)); err != nil {
		return err
	}
	f.recent = sc.Recent
	return endpoint.Together(
		func() error { return f.readUse(ctx, f.readerOf(sc, sc.Spared.Pods)) },
		func() error { return f.listBudgets(ctx, f.readerOf(sc, sc.Spared.Budgets)) },
	)
}

// list reads a list. If recent lists are enough, the API server takes it from its watch cache without waiting.
func (f *observed) list(ctx context.Context, reader client.Reader, list client.ObjectList, options ...client.ListOption) error {
	if f.recent && !f.isView(reader) {
		options = append(options, notOlderThan(nil))
	}
	return reader.List(ctx, list, options...)
}

// listBudgets reads all PodDisruptionBudgets of the slice's namespace.
func (f *observed) listBudgets(ctx context.Context, reader client.Reader) error {
	var budgets policyv1.PodDisruptionBudgetList
	err := f.list(ctx, reader, &budgets, client.InNamespace(f.endpoint.Namespace))
	f.budgets = budgets.Items
	return err
}

// readSet reads the side's StatefulSet, of either kind.
func (f *observed) readSet(ctx context.Context, reader client.Reader) (err error) {
	f.set, f.object, err = f.endpoint.GetBoth(ctx, reader)
	return err
}

// readUse reads the pods, which may use a claim, and then the attachments of volumes: if a pod did not exist at the
// first read, its attachments may not have existed either. Both are read from the same source, because a write for
// one ordinal may be based on reads of all ordinals (I2).
func (f *observed) readUse(ctx context.Context, reader client.Reader) error {
	if err := f.listPods(ctx, reader); err != nil || f.inPlace && len(f.recorded) == 0 {
		return err
	}
	return f.listAttachments(ctx, reader)
}

func (f *observed) listPods(ctx context.Context, reader client.Reader, options ...client.ListOption) error {
	var pods corev1.PodList
	err := f.list(ctx, reader, &pods, append(options, f.ofSet(reader)...)...)
	f.pods, f.allPods = pods.Items, !f.isView(reader)
	return err
}

// readRest reads the objects that do not belong to one ordinal: the governing Service of the source, and all claims
// and volumes.
func (f *observed) readRest(ctx context.Context, sc planner.Reads, source *appsv1.StatefulSet) error {
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

func (f *observed) readAllVolumes(ctx context.Context, sc planner.Reads) error {
	var claims corev1.PersistentVolumeClaimList
	var pvs corev1.PersistentVolumeList
	err := endpoint.Together(
		func() error {
			reader := f.readerOf(sc, sc.Spared.Claims)
			return f.list(ctx, reader, &claims, f.ofSet(reader)...)
		},
		func() error {
			reader := f.readerOf(sc, sc.Spared.Volumes)
			if f.namesVolumes(reader) {
				return nil // they are read by name, after all claims: see readNamed
			}
			return f.list(ctx, reader, &pvs)
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

// governing returns the governing Service of the source, which the destination needs.
func governing(source, destination *observed) plan.Dependent {
	if source.set == nil || source.set.Spec.ServiceName == "" {
		return plan.Dependent{}
	}
	return plan.Dependent{Needed: source.service != nil, Found: destination.service != nil, Name: source.set.Spec.ServiceName}
}

// OrdinalsOf returns the ordinals whose volumes and names are read.
func OrdinalsOf(s plan.Snapshot, sc planner.Reads) []int32 {
	if sc.Ordinal != nil {
		return []int32{*sc.Ordinal}
	}
	return s.Ordinals()
}

// Recovers reports whether a migration continues without its destination. A migration that has not started has
// nothing to recover, and one in place has no other side: it rolls back.
func Recovers(m *api.Migration) bool {
	return m.Spec.Storage == nil && m.Spec.Mode == api.ModeRecover && m.Status.Baseline != nil && m.DeletionTimestamp.IsZero()
}

// Unborn is the UID of a migration that is only planned. An empty UID would own every object without an owner.
const Unborn = types.UID("unborn")
