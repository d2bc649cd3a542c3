package world

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
	"github.com/sliceshift/sliceshift/migration/dependencies"
	"github.com/sliceshift/sliceshift/migration/endpoint/endpointtest"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

const (
	origin = `{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop, uid: origin, labels: {app: web}}, data: {colour: blue}}`
	other  = `{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop, uid: there, labels: {theirs: kept}}, data: {colour: red, size: small}}`
)

// copier returns an executor that copies from one namespace into another.
func copier(there ...client.Object) *Executor {
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	return &Executor{Owner: "m", Pair: endpointtest.Pair(
		endpointtest.Serving(clustertest.Hooks{}, nil, set, endpointtest.Object(origin)), endpointtest.Serving(clustertest.Hooks{}, nil, there...),
	)}
}

// settings returns the ConfigMap of the destination; nil if it does not exist.
func (e *Executor) settings(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	kind, _ := dependencies.KindOf("ConfigMap")
	object, err := e.Destination.Dependency(context.Background(), kind, "settings", "v1")
	if err != nil {
		t.Fatal(err)
	}
	return object
}

func originHash() string { return dependencies.Hash(endpointtest.Object(origin)) }

func copyEffect(verb plan.Verb, change func(*plan.Effect)) plan.Effect {
	e := plan.Effect{Verb: verb, Side: plan.DestinationSide, Kind: "ConfigMap", Name: "settings", UID: "there", ResourceVersion: "999", Copied: plan.Copied{Origin: originHash(), PutBack: 1}}
	if change != nil {
		change(&e)
	}
	return e
}

// TestCopyIsMade: a copy is made of the object that the decision was based on, and records its origin.
func TestCopyIsMade(t *testing.T) {
	e := copier()
	if _, err := e.Do(t.Context(), copyEffect(plan.CreateCopy, nil)); err != nil {
		t.Fatal(err)
	}
	got := e.settings(t)
	mark := dependencies.ParseMark(got.GetAnnotations()["migration.sliceshift.io/origin"])
	want := &dependencies.Mark{Cluster: "1", Namespace: "shop", Name: "settings", UID: "origin", Hash: originHash(), PutBack: 1}
	if diff := cmp.Diff(want, mark); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"app": "web", "migration.sliceshift.io/created-by": "m"}, got.GetLabels()); diff != "" {
		t.Error(diff)
	}
	if dependencies.Hash(got) != originHash() {
		t.Errorf("it has %v", got.Object)
	}
}

// TestRightsAreOfTheAccount: a copied RoleBinding grants rights to the account of the pods only.
func TestRightsAreOfTheAccount(t *testing.T) {
	const binding = `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: reader, namespace: shop}, roleRef: {kind: Role, name: reader}, subjects: [{kind: User, name: jane}, {kind: ServiceAccount, name: app, namespace: shop}]}`
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	set.Spec.Template.Spec.ServiceAccountName = "app"
	e := &Executor{Owner: "m", Pair: endpointtest.Pair(endpointtest.Serving(clustertest.Hooks{}, nil, set, endpointtest.Object(binding)), endpointtest.Serving(clustertest.Hooks{}, nil))}
	e.Destination.Namespace = "team"
	way := dependencies.Way{From: dependencies.Place{Namespace: "shop"}, To: dependencies.Place{Namespace: "team"}, Account: "app"}
	kind, _ := dependencies.KindOf("RoleBinding")
	stored, err := e.Source.Dependency(t.Context(), kind, "reader", "v1")
	if err != nil {
		t.Fatal(err)
	}
	hash := dependencies.Hash(dependencies.Clean(stored, way))
	got, _, err := e.CopyOf(t.Context(), plan.Effect{Verb: plan.CreateCopy, Kind: "RoleBinding", Name: "reader", Copied: plan.Copied{Origin: hash}})
	if err != nil {
		t.Fatal(err)
	}
	want := []any{map[string]any{"kind": "ServiceAccount", "name": "app", "namespace": "team"}}
	if diff := cmp.Diff(want, got.Object["subjects"]); diff != "" {
		t.Error(diff)
	}
}

// TestCopyIsBroughtUpToDate: an object of another owner gets the content and the mark, and keeps the rest. The
// migration does not own it afterwards, so its cleanup does not delete it.
func TestCopyIsBroughtUpToDate(t *testing.T) {
	e := copier(endpointtest.Object(other))
	if _, err := e.Do(t.Context(), copyEffect(plan.UpdateCopy, nil)); err != nil {
		t.Fatal(err)
	}
	got := e.settings(t)
	if diff := cmp.Diff(map[string]string{"app": "web", "theirs": "kept"}, got.GetLabels()); diff != "" {
		t.Error(diff)
	}
	if dependencies.Hash(got) != originHash() || dependencies.ParseMark(got.GetAnnotations()["migration.sliceshift.io/origin"]) == nil || got.GetUID() != "there" {
		t.Errorf("it has %v", got.Object)
	}
}

// TestCopyOfTwoMigrations: a copy that another migration made, and that this one also needs, is unchanged, and
// neither deletes it.
func TestCopyOfTwoMigrations(t *testing.T) {
	e := copier()
	if _, err := e.Do(t.Context(), copyEffect(plan.CreateCopy, nil)); err != nil {
		t.Fatal(err)
	}
	made := e.settings(t)
	e.Owner = "another"
	if _, err := e.Do(t.Context(), copyEffect(plan.UpdateCopy, func(e *plan.Effect) { e.UID, e.ResourceVersion = made.GetUID(), made.GetResourceVersion() })); err != nil {
		t.Fatal(err)
	}
	got := e.settings(t)
	if diff := cmp.Diff(map[string]string{"app": "web"}, got.GetLabels()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(made.GetAnnotations(), got.GetAnnotations()); diff != "" || dependencies.Hash(got) != originHash() {
		t.Errorf("it has %v\n%s", got.Object, diff)
	}
}

// TestStorageOfTwoMigrations: an object that represents storage only loses the mark of its creator (I9).
func TestStorageOfTwoMigrations(t *testing.T) {
	claim := `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: shared, namespace: shop, uid: there, resourceVersion: "999", labels: {app: web, migration.sliceshift.io/created-by: other}}, spec: {volumeName: nfs}}`
	e := copier(endpointtest.Object(claim))
	way := WayOf(e.Pair, "")
	origin := endpointtest.Object(`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: shared, namespace: shop, uid: here}, spec: {volumeName: other}}`)
	if err := e.Source.Live.Create(t.Context(), origin); err != nil {
		t.Fatal(err)
	}
	kind, _ := dependencies.KindOf(dependencies.PersistentVolumeClaim)
	read, err := e.Source.Dependency(t.Context(), kind, "shared", "v1")
	if err != nil || read == nil {
		t.Fatal(err)
	}
	effect := copyEffect(plan.UpdateCopy, func(e *plan.Effect) {
		e.Kind, e.Name, e.UID, e.ResourceVersion = dependencies.PersistentVolumeClaim, "shared", "there", "999"
		e.Copied.Origin = dependencies.Hash(dependencies.Clean(read, way))
	})
	if _, err := e.Do(t.Context(), effect); err != nil {
		t.Fatal(err)
	}
	var got corev1.PersistentVolumeClaim
	if err := e.Destination.Live.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "shared"}, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"app": "web"}, got.Labels); diff != "" || got.Spec.VolumeName != "nfs" {
		t.Errorf("it has %+v %s", got.Spec, diff)
	}
}

// TestCopyIsRefused: a copy is refused if any object differs from the one that the decision was based on (I9).
func TestCopyIsRefused(t *testing.T) {
	for name, effect := range map[string]plan.Effect{
		"another origin, created": copyEffect(plan.CreateCopy, func(e *plan.Effect) { e.Copied.Origin = "0" }),
		"no origin":               copyEffect(plan.CreateCopy, func(e *plan.Effect) { e.Name = "gone" }),
		"another origin, updated": copyEffect(plan.UpdateCopy, func(e *plan.Effect) { e.Copied.Origin = "0" }),
		"it is there":             copyEffect(plan.CreateCopy, nil),
		"another object, updated": copyEffect(plan.UpdateCopy, func(e *plan.Effect) { e.UID = "else" }),
		"a newer object, updated": copyEffect(plan.UpdateCopy, func(e *plan.Effect) { e.ResourceVersion = "998" }),
		"a newer object, deleted": copyEffect(plan.DeleteCopy, func(e *plan.Effect) { e.ResourceVersion = "998" }),
	} {
		e := copier(endpointtest.Object(other))
		_, err := e.Do(t.Context(), effect)
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
			t.Errorf("%s: %v", name, err)
		}
		if e.settings(t).GetResourceVersion() != "999" {
			t.Errorf("%s: it was written", name)
		}
	}
}

// TestCopyIsDeleted: only the object that the decision was based on is deleted.
func TestCopyIsDeleted(t *testing.T) {
	e := copier(endpointtest.Object(other))
	if _, err := e.Do(t.Context(), copyEffect(plan.DeleteCopy, nil)); err != nil || e.settings(t) != nil {
		t.Errorf("it is still there: %v", err)
	}
}

// TestStorageStaysWithItsClaim: the copy of a claim is deleted only while its volume's policy is Retain (I3).
func TestStorageStaysWithItsClaim(t *testing.T) {
	for policy, deleted := range map[string]bool{"Retain": true, "Delete": false, "Recycle": false} {
		e := copier(
			endpointtest.Object(`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: shared, namespace: shop, uid: there}, spec: {volumeName: nfs}}`),
			endpointtest.Object(`{apiVersion: v1, kind: PersistentVolume, metadata: {name: nfs}, spec: {persistentVolumeReclaimPolicy: `+policy+`}}`),
		)
		_, err := e.Do(t.Context(), copyEffect(plan.DeleteCopy, func(e *plan.Effect) { e.Kind, e.Name = dependencies.PersistentVolumeClaim, "shared" }))
		if deleted != (err == nil) || !deleted && !apierrors.IsConflict(err) {
			t.Errorf("%s: %v", policy, err)
		}
	}
}

// TestK15SharedVolume: the volume of a claim that all ordinals share is checked again right before its creation,
// because another volume of its storage may have appeared. The policy is that of all volumes.
func TestK15SharedVolume(t *testing.T) {
	const volume = `{apiVersion: v1, kind: PersistentVolume, metadata: {name: shared, uid: origin}, spec: {persistentVolumeReclaimPolicy: Retain, nfs: {server: nfs.corp, path: /exports/a}, claimRef: {namespace: shop, name: shared}}}`
	of := func(name, path string) client.Object {
		return endpointtest.Object(`{apiVersion: v1, kind: PersistentVolume, metadata: {name: ` + name + `}, spec: {nfs: {server: NFS.corp, path: ` + path + `}}}`)
	}
	for name, tc := range map[string]struct {
		there  client.Object
		policy volumes.Policy
		made   bool
	}{
		"nothing speaks against it":            {of("other", "/exports/b"), volumes.Policy{}, true},
		"another volume has the storage":       {of("victim", "/exports/a"), volumes.Policy{}, false},
		"another volume has a part of it":      {of("victim", "/exports/a/b"), volumes.Policy{}, false},
		"volumes of NFS may not be made (K14)": {of("other", "/exports/b"), volumes.Policy{Drivers: []string{"d"}}, false},
	} {
		set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
		e := &Executor{Owner: "m", Policy: tc.policy, Pair: endpointtest.Pair(
			endpointtest.Serving(clustertest.Hooks{}, nil, set, endpointtest.Object(volume)), endpointtest.Serving(clustertest.Hooks{}, nil, tc.there),
		)}
		hash := dependencies.Hash(dependencies.Clean(endpointtest.Object(volume), WayOf(e.Pair, "")))
		_, err := e.Do(t.Context(), copyEffect(plan.CreateCopy, func(e *plan.Effect) {
			e.Kind, e.Name, e.Copied = dependencies.PersistentVolume, "shared", plan.Copied{Origin: hash}
		}))
		if tc.made != (err == nil) || !tc.made && !apierrors.IsConflict(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
