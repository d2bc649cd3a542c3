package history

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

type revisions = []*appsv1.ControllerRevision

func TestDecide(t *testing.T) {
	oneThree := strings.ReplaceAll(string(past("", 0, "web:1").Data.Raw), `"metadata":{`, `"metadata":{"creationTimestamp":null,`)
	undefaulted := `{"spec":{"template":{"$patch":"replace","metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"image":"web:1","name":"web"}]}}}}`
	named := func(set *api.StatefulSet) string { return recorded(set, 1).Name }
	first := named(webSet("web:1"))
	for name, tc := range map[string]struct {
		set       *api.StatefulSet
		revisions revisions
		pods      []string
		want      outcome
	}{
		"K-071 no revisions": {
			set:  webSet("web:1"),
			want: outcome{current: first, update: first, create: true, number: 1},
		},
		"K-073 the same set again": {
			set: at(webSet("web:1"), "a"), revisions: revisions{past("a", 1, "web:1")},
			want: outcome{current: "a", update: "a", number: 1},
		},
		"K-050 D-012 D-013 another template": {
			set: at(webSet("web:2"), "a"), revisions: revisions{past("a", 1, "web:1")}, pods: []string{"a"},
			want: outcome{current: "a", update: named(webSet("web:2")), create: true, number: 2},
		},
		"K-051 K-064 D-030 the old template again: its old name, the largest number": {
			set: at(webSet("web:1"), "b"), revisions: revisions{past("a", 1, "web:1"), past("b", 2, "web:2")}, pods: []string{"b"},
			want: outcome{current: "b", update: "a", number: 3},
		},
		"S-006 back in mid-update": {
			set: at(webSet("web:1"), "a"), revisions: revisions{past("a", 1, "web:1"), past("b", 2, "web:2")}, pods: []string{"a", "b"},
			want: outcome{current: "a", update: "a", number: 3},
		},
		"S-007 D-021 forward in mid-update": {
			set: at(webSet("web:3"), "a"), revisions: revisions{past("a", 1, "web:1"), past("b", 2, "web:2")}, pods: []string{"a", "b"},
			want: outcome{current: "a", update: named(webSet("web:3")), create: true, number: 3},
		},
		"K-077 written by Kubernetes 1.33": {
			set: at(webSet("web:1"), "a"), revisions: revisions{withData(past("a", 4, ""), oneThree)}, pods: []string{"a"},
			want: outcome{current: "a", update: "a", number: 4},
		},
		"K-077 written without defaults": {
			set: at(webSet("web:1"), "a"), revisions: revisions{withData(past("a", 4, ""), undefaulted)}, pods: []string{"a"},
			want: outcome{current: "a", update: "a", number: 4},
		},
		"S-009 D-019 two that mean the same: the newest stays, pods are relabelled first": {
			set: at(webSet("web:1"), "b"), revisions: revisions{withData(past("a", 1, ""), oneThree), past("b", 2, "web:1")}, pods: []string{"a", "b"},
			want: outcome{current: "b", update: "b", number: 2, relabel: map[string]string{"a": "b"}},
		},
		"D-019 then the older goes": {
			set: at(webSet("web:1"), "b"), revisions: revisions{past("a", 1, "web:1"), past("b", 2, "web:1")}, pods: []string{"b"},
			want: outcome{current: "b", update: "b", number: 2, relabel: map[string]string{"a": "b"}, prune: []string{"a"}},
		},
		"D-019 but not while the status names it": {
			set: at(webSet("web:2"), "a"), revisions: revisions{past("a", 1, "web:1"), past("b", 2, "web:1"), past("c", 3, "web:2")},
			want: outcome{current: "b", update: "c", number: 3, relabel: map[string]string{"a": "b"}},
		},
		"S-009 the update revision is the newest of its equals": {
			set: at(webSet("web:1"), "c"), revisions: revisions{past("a", 1, "web:1"), past("b", 2, "web:1"), past("c", 3, "web:2")}, pods: []string{"c"},
			want: outcome{current: "c", update: "b", number: 4, relabel: map[string]string{"a": "b"}, prune: []string{"a"}},
		},
		"equal numbers: the template's gets the largest": {
			set: at(webSet("web:1"), "a"), revisions: revisions{past("a", 1, "web:1"), past("b", 1, "web:2")}, pods: []string{"a"},
			want: outcome{current: "a", update: "a", number: 2},
		},
		"S-018 K-136 made anew in mid-update: current is what pods are left at": {
			set: webSet("web:2"), revisions: revisions{past("z", 1, "web:0"), past("a", 2, "web:1"), past("b", 3, "web:2")}, pods: []string{"b", "z", "a"},
			want: outcome{current: "a", update: "b", number: 3},
		},
		"S-018 K-136 made anew at rest": {
			set: webSet("web:2"), revisions: revisions{past("a", 1, "web:1"), past("b", 2, "web:2")}, pods: []string{"b", "unknown"},
			want: outcome{current: "b", update: "b", number: 2},
		},
		"what cannot be read is like nothing": {
			set: at(webSet("web:1"), "b"), revisions: revisions{withData(past("x", 1, ""), "[]"), withData(past("y", 2, ""), `{"spec":{}}`), past("b", 3, "web:1")},
			want: outcome{current: "b", update: "b", number: 3},
		},
		"K-076 limit 2": {
			set:       at(limited(webSet("web:5"), 2), "e"),
			revisions: revisions{past("e", 5, "web:5"), past("a", 1, "web:1"), past("b", 2, "web:2"), past("c", 3, "web:3"), past("d", 4, "web:4")},
			want:      outcome{current: "e", update: "e", number: 5, prune: []string{"a", "b"}},
		},
		"K-076 D-045 limit 0; a pod's stays": {
			set:       at(limited(webSet("web:4"), 0), "b"),
			revisions: revisions{past("a", 1, "web:1"), past("b", 2, "web:2"), past("c", 3, "web:3"), past("d", 4, "web:4")}, pods: []string{"a"},
			want: outcome{current: "b", update: "d", number: 4, prune: []string{"c"}},
		},
		"K-076 limit -2 keeps all": {
			set: at(limited(webSet("web:3"), -2), "c"), revisions: revisions{past("a", 1, "web:1"), past("b", 2, "web:2"), past("c", 3, "web:3")},
			want: outcome{current: "c", update: "c", number: 3},
		},
		"K-076 limit -1 keeps all but duplicates": {
			set: at(limited(webSet("web:2"), -1), "c"), revisions: revisions{past("a", 1, "web:1"), past("b", 2, "web:1"), past("c", 3, "web:2")},
			want: outcome{current: "c", update: "c", number: 3, relabel: map[string]string{"a": "b"}, prune: []string{"a"}},
		},
		"duplicates do not count for the limit": {
			set: at(limited(webSet("web:3"), 1), "d"), revisions: revisions{past("a", 1, "web:1"), past("b", 2, "web:1"), past("d", 4, "web:3")},
			want: outcome{current: "d", update: "d", number: 4, relabel: map[string]string{"a": "b"}, prune: []string{"a"}},
		},
		"K-075 the one that is made does not count": {
			set: at(limited(webSet("web:3"), 1), "b"), revisions: revisions{past("a", 1, "web:1"), past("b", 2, "web:2")},
			want: outcome{current: "b", update: named(webSet("web:3")), create: true, number: 3},
		},
		"R-093 a claim grows with its pod": {
			set: at(growing(webSet("web:1"), "20Gi"), "a"), revisions: revisions{claimed(past("a", 1, "web:1"), "10Gi")}, pods: []string{"a"},
			want: outcome{current: "a", update: named(growing(webSet("web:1"), "20Gi")), create: true, number: 2},
		},
		"a claim that does not grow with its pod": {
			set: at(claiming(webSet("web:1"), "20Gi"), "a"), revisions: revisions{claimed(past("a", 1, "web:1"), "10Gi")}, pods: []string{"a"},
			want: outcome{current: "a", update: "a", number: 1},
		},
		"a revision of apps/v1 fits any claims, and records them": {
			set: growing(webSet("web:1"), "20Gi"), revisions: revisions{past("a", 1, "web:1")}, pods: []string{"a"},
			want: outcome{current: "a", update: "a", number: 1, claims: `{"data":"20Gi"}`},
		},
		"one that records the claims goes first": {
			set:       at(growing(webSet("web:1"), "20Gi"), "c"),
			revisions: revisions{claimed(past("a", 1, "web:1"), "20Gi"), past("b", 2, "web:1"), claimed(past("c", 3, "web:1"), "30Gi")},
			want:      outcome{current: "c", update: "a", number: 4},
		},
		"the same size written differently": {
			set: at(growing(webSet("web:1"), "1024Mi"), "a"), revisions: revisions{claimed(past("a", 1, "web:1"), "1Gi")},
			want: outcome{current: "a", update: "a", number: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := decide(t, State{Set: tc.set, Revisions: tc.revisions, Pods: tc.pods})
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(outcome{})); diff != "" {
				t.Errorf("decision (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLimitByDefault: ten revisions are kept that are not in use.
func TestLimitByDefault(t *testing.T) {
	for n, want := range map[int][]string{11: nil, 12: {"r-1"}, 13: {"r-1", "r-2"}} {
		var all revisions
		for i := 1; i <= n; i++ {
			all = append(all, past(fmt.Sprint("r-", i), int64(i), fmt.Sprint("web:", i)))
		}
		got := decide(t, State{Set: at(webSet(fmt.Sprint("web:", n)), fmt.Sprint("r-", n)), Revisions: all})
		if diff := cmp.Diff(want, got.prune); diff != "" {
			t.Errorf("of %d (-want +got):\n%s", n, diff)
		}
	}
}

// TestByAge: revisions are ordered by number, then by creation, then by name.
func TestByAge(t *testing.T) {
	of := func(name string, number int64, created int64) *appsv1.ControllerRevision {
		revision := past(name, number, "web:1")
		revision.CreationTimestamp = metav1.NewTime(time.Unix(created, 0))
		return revision
	}
	all := revisions{of("b", 1, 9), of("a", 1, 9), of("z", 1, 1), of("c", 0, 9), of("d", 2, 0)}
	slices.SortFunc(all, byAge)
	if diff := cmp.Diff([]string{"c", "z", "a", "b", "d"}, names(all)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRevisionFor: a revision has the labels of the template and its hash, is owned by the set, and changes neither the
// template nor the set.
func TestRevisionFor(t *testing.T) {
	for name, change := range map[string]func(*api.StatefulSet){
		"with labels":      func(set *api.StatefulSet) { set.Annotations = map[string]string{"a": "b"} },
		"without metadata": func(set *api.StatefulSet) { set.Spec.Template.Labels = nil },
	} {
		set := claiming(webSet("web:1"), "1Gi")
		change(set)
		before := set.DeepCopy()
		got := recorded(set, 7)
		labels, annotations := maps.Clone(before.Spec.Template.Labels), maps.Clone(before.Annotations)
		if labels == nil {
			labels = map[string]string{}
		}
		if annotations == nil {
			annotations = map[string]string{}
		}
		hash := strings.TrimPrefix(got.Name, "web-")
		labels[HashLabelKey], annotations[ClaimsAnnotationKey] = hash, `{"data":"1Gi"}`
		if diff := cmp.Diff([]any{labels, annotations, "shop", int64(7)}, []any{got.Labels, got.Annotations, got.Namespace, got.Revision}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if owner := metav1.GetControllerOf(got); owner == nil || owner.UID != set.UID || owner.Kind != "StatefulSet" || hash == got.Name {
			t.Errorf("%s: %+v", name, got.ObjectMeta)
		}
		if diff := cmp.Diff(before, set); diff != "" {
			t.Errorf("%s: the set was changed:\n%s", name, diff)
		}
	}
}

// claimed records the request of a claim template on a revision.
func claimed(revision *appsv1.ControllerRevision, size string) *appsv1.ControllerRevision {
	revision.Annotations = map[string]string{ClaimsAnnotationKey: `{"data":"` + size + `"}`}
	return revision
}

// TestApply: a revision returns the template unchanged, and has the annotations of the set.
func TestApply(t *testing.T) {
	t.Run("K-078: written and read", func(t *testing.T) {
		set := webSet("web:1")
		set.Annotations = map[string]string{
			"kubernetes.io/change-cause":                       "first",
			"kubectl.kubernetes.io/last-applied-configuration": "{}",
		}
		revision := recorded(set, 1)
		if diff := cmp.Diff(map[string]string{"kubernetes.io/change-cause": "first"}, revision.Annotations); diff != "" {
			t.Errorf("annotations (-want +got):\n%s", diff)
		}
		template, err := Apply(revision)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(Canonical(&set.Spec.Template), &template); diff != "" {
			t.Errorf("template (-want +got):\n%s", diff)
		}
		if _, err := Apply(withData(revision, `{"spec":{}}`)); err == nil || !strings.Contains(err.Error(), "ControllerRevision shop/") {
			t.Errorf("error %v", err)
		}
	})
}

// TestNames: a name is a valid label value for any name of a set.
func TestNames(t *testing.T) {
	for name, want := range map[string]string{
		"web":                                  "web-12345678",
		strings.Repeat("a", 54):                strings.Repeat("a", 54) + "-12345678",
		strings.Repeat("a", 60):                strings.Repeat("a", 54) + "-12345678",
		strings.Repeat("a", 52) + ".-tail":     strings.Repeat("a", 52) + "-12345678",
		"db.of." + strings.Repeat("long.", 30): "db.of.long.long.long.long.long.long.long.long.long.lon-12345678",
	} {
		t.Run(name, func(t *testing.T) {
			got := nameOf(name, "12345678")
			if got != want || len(validation.IsValidLabelValue(got)) > 0 || len(validation.IsDNS1123Subdomain(got)) > 0 {
				t.Errorf("name %q, want %q", got, want)
			}
		})
	}
}

// TestHash: the same content has the same name each time, and another one with another collision count. Without versioned
// claims, their size does not matter.
func TestHash(t *testing.T) {
	name := func(set *api.StatefulSet, collisions int32) string {
		c, err := contentOf(set)
		if err != nil {
			t.Fatal(err)
		}
		return revisionFor(set, c, 1, collisions).Name
	}
	first := name(webSet("web:1"), 0)
	for what, tc := range map[string]struct {
		got  string
		same bool
	}{
		"again":                  {name(webSet("web:1"), 0), true},
		"another template":       {name(webSet("web:2"), 0), false},
		"a collision":            {name(webSet("web:1"), 1), false},
		"claims not rolled out":  {name(claiming(webSet("web:1"), "1Gi"), 0), true},
		"claims that are":        {name(growing(webSet("web:1"), "1Gi"), 0), false},
		"defaults written out":   {name(defaulted(webSet("web:1")), 0), true},
		"annotations of the set": {name(annotated(webSet("web:1")), 0), true},
	} {
		if (tc.got == first) != tc.same {
			t.Errorf("%s: %s and %s", what, first, tc.got)
		}
	}
}

func defaulted(set *api.StatefulSet) *api.StatefulSet {
	set.Spec.Template = *Canonical(&set.Spec.Template)
	return set
}

func annotated(set *api.StatefulSet) *api.StatefulSet {
	set.Annotations = map[string]string{"a": "b"}
	return set
}

// TestHistory checks the package's invariants H1 to H5 through random edits, restarts and interrupted passes.
func TestHistory(t *testing.T) {
	t.Run("K-075: after random edits, restarts and half-finished passes", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			w := world{set: limited(webSet("web:0"), rapid.Int32Range(-1, 3).Draw(t, "limit")), pods: make([]string, 3)}
			for range rapid.IntRange(1, 25).Draw(t, "steps") {
				switch rapid.IntRange(0, 5).Draw(t, "step") {
				case 0: // an edit
					w.set.Spec.Template.Spec.Containers[0].Image = fmt.Sprint("web:", rapid.IntRange(0, 4).Draw(t, "image"))
				case 1: // a pod is recreated
					w.pods[rapid.IntRange(0, 2).Draw(t, "pod")] = w.update
				case 2: // the roll-out ends
					w.pods = []string{w.update, w.update, w.update}
					w.set.Status.CurrentRevision = w.update
				case 3: // a user copies a revision
					w.copyOne(t)
				case 4: // the status is lost
					w.set.Status = api.StatefulSetStatus{}
				}
				w.sync(t)
			}
			w.steady = true
			w.sync(t) // the pods are relabelled, and the status is written
			w.sync(t) // revisions that no pod names any more are deleted
			if d := w.decide(t); d.Create || d.Number != d.Update.Revision || len(d.Prune) > 0 {
				t.Fatalf("H5: it does not settle: create %v, renumber %v, prune %v", d.Create, d.Number != d.Update.Revision, names(d.Prune))
			}
		})
	})
}

// world is a set whose history decisions are executed without an API server.
type world struct {
	set       *api.StatefulSet
	revisions revisions
	pods      []string
	update    string
	made      int
	// steady is true when every write of the reconciler succeeds.
	steady bool
}

// written reports whether a write of the reconciler succeeds.
func (w *world) written(t *rapid.T, what string) bool {
	return w.steady || rapid.Bool().Draw(t, what)
}

func (w *world) decide(t *rapid.T) Decision {
	d, err := Decide(State{Set: w.set, Revisions: w.revisions, Pods: w.pods})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (w *world) copyOne(t *rapid.T) {
	if len(w.revisions) == 0 {
		return
	}
	w.made++
	twin := w.revisions[rapid.IntRange(0, len(w.revisions)-1).Draw(t, "copied")].DeepCopy()
	twin.Name = fmt.Sprint("copy-", w.made)
	twin.CreationTimestamp = metav1.NewTime(time.Unix(int64(w.made), 0))
	w.revisions = append(w.revisions, twin)
}

// sync executes a decision and checks H1 to H4.
func (w *world) sync(t *rapid.T) {
	before := map[string]content{}
	for _, revision := range w.revisions {
		before[revision.Name] = recordedBy(revision)
	}
	d := w.decide(t)
	if known := slices.Contains(slices.Collect(maps.Values(before)), recordedBy(d.Update)); known == d.Create {
		t.Fatalf("H2: a template known before: %v, made: %v", known, d.Create)
	}
	if d.Create {
		w.revisions = append(w.revisions, d.Update)
	}
	d.Update.Revision = d.Number
	for _, revision := range w.revisions {
		if byAge(revision, d.Update) > 0 {
			t.Fatalf("H1: %s with number %d is newer than the template's with %d", revision.Name, revision.Revision, d.Number)
		}
	}
	if !Matches(w.set, d.Update) {
		t.Fatal("H1: the update revision is not the template's")
	}
	for _, revision := range d.Prune {
		if revision == d.Current || revision == d.Update || revision.Name == w.set.Status.CurrentRevision || slices.Contains(w.pods, revision.Name) {
			t.Fatalf("H3: %s is in use", revision.Name)
		}
	}
	w.revisions = slices.DeleteFunc(w.revisions, func(r *appsv1.ControllerRevision) bool { return slices.Contains(d.Prune, r) })
	if limit := int(*w.set.Spec.RevisionHistoryLimit); limit >= 0 && len(w.revisions) > limit+2+len(w.pods)+1 {
		t.Fatalf("%d revisions at limit %d", len(w.revisions), limit)
	}
	for i, name := range w.pods {
		if to, found := d.Relabel[name]; found {
			if before[to] != before[name] {
				t.Fatalf("H4: a pod of %s gets the label of %s, which means something else", name, to)
			}
			if w.written(t, "relabelled") {
				w.pods[i] = to
			}
		}
	}
	if w.written(t, "status written") {
		w.set.Status.CurrentRevision = d.Current.Name
	}
	w.update = d.Update.Name
}
