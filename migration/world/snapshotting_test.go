package world

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/snapshot/manifest"
)

// listingSnapshots returns a cluster that answers a list with an error; nil means none.
func listingSnapshots(err error, objects ...client.Object) endpoint.Endpoint {
	c := fake.NewClientBuilder().WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if err != nil {
				return err
			}
			return c.List(ctx, list, options...)
		},
	}).Build()
	return endpoint.Endpoint{Cluster: "east", Namespace: "shop", Side: plan.SourceSide, Live: c}
}

// TestSnapshotAPI: a cluster that does not serve snapshots is distinguished from a cluster that may not be read, and
// from one that does not answer.
func TestSnapshotAPI(t *testing.T) {
	class := manifest.Empty(manifest.ClassListKind.GroupVersion().WithKind("VolumeSnapshotClass"), volumes.Ref{Name: "nightly"})
	class.Object["driver"] = "d"
	resource := schema.GroupResource{Group: manifest.Group, Resource: "volumesnapshotclasses"}
	for name, tc := range map[string]struct {
		err    error
		want   volumes.SnapshotSide
		failed bool
	}{
		"it is served":   {nil, volumes.SnapshotSide{Asked: true, Served: true, Class: "nightly"}, false},
		"it is not":      {&meta.NoKindMatchError{GroupKind: manifest.ClassListKind.GroupKind()}, volumes.SnapshotSide{Asked: true, Lacks: "no VolumeSnapshotClass is of CSI driver d"}, false},
		"it was removed": {apierrors.NewNotFound(resource, ""), volumes.SnapshotSide{Asked: true, Lacks: "no VolumeSnapshotClass is of CSI driver d"}, false},
		"it may not be asked": {apierrors.NewForbidden(resource, "", errors.New("not you")), volumes.SnapshotSide{
			Trouble: "volumesnapshotclasses.snapshot.storage.k8s.io is forbidden: not you", Lacks: "no VolumeSnapshotClass is of CSI driver d",
		}, false},
		"it does not answer": {context.DeadlineExceeded, volumes.SnapshotSide{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := &observed{endpoint: listingSnapshots(tc.err, class)}
			if err := f.readSnapshotAPI(t.Context()); (err != nil) != tc.failed {
				t.Fatal(err)
			} else if err != nil {
				return
			}
			tc.want.Cluster = "east"
			if diff := cmp.Diff(tc.want, f.snapshotSide("d", "")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestWaitsForPod: only an unbound claim of a class with WaitForFirstConsumer waits; if the classes may not be read
// it is assumed to.
func TestWaitsForPod(t *testing.T) {
	mode := storagev1.VolumeBindingWaitForFirstConsumer
	classes := []client.Object{
		&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "late"}, VolumeBindingMode: &mode}, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "now"}},
	}
	of := func(class, volume string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &class, VolumeName: volume}}
	}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "storageclasses"}, "", nil)
	for name, tc := range map[string]struct {
		claim *corev1.PersistentVolumeClaim
		err   error
		want  bool
	}{
		"it waits": {of("late", ""), nil, true}, "made at once": {of("now", ""), nil, false}, "no such class": {of("gone", ""), nil, false},
		"it has one": {of("late", "pv"), nil, false}, "no claim": {nil, nil, false}, "not known": {of("now", ""), forbidden, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := waitsForPod(t.Context(), listingSnapshots(tc.err, classes...), tc.claim); got != tc.want || err != nil {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}

// TestSnapshotParts: the VolumeSnapshots of the two sides are read with their contents, and so is a content whose
// VolumeSnapshot was deleted.
func TestSnapshotParts(t *testing.T) {
	claim := volumes.Ref{Namespace: "shop", Name: "data-web-0"}
	taken := &copyPart{role: volumes.RoleSender}
	snapshotPartOf(taken, claim, "migration", api.CopyAttempt{Number: 7, Snapshot: api.SnapshotTaken{Number: 5}})
	mark := manifest.Mark{Owner: "migration", Fence: "migration.1"}
	snapshot := manifest.Taken(mark, volumes.Ref{Namespace: "shop", Name: taken.snap.name}, volumes.SnapshotAction{Class: "c", Claim: "out", Released: "migration.1"})
	snapshot.Object["status"] = map[string]any{"boundVolumeSnapshotContentName": "content", "readyToUse": true}
	content := manifest.Empty(manifest.ContentKind, volumes.Ref{Name: "content"})
	content.Object["spec"] = map[string]any{"driver": "d", "deletionPolicy": "Delete", "source": map[string]any{"volumeHandle": "v"}}
	content.Object["status"] = map[string]any{"snapshotHandle": "snap", "restoreSize": int64(5)}
	at := listingSnapshots(nil, snapshot, content)
	if err := taken.snap.read(t.Context(), at); err != nil {
		t.Fatal(err)
	}
	var seen volumes.Copying
	taken.putSnapshot(&seen, "migration")
	if s := seen.Snapshot.Taken; !s.Ready || !s.Ours || s.Content.Handle != "snap" || s.Content.Size == nil || *s.Content.Size != 5 || s.Content.Retain {
		t.Errorf("%+v", s)
	}

	alone := &copyPart{role: volumes.RoleSender}
	snapshotPartOf(alone, claim, "migration", api.CopyAttempt{Number: 9, Snapshot: api.SnapshotTaken{Number: 8, Content: "content"}})
	if err := alone.snap.read(t.Context(), at); err != nil {
		t.Fatal(err)
	}
	alone.putSnapshot(&seen, "migration")
	if s := seen.Snapshot.Taken; s.Found || !s.Content.Found {
		t.Errorf("%+v", s)
	}

	imported := &copyPart{role: volumes.RoleReceiver}
	snapshotPartOf(imported, claim, "migration", api.CopyAttempt{Number: 7})
	if imported.snap.name == taken.snap.name || imported.snap.contentName != imported.snap.name || imported.podName == "" {
		t.Errorf("%+v", imported)
	}
}

// TestBaseSide: a snapshot is read while an ordinal runs only if neither the snapshot nor the volume restored from it
// would remain.
func TestBaseSide(t *testing.T) {
	class := func(name, policy string) client.Object {
		object := manifest.Empty(manifest.ClassListKind.GroupVersion().WithKind("VolumeSnapshotClass"), volumes.Ref{Name: name})
		object.Object["driver"], object.Object["deletionPolicy"] = "d", policy
		return object
	}
	keeps := corev1.PersistentVolumeReclaimRetain
	classes := []client.Object{
		&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "keeps"}, ReclaimPolicy: &keeps}, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "goes"}},
	}
	for name, tc := range map[string]struct {
		policy, class string
		forbidden     bool
		want          bool
	}{
		"both go":             {"Delete", "goes", false, true},
		"the snapshot stays":  {"Retain", "goes", false, false},
		"the volume stays":    {"Delete", "keeps", false, false},
		"of an unknown class": {"Delete", "gone", false, false},
		"of none":             {"Delete", "", false, false},
		"nobody may look":     {"Delete", "goes", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := &observed{endpoint: listingSnapshots(nil, append(classes, class("nightly", tc.policy))...)}
			if err := f.readSnapshotAPI(t.Context()); err != nil {
				t.Fatal(err)
			}
			if tc.forbidden {
				f.endpoint = listingSnapshots(apierrors.NewForbidden(schema.GroupResource{Resource: "storageclasses"}, "", errors.New("not you")))
			}
			if err := f.readKeepers(t.Context()); err != nil {
				t.Fatal(err)
			}
			side := f.baseSide(volumes.Volume{Handle: "d/disk", Class: tc.class})
			if side.Class != "nightly" || (side.Keeps == "") != tc.want {
				t.Errorf("%+v", side)
			}
		})
	}
}

// TestBasesNeedRights: without the rights to create and delete snapshots none is created.
func TestBasesNeedRights(t *testing.T) {
	class := manifest.Empty(manifest.ClassListKind.GroupVersion().WithKind("VolumeSnapshotClass"), volumes.Ref{Name: "nightly"})
	class.Object["driver"], class.Object["deletionPolicy"] = "d", "Delete"
	for _, refused := range []string{"", "get", "create", "delete"} {
		c := fake.NewClientBuilder().WithObjects(class, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "goes"}}).WithInterceptorFuncs(interceptor.Funcs{
			Create: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
				review := object.(*authorizationv1.SelfSubjectAccessReview)
				review.Status.Allowed = review.Spec.ResourceAttributes.Verb != refused && review.Spec.ResourceAttributes.Namespace == "shop"
				return nil
			},
		}).Build()
		f := &observed{endpoint: endpoint.Endpoint{Cluster: "east", Namespace: "shop", Side: plan.SourceSide, Live: c}}
		if err := f.readForBases(t.Context()); err != nil {
			t.Fatal(err)
		}
		side := f.baseSide(volumes.Volume{Handle: "d/disk", Class: "goes"})
		if able := side.Trouble == "" && side.Keeps == "" && side.Class == "nightly"; able != (refused == "") {
			t.Errorf("without the right to %q: %+v", refused, side)
		}
	}
}

// TestAsksForBases: for method Copy the snapshot features of clusters are read only if a warm pass may have to read a
// snapshot.
func TestAsksForBases(t *testing.T) {
	claim := func(mode corev1.PersistentVolumeAccessMode) *observed {
		return &observed{claims: map[string]*corev1.PersistentVolumeClaim{"data-web-0": {Spec: corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{mode}}}}}
	}
	many, once := claim(corev1.ReadWriteOnce), claim(corev1.ReadWriteOncePod)
	for name, tc := range map[string]struct {
		method  api.VolumeMethod
		warm    api.CopyWarmMode
		refused string
		of      *observed
		want    bool
	}{
		"for many pods":              {api.MethodCopy, "", "", many, false},
		"for one pod alone":          {api.MethodCopy, "", "", once, true},
		"the node has refused":       {api.MethodCopy, api.CopyWarmAuto, "no", many, true},
		"wanted":                     {api.MethodCopy, api.CopyWarmSnapshot, "", many, true},
		"none is wanted":             {api.MethodCopy, api.CopyWarmNone, "no", once, false},
		"mount is wanted":            {api.MethodCopy, api.CopyWarmMount, "", once, false},
		"they move by another means": {api.MethodRebind, "", "", once, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := &api.Migration{Spec: api.MigrationSpec{Volumes: []api.VolumeSpec{{ClaimTemplate: "data", Method: tc.method, Copy: api.CopySpec{Warm: tc.warm}}}}}
			m.Status.Handoff = &api.Handoff{Volumes: []api.HandoffVolume{{ClaimTemplate: "data", Copy: api.CopyAttempt{Warm: api.CopyWarm{Refused: tc.refused}}}}}
			if got := asksForBases(m, tc.of, &observed{}); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
