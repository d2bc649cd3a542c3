package observe

import (
	"errors"
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

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
	"github.com/sliceshift/sliceshift/slices/decide"
	"github.com/sliceshift/sliceshift/slices/history"
	"github.com/sliceshift/sliceshift/slices/inputs"
	"github.com/sliceshift/sliceshift/slices/internal/slicetest"
)

// setWithInputs returns a set whose pods read ConfigMap app and, if it exists, Secret key.
func setWithInputs() *api.StatefulSet {
	set := slicetest.NamedSet("web", map[string]string{"app": "web"})
	set.Spec.Template = *slicetest.Template(nil)
	set.Spec.Template.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{
		{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "app"}}},
		{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "key"}, Optional: new(true)}},
	}
	set.Spec.RevisionInputs = []api.RevisionInput{{Kind: api.InputSecret, Name: "key"}, {Kind: api.InputConfigMap, Name: "app"}, {Kind: api.InputConfigMap, Name: "other"}}
	return set
}

// TestRevisionInputsRead: an input that cannot be read is not missing, and the remedy is named. No value of a Secret is shown.
func TestRevisionInputsRead(t *testing.T) {
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "app"}, Data: map[string]string{"a": "b"}}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "key"}, Data: map[string][]byte{"a": []byte("hidden")}}
	token := secret.DeepCopy()
	token.Type = corev1.SecretTypeServiceAccountToken
	app, key := inputs.Record{Kind: api.InputConfigMap, Name: "app", Content: inputs.ContentOf(config)}, inputs.Record{Kind: api.InputSecret, Name: "key", Content: inputs.ContentOf(secret)}
	none := key
	none.Content = api.InputAbsent
	deleted := setWithInputs()
	deleted.DeletionTimestamp, deleted.Finalizers = &metav1.Time{Time: slicetest.Noon}, []string{"a/b"}
	unlisted := setWithInputs()
	unlisted.Spec.RevisionInputs = nil
	forbidden := apierrors.NewForbidden(corev1.Resource("configmaps"), "app", errors.New("no"))
	for name, tc := range map[string]struct {
		set     *api.StatefulSet
		objects []client.Object
		err     error
		want    []inputs.Record
		problem string
	}{
		"both exist":                     {setWithInputs(), []client.Object{config, secret}, nil, []inputs.Record{app, key}, ""},
		"an optional one does not":       {setWithInputs(), []client.Object{config}, nil, []inputs.Record{app, none}, ""},
		"one that pods need does not":    {setWithInputs(), []client.Object{secret}, nil, nil, "ConfigMap app does not exist: create it"},
		"a type on which others act":     {setWithInputs(), []client.Object{config, token}, nil, nil, "Secret key is of type kubernetes.io/service-account-token"},
		"the reads are forbidden":        {setWithInputs(), []client.Object{config, secret}, forbidden, nil, "bind the ClusterRole sliceshift-revision-inputs"},
		"the API server does not answer": {setWithInputs(), []client.Object{config, secret}, errors.New("connection refused"), nil, "ConfigMap app cannot be read: connection refused"},
		"none is listed":                 {unlisted, nil, errors.New("read without need"), nil, ""},
		"the set is being deleted":       {deleted, nil, errors.New("read without need"), nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			hooks := clustertest.Before(func(string, runtime.Object) error { return tc.err })
			server := fake.NewClientBuilder().WithScheme(slicetest.Scheme(t)).WithObjects(tc.objects...).WithInterceptorFuncs(hooks).Build()
			got := ReadInputs(t.Context(), server, tc.set)
			if diff := cmp.Diff(tc.want, got.Records); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if (got.Problem == "") != (tc.problem == "") || !strings.Contains(got.Problem, tc.problem) || strings.Contains(got.Problem, "hidden") {
				t.Errorf("problem %q, want %q", got.Problem, tc.problem)
			}
			if forbids := tc.err != nil && strings.Contains(got.Problem, "does not exist"); forbids {
				t.Errorf("a read that failed counts as missing: %s", got.Problem)
			}
		})
	}
}

// TestRevisionInputsBlock: problems of the template hold every roll-out except a rollback, and problems of the target hold all.
func TestRevisionInputsBlock(t *testing.T) {
	for name, tc := range map[string]struct {
		problems InputProblems
		failed   bool
		want     string
	}{
		"none":                       {InputProblems{}, false, ""},
		"of the template":            {InputProblems{Template: "missing"}, false, "missing"},
		"of the template, back":      {InputProblems{Template: "missing"}, true, ""},
		"of the target":              {InputProblems{Revisions: map[string]string{"a": "lost"}}, false, "lost"},
		"of the target, back":        {InputProblems{Revisions: map[string]string{"a": "lost"}}, true, "lost"},
		"of another revision":        {InputProblems{Revisions: map[string]string{"b": "lost"}}, false, ""},
		"of both, the template's is": {InputProblems{Template: "missing", Revisions: map[string]string{"a": "lost"}}, false, "missing"},
	} {
		if got := tc.problems.blocks("a", tc.failed); got != tc.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestRevisionInputsOfPods: pods of a revision refer to its copies, and a content that differs needs a new pod. A pod of apps/v1
// refers to the objects, so it needs a new pod too.
func TestRevisionInputsOfPods(t *testing.T) {
	set := setWithInputs()
	revision := func(name string, number int64, content string) *appsv1.ControllerRevision {
		server := fake.NewClientBuilder().WithScheme(slicetest.Scheme(t)).WithObjects(set.DeepCopy()).Build()
		var records []inputs.Record
		if content != "" {
			records = []inputs.Record{{Kind: api.InputConfigMap, Name: "app", Content: strings.Repeat(content, 16)}}
		}
		result, err := history.Store{Client: server, Live: server, Inputs: history.Inputs{Records: records}}.Sync(t.Context(), set, nil)
		if err != nil {
			t.Fatal(err)
		}
		result.Update.Name, result.Update.Revision = name, number
		return result.Update
	}
	current, update, plain := revision("a", 1, "1"), revision("b", 2, "2"), revision("c", 3, "")
	pods := map[int32]*corev1.Pod{}
	for ordinal, name := range map[int32]string{0: "a", 1: "b", 2: "c"} {
		pods[ordinal] = NewPod(set, &set.Spec.Template, name, ordinal)
	}
	spec, err := decide.SpecOf(set)
	if err != nil {
		t.Fatal(err)
	}
	server := fake.NewClientBuilder().WithScheme(slicetest.Scheme(t)).WithObjects(plain).Build()
	reader := Reader{
		Client: server, Set: set, Spec: spec, Pods: pods, Inputs: InputProblems{Template: "missing"},
		History: history.Result{Current: current, Update: update, Owned: []*appsv1.ControllerRevision{current, update}},
	}
	in, seen, err := reader.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if in.Revisions.Blocked != "missing" || in.Revisions.SameTemplate {
		t.Errorf("%+v", in.Revisions)
	}
	for name, want := range map[string]string{"a": "app-1111111111111111", "b": "app-2222222222222222", "c": "app"} {
		from := seen.Templates[name].Spec.Containers[0].EnvFrom
		if from[0].ConfigMapRef.Name != want || from[1].SecretRef.Name != "key" {
			t.Errorf("revision %s: %+v", name, from)
		}
	}
	for _, pod := range in.Pods {
		same := pod.Revision == "b"
		if pod.Change.Same != same || pod.Change.InPlace || !same && pod.Change.Blocker != "the content of ConfigMap app" {
			t.Errorf("%s: %+v", pod.Revision, pod.Change)
		}
	}
}
