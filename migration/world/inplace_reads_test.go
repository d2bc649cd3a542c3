package world

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint/endpointtest"
	"github.com/sliceshift/sliceshift/migration/inplace"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/volumes/drift"
)

// claimOn returns a claim of a class and its volume.
func claimOn(name, class string) []client.Object {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name)}}
	claim.Spec.StorageClassName, claim.Spec.VolumeName, claim.Spec.AccessModes = &class, "pv-"+name, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	claim.Status.Phase, claim.Status.Capacity = corev1.ClaimBound, claim.Spec.Resources.Requests
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-" + name, UID: types.UID("pv-" + name)}}
	volume.Spec.ClaimRef, volume.Spec.StorageClassName = &corev1.ObjectReference{Namespace: "shop", Name: name, UID: claim.UID}, class
	volume.Spec.Capacity = claim.Spec.Resources.Requests
	return []client.Object{claim, volume}
}

// inPlaceServer returns an API server with a set of three replicas, and with claims, volumes and classes of others.
func inPlaceServer(foreign int) *server {
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "set"}}
	set.APIVersion, set.Kind = "apps/v1", "StatefulSet"
	set.Spec.Replicas = new(int32(3))
	template := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}}
	template.Spec.StorageClassName, template.Spec.AccessModes = new("slow"), []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	template.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{template}
	objects := []client.Object{set, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "slow"}, Provisioner: "disks", AllowVolumeExpansion: new(true)}}
	for k := range 3 {
		objects = append(objects, claimOn(fmt.Sprintf("data-web-%d", k), "slow")...)
	}
	for n := range foreign {
		objects = append(objects, claimOn(fmt.Sprintf("data-db%d-0", n), fmt.Sprintf("class-%d", n))...)
		objects = append(objects, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("class-%d", n)}, Provisioner: "disks"})
	}
	return newServer(objects...)
}

// inPlaceAsked returns a migration that grows the volumes of the set.
func inPlaceAsked() *api.Migration {
	m := migrating()
	m.Spec.Source.Namespace, m.Spec.Source.Name, m.Spec.Storage = "shop", "web", &api.StorageSpec{}
	m.Spec.Volumes = []api.VolumeSpec{{ClaimTemplate: "data", Method: api.MethodRebind, Size: new(resource.MustParse("2Gi"))}}
	m.Status.Baseline.Volumes = m.Spec.Volumes
	return m
}

// observerInPlace returns an observer of the set of a server.
func observerInPlace(at *server) *Observer {
	pair := endpointtest.Pair(at, at)
	pair.Destination.Side, pair.Destination.Set, pair.Destination.ID = plan.DestinationSide, pair.Source.Set, pair.Source.ID
	return &Observer{Pair: pair, Clock: clocktesting.NewFakePassiveClock(Began)}
}

// observeInPlace observes the set of a server once, and returns the snapshot and the kinds that were requested.
func observeInPlace(t *testing.T, at *server, m *api.Migration) (plan.Snapshot, map[string]int) {
	t.Helper()
	return observedBy(t, observerInPlace(at), at, m)
}

func observedBy(t *testing.T, o *Observer, at *server, m *api.Migration) (plan.Snapshot, map[string]int) {
	t.Helper()
	s := o.Snapshot(t.Context(), m, planner.Reads{Live: true, Wide: true, Budgets: true})
	if s.Source.Reach != plan.Seen {
		t.Fatalf("unreachable: %s", s.Source.ReachError)
	}
	asked := map[string]int{}
	for _, kind := range at.kinds() {
		asked[kind]++
	}
	return s, asked
}

// TestReadsOfInPlace: each pass reads the volumes and classes of the set by name. The number of requests does not grow with
// the volumes, claims and classes of others, and no list has them.
func TestReadsOfInPlace(t *testing.T) {
	_, few := observeInPlace(t, inPlaceServer(0), inPlaceAsked())
	s, many := observeInPlace(t, inPlaceServer(200), inPlaceAsked())
	if diff := cmp.Diff(few, many); diff != "" {
		t.Errorf("with foreign volumes (-without +with):\n%s", diff)
	}
	if many["PersistentVolumeList"]+many["StorageClassList"]+many["VolumeAttachmentList"] > 0 || many["PersistentVolume"] != 3 || many["StorageClass"] != 1 {
		t.Errorf("requested %v", many)
	}
	if len(s.Volumes) != 3 || s.Volumes[1].Needs != drift.Expand || s.Volumes[1].Asks != (inplace.Request{Size: 1 << 30}) || !s.Volumes[1].Source.Volume.Found {
		t.Errorf("volumes %+v", s.Volumes)
	}
}

// TestVolumesOfOthersAreReadOnce: while an ordinal is in flight, its volume is read in each pass, and those of the others
// once the view shows another version of them. Without one in flight, all are read in each pass.
func TestVolumesOfOthersAreReadOnce(t *testing.T) {
	at, view, m := inPlaceServer(0), inPlaceServer(0), inPlaceAsked()
	o := observerInPlace(at)
	o.Source.Cached, o.Destination.Cached = view, view
	write := func(name string) {
		for _, of := range []*server{at, view} {
			var volume corev1.PersistentVolume
			if err := of.Get(t.Context(), client.ObjectKey{Name: name}, &volume); err != nil {
				t.Fatal(err)
			}
			metav1.SetMetaDataAnnotation(&volume.ObjectMeta, api.SealAnnotationKey, "seal")
			if err := of.Update(t.Context(), &volume); err != nil {
				t.Fatal(err)
			}
		}
		at.kinds()
	}
	handoff := &api.Handoff{Ordinal: 1, Volumes: []api.HandoffVolume{{ClaimTemplate: "data", Name: "pv-data-web-1"}}}
	for i, pass := range []struct {
		before func()
		want   int
	}{
		{func() {}, 3},
		{func() {}, 3},
		{func() { m.Status.Handoff = handoff }, 1},
		{func() { write("pv-data-web-0") }, 2},
		{func() { write("pv-data-web-1") }, 1},
		{func() { o.Source.Cached = nil }, 3},
		{func() { o.Source.Cached, m.Status.Handoff = view, nil }, 3},
	} {
		pass.before()
		s, asked := observedBy(t, o, at, m)
		if asked["PersistentVolume"] != pass.want || asked["PersistentVolumeList"] > 0 {
			t.Errorf("pass %d: requested %v, want %d volumes", i, asked, pass.want)
		}
		for k, v := range s.Volumes {
			if seal := i > 2 && k == 0 || i > 3 && k == 1; !v.Source.Volume.Found || (v.Source.Volume.Seal != "") != seal {
				t.Errorf("pass %d: volume of ordinal %d: %+v", i, k, v.Source.Volume)
			}
		}
	}
}

// TestDefaultClassIsFound: a template without a class means the default class, which is found among all.
func TestDefaultClassIsFound(t *testing.T) {
	at := inPlaceServer(1)
	if err := at.namesNoClass(); err != nil {
		t.Fatal(err)
	}
	at.kinds()
	if _, asked := observeInPlace(t, at, inPlaceAsked()); asked["StorageClassList"] != 1 || asked["StorageClass"] > 0 {
		t.Errorf("requested %v", asked)
	}
}

// TestDefaultClassIsFixed: a template without a class means the class that was the default at acceptance. A claim that has it is
// not behind when another class becomes the default. Without any, the need of the claim is not known.
func TestDefaultClassIsFixed(t *testing.T) {
	for name, tc := range map[string]struct {
		recorded string
		change   func(*server) error
		want     drift.Need
		class    string
	}{
		"recorded":                    {"slow", (*server).standardIsOther, drift.Nothing, "slow"},
		"recorded, and deleted since": {"slow", (*server).slowIsDeleted, drift.Nothing, "slow"},
		"of an older version":         {"", (*server).standardIsOther, drift.Copy, "class-0"},
		"there is none":               {"", func(*server) error { return nil }, drift.Undecided, ""},
	} {
		t.Run(name, func(t *testing.T) {
			at, m := inPlaceServer(1), inPlaceAsked()
			m.Spec.Volumes[0].Size, m.Status.Baseline.DefaultStorageClass = nil, tc.recorded
			m.Status.Baseline.Volumes = m.Spec.Volumes
			if err := errors.Join(at.namesNoClass(), tc.change(at)); err != nil {
				t.Fatal(err)
			}
			s, _ := observeInPlace(t, at, m)
			if v := s.Volumes[1]; v.Needs != tc.want || s.Storage.Standard != tc.class || s.Storage.Wanted.Templates[0].Class != tc.class {
				t.Errorf("it needs %s, and the template means %q: %+v", v.Needs, s.Storage.Standard, s.Storage.Wanted.Templates)
			}
			if claim := s.Storage.Wanted.Claim("data"); claim == nil || ptr.Deref(claim.Spec.StorageClassName, "") != tc.class {
				t.Errorf("the next claim is %+v", claim)
			}
		})
	}
}

// namesNoClass removes the class from the claim template of the set.
func (s *server) namesNoClass() error {
	var set appsv1.StatefulSet
	if err := s.Get(context.Background(), client.ObjectKey{Namespace: "shop", Name: "web"}, &set); err != nil {
		return err
	}
	set.Spec.VolumeClaimTemplates[0].Spec.StorageClassName = nil
	return s.Update(context.Background(), &set)
}

// standardIsOther lets another class than that of the claims be the default.
func (s *server) standardIsOther() error {
	var class storagev1.StorageClass
	if err := s.Get(context.Background(), client.ObjectKey{Name: "class-0"}, &class); err != nil {
		return err
	}
	class.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
	return s.Update(context.Background(), &class)
}

// slowIsDeleted deletes the class of the claims, and lets another one be the default.
func (s *server) slowIsDeleted() error {
	return errors.Join(s.standardIsOther(), s.Delete(context.Background(), &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "slow"}}))
}

// TestChangeInPlace: what a claim asks for and its driver has left to do is seen by our clock. Templates that the migration
// does not name do not count.
func TestChangeInPlace(t *testing.T) {
	at := inPlaceServer(0)
	var claim corev1.PersistentVolumeClaim
	key := client.ObjectKey{Namespace: "shop", Name: "data-web-1"}
	if err := at.Get(t.Context(), key, &claim); err != nil {
		t.Fatal(err)
	}
	since := metav1.NewTime(Began.Add(-time.Hour).Truncate(time.Second))
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("2Gi")}
	if err := at.Update(t.Context(), &claim); err != nil {
		t.Fatal(err)
	}
	claim.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{Type: corev1.PersistentVolumeClaimFileSystemResizePending, Status: corev1.ConditionTrue, LastTransitionTime: since}}
	if err := at.Status().Update(t.Context(), &claim); err != nil {
		t.Fatal(err)
	}
	s, _ := observeInPlace(t, at, inPlaceAsked())
	v := s.Volumes[1]
	if v.Needs != drift.Nothing || !v.Change.Grows || !v.Change.FileSystem.Equal(since.Time) || v.Asks.Size != 2<<30 {
		t.Errorf("%+v", v)
	}
	m := inPlaceAsked()
	m.Spec.Volumes[0].ClaimTemplate = "other"
	m.Status.Baseline.Volumes = m.Spec.Volumes
	s, _ = observeInPlace(t, at, m)
	if v := s.Volumes[1]; v.Needs != drift.Nothing || v.Change != (drift.Change{}) {
		t.Errorf("%+v", v)
	}
}

// TestOnlyWhatIsAskedForChanges: acceptance records all claim templates. A claim that differs from one that nobody has asked for
// stays as it is, and one whose entry was removed from spec.volumes since is still followed.
func TestOnlyWhatIsAskedForChanges(t *testing.T) {
	other := api.VolumeSpec{ClaimTemplate: "other", Method: api.MethodRebind}
	data := api.AskedOf(nil, "data")
	grows := data
	grows.Size = new(resource.MustParse("2Gi"))
	for name, tc := range map[string]struct {
		asked, accepted []api.VolumeSpec
		want            drift.Need
	}{
		"before acceptance":           {[]api.VolumeSpec{other}, nil, drift.Nothing},
		"another is asked for":        {[]api.VolumeSpec{other}, []api.VolumeSpec{data, other}, drift.Nothing},
		"it is asked for":             {[]api.VolumeSpec{grows}, []api.VolumeSpec{grows, other}, drift.Expand},
		"its template is followed":    {[]api.VolumeSpec{data}, []api.VolumeSpec{data, other}, drift.Expand},
		"it was asked for before":     {nil, []api.VolumeSpec{grows, other}, drift.Expand},
		"it is asked for, and is new": {[]api.VolumeSpec{grows}, []api.VolumeSpec{other}, drift.Expand},
	} {
		t.Run(name, func(t *testing.T) {
			at, m := inPlaceServer(0), inPlaceAsked()
			var set appsv1.StatefulSet
			if err := at.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web"}, &set); err != nil {
				t.Fatal(err)
			}
			set.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("2Gi")
			if err := at.Update(t.Context(), &set); err != nil {
				t.Fatal(err)
			}
			m.Spec.Volumes = tc.asked
			if m.Status.Baseline.Volumes = tc.accepted; tc.accepted == nil {
				m.Status.Baseline = nil
			}
			if s, _ := observeInPlace(t, at, m); s.Volumes[1].Needs != tc.want {
				t.Errorf("it needs %s, want %s", s.Volumes[1].Needs, tc.want)
			}
		})
	}
}

// TestReturnsWhatWasFilled: a volume that this migration has filled returns to the former size, and one that has grown, or that
// an earlier migration has filled, keeps its size.
func TestReturnsWhatWasFilled(t *testing.T) {
	for name, tc := range map[string]struct {
		seal, by string
		want     drift.Need
	}{
		"it has grown":                            {"", "", drift.Nothing},
		"filled by this migration":                {"seal m", "m", drift.Copy},
		"filled, its claim of the set":            {"seal m", "", drift.Copy},
		"filled by an earlier migration":          {"seal earlier", "earlier", drift.Nothing},
		"filled by an earlier one, claim of set":  {"seal earlier", "", drift.Nothing},
		"filled by a move before, claim of a set": {"seal", "", drift.Nothing},
		"moved before, and has grown now":         {"", "earlier", drift.Nothing},
	} {
		t.Run(name, func(t *testing.T) {
			at, m := inPlaceServer(0), inPlaceAsked()
			former := `{"spec":{"volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{"accessModes":["ReadWriteOnce"],"storageClassName":"slow","resources":{"requests":{"storage":"512Mi"}}}}]}}`
			m.Status.Storage = inplace.Record{Former: inplace.Manifest{Text: former}}.Status()
			var claim corev1.PersistentVolumeClaim
			var volume corev1.PersistentVolume
			for name, object := range map[string]client.Object{"data-web-1": &claim, "pv-data-web-1": &volume} {
				key := client.ObjectKey{Name: name}
				if object == client.Object(&claim) {
					key.Namespace = "shop"
				}
				if err := at.Get(t.Context(), key, object); err != nil {
					t.Fatal(err)
				}
				object.SetAnnotations(map[string]string{api.OwnerAnnotationKey: tc.by})
				if object == client.Object(&volume) {
					object.SetAnnotations(map[string]string{api.SealAnnotationKey: tc.seal})
				}
				if err := at.Update(t.Context(), object); err != nil {
					t.Fatal(err)
				}
			}
			if s, _ := observeInPlace(t, at, m); s.Volumes[1].Returns != tc.want {
				t.Errorf("it needs %s, want %s", s.Volumes[1].Returns, tc.want)
			}
		})
	}
}

// TestIsClaimOf: a claim belongs to a set by its name.
func TestIsClaimOf(t *testing.T) {
	for name, want := range map[string]bool{
		"data-web-0": true, "my-data-web-12": true, "web-web-1": true, "data-my-web-0": true,
		"web-0": false, "data-web-": false, "data-web-x": false, "data-web-01": false, "data-webs-0": false, "data-web-0-1": false, "": false,
	} {
		if got := isClaimOf("web", name); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestLeftInPlace: volumes that the migration has parked are found once they are cleaned, with another volume of their disk.
// Before that no volumes are listed.
func TestLeftInPlace(t *testing.T) {
	parked := func(name, disk, by string) *corev1.PersistentVolume {
		v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Annotations: map[string]string{api.OriginalReclaimPolicyAnnotationKey: "Delete " + by}}}
		v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "shop", Name: "data-web-1_parked"}
		v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "disks", VolumeHandle: disk}
		return v
	}
	at := inPlaceServer(1)
	for _, volume := range []*corev1.PersistentVolume{parked("old", "a", "m"), parked("older", "b", "m"), parked("foreign", "c", "other"), parked("twin", "b", "other")} {
		if err := at.Create(t.Context(), volume); err != nil {
			t.Fatal(err)
		}
	}
	var set appsv1.StatefulSet
	if err := at.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web"}, &set); err != nil {
		t.Fatal(err)
	}
	set.Annotations = map[string]string{api.FenceAnnotationKey: "m.1"}
	if err := at.Update(t.Context(), &set); err != nil {
		t.Fatal(err)
	}
	at.kinds()
	m := inPlaceAsked()
	m.Spec.Cleanup.Source = api.CleanupDelete
	if s, asked := observeInPlace(t, at, m); len(s.Storage.Left) > 0 || asked["PersistentVolumeList"] > 0 {
		t.Errorf("before the end: %+v, %v", s.Storage.Left, asked)
	}
	m.Status.Conditions = []metav1.Condition{{Type: api.ConditionCompleted, Status: metav1.ConditionTrue, Reason: api.ReasonMoved}}
	s, _ := observeInPlace(t, at, m)
	var got []string
	for _, left := range s.Storage.Left {
		got = append(got, left.Volume.Name+" of "+left.Claim.Name+", beside "+left.Twin)
	}
	if diff := cmp.Diff([]string{"old of data-web-1, beside ", "older of data-web-1, beside twin"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
