package slices

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/slices/history"
	api "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// template is a pod template with two containers; change makes it another one.
func template(change func(*corev1.PodTemplateSpec)) *corev1.PodTemplateSpec {
	t := &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}, Annotations: map[string]string{"team": "x"}},
		Spec: corev1.PodSpec{
			Containers:     []corev1.Container{{Name: "web", Image: "web:1"}, {Name: "log", Image: "log:1"}},
			InitContainers: []corev1.Container{{Name: "prepare", Image: "prepare:1"}},
			Volumes:        []corev1.Volume{{Name: "scratch"}},
		},
	}
	if change != nil {
		change(t)
	}
	return t
}

// requests asks for an amount of one resource.
func requests(name corev1.ResourceName, amount string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: corev1.ResourceList{name: resource.MustParse(amount)}}
}

// TestChangeOf: images, resources, labels and annotations are changed in place; of anything
// else it is said which field stands in the way.
func TestChangeOf(t *testing.T) {
	type spec = corev1.PodTemplateSpec
	cpu := func(amount string) func(*spec) {
		return func(t *spec) { t.Spec.Containers[1].Resources = requests(corev1.ResourceCPU, amount) }
	}
	image := func(image string, policy corev1.PullPolicy) func(*spec) {
		return func(t *spec) {
			t.Spec.Containers[1].Image, t.Spec.Containers[1].ImagePullPolicy = image, policy
			t.Spec = history.Canonical(t).Spec
		}
	}
	restarted := func(at string) func(*spec) {
		return func(t *spec) { t.Annotations[api.RestartedAtAnnotationKey] = at }
	}
	// reads has the second container read a field; tier is a label and an annotation.
	reads := func(path, tier string) func(*spec) {
		return func(t *spec) {
			t.Spec.Containers[1].Env = []corev1.EnvVar{{Name: "PLAIN", Value: "x"}, {Name: "TIER", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}}
			if tier != "" {
				t.Labels["tier"], t.Annotations["tier"] = tier, tier
			}
		}
	}
	first := func(change func(*spec)) func(*spec) {
		return func(t *spec) {
			change(t)
			t.Spec.InitContainers[0].Env, t.Spec.Containers[1].Env = t.Spec.Containers[1].Env, nil
		}
	}
	volume := func(tier string) func(*spec) {
		return func(t *spec) {
			t.Labels["tier"] = tier
			t.Spec.Volumes[0].DownwardAPI = &corev1.DownwardAPIVolumeSource{Items: []corev1.DownwardAPIVolumeFile{{Path: "tier", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['tier']"}}}}
		}
	}
	for name, tc := range map[string]struct {
		from, to func(*spec)
		want     Change
	}{
		"nothing": {nil, nil, Change{Same: true}},
		"X-18 a finalizer": {
			nil, func(t *spec) { t.Finalizers = []string{"x.io/hold"} }, Change{Blocker: "spec.template.metadata.finalizers"},
		},
		"X-18 a finalizer goes, and an image changes": {
			func(t *spec) { t.Finalizers = []string{"x.io/hold"} }, func(t *spec) { t.Spec.Containers[1].Image = "log:2" }, Change{Blocker: "spec.template.metadata.finalizers"},
		},
		"X-18 finalizers in another order": {
			func(t *spec) { t.Finalizers = []string{"x.io/a", "x.io/b"} }, func(t *spec) { t.Finalizers = []string{"x.io/b", "x.io/a"} }, Change{Same: true},
		},
		"X-18 a tag that moves to one that does not":       {image("log:latest", ""), image("log:2", ""), Change{InPlace: true}},
		"X-18 no tag to one":                               {image("log", ""), image("log:2", ""), Change{InPlace: true}},
		"X-18 to a tag that moves: it would not be pulled": {image("log:1", ""), image("log:latest", ""), Change{Blocker: "spec.template.spec.containers[log]"}},
		"X-18 a policy of one's own":                       {image("log:latest", corev1.PullNever), image("log:2", ""), Change{Blocker: "spec.template.spec.containers[log]"}},
		"X-18 another policy of one's own":                 {image("log:1", corev1.PullAlways), image("log:2", ""), Change{Blocker: "spec.template.spec.containers[log]"}},
		"a label":                                          {nil, func(t *spec) { t.Labels["app"] = "shop" }, Change{InPlace: true}},
		"an annotation":                                    {nil, func(t *spec) { t.Annotations["team"] = "y" }, Change{InPlace: true}},
		"an image":                                         {nil, func(t *spec) { t.Spec.Containers[1].Image = "log:2" }, Change{InPlace: true}},
		"resources":                                        {cpu("1"), cpu("2"), Change{InPlace: true}},
		"a container":                                      {nil, func(t *spec) { t.Spec.Containers = t.Spec.Containers[:1] }, Change{Blocker: "spec.template.spec.containers"}},
		"a command":                                        {nil, func(t *spec) { t.Spec.Containers[1].Command = []string{"x"} }, Change{Blocker: "spec.template.spec.containers[log]"}},
		"resources go":                                     {cpu("1"), nil, Change{Blocker: "spec.template.spec.containers[log].resources"}},
		"the QoS class":                                    {nil, cpu("1"), Change{Blocker: "the QoS class that spec.template.spec.containers[].resources make"}},
		"a volume":                                         {nil, func(t *spec) { t.Spec.Volumes = nil }, Change{Blocker: "spec.template.spec.volumes"}},
		"what goes first":                                  {nil, func(t *spec) { t.Spec.InitContainers[0].Image = "prepare:2" }, Change{Blocker: "spec.template.spec.initContainers"}},
		"something else":                                   {nil, func(t *spec) { t.Spec.NodeName = "node" }, Change{Blocker: "spec.template.spec"}},
		"X-09 a restart":                                   {nil, restarted("now"), Change{Blocker: "spec.template.metadata.annotations[kubectl.kubernetes.io/restartedAt]"}},
		"X-09 another restart":                             {restarted("then"), restarted("now"), Change{Blocker: "spec.template.metadata.annotations[kubectl.kubernetes.io/restartedAt]"}},
		"X-09 no restart":                                  {restarted("then"), func(t *spec) { restarted("then")(t); t.Labels["app"] = "shop" }, Change{InPlace: true}},
		"X-09 a restart is gone":                           {restarted("then"), nil, Change{InPlace: true}},
		"X-09 a variable reads the label": {
			reads("metadata.labels['tier']", ""), reads("metadata.labels['tier']", "back"), Change{Blocker: "spec.template.spec.containers[log].env[TIER]"},
		},
		"X-09 a variable reads the annotation": {
			reads("metadata.annotations['tier']", "front"), reads("metadata.annotations['tier']", "back"), Change{Blocker: "spec.template.spec.containers[log].env[TIER]"},
		},
		"X-09 a variable reads the annotation that goes": {
			reads("metadata.annotations['tier']", "front"), reads("metadata.annotations['tier']", ""), Change{Blocker: "spec.template.spec.containers[log].env[TIER]"},
		},
		"X-09 a variable of the same name as the other kind's": {
			reads("metadata.labels['team']", ""), func(t *spec) { reads("metadata.labels['team']", "")(t); t.Annotations["team"] = "y" }, Change{InPlace: true},
		},
		"X-09 a variable reads another label":        {reads("metadata.labels['app']", "front"), reads("metadata.labels['app']", "back"), Change{InPlace: true}},
		"X-09 a variable reads another field":        {reads("metadata.name", "front"), reads("metadata.name", "back"), Change{InPlace: true}},
		"X-09 a variable reads the revision":         {reads("metadata.labels['controller-revision-hash']", "front"), reads("metadata.labels['controller-revision-hash']", "back"), Change{Blocker: "spec.template.spec.containers[log].env[TIER]"}},
		"X-09 a variable reads it, of another image": {reads("metadata.labels['tier']", "front"), func(t *spec) { reads("metadata.labels['tier']", "back")(t); t.Spec.Containers[1].Image = "log:2" }, Change{InPlace: true}},
		"X-09 a variable reads it that goes first": {
			first(reads("metadata.labels['tier']", "front")), first(func(t *spec) { reads("metadata.labels['tier']", "back")(t); t.Spec.Containers[1].Image = "log:2" }),
			Change{Blocker: "spec.template.spec.initContainers[prepare].env[TIER]"},
		},
		"X-09 a volume reads the label": {volume("front"), volume("back"), Change{InPlace: true}},
		"resources of the pod decide the class": {
			func(t *spec) { t.Spec.Resources = &corev1.ResourceRequirements{} },
			func(t *spec) { t.Spec.Resources = &corev1.ResourceRequirements{}; cpu("1")(t) },
			Change{InPlace: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := changeOf(template(tc.from), template(tc.to)); got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

// TestQoS: a template has the QoS class that the kubelet would give its pod.
func TestQoS(t *testing.T) {
	both := func(request, limit string) corev1.ResourceRequirements {
		list := func(amount string) corev1.ResourceList {
			if amount == "" {
				return nil
			}
			return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(amount), corev1.ResourceMemory: resource.MustParse(amount)}
		}
		return corev1.ResourceRequirements{Requests: list(request), Limits: list(limit)}
	}
	cpuOnly := both("1", "1")
	delete(cpuOnly.Limits, corev1.ResourceMemory)
	for name, tc := range map[string]struct {
		first, containers []corev1.ResourceRequirements
		want              corev1.PodQOSClass
	}{
		"nothing":                    {nil, []corev1.ResourceRequirements{{}}, corev1.PodQOSBestEffort},
		"disk only":                  {nil, []corev1.ResourceRequirements{requests(corev1.ResourceEphemeralStorage, "1")}, corev1.PodQOSBestEffort},
		"requests":                   {nil, []corev1.ResourceRequirements{both("1", "")}, corev1.PodQOSBurstable},
		"limits":                     {nil, []corev1.ResourceRequirements{both("", "1")}, corev1.PodQOSGuaranteed},
		"as much as the limit":       {nil, []corev1.ResourceRequirements{both("1", "1")}, corev1.PodQOSGuaranteed},
		"less than the limit":        {nil, []corev1.ResourceRequirements{both("1", "2")}, corev1.PodQOSBurstable},
		"no limit of memory":         {nil, []corev1.ResourceRequirements{cpuOnly}, corev1.PodQOSBurstable},
		"one of two containers":      {nil, []corev1.ResourceRequirements{both("1", "1"), {}}, corev1.PodQOSBurstable},
		"not what goes before them":  {[]corev1.ResourceRequirements{{}}, []corev1.ResourceRequirements{both("1", "1")}, corev1.PodQOSBurstable},
		"only what goes before them": {[]corev1.ResourceRequirements{both("1", "")}, []corev1.ResourceRequirements{{}}, corev1.PodQOSBurstable},
	} {
		t.Run(name, func(t *testing.T) {
			spec := &corev1.PodSpec{}
			for _, needs := range tc.first {
				spec.InitContainers = append(spec.InitContainers, corev1.Container{Resources: needs})
			}
			for _, needs := range tc.containers {
				spec.Containers = append(spec.Containers, corev1.Container{Resources: needs})
			}
			if got := qosOf(spec); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

// TestPatchedPod: a pod gets the images and the metadata of the new template, loses what only the
// former one put on it, and keeps what is its own.
func TestPatchedPod(t *testing.T) {
	from := template(func(t *corev1.PodTemplateSpec) { t.Labels["old"], t.Annotations["old"] = "1", "1" })
	to := template(func(t *corev1.PodTemplateSpec) {
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
	bare := patchedPod(&corev1.Pod{}, template(nil), template(nil))
	if bare.Labels["app"] != "web" || bare.Annotations["team"] != "x" {
		t.Errorf("a pod without metadata becomes %v, %v", bare.Labels, bare.Annotations)
	}
}

// TestResizedPod: of each container what the new template asks for, and nothing of a container that
// the pod does not have.
func TestResizedPod(t *testing.T) {
	cpu := func(web, log string) *corev1.PodTemplateSpec {
		return template(func(t *corev1.PodTemplateSpec) {
			t.Spec.Containers[0].Resources, t.Spec.Containers[1].Resources = requests(corev1.ResourceCPU, web), requests(corev1.ResourceCPU, log)
		})
	}
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "injected"}, {Name: "log", Resources: requests(corev1.ResourceCPU, "1")}}}}
	got := resizedPod(pod, cpu("1", "1"), cpu("2", "2"))
	want := pod.DeepCopy()
	want.Spec.Containers[1].Resources = requests(corev1.ResourceCPU, "2")
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

// TestInPlaceOf: a pod is in an update in place when it remembers one that can be read.
func TestInPlaceOf(t *testing.T) {
	for text, want := range map[string]*progressInPlace{
		"":  nil,
		"x": nil,
		`{"revision":"r2","since":"2026-01-01T12:00:00Z"}`: {Revision: "r2", Since: noon},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{api.InPlaceUpdateAnnotationKey: text}}}
		if diff := cmp.Diff(want, inPlaceOf(pod)); diff != "" {
			t.Errorf("%q: -want +got\n%s", text, diff)
		}
	}
}
