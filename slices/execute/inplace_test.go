package execute

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/decide"
	"github.com/sliceshift/sliceshift/slices/internal/slicetest"
	"github.com/sliceshift/sliceshift/slices/observe"
)

// TestOvertakenInPlace: an in-place update that replaces another one keeps its record. Fields that it does not change keep
// the values of other writers.
func TestOvertakenInPlace(t *testing.T) {
	run := func(t *testing.T, pod *corev1.Pod, action decide.Action, templates map[string]*corev1.PodTemplateSpec) *corev1.Pod {
		t.Helper()
		h, _ := newControl(t, interceptor.Funcs{})
		h.Client = fake.NewClientBuilder().WithScheme(slicetest.Scheme(t)).WithObjects(pod).WithStatusSubresource(pod).Build()
		after := &corev1.Pod{}
		if err := h.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), after); err != nil {
			t.Fatal(err)
		}
		h.Templates, h.pods[0], action.UID = templates, after, pod.UID
		if err := h.all(t.Context(), []decide.Action{action}); err != nil {
			t.Fatal(err)
		}
		after = &corev1.Pod{}
		if err := h.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), after); err != nil {
			t.Fatal(err)
		}
		return after
	}
	images := func(web string) *corev1.PodTemplateSpec {
		return slicetest.Template(func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Image = web })
	}
	templates := map[string]*corev1.PodTemplateSpec{"r1": images("web:1"), "r2": images("web:2"), "meta": slicetest.Template(func(t *corev1.PodTemplateSpec) { t.Labels["tier"] = "back" })}
	patched := func(note observe.ProgressInPlace, revision string) *corev1.Pod {
		text, err := json.Marshal(note)
		if err != nil {
			t.Fatal(err)
		}
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "shop", Name: "web-0", UID: "u", Generation: 2,
				Labels: map[string]string{"app": "web", "controller-revision-hash": revision}, Annotations: map[string]string{api.InPlaceUpdateAnnotationKey: string(text)},
			},
			Spec:   templates[revision].DeepCopy().Spec,
			Status: corev1.PodStatus{Phase: corev1.PodRunning, ObservedGeneration: 1, ContainerStatuses: []corev1.ContainerStatus{{Name: "web", ContainerID: "c1"}}},
		}
	}
	first := map[string]observe.RanBefore{"web": {ContainerID: "c1", Image: "web:1"}}
	t.Run("X-04 begun", func(t *testing.T) {
		after := run(t, patched(observe.ProgressInPlace{Revision: "r2", Patched: &slicetest.Noon, Before: first, Resized: []string{"log"}}, "r2"), decide.Action{Verb: decide.BeginInPlace, Revision: "r1"}, templates)
		want := &observe.ProgressInPlace{Revision: "r1", Since: slicetest.Noon, Before: first, Resized: []string{"log"}}
		if diff := cmp.Diff(want, observe.InPlaceOf(after)); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	})
	t.Run("X-04 patched", func(t *testing.T) {
		after := run(t, patched(observe.ProgressInPlace{Revision: "r1", Since: slicetest.Noon, Before: first}, "r2"), decide.Action{Verb: decide.PatchInPlace, Revision: "r1"}, templates)
		want := &observe.ProgressInPlace{Revision: "r1", Since: slicetest.Noon, Patched: &slicetest.Noon, Before: first}
		if diff := cmp.Diff(want, observe.InPlaceOf(after)); diff != "" || after.Spec.Containers[0].Image != "web:1" {
			t.Errorf("image %s, -want +got\n%s", after.Spec.Containers[0].Image, diff)
		}
	})
	t.Run("X-13 a change of metadata leaves the image that a webhook rewrote", func(t *testing.T) {
		pod := patched(observe.ProgressInPlace{Revision: "meta", Since: slicetest.Noon}, "r1")
		pod.Spec.Containers[0].Image = "mirror.example/web:1"
		after := run(t, pod, decide.Action{Verb: decide.PatchInPlace, Revision: "meta"}, templates)
		if note := observe.InPlaceOf(after); after.Spec.Containers[0].Image != "mirror.example/web:1" || len(note.Before) > 0 || after.Labels["tier"] != "back" {
			t.Errorf("image %s, note %+v, labels %v", after.Spec.Containers[0].Image, note, after.Labels)
		}
	})
	t.Run("X-13 the image that the pod has already is no change", func(t *testing.T) {
		pod := patched(observe.ProgressInPlace{Revision: "r2", Since: slicetest.Noon}, "r1")
		pod.Spec.Containers[0].Image = "web:2"
		if note := observe.InPlaceOf(run(t, pod, decide.Action{Verb: decide.PatchInPlace, Revision: "r2"}, templates)); len(note.Before) > 0 {
			t.Errorf("note %+v", note)
		}
	})
}
