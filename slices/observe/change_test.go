package observe

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/decide"
	"github.com/sliceshift/sliceshift/slices/history"
	"github.com/sliceshift/sliceshift/slices/internal/slicetest"
)

// TestResizable: CPU and memory may change but not be removed, and other resources must stay.
func TestResizable(t *testing.T) {
	const cpu, memory, disk = corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage
	limits := func(name corev1.ResourceName, amount string) corev1.ResourceRequirements {
		return corev1.ResourceRequirements{Limits: corev1.ResourceList{name: resource.MustParse(amount)}}
	}
	claims := corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "gpu"}}}
	for name, tc := range map[string]struct {
		from, to corev1.ResourceRequirements
		want     bool
	}{
		"more CPU":           {slicetest.Requests(cpu, "1"), slicetest.Requests(cpu, "2"), true},
		"more memory":        {slicetest.Requests(memory, "1"), slicetest.Requests(memory, "2"), true},
		"a first request":    {corev1.ResourceRequirements{}, slicetest.Requests(memory, "1"), true},
		"a first disk":       {corev1.ResourceRequirements{}, slicetest.Requests(disk, "1"), false},
		"more disk":          {slicetest.Requests(disk, "1"), slicetest.Requests(disk, "2"), false},
		"the same disk":      {slicetest.Requests(disk, "1"), slicetest.Requests(disk, "1"), true},
		"a request goes":     {slicetest.Requests(cpu, "1"), corev1.ResourceRequirements{}, false},
		"a limit goes":       {limits(cpu, "1"), corev1.ResourceRequirements{}, false},
		"a limit of disk":    {corev1.ResourceRequirements{}, limits(disk, "1"), false},
		"a device":           {corev1.ResourceRequirements{}, claims, false},
		"a device as before": {claims, claims, true},
	} {
		if got := resizable(tc.from, tc.to); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestChangeOf: images, resources, labels and annotations are changed in place. For any other change, the blocking field is
// named.
func TestChangeOf(t *testing.T) {
	type spec = corev1.PodTemplateSpec
	cpu := func(amount string) func(*spec) {
		return func(t *spec) { t.Spec.Containers[1].Resources = slicetest.Requests(corev1.ResourceCPU, amount) }
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
	// reads makes the second container read a field. tier is a label and an annotation.
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
		want     decide.Change
	}{
		"nothing": {nil, nil, decide.Change{Same: true}},
		"X-18 a finalizer": {
			nil, func(t *spec) { t.Finalizers = []string{"x.io/hold"} }, decide.Change{Blocker: "spec.template.metadata.finalizers"},
		},
		"X-18 a finalizer goes, and an image changes": {
			func(t *spec) { t.Finalizers = []string{"x.io/hold"} }, func(t *spec) { t.Spec.Containers[1].Image = "log:2" }, decide.Change{Blocker: "spec.template.metadata.finalizers"},
		},
		"X-18 finalizers in another order": {
			func(t *spec) { t.Finalizers = []string{"x.io/a", "x.io/b"} }, func(t *spec) { t.Finalizers = []string{"x.io/b", "x.io/a"} }, decide.Change{Same: true},
		},
		"X-18 a tag that moves to one that does not":       {image("log:latest", ""), image("log:2", ""), decide.Change{InPlace: true}},
		"X-18 no tag to one":                               {image("log", ""), image("log:2", ""), decide.Change{InPlace: true}},
		"X-18 to a tag that moves: it would not be pulled": {image("log:1", ""), image("log:latest", ""), decide.Change{Blocker: "spec.template.spec.containers[log]"}},
		"X-18 a policy of one's own":                       {image("log:latest", corev1.PullNever), image("log:2", ""), decide.Change{Blocker: "spec.template.spec.containers[log]"}},
		"X-18 another policy of one's own":                 {image("log:1", corev1.PullAlways), image("log:2", ""), decide.Change{Blocker: "spec.template.spec.containers[log]"}},
		"a label":                                          {nil, func(t *spec) { t.Labels["app"] = "shop" }, decide.Change{InPlace: true}},
		"an annotation":                                    {nil, func(t *spec) { t.Annotations["team"] = "y" }, decide.Change{InPlace: true}},
		"an image":                                         {nil, func(t *spec) { t.Spec.Containers[1].Image = "log:2" }, decide.Change{InPlace: true}},
		"resources":                                        {cpu("1"), cpu("2"), decide.Change{InPlace: true}},
		"a container":                                      {nil, func(t *spec) { t.Spec.Containers = t.Spec.Containers[:1] }, decide.Change{Blocker: "spec.template.spec.containers"}},
		"a command":                                        {nil, func(t *spec) { t.Spec.Containers[1].Command = []string{"x"} }, decide.Change{Blocker: "spec.template.spec.containers[log]"}},
		"resources go":                                     {cpu("1"), nil, decide.Change{Blocker: "spec.template.spec.containers[log].resources"}},
		"the QoS class":                                    {nil, cpu("1"), decide.Change{Blocker: "the QoS class that spec.template.spec.containers[].resources make"}},
		"a volume":                                         {nil, func(t *spec) { t.Spec.Volumes = nil }, decide.Change{Blocker: "spec.template.spec.volumes"}},
		"what goes first":                                  {nil, func(t *spec) { t.Spec.InitContainers[0].Image = "prepare:2" }, decide.Change{Blocker: "spec.template.spec.initContainers"}},
		"something else":                                   {nil, func(t *spec) { t.Spec.NodeName = "node" }, decide.Change{Blocker: "spec.template.spec"}},
		"X-09 a restart":                                   {nil, restarted("now"), decide.Change{Blocker: "spec.template.metadata.annotations[kubectl.kubernetes.io/restartedAt]"}},
		"X-09 another restart":                             {restarted("then"), restarted("now"), decide.Change{Blocker: "spec.template.metadata.annotations[kubectl.kubernetes.io/restartedAt]"}},
		"X-09 no restart":                                  {restarted("then"), func(t *spec) { restarted("then")(t); t.Labels["app"] = "shop" }, decide.Change{InPlace: true}},
		"X-09 a restart is gone":                           {restarted("then"), nil, decide.Change{InPlace: true}},
		"X-09 a variable reads the label": {
			reads("metadata.labels['tier']", ""), reads("metadata.labels['tier']", "back"), decide.Change{Blocker: "spec.template.spec.containers[log].env[TIER]"},
		},
		"X-09 a variable reads the annotation": {
			reads("metadata.annotations['tier']", "front"), reads("metadata.annotations['tier']", "back"), decide.Change{Blocker: "spec.template.spec.containers[log].env[TIER]"},
		},
		"X-09 a variable reads the annotation that goes": {
			reads("metadata.annotations['tier']", "front"), reads("metadata.annotations['tier']", ""), decide.Change{Blocker: "spec.template.spec.containers[log].env[TIER]"},
		},
		"X-09 a variable of the same name as the other kind's": {
			reads("metadata.labels['team']", ""), func(t *spec) { reads("metadata.labels['team']", "")(t); t.Annotations["team"] = "y" }, decide.Change{InPlace: true},
		},
		"X-09 a variable reads another label":        {reads("metadata.labels['app']", "front"), reads("metadata.labels['app']", "back"), decide.Change{InPlace: true}},
		"X-09 a variable reads another field":        {reads("metadata.name", "front"), reads("metadata.name", "back"), decide.Change{InPlace: true}},
		"X-09 a variable reads the revision":         {reads("metadata.labels['controller-revision-hash']", "front"), reads("metadata.labels['controller-revision-hash']", "back"), decide.Change{Blocker: "spec.template.spec.containers[log].env[TIER]"}},
		"X-09 a variable reads it, of another image": {reads("metadata.labels['tier']", "front"), func(t *spec) { reads("metadata.labels['tier']", "back")(t); t.Spec.Containers[1].Image = "log:2" }, decide.Change{InPlace: true}},
		"X-09 a variable reads it that goes first": {
			first(reads("metadata.labels['tier']", "front")), first(func(t *spec) { reads("metadata.labels['tier']", "back")(t); t.Spec.Containers[1].Image = "log:2" }),
			decide.Change{Blocker: "spec.template.spec.initContainers[prepare].env[TIER]"},
		},
		"X-09 a volume reads the label": {volume("front"), volume("back"), decide.Change{InPlace: true}},
		"resources of the pod decide the class": {
			func(t *spec) { t.Spec.Resources = &corev1.ResourceRequirements{} },
			func(t *spec) { t.Spec.Resources = &corev1.ResourceRequirements{}; cpu("1")(t) },
			decide.Change{InPlace: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := changeOf(slicetest.Template(tc.from), slicetest.Template(tc.to)); got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

// TestQoS: a template has the QoS class that the kubelet would assign to its pod.
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
		"disk only":                  {nil, []corev1.ResourceRequirements{slicetest.Requests(corev1.ResourceEphemeralStorage, "1")}, corev1.PodQOSBestEffort},
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

// TestPinsTag: the pull policy may change with the tag if both images have their default policies, and the former one was
// Always.
func TestPinsTag(t *testing.T) {
	container := func(image string, policy corev1.PullPolicy) *corev1.Container {
		return &corev1.Container{Image: image, ImagePullPolicy: policy}
	}
	moving, fixed := container("web", corev1.PullAlways), container("web:1", corev1.PullIfNotPresent)
	for name, tc := range map[string]struct {
		from, to *corev1.Container
		want     bool
	}{
		"pinned":                       {moving, fixed, true},
		"the other way round":          {fixed, moving, false},
		"the next is pulled always":    {moving, container("web:1", corev1.PullAlways), false},
		"the former was pulled never":  {container("web", corev1.PullNever), fixed, false},
		"the former was a fixed image": {fixed, container("web:2", corev1.PullIfNotPresent), false},
	} {
		if got := pinsTag(tc.from, tc.to); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
