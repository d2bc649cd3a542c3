package ownership

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/managedfields/managedfieldstest"
	"sigs.k8s.io/yaml"
)

const creator = "creator"

// Kinds of StatefulSet.
var (
	native = schema.GroupVersion{Group: "apps", Version: "v1"}
	ours   = schema.GroupVersion{Group: "apps.example.com", Version: "v1alpha1"}
)

// server is an API server's own code that tracks the managers of one object.
type server struct {
	t *testing.T
	managedfieldstest.TestFieldManager
	version schema.GroupVersion
}

func newServer(t *testing.T, version schema.GroupVersion) server {
	t.Helper()
	return server{t, managedfieldstest.NewTestFieldManager(managedfields.NewDeducedTypeConverter(), version.WithKind("StatefulSet")), version}
}

// manifest returns an object with the spec, which is YAML.
func (s server) manifest(spec string) *unstructured.Unstructured {
	s.t.Helper()
	object := &unstructured.Unstructured{}
	inJSON, err := yaml.YAMLToJSON([]byte("{metadata: {name: web, namespace: shop}, spec: " + spec + "}"))
	s.must(err)
	s.must(utiljson.Unmarshal(inJSON, &object.Object)) // whole numbers stay whole
	object.SetGroupVersionKind(s.version.WithKind("StatefulSet"))
	return object
}

func (s server) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s server) live() *unstructured.Unstructured { return s.Live().(*unstructured.Unstructured) }

// write changes the live object as a client does that updates it.
func (s server) write(manager string, value any, path ...string) {
	s.t.Helper()
	object := s.live()
	object.SetUID("u")
	s.must(unstructured.SetNestedField(object.Object, value, path...))
	s.must(s.Update(object, manager))
}

// replaced creates the object that replaces that of another server, and gives its fields to the managers there.
func replaced(t *testing.T, former server, more func(server)) server {
	t.Helper()
	s := newServer(t, ours)
	object := former.live()
	object.SetGroupVersionKind(ours.WithKind("StatefulSet"))
	object.SetManagedFields(nil)
	s.must(s.Update(object, creator))
	more(s)
	next := s.live()
	next.SetUID("u")
	next.SetManagedFields(Heir{APIVersion: ours.String(), Creator: creator, Former: []string{"old-controller"}}.ManagedFields(s.ManagedFields(), former.ManagedFields()))
	s.must(s.Update(next, creator))
	return s
}

// managers returns who owns the fields of a spec, by operation.
func (s server) managers() []string {
	var all []string
	for _, entry := range s.ManagedFields() {
		var fields map[string]any
		s.must(json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields))
		spec, _ := fields["f:spec"].(map[string]any)
		var names []string
		for name := range spec {
			if field, is := strings.CutPrefix(name, "f:"); is {
				names = append(names, field)
			}
		}
		slices.Sort(names)
		all = append(all, string(entry.Operation)+" "+entry.Manager+" "+entry.APIVersion+": "+strings.Join(names, " "))
	}
	slices.Sort(all)
	return all
}

// TestY9Applied: what a manager has applied is its own in the new object. Its next apply has no conflict, and removes what
// its manifest no longer has. What others have written stays theirs.
func TestY9Applied(t *testing.T) {
	former := newServer(t, native)
	former.must(former.Apply(former.manifest("{serviceName: web, minReadySeconds: 5, paused: true}"), "helm", false))
	former.write("kubectl-scale", int64(3), "spec", "replicas")
	former.write("old-controller", int64(9), "spec", "collisions")

	s := replaced(t, former, func(s server) { s.write("new-controller", "here", "spec", "seen") })
	want := []string{
		"Apply helm apps.example.com/v1alpha1: minReadySeconds paused serviceName",
		"Update kubectl-scale apps.example.com/v1alpha1: replicas",
		"Update new-controller apps.example.com/v1alpha1: seen",
	}
	if diff := cmp.Diff(want, s.managers()); diff != "" {
		t.Errorf("managers (-want +got):\n%s", diff)
	}
	if err := s.Apply(s.manifest("{serviceName: web, minReadySeconds: 7}"), "helm", false); err != nil {
		t.Fatalf("helm has a conflict: %v", err)
	}
	if diff := cmp.Diff(map[string]any{"serviceName": "web", "minReadySeconds": int64(7), "replicas": int64(3), "collisions": int64(9), "seen": "here"}, s.live().Object["spec"]); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
}

// TestY9WithoutManagers: without the list, the creator owns every field: an apply has a conflict, and a removed field stays.
// This is the reason for the second write.
func TestY9WithoutManagers(t *testing.T) {
	former := newServer(t, native)
	former.must(former.Apply(former.manifest("{serviceName: web, minReadySeconds: 5, paused: true}"), "helm", false))
	s := newServer(t, ours)
	object := former.live()
	object.SetGroupVersionKind(ours.WithKind("StatefulSet"))
	object.SetManagedFields(Heir{APIVersion: ours.String(), Creator: creator}.ManagedFields(nil, former.ManagedFields()))
	s.must(s.Update(object, creator))
	if err := s.Apply(s.manifest("{serviceName: web, minReadySeconds: 7}"), "helm", false); err == nil || !strings.Contains(err.Error(), creator) {
		t.Errorf("no conflict with the creator: %v", err)
	}
	if s.must(s.Apply(s.manifest("{serviceName: web, minReadySeconds: 5}"), "helm", false)); s.live().Object["spec"].(map[string]any)["paused"] != true {
		t.Errorf("the removed field is not there any more: %v", s.live().Object["spec"])
	}
}

// TestY9ManagedFields: entries of one manager are one, and no list is empty.
func TestY9ManagedFields(t *testing.T) {
	early, late := metav1.Unix(1, 0), metav1.Unix(2, 0)
	entry := func(manager string, operation metav1.ManagedFieldsOperationType, version, subresource, fields string, at *metav1.Time) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: operation, APIVersion: version, Subresource: subresource, Time: at, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields)}
	}
	const apply, update, to = metav1.ManagedFieldsOperationApply, metav1.ManagedFieldsOperationUpdate, "new/v1"
	heir := Heir{APIVersion: to, Creator: creator, Former: []string{"old-controller"}}
	for name, tc := range map[string]struct{ now, replaced, want []metav1.ManagedFieldsEntry }{
		"nothing is known": {nil, nil, nil},
		"only the creator": {[]metav1.ManagedFieldsEntry{entry(creator, update, to, "", `{"f:spec":{}}`, &late)}, nil, nil},
		"the creator and the controllers lose theirs, a status stays": {
			[]metav1.ManagedFieldsEntry{entry(creator, update, to, "", `{}`, &late), entry("new-controller", update, to, "status", `{}`, &late), entry(creator, update, to, "status", `{}`, &late)},
			[]metav1.ManagedFieldsEntry{entry("old-controller", update, "old/v1", "", `{}`, &early), entry("kube-controller-manager", update, "old/v1", "status", `{}`, &early), entry(creator, apply, "old/v1", "", `{}`, &early)},
			[]metav1.ManagedFieldsEntry{entry("new-controller", update, to, "status", `{}`, &late), entry(creator, update, to, "status", `{}`, &late)},
		},
		"a scale is kept as one": {
			nil,
			[]metav1.ManagedFieldsEntry{entry("hpa", update, "old/v1", "scale", `{"f:spec":{"f:replicas":{}}}`, &early)},
			[]metav1.ManagedFieldsEntry{entry("hpa", update, to, "scale", `{"f:spec":{"f:replicas":{}}}`, &early)},
		},
		"two versions of one manager": {
			nil,
			[]metav1.ManagedFieldsEntry{entry("kubectl", update, "old/v1beta1", "", `{"f:spec":{"f:a":{}}}`, &early), entry("kubectl", update, "old/v1", "", `{"f:spec":{"f:b":{".":{}}}}`, &late)},
			[]metav1.ManagedFieldsEntry{entry("kubectl", update, to, "", `{"f:spec":{"f:a":{},"f:b":{".":{}}}}`, &late)},
		},
		"it has applied to the new one already": {
			[]metav1.ManagedFieldsEntry{entry("helm", apply, to, "", `{"f:spec":{"f:a":{}}}`, &late)},
			[]metav1.ManagedFieldsEntry{entry("helm", apply, "old/v1", "", `{"f:spec":{"f:b":{}}}`, nil)},
			[]metav1.ManagedFieldsEntry{entry("helm", apply, to, "", `{"f:spec":{"f:a":{},"f:b":{}}}`, &late)},
		},
		"one that applies and updates": {
			nil,
			[]metav1.ManagedFieldsEntry{entry("helm", apply, "old/v1", "", `{}`, nil), entry("helm", update, "old/v1", "", `{}`, nil)},
			[]metav1.ManagedFieldsEntry{entry("helm", apply, to, "", `{}`, nil), entry("helm", update, to, "", `{}`, nil)},
		},
	} {
		got := heir.ManagedFields(tc.now, tc.replaced)
		if diff := cmp.Diff(tc.want, got, cmp.Comparer(func(a, b metav1.FieldsV1) bool { return a.Equal(b) })); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestY9LastApplied: the manifest that kubectl apply has recorded is of the new object, or of none.
func TestY9LastApplied(t *testing.T) {
	heir := Heir{APIVersion: "new/v1", Namespace: "there", Name: "web-2"}
	for name, tc := range map[string]struct {
		replaced string
		without  [][]string
		want     string
	}{
		"as it is":            {`{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"web","namespace":"here"},"spec":{"replicas":1000000}}`, nil, `{"apiVersion":"new/v1","kind":"StatefulSet","metadata":{"name":"web-2","namespace":"there"},"spec":{"replicas":1000000}}`},
		"without a namespace": {`{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"web"}}`, nil, `{"apiVersion":"new/v1","kind":"StatefulSet","metadata":{"name":"web-2"}}`},
		"without fields": {
			`{"kind":"StatefulSet","metadata":{},"spec":{"replicas":3,"ordinals":{"start":1},"paused":true}}`,
			[][]string{{"spec", "replicas"}, {"spec", "ordinals"}},
			`{"apiVersion":"new/v1","kind":"StatefulSet","metadata":{"name":"web-2"},"spec":{"paused":true}}`,
		},
		"none":            {"", nil, ""},
		"no JSON":         {"{", nil, ""},
		"no object":       {"[]", nil, ""},
		"of another kind": {`{"kind":"Deployment"}`, nil, ""},
	} {
		if got := heir.LastApplied(tc.replaced, tc.without...); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}
