package execute

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/slices/internal/slicetest"
)

// TestResizeKeepsWhatItWasNotAsked: resources that another controller has changed are kept.
func TestResizeKeepsWhatItWasNotAsked(t *testing.T) {
	template := func(cpu string) *corev1.PodTemplateSpec {
		return &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "web", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}},
		}}}}
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{appsv1.StatefulSetRevisionLabel: "1"}}, Spec: template("3").Spec}
	if got := resizedPod(pod, template("1"), template("1")); got != nil {
		t.Errorf("resized to %v", got.Spec.Containers[0].Resources)
	}
	if got := resizedPod(pod, template("1"), template("2")); got == nil || got.Spec.Containers[0].Resources.Requests.Cpu().String() != "2" {
		t.Errorf("resized to %v", got)
	}
}

// TestPatchedPod: a pod gets the images and the metadata of the new template, loses the metadata that only the former one
// had, and keeps its own.
func TestPatchedPod(t *testing.T) {
	from := slicetest.Template(func(t *corev1.PodTemplateSpec) { t.Labels["old"], t.Annotations["old"] = "1", "1" })
	to := slicetest.Template(func(t *corev1.PodTemplateSpec) {
		t.Labels["new"], t.Annotations["team"] = "1", "y"
		t.Spec.Containers[1].Image = "log:2"
	})
	pod := &corev1.Pod{ObjectMeta: from.ObjectMeta, Spec: *from.Spec.DeepCopy()}
	pod.Labels = map[string]string{"app": "web", "old": "1", "own": "1"}
	pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "injected", Image: "mesh:1"})
	before := pod.DeepCopy()
	got := patchedPod(pod, from, to)
	want := before.DeepCopy()
	want.Labels = map[string]string{"app": "web", "new": "1", "own": "1"}
	want.Annotations = map[string]string{"team": "y"}
	want.Spec.Containers[1].Image = "log:2"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if diff := cmp.Diff(before, pod); diff != "" {
		t.Errorf("the pod that was read has changed\n%s", diff)
	}
	rewritten := before.DeepCopy()
	rewritten.Spec.Containers[0].Image = "mirror.example/web:1"
	if got := patchedPod(rewritten, from, to); got.Spec.Containers[0].Image != "mirror.example/web:1" || got.Spec.Containers[1].Image != "log:2" {
		t.Errorf("a pod whose image somebody has rewritten gets %v", got.Spec.Containers)
	}
	bare := patchedPod(&corev1.Pod{}, slicetest.Template(nil), slicetest.Template(nil))
	if bare.Labels["app"] != "web" || bare.Annotations["team"] != "x" {
		t.Errorf("a pod without metadata becomes %v, %v", bare.Labels, bare.Annotations)
	}
}

// TestResizedPod: each container gets the resources of the new template. Containers that the pod does not have are ignored.
func TestResizedPod(t *testing.T) {
	cpu := func(web, log string) *corev1.PodTemplateSpec {
		return slicetest.Template(func(t *corev1.PodTemplateSpec) {
			t.Spec.Containers[0].Resources, t.Spec.Containers[1].Resources = slicetest.Requests(corev1.ResourceCPU, web), slicetest.Requests(corev1.ResourceCPU, log)
		})
	}
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "injected"}, {Name: "log", Resources: slicetest.Requests(corev1.ResourceCPU, "1")}}}}
	got := resizedPod(pod, cpu("1", "1"), cpu("2", "2"))
	want := pod.DeepCopy()
	want.Spec.Containers[1].Resources = slicetest.Requests(corev1.ResourceCPU, "2")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if got := resizedPod(pod, cpu("1", "2"), cpu("2", "1")); got != nil {
		t.Errorf("it has that already, and becomes %+v", got)
	}
	shorter := cpu("1", "1")
	shorter.Spec.Containers = shorter.Spec.Containers[:1]
	if got := resizedPod(pod, shorter, cpu("1", "2")); got == nil {
		t.Error("a container that the former template does not have is not resized")
	}
}

// TestY6ResizesByResource: only the resources that differ between the templates are changed. Those that the Vertical Pod
// Autoscaler or a webhook has set on the pod stay.
func TestY6ResizesByResource(t *testing.T) {
	list := func(cpu, memory string) corev1.ResourceList {
		out := corev1.ResourceList{}
		for name, amount := range map[corev1.ResourceName]string{corev1.ResourceCPU: cpu, corev1.ResourceMemory: memory} {
			if amount != "" {
				out[name] = resource.MustParse(amount)
			}
		}
		return out
	}
	needs := func(requests, limits corev1.ResourceList) corev1.ResourceRequirements {
		return corev1.ResourceRequirements{Requests: requests, Limits: limits}
	}
	none := corev1.ResourceList{}
	for name, tc := range map[string]struct{ pod, from, to, want corev1.ResourceRequirements }{
		"memory that another controller has set": {
			needs(list("1", "3Gi"), none), needs(list("1", "1Gi"), none), needs(list("2", "1Gi"), none), needs(list("2", "3Gi"), none),
		},
		"a limit that another controller has set": {
			needs(list("1", "1Gi"), list("", "3Gi")), needs(list("1", "1Gi"), none), needs(list("2", "1Gi"), none), needs(list("2", "1Gi"), list("", "3Gi")),
		},
		"another resource": {
			needs(corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), "example.com/gpu": resource.MustParse("1")}, none),
			needs(list("1", ""), none), needs(list("2", ""), none),
			needs(corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2"), "example.com/gpu": resource.MustParse("1")}, none),
		},
		"a request that defaults to its limit": {
			needs(list("1", "1Gi"), list("1", "1Gi")), needs(nil, list("1", "1Gi")), needs(nil, list("1", "2Gi")), needs(list("1", "2Gi"), list("1", "2Gi")),
		},
		"a request that another controller has lowered": {
			needs(list("500m", "1Gi"), list("1", "1Gi")), needs(nil, list("1", "1Gi")), needs(nil, list("1", "2Gi")), needs(list("500m", "2Gi"), list("1", "2Gi")),
		},
		"a first limit": {
			needs(list("1", ""), none), needs(list("1", ""), nil), needs(list("1", ""), list("2", "")), needs(list("1", ""), list("2", "")),
		},
	} {
		t.Run(name, func(t *testing.T) {
			template := func(needs corev1.ResourceRequirements) *corev1.PodTemplateSpec {
				return slicetest.Template(func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Resources = needs })
			}
			pod := &corev1.Pod{Spec: template(tc.pod).Spec}
			before := pod.DeepCopy()
			got := resizedPod(pod, template(tc.from), template(tc.to))
			if got == nil {
				t.Fatal("it is not resized")
			}
			if have := got.Spec.Containers[0].Resources; !equality.Semantic.DeepEqual(have, tc.want) {
				t.Errorf("it gets %v, want %v", have, tc.want)
			}
			if diff := cmp.Diff(before, pod); diff != "" {
				t.Errorf("the pod that was read has changed\n%s", diff)
			}
			if names := resizes(template(tc.from), template(tc.to)); len(names) != 1 || names[0] != "web" {
				t.Errorf("resizes %v", names)
			}
		})
	}
}

// TestY6KeepsMetadataOfOthers: labels and annotations that are equal in both templates keep the value that another controller
// has given them on the pod.
func TestY6KeepsMetadataOfOthers(t *testing.T) {
	template := func(image, team string) *corev1.PodTemplateSpec {
		return slicetest.Template(func(t *corev1.PodTemplateSpec) {
			t.Spec.Containers[1].Image, t.Labels["team"], t.Annotations["team"] = image, team, team
			t.Labels["tier"], t.Annotations["tier"] = "template", "template"
		})
	}
	pod := &corev1.Pod{ObjectMeta: template("log:1", "x").ObjectMeta, Spec: template("log:1", "x").Spec}
	pod.Labels = map[string]string{"app": "web", "team": "other", "tier": "other"}
	pod.Annotations = map[string]string{"team": "other", "tier": "other"}
	got := patchedPod(pod, template("log:1", "x"), template("log:2", "y"))
	for kind, values := range map[string]map[string]string{"label": got.Labels, "annotation": got.Annotations} {
		if values["tier"] != "other" || values["team"] != "y" {
			t.Errorf("%ss %v", kind, values)
		}
	}
}
