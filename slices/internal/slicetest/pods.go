package slicetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"
	"sigs.k8s.io/randfill"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// Filler returns a filler that fills or omits each field of an object.
func Filler(seed int64) *randfill.Filler {
	return randfill.NewWithSeed(seed).NilChance(0.2).NumElements(0, 3).Funcs(
		func(q *resource.Quantity, c randfill.Continue) {
			*q = *resource.NewQuantity(c.Int63n(100), resource.DecimalSI)
		},
		func(at *metav1.Time, c randfill.Continue) { *at = metav1.Unix(c.Int63n(1_000_000_000), 0) },
		func(raw *runtime.RawExtension, _ randfill.Continue) { raw.Raw = []byte("{}") },
		func(f *metav1.FieldsV1, _ randfill.Continue) { f.SetRawBytes([]byte("{}")) },
	)
}

// AnyPod returns a pod of the set web with arbitrary fields.
func AnyPod(t *rapid.T) *corev1.Pod {
	pod := &corev1.Pod{}
	Filler(rapid.Int64().Draw(t, "seed")).Fill(pod)
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
		pod.Spec.Volumes[i].Ephemeral = nil // with it, the patch of the pod would repeat the order of its finalizers
	}
	if len(pod.Spec.Volumes) > 0 && rapid.Bool().Draw(t, "claim") {
		pod.Spec.Volumes[0] = corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data-web-0"}}}
	}
	if paths := reasonPaths(pod); len(paths) > 0 && rapid.Bool().Draw(t, "reads") {
		*paths[rapid.IntRange(0, len(paths)-1).Draw(t, "where")] = "metadata.annotations['" + api.TerminationReasonAnnotationKey + "']"
	}
	pod.Spec.ReadinessGates = nil
	for _, gate := range []corev1.PodConditionType{api.InPlaceUpdateReady, "example.com/gate"} {
		if rapid.Bool().Draw(t, "gate") {
			pod.Spec.ReadinessGates = append(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: gate})
		}
	}
	anyRealStatus(t, pod)
	return pod
}

// reasonPaths returns the fields of a pod that may expose the reason.
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

// anyRealStatus sets an arbitrary in-place update, or none, and a possible kubelet status for it.
func anyRealStatus(t *rapid.T, pod *corev1.Pod) {
	pod.Status.Phase = rapid.SampledFrom([]corev1.PodPhase{corev1.PodRunning, corev1.PodRunning, corev1.PodPending, corev1.PodFailed}).Draw(t, "phase")
	pod.Status.Conditions = nil
	for _, kind := range []corev1.PodConditionType{corev1.PodReady, api.InPlaceUpdateReady, corev1.PodResizePending, corev1.PodResizeInProgress, corev1.PodScheduled, corev1.ContainersReady, "example.com/gate"} {
		if status := rapid.SampledFrom([]corev1.ConditionStatus{"", corev1.ConditionTrue, corev1.ConditionFalse}).Draw(t, string(kind)); status != "" {
			pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: kind, Status: status, LastTransitionTime: metav1.NewTime(Noon.Add(time.Duration(rapid.IntRange(0, 1).Draw(t, "since")) * time.Second))})
		}
	}
	for i := range pod.Status.ContainerStatuses {
		pod.Status.ContainerStatuses[i].Name = fmt.Sprint("c", i)
	}
	if !rapid.Bool().Draw(t, "in place") {
		return
	}
	progress := map[string]any{"revision": "r2", "since": Noon, "before": map[string]any{"c0": map[string]any{}}}
	if rapid.Bool().Draw(t, "patched") {
		progress["patched"] = Noon
	}
	text, err := json.Marshal(progress)
	if err != nil {
		t.Fatal(err)
	}
	pod.Annotations[api.InPlaceUpdateAnnotationKey] = string(text)
}

// TemplateWith returns templates between which a running pod can be updated.
func TemplateWith(image, cpu string) *corev1.PodTemplateSpec {
	template := &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}, Annotations: map[string]string{"image": image}}}
	for i := range 3 {
		template.Spec.Containers = append(template.Spec.Containers, corev1.Container{
			Name: fmt.Sprint("c", i), Image: image,
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}},
		})
	}
	return template
}
