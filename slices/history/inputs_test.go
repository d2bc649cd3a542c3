package history

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/inputs"
)

// app returns ConfigMap app with a content that a digit stands for.
func app(digit string) []inputs.Record {
	return []inputs.Record{{Kind: api.InputConfigMap, Name: "app", Content: strings.Repeat(digit, 16)}}
}

// with records inputs on a revision.
func with(revision *appsv1.ControllerRevision, records []inputs.Record) *appsv1.ControllerRevision {
	revision.Annotations = map[string]string{api.RevisionInputsAnnotationKey: inputs.Encode(records)}
	return revision
}

// TestRevisionInputs: a content is part of the revision, like the template.
func TestRevisionInputs(t *testing.T) {
	named := func(set *api.StatefulSet, records []inputs.Record) string {
		d, err := Decide(State{Set: set, Inputs: Inputs{Records: records}})
		if err != nil {
			t.Fatal(err)
		}
		return d.Update.Name
	}
	plain := recorded(webSet("web:1"), 1).Name
	if named(webSet("web:1"), nil) != plain || named(webSet("web:1"), app("1")) == plain || named(webSet("web:1"), app("1")) == named(webSet("web:1"), app("2")) {
		t.Error("a revision without inputs has another name than before, or others share it")
	}
	updated := func(set *api.StatefulSet, update string) *api.StatefulSet {
		set.Status.UpdateRevision = update
		return set
	}
	deleted := updated(webSet("web:1"), "")
	deleted.DeletionTimestamp = &metav1.Time{}
	for name, tc := range map[string]struct {
		set       *api.StatefulSet
		inputs    Inputs
		revisions revisions
		pods      []string
		want      outcome
	}{
		"the same content": {
			set: at(webSet("web:1"), "a"), inputs: Inputs{Records: app("1")}, revisions: revisions{with(past("a", 1, "web:1"), app("1"))},
			want: outcome{current: "a", update: "a", number: 1},
		},
		"another content": {
			set: at(webSet("web:1"), "a"), inputs: Inputs{Records: app("2")}, revisions: revisions{with(past("a", 1, "web:1"), app("1"))}, pods: []string{"a"},
			want: outcome{current: "a", update: named(webSet("web:1"), app("2")), create: true, number: 2},
		},
		"the former content again": {
			set: at(webSet("web:1"), "b"), inputs: Inputs{Records: app("1")},
			revisions: revisions{with(past("a", 1, "web:1"), app("1")), with(past("b", 2, "web:1"), app("2"))}, pods: []string{"b"},
			want: outcome{current: "b", update: "a", number: 3},
		},
		"the first inputs of a set": {
			set: at(webSet("web:1"), "a"), inputs: Inputs{Records: app("1")}, revisions: revisions{past("a", 1, "web:1")}, pods: []string{"a"},
			want: outcome{current: "a", update: named(webSet("web:1"), app("1")), create: true, number: 2},
		},
		"no inputs any more": {
			set: at(webSet("web:1"), "b"), revisions: revisions{past("a", 1, "web:1"), with(past("b", 2, "web:1"), app("1"))}, pods: []string{"b"},
			want: outcome{current: "b", update: "a", number: 3},
		},
		"two that have them": {
			set: at(webSet("web:1"), "b"), inputs: Inputs{Records: app("1")},
			revisions: revisions{with(past("a", 1, "web:1"), app("1")), with(past("b", 2, "web:1"), app("1"))}, pods: []string{"a"},
			want: outcome{current: "b", update: "b", number: 2, relabel: map[string]string{"a": "b"}},
		},
		"an annotation that cannot be read": {
			set: at(webSet("web:1"), "b"), inputs: Inputs{Records: app("1")},
			revisions: revisions{annotatedWith(past("a", 1, "web:1"), "x"), with(past("b", 2, "web:1"), app("1"))},
			want:      outcome{current: "b", update: "b", number: 2},
		},
		"H6 unknown: the update revision stays, whatever the template is": {
			set: updated(at(limited(webSet("web:9"), 0), "a"), "b"), inputs: Inputs{Unknown: true},
			revisions: revisions{with(past("a", 1, "web:1"), app("1")), with(past("b", 2, "web:1"), app("2")), past("c", 3, "web:3")},
			want:      outcome{current: "a", update: "b", number: 2},
		},
		"H6 unknown, and the status was lost": {
			set: webSet("web:1"), inputs: Inputs{Unknown: true}, revisions: revisions{past("a", 1, "web:1"), past("b", 2, "web:2"), past("c", 3, "web:3")}, pods: []string{"b", "a"},
			want: outcome{current: "a", update: "b", number: 2},
		},
		"unknown, of a set that is being deleted and has lost its revisions": {
			set: deleted, inputs: Inputs{Unknown: true}, want: outcome{current: plain, update: plain, create: true, number: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := decide(t, State{Set: tc.set, Revisions: tc.revisions, Pods: tc.pods, Inputs: tc.inputs})
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(outcome{})); diff != "" {
				t.Errorf("decision (-want +got):\n%s", diff)
			}
		})
	}
	if d, err := Decide(State{Set: webSet("web:1"), Inputs: Inputs{Unknown: true}, Revisions: revisions{past("a", 1, "web:1")}}); err != nil || d.Update != nil || d.Create {
		t.Errorf("unknown, without a former update revision: %+v, %v", d, err)
	}
}

func annotatedWith(revision *appsv1.ControllerRevision, text string) *appsv1.ControllerRevision {
	revision.Annotations = map[string]string{api.RevisionInputsAnnotationKey: text}
	return revision
}

// TestRevisionInputsHistory: after any changes of the template and its inputs, the update revision has them. While they are
// unknown, it stays. Its template and inputs are found again under the same name.
func TestRevisionInputsHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := limited(webSet("web:0"), rapid.Int32Range(-1, 3).Draw(t, "limit"))
		var all revisions
		names := map[string]string{}
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			set.Spec.Template.Spec.Containers[0].Image = fmt.Sprint("web:", rapid.IntRange(0, 1).Draw(t, "image"))
			in := Inputs{Unknown: rapid.IntRange(0, 3).Draw(t, "unknown") == 0}
			if !in.Unknown {
				in.Records = rapid.SampledFrom([][]inputs.Record{nil, app("1"), app("2")}).Draw(t, "inputs")
			}
			d, err := Decide(State{Set: set, Revisions: all, Inputs: in, Pods: []string{set.Status.CurrentRevision}})
			if err != nil {
				t.Fatal(err)
			}
			if in.Unknown {
				if former := set.Status.UpdateRevision; d.Create || len(d.Prune) > 0 || (d.Update == nil) != (former == "") || d.Update != nil && d.Update.Name != former {
					t.Fatalf("H6: %+v, and the update revision was %q", d, former)
				}
				continue
			}
			records, err := inputs.RecordsOf(d.Update)
			if err != nil || inputs.Encode(records) != inputs.Encode(in.Records) || !Matches(set, d.Update) {
				t.Fatalf("H1: %v of %v, %v", records, in.Records, err)
			}
			key := set.Spec.Template.Spec.Containers[0].Image + inputs.Encode(in.Records)
			if known := names[key]; known != "" && known != d.Update.Name {
				t.Fatalf("H2: %s was %s, and is %s", key, known, d.Update.Name)
			}
			names[key] = d.Update.Name
			if d.Create {
				all = append(all, d.Update)
			}
			d.Update.Revision = d.Number
			all = slices.DeleteFunc(all, func(r *appsv1.ControllerRevision) bool { return slices.Contains(d.Prune, r) })
			set.Status.UpdateRevision = d.Update.Name
			if set.Status.CurrentRevision = d.Current.Name; rapid.Bool().Draw(t, "complete") {
				set.Status.CurrentRevision = d.Update.Name
			}
		}
	})
}

// TestRevisionInputsSync: the inputs are written with the revision, once, and never the annotation of the set.
func TestRevisionInputsSync(t *testing.T) {
	set := webSet("web:1")
	set.Annotations = map[string]string{api.RevisionInputsAnnotationKey: "x"}
	s := newServer(t, set)
	store := s.store()
	store.Records = app("1")
	first, err := store.Sync(t.Context(), set, nil)
	if err != nil || first.Update.Annotations[api.RevisionInputsAnnotationKey] != inputs.Encode(app("1")) {
		t.Fatalf("%+v, %v", first.Update, err)
	}
	if again, err := store.Sync(t.Context(), set, nil); err != nil || again.Update.Name != first.Update.Name || len(s.writes) != 1 {
		t.Errorf("H5: %v, %v", s.writes, err)
	}
	store.Inputs = Inputs{Unknown: true}
	if unknown, err := store.Sync(t.Context(), set, nil); err != nil || unknown.Update != nil || len(s.writes) != 1 {
		t.Errorf("H6: %+v, %v, %v", unknown.Update, s.writes, err)
	}
	set.Status.UpdateRevision = first.Update.Name
	if unknown, err := store.Sync(t.Context(), set, nil); err != nil || unknown.Update.Name != first.Update.Name || unknown.Current == nil {
		t.Errorf("H6: %+v, %v", unknown, err)
	}
	store.Inputs = Inputs{}
	plain, err := store.Sync(t.Context(), set, nil)
	if err != nil || plain.Update.Annotations[api.RevisionInputsAnnotationKey] != "" || plain.Update.Name != recorded(webSet("web:1"), 1).Name {
		t.Errorf("without inputs: %+v, %v", plain.Update, err)
	}
	var all appsv1.ControllerRevisionList
	if err := s.List(t.Context(), &all, client.InNamespace("shop")); err != nil || len(all.Items) != 2 {
		t.Errorf("%d revisions, %v", len(all.Items), err)
	}
}

// TestPodTemplate: pods refer to copies, and the template of a rollback does not.
func TestPodTemplate(t *testing.T) {
	set := webSet("web:1")
	set.Spec.Template.Spec.Containers[0].EnvFrom = envFrom("app")
	revision := with(recorded(set, 1), app("1"))
	pods, err := PodTemplate(revision)
	if err != nil || pods.Spec.Containers[0].EnvFrom[0].ConfigMapRef.Name != "app-1111111111111111" {
		t.Errorf("%+v, %v", pods, err)
	}
	if back, err := Apply(revision); err != nil || back.Spec.Containers[0].EnvFrom[0].ConfigMapRef.Name != "app" {
		t.Errorf("%+v, %v", back, err)
	}
	if _, err := PodTemplate(annotatedWith(revision, "x")); err == nil {
		t.Error("an annotation that cannot be read is no error")
	}
}
