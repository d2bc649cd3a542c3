package slices

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/randfill"

	api "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// filler fills every field of an object, or leaves it out.
func filler(seed int64) *randfill.Filler {
	return randfill.NewWithSeed(seed).NilChance(0.2).NumElements(0, 3).Funcs(
		func(q *resource.Quantity, c randfill.Continue) {
			*q = *resource.NewQuantity(c.Int63n(100), resource.DecimalSI)
		},
		func(at *metav1.Time, c randfill.Continue) { *at = metav1.Unix(c.Int63n(1_000_000_000), 0) },
		func(raw *runtime.RawExtension, _ randfill.Continue) { raw.Raw = []byte("{}") },
		func(f *metav1.FieldsV1, _ randfill.Continue) { f.SetRawBytes([]byte("{}")) },
	)
}

// anyRealPod is a pod of the set web with whatever a pod may have.
func anyRealPod(t *rapid.T) *corev1.Pod {
	pod := &corev1.Pod{}
	filler(rapid.Int64().Draw(t, "seed")).Fill(pod)
	pod.Namespace, pod.Name, pod.UID, pod.ResourceVersion, pod.DeletionTimestamp = "shop", "web-0", "u", "1", nil
	pod.ManagedFields = append(pod.ManagedFields, metav1.ManagedFieldsEntry{Manager: "kubelet"})
	pod.Labels, pod.Annotations = map[string]string{"app": "web"}, map[string]string{"team": "x"}
	pod.Labels[appsv1.StatefulSetRevisionLabel] = rapid.SampledFrom([]string{"r1", "r2"}).Draw(t, "revision")
	for i := range pod.Spec.Containers {
		pod.Spec.Containers[i].Name, pod.Spec.Containers[i].Image = fmt.Sprint("c", i), rapid.SampledFrom([]string{"a:1", "a:2"}).Draw(t, "image")
	}
	if rapid.Bool().Draw(t, "no hooks") {
		for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
			for i := range containers {
				containers[i].Lifecycle = nil
			}
		}
	}
	for i := range pod.Spec.ImagePullSecrets {
		pod.Spec.ImagePullSecrets[i].Name = fmt.Sprint("s", i)
	}
	for i := range pod.Spec.Volumes {
		pod.Spec.Volumes[i].Name = fmt.Sprint("v", i)
		pod.Spec.Volumes[i].Ephemeral = nil // the patch of a pod that keeps it would repeat the order of its finalizers
	}
	if len(pod.Spec.Volumes) > 0 && rapid.Bool().Draw(t, "claim") {
		pod.Spec.Volumes[0] = corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data-web-0"}}}
	}
	if paths := reasonPaths(pod); len(paths) > 0 && rapid.Bool().Draw(t, "reads") {
		*paths[rapid.IntRange(0, len(paths)-1).Draw(t, "where")] = "metadata.annotations['" + api.TerminationReasonAnnotationKey + "']"
	}
	if rapid.Bool().Draw(t, "gate") {
		pod.Spec.ReadinessGates = append(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: api.InPlaceUpdateReady})
	}
	anyRealStatus(t, pod)
	return pod
}

// reasonPaths are the fields of a pod that may show its reason.
func reasonPaths(pod *corev1.Pod) (paths []*string) {
	add := func(ref *corev1.ObjectFieldSelector) {
		if ref != nil {
			paths = append(paths, &ref.FieldPath)
		}
	}
	for _, volume := range pod.Spec.Volumes {
		items := [][]corev1.DownwardAPIVolumeFile{}
		if volume.DownwardAPI != nil {
			items = append(items, volume.DownwardAPI.Items)
		}
		if volume.Projected != nil {
			for _, source := range volume.Projected.Sources {
				if source.DownwardAPI != nil {
					items = append(items, source.DownwardAPI.Items)
				}
			}
		}
		for _, item := range slices.Concat(items...) {
			add(item.FieldRef)
		}
	}
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		for _, env := range container.Env {
			if env.ValueFrom != nil {
				add(env.ValueFrom.FieldRef)
			}
		}
	}
	return paths
}

// anyRealStatus gives a pod an update in place, or none, and what its kubelet may say of it.
func anyRealStatus(t *rapid.T, pod *corev1.Pod) {
	pod.Status.Phase = rapid.SampledFrom([]corev1.PodPhase{corev1.PodRunning, corev1.PodRunning, corev1.PodPending, corev1.PodFailed}).Draw(t, "phase")
	pod.Status.Conditions = nil
	for _, kind := range []corev1.PodConditionType{corev1.PodReady, api.InPlaceUpdateReady, corev1.PodResizePending, corev1.PodResizeInProgress, corev1.PodScheduled, corev1.ContainersReady} {
		if status := rapid.SampledFrom([]corev1.ConditionStatus{"", corev1.ConditionTrue, corev1.ConditionFalse}).Draw(t, string(kind)); status != "" {
			pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: kind, Status: status, LastTransitionTime: metav1.NewTime(noon)})
		}
	}
	for i := range pod.Status.ContainerStatuses {
		pod.Status.ContainerStatuses[i].Name = fmt.Sprint("c", i)
	}
	if !rapid.Bool().Draw(t, "in place") {
		return
	}
	progress := map[string]any{"revision": "r2", "since": noon, "before": map[string]any{"c0": map[string]any{}}}
	if rapid.Bool().Draw(t, "patched") {
		progress["patched"] = noon
	}
	text, err := json.Marshal(progress)
	if err != nil {
		t.Fatal(err)
	}
	pod.Annotations[api.InPlaceUpdateAnnotationKey] = string(text)
}

// templateWith are templates that a pod can be changed between while it runs.
func templateWith(image, cpu string) *corev1.PodTemplateSpec {
	template := &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}, Annotations: map[string]string{"image": image}}}
	for i := range 3 {
		template.Spec.Containers = append(template.Spec.Containers, corev1.Container{
			Name: fmt.Sprint("c", i), Image: image,
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}},
		})
	}
	return template
}

// writesOf are all that the hands would write on a pod, whatever is decided.
func writesOf(t *testing.T, pod *corev1.Pod) (writes []string) {
	t.Helper()
	note := func(what string, o client.Object, patch client.Patch) error {
		data, err := patch.Data(o)
		writes = append(writes, fmt.Sprintf("%s %s: %s", what, patch.Type(), data))
		return err
	}
	h, _ := newControl(t, interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
			data, err := json.Marshal(o)
			writes = append(writes, fmt.Sprintf("create %T: %s", o, data))
			return err
		},
		Patch: func(_ context.Context, _ client.WithWatch, o client.Object, patch client.Patch, _ ...client.PatchOption) error {
			return note("patch", o, patch)
		},
		SubResourcePatch: func(_ context.Context, _ client.Client, sub string, o client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
			return note(sub, o, patch)
		},
		Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error {
			t.Error("a pod is updated as a whole: what the cache leaves out is gone")
			return nil
		},
		SubResourceUpdate: func(context.Context, client.Client, string, client.Object, ...client.SubResourceUpdateOption) error {
			t.Error("a pod is updated as a whole: what the cache leaves out is gone")
			return nil
		},
	})
	h.templates = map[string]*corev1.PodTemplateSpec{"r1": templateWith("a:1", "1"), "r2": templateWith("a:2", "2")}
	for _, verb := range []Verb{Announce, CreateClaims, OwnClaims, Repair, Relabel, BeginInPlace, PatchInPlace, FinishInPlace, PrePull, tellState} {
		action := Action{Verb: verb, UID: pod.UID, Revision: "r2", Reason: api.TerminationUpdate}
		if err := h.one(t.Context(), action, pod.DeepCopy()); err != nil {
			writes = append(writes, fmt.Sprintf("%s: %v", verb, err))
		}
	}
	if err := h.release(t.Context(), h.set, pod.DeepCopy()); err != nil {
		t.Error(err)
	}
	h.pods[0] = pod
	for _, gate := range h.gates(nil) {
		writes = append(writes, fmt.Sprint(gate))
	}
	return writes
}

// TestWritesOfTrimmedPods: what the cache leaves out of a pod is nothing that a write needs, and no
// write takes it from the pod.
func TestWritesOfTrimmedPods(t *testing.T) {
	trim := func(object any) (any, error) { return object, errors.New("pods are kept whole") }
	for object, kept := range CacheOptions(cache.Options{}).ByObject {
		if _, pod := object.(*corev1.Pod); pod {
			trim = kept.Transform
		}
	}
	rapid.Check(t, func(r *rapid.T) {
		full := anyRealPod(r)
		trimmed := full.DeepCopy()
		if _, err := trim(trimmed); err != nil {
			r.Fatal(err)
		}
		if diff := cmp.Diff(writesOf(t, full), writesOf(t, trimmed)); diff != "" {
			r.Fatalf("other things are written (-full +trimmed):\n%s", diff)
		}
	})
}

// TestTrim: what the cache leaves out of a pod is nothing that a decision needs.
func TestTrim(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		full := anyRealPod(r)
		trimmed := full.DeepCopy()
		if _, err := trim(trimmed); err != nil {
			r.Fatal(err)
		}
		if len(trimmed.ManagedFields) > 0 || len(trimmed.Spec.Tolerations) > 0 || len(trimmed.Status.PodIPs) > 0 {
			r.Fatal("nothing is left out")
		}
		s := seen{
			set: withClaims(), claims: map[string]*corev1.PersistentVolumeClaim{}, update: "r1", changes: map[string]Change{},
			templates: map[string]*corev1.PodTemplateSpec{"r1": templateWith("a:1", "1"), "r2": templateWith("a:2", "2")},
		}
		if diff := cmp.Diff(s.viewPod(full, 0, true), s.viewPod(trimmed, 0, true)); diff != "" {
			r.Fatalf("it looks different (-full +trimmed):\n%s", diff)
		}
		if pullEnded(full) != pullEnded(trimmed) {
			r.Fatal("a pod that pulls images is not seen to end as it does")
		}
		kept := full.DeepCopy()
		kept.ManagedFields = nil
		before := kept.DeepCopy()
		if _, err := trim(kept); err != nil || cmp.Diff(before, kept) != "" {
			r.Fatalf("what comes from the cache again is changed: %v", err)
		}
	})
}

// TestCacheOptions: of other kinds than pods, which are written as a whole, nothing is left out
// but who manages their fields: the API server keeps that by itself.
func TestCacheOptions(t *testing.T) {
	kinds := 0
	for kind, kept := range CacheOptions(cache.Options{}).ByObject {
		object := kind
		filler(1).Fill(object)
		object.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "somebody"}})
		want, _ := object.DeepCopyObject().(client.Object)
		want.SetManagedFields(nil)
		got, err := kept.Transform(object)
		if err != nil {
			t.Fatal(err)
		}
		if _, isPod := got.(*corev1.Pod); isPod != (cmp.Diff(want, got) != "") {
			t.Errorf("%T: (-want +got)\n%s", got, cmp.Diff(want, got))
		}
		kinds++
	}
	if kinds != 4 {
		t.Errorf("%d kinds are kept smaller, want pods, claims, revisions and sets", kinds)
	}
}

// TestCacheScope: what a cache is to be of stays as it was asked for, and nothing of it is lost on
// the caller's side.
func TestCacheScope(t *testing.T) {
	some := labels.SelectorFromSet(labels.Set{"mine": "yes"})
	asked := cache.Options{ByObject: map[client.Object]cache.ByObject{&api.StatefulSet{}: {Label: some}, &corev1.Secret{}: {}}}
	got := CacheOptions(asked)
	if len(got.ByObject) != 5 || len(asked.ByObject) != 2 {
		t.Errorf("%d kinds, of which %d were asked for", len(got.ByObject), len(asked.ByObject))
	}
	for object, by := range got.ByObject {
		_, set := object.(*api.StatefulSet)
		_, secret := object.(*corev1.Secret)
		if (by.Label != nil) != set || (by.Transform == nil) != secret {
			t.Errorf("%T: %+v", object, by)
		}
	}
	for object, by := range asked.ByObject {
		if by.Transform != nil {
			t.Errorf("%T was changed", object)
		}
	}
}
