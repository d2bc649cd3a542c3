package slice

import (
	"errors"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/apitest"
	"github.com/sliceshift/sliceshift/slices/inputs"
)

// appConfig returns ConfigMap shop/app with a value.
func appConfig(value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "app"}, Data: map[string]string{"value": value}}
}

// recordOf returns the record of a content of ConfigMap app.
func recordOf(value string) inputs.Record {
	return inputs.Record{Kind: slicesapi.InputConfigMap, Name: "app", Content: inputs.ContentOf(appConfig(value))}
}

// readingApp returns the template of an image whose pods read ConfigMap app.
func readingApp(image string) corev1.PodTemplateSpec {
	template := podTemplate(image)
	template.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "app"}}}}
	return template
}

// readRevision returns a revision of that template with inputs.
func readRevision(t *testing.T, number int64, image string, records ...inputs.Record) client.Object {
	t.Helper()
	revision := keptRevisionOf(number, readingApp(image), "")
	revision.Annotations = map[string]string{slicesapi.RevisionInputsAnnotationKey: inputs.Encode(records)}
	return revision
}

// withInputs returns shop/web at revision 2, with inputs.
func withInputs(listed ...slicesapi.RevisionInput) *slicesapi.StatefulSet {
	return webSlice(func(set *slicesapi.StatefulSet) {
		set.Spec.Template, set.Spec.RevisionInputs = readingApp("web:1"), listed
		set.Status.CurrentRevision, set.Status.UpdateRevision = "web-2", "web-2"
	})
}

// TestRevisionInputsCommands: the history shows hashes and no data. An undo restores the inputs of a revision without a write of
// the ConfigMap.
func TestRevisionInputsCommands(t *testing.T) {
	app := slicesapi.RevisionInput{Kind: slicesapi.InputConfigMap, Name: "app"}
	other := slicesapi.RevisionInput{Kind: slicesapi.InputSecret, Name: "other"}
	one, two, three := recordOf("one"), recordOf("two"), recordOf("three")
	back := func(from, to inputs.Record) slicesapi.RevisionInput {
		out := app
		out.RolledBack = &slicesapi.RolledBackInput{From: from.Content, To: to.Content}
		return out
	}
	both := []client.Object{readRevision(t, 1, "web:1", one), readRevision(t, 2, "web:1", two)}
	for name, tc := range map[string]struct {
		args    []string
		set     *slicesapi.StatefulSet
		objects []client.Object
		config  *corev1.ConfigMap
		want    int
		wantOut string
		wantErr string
		inputs  []slicesapi.RevisionInput
		// forbidden is true when the user may not read ConfigMaps.
		forbidden bool
	}{
		"history":                    {args: []string{"history", "web"}, set: withInputs(app), objects: both, wantOut: "REVISION  CHANGE-CAUSE  INPUTS\n1         <none>        ConfigMap/app:" + one.Content + "\n2         <none>        ConfigMap/app:" + two.Content + "\n"},
		"history, one":               {args: []string{"history", "web", "--revision", "1"}, set: withInputs(app), objects: both, wantOut: "Revision Inputs:\n  ConfigMap app: content " + one.Content + ", copy " + one.Copy() + "\n"},
		"undo":                       {args: []string{"undo", "web"}, set: withInputs(app, other), objects: both, config: appConfig("two"), wantOut: "rolled back", wantErr: "ConfigMap app keeps its content " + two.Content + ", and pods get " + one.Content + " of revision 1", inputs: []slicesapi.RevisionInput{back(two, one), other}},
		"undo to the present":        {args: []string{"undo", "web", "--to-revision", "2"}, set: withInputs(app), objects: both, config: appConfig("two"), wantOut: "skipped rollback"},
		"undo, changed since":        {args: []string{"undo", "web"}, set: withInputs(app), objects: both, config: appConfig("three"), wantOut: "rolled back", wantErr: "ConfigMap app keeps its content", inputs: []slicesapi.RevisionInput{back(three, one)}},
		"undo of an undo":            {args: []string{"undo", "web", "--to-revision", "1"}, set: withInputs(back(one, two)), objects: both, config: appConfig("one"), wantOut: "rolled back", inputs: []slicesapi.RevisionInput{app}},
		"undo, deleted since":        {args: []string{"undo", "web"}, set: withInputs(app), objects: both, wantOut: "rolled back", wantErr: "ConfigMap app keeps its content", inputs: []slicesapi.RevisionInput{back(inputs.Record{Content: slicesapi.InputAbsent}, one)}},
		"undo to one without inputs": {args: []string{"undo", "web"}, set: withInputs(app), objects: []client.Object{readRevision(t, 1, "web:1"), both[1]}, config: appConfig("two"), wantOut: "rolled back", wantErr: "revision 1 does not have ConfigMap app: spec.revisionInputs no longer lists it", inputs: nil},
		"undo, forbidden reads":      {args: []string{"undo", "web"}, set: withInputs(app), objects: both, config: appConfig("three"), forbidden: true, wantOut: "rolled back", wantErr: "ConfigMap app keeps its content", inputs: []slicesapi.RevisionInput{back(two, one)}},
		"undo twice, forbidden":      {args: []string{"undo", "web"}, set: withInputs(back(three, two)), objects: both, config: appConfig("three"), forbidden: true, wantOut: "rolled back", wantErr: "ConfigMap app keeps its content", inputs: []slicesapi.RevisionInput{back(three, one)}},
		"undo of one that is held": {
			args: []string{"undo", "web"}, set: withInputs(app), objects: append(both[:2:2], readRevision(t, 3, "web:1", three)), config: appConfig("three"),
			wantOut: "rolled back", wantErr: "of revision 2", inputs: []slicesapi.RevisionInput{back(three, two)},
		},
		"an annotation that is bad": {args: []string{"undo", "web", "--to-revision", "1"}, set: withInputs(app), objects: []client.Object{annotatedRevision(t, "x"), both[1]}, config: appConfig("two"), want: 1, wantErr: "reading the annotation"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects := []client.Object{tc.set.DeepCopy()}
			for _, object := range tc.objects {
				objects = append(objects, object.DeepCopyObject().(client.Object))
			}
			if tc.config != nil {
				objects = append(objects, tc.config)
			}
			east := apitest.Serve(t, configResources(), objects...)
			if tc.forbidden {
				east.Before = func(r *http.Request) error {
					if r.PathValue("resource") == "configmaps" {
						return apierrors.NewForbidden(corev1.Resource("configmaps"), "app", errors.New("no"))
					}
					return nil
				}
			}
			c := newConsole(append([]string{"rollout"}, append(tc.args, "-n", "shop", "--kubeconfig", east.Kubeconfig(t), "--request-timeout", "5s")...)...)
			c.Expect(t, tc.want, tc.wantOut, tc.wantErr)
			for _, wrote := range east.Wrote() {
				if wrote != "PATCH apps.sliceshift.io/web" {
					t.Errorf("writes %s", wrote)
				}
			}
			if tc.args[0] == "undo" && tc.want == 0 && !strings.Contains(tc.wantOut, "skipped") {
				if diff := cmp.Diff(tc.inputs, storedSlice(t, east).Spec.RevisionInputs); diff != "" {
					t.Errorf("-want +got\n%s", diff)
				}
			}
		})
	}
}

func annotatedRevision(t *testing.T, text string) client.Object {
	t.Helper()
	revision := readRevision(t, 1, "web:1")
	revision.SetAnnotations(map[string]string{slicesapi.RevisionInputsAnnotationKey: text})
	return revision
}

// configResources returns the resources of a cluster whose ConfigMaps and Secrets a command reads.
func configResources() map[schema.GroupVersion]map[string]string {
	served := maps.Clone(servedResources)
	served[schema.GroupVersion{Version: "v1"}] = map[string]string{"configmaps": "ConfigMap", "secrets": "Secret"}
	return served
}
