package world

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/copy"
	"github.com/sliceshift/sliceshift/volumes/snapshot"
	"github.com/sliceshift/sliceshift/volumes/snapshot/manifest"
)

// snapshotPart holds the objects of a snapshot on one side.
type snapshotPart struct {
	// name of the VolumeSnapshot, and contentName of its content if that is known without it.
	name, contentName string
	snapshot, content *unstructured.Unstructured
}

// snapshotPartOf records which objects of a snapshot, with its pod, must be read on a side.
func snapshotPartOf(part *copyPart, claim volumes.Ref, owner types.UID, attempt api.CopyAttempt) {
	if part.role == volumes.RoleReceiver {
		name := snapshot.ImportRef(claim, owner, attempt.Number).Name
		part.podName, part.snap = snapshot.PlaceholderName(claim, owner, attempt.Number), &snapshotPart{name: name, contentName: name}
		return
	}
	name := snapshot.TakenRef(claim, owner, cmp.Or(attempt.Snapshot.Number, attempt.Number)).Name
	part.podName, part.snap = "", &snapshotPart{name: name, contentName: attempt.Snapshot.Content}
}

// read reads a VolumeSnapshot and its content from the API server.
func (s *snapshotPart) read(ctx context.Context, at endpoint.Endpoint) (err error) {
	if s.snapshot, err = getObject(ctx, at, manifest.SnapshotKind, at.Key(s.name)); err != nil {
		return err
	}
	name := cmp.Or(s.contentName, manifest.ContentOf(s.snapshot))
	if name == "" {
		return nil
	}
	s.content, err = getObject(ctx, at, manifest.ContentKind, types.NamespacedName{Name: name})
	return err
}

// getObject reads an object of a kind that is not built in; nil if it does not exist.
func getObject(ctx context.Context, at endpoint.Endpoint, kind schema.GroupVersionKind, key types.NamespacedName) (*unstructured.Unstructured, error) {
	object := manifest.Empty(kind, volumes.Ref{})
	err := at.Live.Get(ctx, key, object)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return object, err
}

// waitsForPod reports whether an unbound claim is bound only when a pod is scheduled. If the classes may not be read,
// it reports true, because an unneeded placeholder pod is harmless.
func waitsForPod(ctx context.Context, at endpoint.Endpoint, claim *corev1.PersistentVolumeClaim) (bool, error) {
	if claim == nil || claim.Spec.VolumeName != "" || claim.Spec.StorageClassName == nil {
		return false, nil
	}
	var classes storagev1.StorageClassList
	err := at.Live.List(ctx, &classes)
	if apierrors.IsForbidden(err) {
		return true, nil
	}
	return slices.ContainsFunc(classes.Items, func(c storagev1.StorageClass) bool {
		return c.Name == *claim.Spec.StorageClassName && c.VolumeBindingMode != nil && *c.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
	}), err
}

// snapshotAPI holds the snapshot features of a cluster, for all drivers.
type snapshotAPI struct {
	asked, served bool
	trouble       string
	classes       []volumes.SnapshotClass
}

// asksForSnapshots reports whether the snapshot features of both clusters are read: as long as a snapshot may have to
// be taken.
func asksForSnapshots(m *api.Migration) bool {
	return slices.ContainsFunc(m.VolumesAsAccepted(), func(v api.VolumeSpec) bool {
		if v.Method != api.MethodSnapshot {
			return false
		}
		return m.Status.Handoff == nil || m.Status.Handoff.Volume(v.ClaimTemplate).Copy.Snapshot.Handle == ""
	})
}

// readSnapshotting reads the objects that snapshots need, if the migration uses any: for method Snapshot, or for warm
// passes.
func readSnapshotting(ctx context.Context, m *api.Migration, source, destination *observed) {
	switch {
	case asksForSnapshots(m):
		both(source, destination, func(f *observed) error { return f.readSnapshotAPI(ctx) })
	case asksForBases(m, source, destination):
		both(source, destination, func(f *observed) error { return f.readForBases(ctx) })
	}
}

// readSnapshotAPI reads the VolumeSnapshotClasses of this side's cluster.
func (f *observed) readSnapshotAPI(ctx context.Context) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(manifest.ClassListKind)
	switch err := f.endpoint.Live.List(ctx, list); {
	case meta.IsNoMatchError(err), apierrors.IsNotFound(err):
		f.snapshots = snapshotAPI{asked: true}
	case apierrors.IsForbidden(err):
		f.snapshots = snapshotAPI{trouble: endpoint.OneLine(err)}
	case err != nil:
		return err
	default:
		f.snapshots = snapshotAPI{asked: true, served: true, classes: manifest.ViewClasses(list)}
	}
	return nil
}

// snapshotSide returns the snapshot features for the volumes of a driver; asked is the class that the user has
// selected.
func (f *observed) snapshotSide(driver, asked string) volumes.SnapshotSide {
	side := volumes.SnapshotSide{Cluster: f.endpoint.Cluster, Asked: f.snapshots.asked, Trouble: f.snapshots.trouble, Served: f.snapshots.served}
	side.Class, side.Lacks = volumes.ChooseClass(f.snapshots.classes, driver, asked)
	return side
}

// snapshotting returns the state of the snapshot of a claim, without its objects on both sides.
func snapshotting(m *api.Migration, source, destination *observed, v plan.OrdinalVolume) *volumes.Copying {
	asked := askedOf(m, v.Template).Snapshot
	driver, _ := volumes.DriverOf(cmp.Or(v.Source.Volume.Handle, v.Destination.Volume.Handle))
	seen := &volumes.Copying{Snapshot: volumes.Snapshotting{Giver: source.snapshotSide(driver, asked.ClassName), Taker: destination.snapshotSide(driver, "")}}
	if asked.Size != nil {
		seen.Asked.Size = asked.Size.Value()
	}
	return seen
}

// putSnapshot adds the objects of a snapshot on one side to its state.
func (part *copyPart) putSnapshot(seen *volumes.Copying, owner types.UID) {
	s := manifest.ViewSnapshot(part.snap.snapshot, owner)
	s.Content = manifest.ViewContent(part.snap.content, owner)
	if part.role == volumes.RoleSender {
		seen.Snapshot.Taken = s
		return
	}
	seen.Snapshot.Import, seen.Placeholder = s, moverOf(part.pod, owner)
	if part.claim != nil {
		seen.Snapshot.Source = manifest.SourceOf(part.claim)
	}
}

// basePart holds the objects that warm passes read instead of the ordinal's claim.
type basePart struct {
	name     string
	snapshot *unstructured.Unstructured
	claim    *corev1.PersistentVolumeClaim
}

// basePartOf returns which of them must be read; nil if warm passes read the ordinal's claim.
func basePartOf(claim volumes.Ref, owner types.UID, attempt api.CopyAttempt) *basePart {
	if attempt.Warm.By != api.CopyWarmSnapshot {
		return nil
	}
	return &basePart{name: copy.BaseRef(claim, owner, attempt.Number).Name}
}

func (b *basePart) read(ctx context.Context, at endpoint.Endpoint) (err error) {
	if b == nil {
		return nil
	}
	if b.snapshot, err = getObject(ctx, at, manifest.SnapshotKind, at.Key(b.name)); err != nil {
		return err
	}
	b.claim, err = endpoint.Get[corev1.PersistentVolumeClaim](ctx, at.Live, at.Key(b.name))
	return err
}

func (b *basePart) view(owner types.UID) (seen volumes.Base) {
	if b == nil {
		return seen
	}
	seen.Snapshot = manifest.ViewSnapshot(b.snapshot, owner)
	if b.claim != nil {
		seen.Claim = volumes.ViewClaim(b.claim, owner)
	}
	return seen
}

// asksForBases reports whether the snapshot features of both clusters are read for warm passes. That is so if the
// user has selected snapshots, if no second pod may mount a claim, or if a second pod could not.
func asksForBases(m *api.Migration, source, destination *observed) bool {
	return slices.ContainsFunc(m.VolumesAsAccepted(), func(v api.VolumeSpec) bool {
		if v.Method != api.MethodCopy || !slices.Contains([]api.CopyWarmMode{"", api.CopyWarmAuto, api.CopyWarmSnapshot}, v.Copy.Warm) {
			return false
		}
		warm := api.CopyWarm{}
		if m.Status.Handoff != nil {
			warm = m.Status.Handoff.Volume(v.ClaimTemplate).Copy.Warm
		}
		return v.Copy.Warm == api.CopyWarmSnapshot || warm.Refused != "" || source.oncePods() || destination.oncePods()
	})
}

// oncePods reports whether one of the claims is ReadWriteOncePod.
func (f *observed) oncePods() bool {
	for _, claim := range f.claims {
		if slices.Contains(claim.Spec.AccessModes, corev1.ReadWriteOncePod) {
			return true
		}
	}
	return false
}

// readForBases reads the snapshot features of this side's cluster for warm passes, and whether the identity may
// create snapshots there. The user has not requested them explicitly, so without the right the ordinal is copied in
// another way.
func (f *observed) readForBases(ctx context.Context) error {
	if err := f.readSnapshotAPI(ctx); err != nil || !f.snapshots.served {
		return err
	}
	for _, verb := range []string{"get", "create", "delete"} {
		allowed, err := f.endpoint.May(ctx, authorizationv1.ResourceAttributes{Group: manifest.Group, Resource: "volumesnapshots", Verb: verb, Namespace: f.endpoint.Namespace})
		if err != nil {
			return err
		}
		if !allowed {
			f.snapshots = snapshotAPI{trouble: fmt.Sprintf("the identity that is used there may not %s volumesnapshots in namespace %s", verb, f.endpoint.Namespace)}
			return nil
		}
	}
	return f.readKeepers(ctx)
}

// readKeepers reads which StorageClasses retain the volumes of deleted claims. If they may not be read, all are
// assumed to.
func (f *observed) readKeepers(ctx context.Context) error {
	var classes storagev1.StorageClassList
	err := f.endpoint.Live.List(ctx, &classes)
	if apierrors.IsForbidden(err) {
		return nil
	}
	f.deleting = map[string]bool{}
	for i := range classes.Items {
		policy := classes.Items[i].ReclaimPolicy
		f.deleting[classes.Items[i].Name] = policy == nil || *policy == corev1.PersistentVolumeReclaimDelete
	}
	return err
}

// baseSide returns the snapshot features for a volume that is snapshotted while its ordinal runs.
func (f *observed) baseSide(volume volumes.Volume) volumes.SnapshotSide {
	driver, _ := volumes.DriverOf(volume.Handle)
	side := f.snapshotSide(driver, "")
	for _, class := range f.snapshots.classes {
		if class.Name == side.Class && class.Retains {
			side.Keeps = fmt.Sprintf("VolumeSnapshotClass %s keeps its snapshots (deletionPolicy: Retain), and those of warm passes would stay", class.Name)
		}
	}
	if side.Keeps == "" && !f.deleting[volume.Class] {
		side.Keeps = fmt.Sprintf("StorageClass %q is not known to delete its volumes (reclaimPolicy), and those of warm passes would stay", volume.Class)
	}
	return side
}
