package history

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// server is an API server with a log of the writes to it.
type server struct {
	client.WithWatch
	backing client.Client
	writes  []string
	// hidden are names that the cache does not show.
	hidden []string
	// fails is the error of the next write.
	fails error
}

func newServer(t *testing.T, objects ...client.Object) *server {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{appsv1.AddToScheme, corev1.AddToScheme, api.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	backing := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	s := &server{backing: backing}
	s.WithWatch = interceptor.NewClient(backing, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if err := c.List(ctx, list, opts...); err != nil {
				return err
			}
			all, are := list.(*appsv1.ControllerRevisionList)
			if !are {
				return nil
			}
			all.Items = slices.DeleteFunc(all.Items, func(r appsv1.ControllerRevision) bool { return slices.Contains(s.hidden, r.Name) })
			return nil
		},
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, opts ...client.CreateOption) error {
			return s.write("create "+object.GetName(), func() error { return c.Create(ctx, object, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, opts ...client.PatchOption) error {
			return s.write("patch "+object.GetName(), func() error { return c.Patch(ctx, object, patch, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, opts ...client.DeleteOption) error {
			return s.write("delete "+object.GetName(), func() error { return c.Delete(ctx, object, opts...) })
		},
	})
	return s
}

func (s *server) write(what string, do func() error) error {
	s.writes = append(s.writes, what)
	if s.fails != nil {
		return s.fails
	}
	return do()
}

func (s *server) store() Store { return Store{Client: s, Live: s} }

// all returns the revisions by name.
func (s *server) all(t *testing.T) map[string]appsv1.ControllerRevision {
	t.Helper()
	var list appsv1.ControllerRevisionList
	if err := s.backing.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	out := map[string]appsv1.ControllerRevision{}
	for _, revision := range list.Items {
		out[revision.Name] = revision
	}
	return out
}

// TestSync runs one pass, and then a second one that must write nothing.
func TestSync(t *testing.T) {
	name := recorded(webSet("web:1"), 1).Name
	next := revisionFor(webSet("web:1"), mustContent(webSet("web:1")), 1, 1).Name
	planted := func(image string, change func(*appsv1.ControllerRevision)) *appsv1.ControllerRevision {
		revision := past(name, 7, image)
		change(revision)
		return revision
	}
	keep := func(*appsv1.ControllerRevision) {}
	for what, tc := range map[string]struct {
		set        *api.StatefulSet
		revisions  revisions
		hidden     bool
		pods       []string
		writes     []string
		update     string
		collisions int32
	}{
		"K-071 the first revision": {set: webSet("web:1"), writes: []string{"create " + name}, update: name},
		"K-051 back to an old one": {
			set: at(webSet("web:1"), "b"), revisions: revisions{past("a", 1, "web:1"), past("b", 2, "web:2")},
			writes: []string{"patch a"}, update: "a",
		},
		"K-136 K-227 orphans are taken over, others left": {
			set:       webSet("web:1"),
			revisions: revisions{orphaned(past("a", 1, "web:1")), orphaned(labelled(past("b", 2, "web:2"), "other")), ownedBy(past("c", 3, "web:3"), "another")},
			pods:      []string{"a"}, writes: []string{"patch a"}, update: "a",
		},
		"D-037 a plain reference becomes a controller's": {
			set: webSet("web:1"), revisions: revisions{plainly(past("a", 1, "web:1"))},
			writes: []string{"patch a"}, update: "a",
		},
		"D-038 one with other labels is let go": {
			set: at(webSet("web:1"), "a"), revisions: revisions{past("a", 1, "web:1"), labelled(past("b", 2, "web:2"), "other")},
			writes: []string{"patch b"}, update: "a",
		},
		"D-038 but not one that a pod has": {
			set: at(webSet("web:1"), "a"), revisions: revisions{past("a", 3, "web:1"), labelled(past("b", 2, "web:2"), "other")},
			pods: []string{"b"}, update: "a",
		},
		"D-011 another namespace": {
			set: webSet("web:1"), revisions: revisions{elsewhere(past("a", 1, "web:1"))},
			writes: []string{"create " + name}, update: name,
		},
		"D-018 the name is taken by another content": {
			set: webSet("web:1"), revisions: revisions{ownedBy(planted("web:9", keep), "another")},
			writes: []string{"create " + name, "create " + next}, update: next, collisions: 1,
		},
		"D-018 the name is another's, with the same content": {
			set: webSet("web:1"), revisions: revisions{ownedBy(planted("web:1", keep), "another")},
			writes: []string{"create " + name, "create " + next}, update: next, collisions: 1,
		},
		"D-018 the name is the set's own, of another content": {
			set: at(webSet("web:1"), name), revisions: revisions{planted("web:9", keep)}, pods: []string{name},
			writes: []string{"create " + name, "create " + next}, update: next, collisions: 1,
		},
		"the cache has not seen what was made": {
			set: webSet("web:1"), revisions: revisions{planted("web:1", keep)}, hidden: true,
			writes: []string{"create " + name}, update: name,
		},
		"the cache has not seen what was orphaned": {
			set: webSet("web:1"), revisions: revisions{orphaned(planted("web:1", keep))}, hidden: true,
			writes: []string{"create " + name, "patch " + name}, update: name,
		},
		"claims are noted once": {
			set: at(growing(webSet("web:1"), "1Gi"), "a"), revisions: revisions{past("a", 1, "web:1")}, pods: []string{"a"},
			writes: []string{"patch a"}, update: "a",
		},
		"K-076 pruned": {
			set: at(limited(webSet("web:3"), 1), "c"), revisions: revisions{past("a", 1, "web:1"), past("b", 2, "web:2"), past("c", 3, "web:3")},
			writes: []string{"delete a"}, update: "c",
		},
		"K-073 K-077 settled": {
			set: at(webSet("web:1"), "b"), revisions: revisions{past("a", 1, "web:2"), past("b", 2, "web:1")}, pods: []string{"b"}, update: "b",
		},
		"K-031 D-050 nothing for a set that goes": {
			set: going(webSet("web:1")), revisions: revisions{orphaned(past("a", 1, "web:2"))}, update: name,
		},
	} {
		t.Run(what, func(t *testing.T) {
			objects := []client.Object{tc.set}
			for _, revision := range tc.revisions {
				objects = append(objects, revision)
			}
			s := newServer(t, objects...)
			if tc.hidden {
				s.hidden = []string{name}
			}
			result, err := s.store().Sync(t.Context(), tc.set, tc.pods)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.writes, s.writes); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
			if result.Update.Name != tc.update || result.CollisionCount != tc.collisions || result.Current == nil {
				t.Errorf("update %s, %d collisions, current %v; want %s and %d", result.Update.Name, result.CollisionCount, result.Current, tc.update, tc.collisions)
			}
			s.writes, s.hidden = nil, nil
			tc.set.Status.CollisionCount = new(result.CollisionCount)
			if again, err := s.store().Sync(t.Context(), tc.set, tc.pods); err != nil || len(s.writes) > 0 || again.Update.Name != tc.update {
				t.Errorf("second pass: %v, writes %v, update %s", err, s.writes, again.Update.Name)
			}
		})
	}
}

func mustContent(set *api.StatefulSet) content {
	c, err := contentOf(set)
	if err != nil {
		panic(err)
	}
	return c
}

func labelled(revision *appsv1.ControllerRevision, app string) *appsv1.ControllerRevision {
	revision.Labels = map[string]string{"app": app}
	return revision
}

func ownedBy(revision *appsv1.ControllerRevision, owner string) *appsv1.ControllerRevision {
	revision.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: owner, UID: "another", Controller: new(true)}}
	return revision
}

func plainly(revision *appsv1.ControllerRevision) *appsv1.ControllerRevision {
	revision.OwnerReferences[0].Controller = nil
	return revision
}

func elsewhere(revision *appsv1.ControllerRevision) *appsv1.ControllerRevision {
	revision.Namespace = "store"
	return revision
}

func going(set *api.StatefulSet) *api.StatefulSet {
	set.DeletionTimestamp, set.Finalizers = new(metav1.Now()), []string{"test/keep"}
	return set
}

// TestWritten checks the result of the writes.
func TestWritten(t *testing.T) {
	set := at(growing(webSet("web:1"), "1Gi"), "b")
	other := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "x"}
	orphan := orphaned(past("a", 1, "web:1"))
	orphan.OwnerReferences = []metav1.OwnerReference{other}
	stray := labelled(past("c", 2, "web:3"), "other")
	s := newServer(t, set, orphan, past("b", 4, "web:2"), stray)
	result, err := s.store().Sync(t.Context(), set, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("K-051: an old revision gets the largest number", func(t *testing.T) {
		if result.Current.Name != "b" || result.Update.Revision != 5 {
			t.Errorf("current %s, update has number %d", result.Current.Name, result.Update.Revision)
		}
	})
	all := s.all(t)
	adopted := all["a"]
	t.Run("K-227: an orphan has us beside its other owners", func(t *testing.T) {
		if diff := cmp.Diff([]metav1.OwnerReference{other, *metav1.NewControllerRef(set, Kind)}, adopted.OwnerReferences); diff != "" {
			t.Errorf("owners (-want +got):\n%s", diff)
		}
	})
	if adopted.Annotations[ClaimsAnnotationKey] != `{"data":"1Gi"}` || adopted.Revision != 5 {
		t.Errorf("annotations %v, number %d", adopted.Annotations, adopted.Revision)
	}
	t.Run("D-038: one with other labels is let go", func(t *testing.T) {
		if owners := all["c"].OwnerReferences; len(owners) > 0 {
			t.Errorf("owners %v", owners)
		}
	})
	if diff := cmp.Diff([]string{"a", "b", "c"}, slices.Sorted(maps.Keys(all))); diff != "" {
		t.Errorf("revisions (-want +got):\n%s", diff)
	}
}

// TestRaces: the set is read from the API server before an adoption.
func TestRaces(t *testing.T) {
	for name, tc := range map[string]struct {
		live *api.StatefulSet
		want string
	}{
		"K-035 it is being deleted": {going(webSet("web:1")), "StatefulSet shop/web is being deleted"},
		"it was made anew":          {remade(webSet("web:1")), "StatefulSet shop/web was recreated (UID other, not set)"},
		"it is gone":                {nil, "reading StatefulSet shop/web before it takes over a revision"},
	} {
		t.Run(name, func(t *testing.T) {
			objects := []client.Object{orphaned(past("a", 1, "web:1"))}
			if tc.live != nil {
				objects = append(objects, tc.live)
			}
			s := newServer(t, objects...)
			_, err := s.store().Sync(t.Context(), webSet("web:1"), nil)
			if err == nil || !strings.Contains(err.Error(), tc.want) || len(s.writes) > 0 {
				t.Errorf("error %v, writes %v", err, s.writes)
			}
		})
	}
}

func remade(set *api.StatefulSet) *api.StatefulSet {
	set.UID = "other"
	return set
}

// TestErrors: an error names the object and the remedy.
func TestErrors(t *testing.T) {
	resource := appsv1.Resource("controllerrevisions")
	forbidden, conflict := apierrors.NewForbidden(resource, "a", nil), apierrors.NewConflict(resource, "a", nil)
	for name, tc := range map[string]struct {
		set       *api.StatefulSet
		revisions revisions
		fails     error
		want      []string
	}{
		"create": {webSet("web:1"), nil, forbidden, []string{"creating ControllerRevision shop/web-", "grant the slice controller"}},
		"adopt":  {webSet("web:1"), revisions{orphaned(past("a", 1, "web:1"))}, conflict, []string{"taking over ControllerRevision shop/a", "tried again"}},
		"number": {at(webSet("web:1"), "b"), revisions{past("a", 1, "web:1"), past("b", 2, "web:2")}, conflict, []string{"renumbering ControllerRevision shop/a"}},
		"delete": {at(limited(webSet("web:2"), 0), "b"), revisions{past("a", 1, "web:1"), past("b", 2, "web:2")}, conflict, []string{"deleting the unused ControllerRevision shop/a"}},
		"let go": {at(webSet("web:1"), "a"), revisions{past("a", 1, "web:1"), labelled(past("b", 2, "web:2"), "x")}, forbidden, []string{"releasing ControllerRevision shop/b"}},
	} {
		t.Run(name, func(t *testing.T) {
			objects := []client.Object{tc.set}
			for _, revision := range tc.revisions {
				objects = append(objects, revision)
			}
			s := newServer(t, objects...)
			s.fails = tc.fails
			_, err := s.store().Sync(t.Context(), tc.set, nil)
			if !errors.Is(err, tc.fails) {
				t.Fatalf("error %v", err)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q, want %q in it", err, want)
				}
			}
		})
	}
}

// TestChangedMeanwhile: a revision that has changed since it was read is neither renumbered nor deleted.
func TestChangedMeanwhile(t *testing.T) {
	for name, set := range map[string]*api.StatefulSet{
		"renumber": at(webSet("web:1"), "b"),
		"delete":   at(limited(webSet("web:2"), 0), "b"),
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, set, past("a", 1, "web:1"), past("b", 2, "web:2"))
			owned, err := (&pass{Store: s.store(), set: set}).owned(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			changed := s.all(t)["a"]
			changed.Annotations = map[string]string{"seen": "late"}
			if err := s.Update(t.Context(), &changed); err != nil {
				t.Fatal(err)
			}
			d, err := Decide(State{Set: set, Revisions: owned})
			if err != nil {
				t.Fatal(err)
			}
			p := &pass{Store: s.store(), set: set}
			if len(d.Prune) > 0 {
				err = p.remove(t.Context(), d.Prune[0])
			} else {
				_, err = p.record(t.Context(), d, new(int32))
			}
			if !apierrors.IsConflict(err) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestLeftRevisionBeforePods: a revision of a former owner may be adopted before its pods. It is kept while they name it,
// because they would be recreated without it.
func TestLeftRevisionBeforePods(t *testing.T) {
	set := at(webSet("web:1"), "b")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "web-0", Labels: map[string]string{"app": "web", appsv1.StatefulSetRevisionLabel: "a"},
	}}
	elsewhere := pod.DeepCopy()
	elsewhere.Namespace = "elsewhere"
	for what, tc := range map[string]struct {
		pod  *corev1.Pod
		want []string
	}{
		"named by a pod":  {pod, []string{"patch a"}},
		"named by no pod": {elsewhere, []string{"patch a", "delete a"}},
	} {
		t.Run(what, func(t *testing.T) {
			s := newServer(t, set.DeepCopy(), orphaned(past("a", 1, "web:1")), past("b", 2, "web:1"), tc.pod.DeepCopy())
			if _, err := s.store().Sync(t.Context(), set, nil); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, s.writes); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
		})
	}
}
