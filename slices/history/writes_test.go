package history

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// TestNewRevision: the name and the owner of a new revision. A name is cut to the length of a label value, because pods have
// it as a label. apps/v1 cuts it to 223 characters, and cannot create pods of such a set.
func TestNewRevision(t *testing.T) {
	for name, stem := range map[string]string{"web": "web-", strings.Repeat("n", 80): strings.Repeat("n", 50), strings.Repeat("n.", 40): "n.n."} {
		t.Run("K-221 "+name, func(t *testing.T) {
			set := webSet("web:1")
			set.Name = name
			s := newServer(t, set)
			result, err := s.store().Sync(t.Context(), set, nil)
			if err != nil {
				t.Fatal(err)
			}
			made := s.all(t)[result.Update.Name]
			hash := made.Labels[HashLabelKey]
			if !strings.HasPrefix(made.Name, stem) || hash == "" || !strings.HasSuffix(made.Name, "-"+hash) || len(validation.IsValidLabelValue(made.Name)) > 0 {
				t.Errorf("%s has revision %s with hash %q", name, made.Name, hash)
			}
			if diff := cmp.Diff([]metav1.OwnerReference{*metav1.NewControllerRef(set, Kind)}, made.OwnerReferences); diff != "" {
				t.Errorf("owners (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSameContent: the same content is one revision of a set, however often it is created, and another one of another set.
func TestSameContent(t *testing.T) {
	t.Run("K-222: asked for twice, by two sets", func(t *testing.T) {
		web, db := webSet("web:1"), webSet("web:1")
		db.Name, db.UID = "db", "db"
		db.Spec.Selector, db.Spec.Template.Labels = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}, map[string]string{"app": "db"}
		s := newServer(t, web, db)
		names := map[string]bool{}
		for range 2 {
			for _, set := range []*api.StatefulSet{web, db} {
				result, err := s.store().Sync(t.Context(), set, nil)
				if err != nil {
					t.Fatal(err)
				}
				if !metav1.IsControlledBy(result.Update, set) {
					t.Errorf("%s got revision %s of %v", set.Name, result.Update.Name, result.Update.OwnerReferences)
				}
				names[result.Update.Name] = true
			}
		}
		if len(names) != 2 || len(s.writes) != 2 {
			t.Errorf("revisions %v, writes %v", names, s.writes)
		}
	})
}

// TestRenumber: a revision is written when its number changes. An error is returned, and the next pass repeats the write
// after a conflict.
func TestRenumber(t *testing.T) {
	set := at(webSet("web:1"), "b")
	s := newServer(t, set, past("a", 1, "web:1"), past("b", 2, "web:2"))
	conflict := apierrors.NewConflict(appsv1.Resource("controllerrevisions"), "a", errors.New("changed"))
	for _, step := range []struct {
		name   string
		fails  error
		number int64
		writes int
	}{
		{"an error", errors.New("out of order"), 1, 1},
		{"a conflict", conflict, 1, 1},
		{"the next pass", nil, 3, 1},
		{"nothing new", nil, 3, 0},
	} {
		t.Run("K-225 "+step.name, func(t *testing.T) {
			s.writes, s.fails = nil, step.fails
			if _, err := s.store().Sync(t.Context(), set, nil); !errors.Is(err, step.fails) {
				t.Error(err)
			}
			if got := s.all(t)["a"].Revision; got != step.number || len(s.writes) != step.writes {
				t.Errorf("number %d, writes %v", got, s.writes)
			}
		})
	}
}

// TestRemove: a revision that no longer exists counts as deleted, where apps/v1 returns an error. A revision that has
// changed since it was read is not deleted.
func TestRemove(t *testing.T) {
	changed := func(r *appsv1.ControllerRevision) { r.ResourceVersion = "1" }
	for name, tc := range map[string]struct {
		judged   string
		change   func(*appsv1.ControllerRevision)
		conflict bool
		left     int
	}{
		"it is there":    {"a", func(*appsv1.ControllerRevision) {}, false, 0},
		"it is gone":     {"gone", func(*appsv1.ControllerRevision) {}, false, 1},
		"it was changed": {"a", changed, true, 1},
	} {
		t.Run("K-226 "+name, func(t *testing.T) {
			set := webSet("web:1")
			s := newServer(t, set, past("a", 1, "web:1"))
			judged := s.all(t)["a"]
			judged.Name = tc.judged
			tc.change(&judged)
			err := (&pass{Store: s.store(), set: set}).remove(t.Context(), &judged)
			if apierrors.IsConflict(err) != tc.conflict || err != nil && !tc.conflict {
				t.Errorf("error %v", err)
			}
			if left := s.all(t); len(left) != tc.left {
				t.Errorf("%d revisions are left", len(left))
			}
		})
	}
}

// TestPostponed: a failed write that no pod depends on does not prevent the result, however often it is refused. A write
// that creates a pod's revision does.
func TestPostponed(t *testing.T) {
	for name, tc := range map[string]struct {
		set       *api.StatefulSet
		revisions revisions
		pods      []string
		waits     bool
	}{
		"X-20 pruning":                       {set: limited(webSet("web:2"), 0), revisions: revisions{past("a", 1, "web:1"), past("b", 2, "web:2")}},
		"X-20 renumbering":                   {set: at(webSet("web:1"), "b"), revisions: revisions{past("a", 1, "web:1"), past("b", 2, "web:2")}},
		"X-20 letting go":                    {set: webSet("web:2"), revisions: revisions{labelled(past("a", 1, "web:1"), "x"), past("b", 2, "web:2")}},
		"X-20 taking over an old one":        {set: webSet("web:2"), revisions: revisions{orphaned(past("a", 1, "web:1")), past("b", 2, "web:2")}},
		"X-20 taking over that of a pod":     {set: webSet("web:2"), revisions: revisions{orphaned(past("a", 1, "web:1")), past("b", 2, "web:2")}, pods: []string{"a"}, waits: true},
		"X-20 taking over the template's":    {set: webSet("web:1"), revisions: revisions{orphaned(past("a", 1, "web:1")), past("b", 2, "web:2")}, waits: true},
		"X-20 making that of a new template": {set: webSet("web:3"), revisions: revisions{past("a", 1, "web:1"), past("b", 2, "web:2")}, waits: true},
	} {
		t.Run(name, func(t *testing.T) {
			objects := []client.Object{tc.set}
			for _, revision := range tc.revisions {
				objects = append(objects, revision)
			}
			s := newServer(t, objects...)
			s.fails = errors.New("refused")
			result, err := s.store().Sync(t.Context(), tc.set, tc.pods)
			if !errors.Is(err, s.fails) || (result.Update == nil) != tc.waits || (result.Current == nil) != tc.waits {
				t.Errorf("update %v, current %v: %v", result.Update, result.Current, err)
			}
		})
	}
}

// TestRelease: a release removes only the set's own reference, and no reference of another owner. A revision that no longer
// exists counts as released.
func TestRelease(t *testing.T) {
	for name, tc := range map[string]struct {
		revision *appsv1.ControllerRevision
		owners   int
	}{
		"ours":        {past("a", 1, "web:1"), 0},
		"nobody's":    {orphaned(past("a", 1, "web:1")), 0},
		"another's":   {ownedBy(past("a", 1, "web:1"), "another"), 1},
		"it is gone":  {past("gone", 1, "web:1"), -1},
		"ours, plain": {plainly(past("a", 1, "web:1")), 0},
	} {
		t.Run("K-228 "+name, func(t *testing.T) {
			set := webSet("web:1")
			s := newServer(t, set, tc.revision)
			judged := s.all(t)[tc.revision.Name]
			if tc.owners < 0 {
				if err := s.backing.Delete(t.Context(), tc.revision); err != nil {
					t.Fatal(err)
				}
			}
			if err := (&pass{Store: s.store(), set: set}).release(t.Context(), &judged); err != nil {
				t.Error(err)
			}
			if left, found := s.all(t)["a"]; found && len(left.OwnerReferences) != tc.owners {
				t.Errorf("owners %v", left.OwnerReferences)
			}
		})
	}
}

// TestManyUpdates: after any number of templates, only the revisions in use and the newest ones up to the limit stay.
func TestManyUpdates(t *testing.T) {
	t.Run("R-144: ten updates at limit 2", func(t *testing.T) {
		set := limited(webSet("web:0"), 2)
		s := newServer(t, set)
		var made []string
		for i := range 11 {
			set.Spec.Template.Spec.Containers[0].Image = fmt.Sprint("web:", i)
			for range 2 { // the second pass sees that all pods have the new revision
				result, err := s.store().Sync(t.Context(), set, []string{set.Status.CurrentRevision})
				if err != nil {
					t.Fatal(err)
				}
				set.Status.CurrentRevision = result.Update.Name
			}
			made = append(made, set.Status.CurrentRevision)
			left := s.all(t)
			for age, name := range made {
				if _, kept := left[name]; kept != (age > i-3) {
					t.Errorf("update %d: revision %d is there: %t", i, age, kept)
				}
			}
		}
	})
}
