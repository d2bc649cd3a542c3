package world

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/inplace"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/drift"
)

// beyondInPlace adds to a snapshot what only a migration in place needs. Both of its sides are one StatefulSet, which the
// snapshot then shows as two slices.
func (e *Observer) beyondInPlace(ctx context.Context, m *api.Migration, s plan.Snapshot, source, destination *observed, sc planner.Reads) plan.Snapshot {
	about := replaced{Observer: e, m: m, source: source, destination: destination}
	err := about.read(ctx, s)
	if errors.Is(err, errRecreated) && e.rereads < mostRereads {
		e.rereads++
		defer func() { e.rereads-- }()
		return e.Snapshot(ctx, m, sc)
	}
	if err != nil {
		unreachable(&s.Source, err)
		unreachable(&s.Destination, err)
		return s
	}
	s.Storage = about.storage
	s.Source.Set.Templates = about.templates()
	s.Volumes = about.volumes(s.Record)
	s = planner.AsSlices(s)
	if err = about.left(ctx, s); err != nil {
		unreachable(&s.Source, err)
	}
	if s.Arrival, err = e.startsAgain(ctx, m, source.set, sc); err != nil {
		unreachable(&s.Source, err)
	}
	s.HookJobs, s.Writers = e.hookJobs(ctx, s), e.writers(ctx, m, source.set, sc)
	return s
}

// errRecreated is the error of a set that was deleted or recreated between two reads of a pass. It is read again, at most
// mostRereads times.
var errRecreated = errors.New("it was deleted or recreated while it was read")

const mostRereads = 3

// replaced is the StatefulSet of a migration in place, as it was read.
type replaced struct {
	*Observer
	m                   *api.Migration
	source, destination *observed
	storage             *plan.Storage
	// wanted and former are the claim templates, by name.
	wanted, former map[string]*corev1.PersistentVolumeClaim
	names          []string
	classes        drift.Classes
}

// read reads the set in full, and the classes that its templates name. A set that is being recreated is the recorded one.
func (r *replaced) read(ctx context.Context, s plan.Snapshot) error {
	r.storage = &plan.Storage{Margin: int64(r.m.Spec.Storage.Margin()), Set: inplace.Set{Namespace: r.Source.Namespace, Name: r.Source.Set}}
	live, err := r.readSet(ctx, s)
	if err != nil || live == nil {
		return err
	}
	return r.derive(ctx, s, live)
}

// readSet returns the set with all fields that the API server serves, or the recorded one if it does not exist; nil if none
// is known.
func (r *replaced) readSet(ctx context.Context, s plan.Snapshot) (inplace.Live, error) {
	if r.source.set == nil {
		recorded := inplace.RecordOf(s.Record.Storage, nil)
		switch {
		case recorded.Replace != nil:
			return inplace.ReadManifest(recorded.Replace.Next)
		case recorded.Former.Text != "":
			return inplace.ReadManifest(recorded.Former)
		}
		return nil, nil
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.FromAPIVersionAndKind(r.Source.Kind().APIVersion(), "StatefulSet"))
	if err := r.Source.Live.Get(ctx, r.Source.Key(r.Source.Set), object); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return nil, fmt.Errorf("%s: %w", r.Source.Object(), errRecreated)
		}
		return nil, err
	}
	if object.GetUID() != r.source.set.UID {
		return nil, fmt.Errorf("%s: %w", r.Source.Object(), errRecreated)
	}
	r.storage.Set = setInPlace(r.storage.Set, r.source.set, s.Source.Set)
	r.unlock()
	var err error
	r.storage.Set.Operator, err = operatorOf(ctx, r.Source, r.source.set)
	return object.Object, err
}

// unlock adds how the kind of the set lets its claim templates change.
func (r *replaced) unlock() {
	kind, set := r.Source.Kind(), &r.storage.Set
	facts := kind.Observe(r.source.object, r.source.pods)
	if set.Updates, set.Locked = kind.UpdatesTemplates(), facts.TemplatesLocked; set.Locked != "" {
		set.Unlock = r.Source.Kubectl().Do("patch", r.Source.Resource(), "-n", set.Namespace, set.Name, "--type=merge", "-p", facts.TemplatesUnlock)
	}
}

// setInPlace returns the facts of a set that exists.
func setInPlace(view inplace.Set, set *appsv1.StatefulSet, seen plan.Set) inplace.Set {
	view.Found, view.UID, view.ResourceVersion = true, set.UID, set.ResourceVersion
	view.Terminating, view.RolledOut = set.DeletionTimestamp != nil, seen.Observed && !seen.RollsOut()
	view.Keeps = volumes.Foreign(set.Finalizers)
	if owner := metav1.GetControllerOf(set); owner != nil {
		view.Owner = owner.Kind + " " + owner.Name
	}
	if policy := set.Spec.PersistentVolumeClaimRetentionPolicy; policy != nil {
		view.DeletesClaims = policy.WhenDeleted == appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	}
	claim, at, _ := strings.Cut(set.Annotations[api.PokeAnnotationKey], " ")
	if when, err := time.Parse(time.RFC3339Nano, at); err == nil {
		view.Poked = inplace.Poke{For: types.UID(claim), At: when}
	}
	return view
}

// derive fills in the manifests, and the templates of both directions.
func (r *replaced) derive(ctx context.Context, s plan.Snapshot, live inplace.Live) error {
	want, objections, err := live.Want(r.m.VolumesAsAccepted())
	if err != nil {
		return err
	}
	for _, objection := range objections {
		r.storage.Objections = append(r.storage.Objections, plan.FindingOf(r.Source.Object(), objection))
	}
	former := live
	if recorded := inplace.RecordOf(s.Record.Storage, nil).Former; recorded.Text != "" {
		if former, err = recorded.In(live); err != nil {
			return err
		}
	}
	if r.wanted, r.names, err = byName(want); err != nil {
		return err
	}
	if r.former, _, err = byName(former); err != nil {
		return err
	}
	r.nameClasses()
	if err := r.readClasses(ctx, s.Record); err != nil {
		return err
	}
	standard := r.standard()
	r.storage.Standard = standard
	if r.storage.Wanted, err = want.Manifest(standard); err != nil {
		return err
	}
	if r.storage.Former, err = former.Manifest(standard); err != nil {
		return err
	}
	if r.storage.Set.Found {
		r.storage.Set.Manifest, err = live.Manifest(standard)
	}
	return err
}

func byName(set inplace.Live) (claims map[string]*corev1.PersistentVolumeClaim, names []string, err error) {
	list, err := set.Claims()
	claims = map[string]*corev1.PersistentVolumeClaim{}
	for i := range list {
		claims[list[i].Name] = &list[i]
		names = append(names, list[i].Name)
	}
	slices.Sort(names)
	return claims, names, err
}

// templates returns the names of the claim templates, ascending.
func (r *replaced) templates() []string { return r.names }

// volumes returns the claims of all ordinals, with the work that each needs.
func (r *replaced) volumes(record plan.Record) []plan.OrdinalVolume {
	r.source.mountedBy, r.destination.mountedBy = r.source.users(), r.destination.users()
	start, replicas := r.ordinals(record)
	var all []plan.OrdinalVolume
	for k := start; k < start+replicas; k++ {
		for _, template := range r.names {
			all = append(all, r.volume(record, k, template))
		}
	}
	return all
}

// ordinals returns the range of the set, or the recorded one if it does not exist.
func (r *replaced) ordinals(record plan.Record) (start, replicas int32) {
	if r.source.set == nil {
		if record.Baseline == nil {
			return 0, 0
		}
		return record.Baseline.Start, record.Baseline.Replicas
	}
	view := SetOf(r.m, r.source.set, r.source.pods)
	if view.Replicas > plan.MaxOrdinals || view.Replicas < 0 {
		return 0, 0
	}
	return view.Start, view.Replicas
}

// volume returns a claim. The side that stands for its old volume has the claim of its name, whichever that is now.
func (r *replaced) volume(record plan.Record, k int32, template string) plan.OrdinalVolume {
	v := plan.OrdinalVolume{Ordinal: k, Template: template, Method: MethodOf(r.m, template), Word: wordOf(r.m, template)}
	old := plan.RecordedVolume(record.Handoff, k, template).Name
	held := holdingOf(r.m, r.source, k, template, old)
	if old == "" {
		held = holdingOf(r.m, r.source, k, template, held.Claim.Volume)
	}
	free := volumes.Holding{Ref: held.Ref, Kubectl: held.Kubectl}
	if class := r.wanted[template].Spec.StorageClassName; class != nil {
		free.Volume.Class = *class
	}
	v.Source, v.Destination = held, free
	if h := record.Storage; h != nil && h.Handoff != nil && h.Handoff.Return && record.Handoff != nil && record.Handoff.Ordinal == k {
		v.Source, v.Destination = free, held
	}
	r.compare(&v, held)
	v.Copy = copyingOf(r.m, r.source, r.destination, v)
	return v
}
