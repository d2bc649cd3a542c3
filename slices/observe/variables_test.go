package observe

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/sliceshift/sliceshift/slices/decide"
	"github.com/sliceshift/sliceshift/slices/internal/slicetest"
)

// TestY6ResourceVariables: a change of resources that a variable or a downward API volume exposes needs a new pod, because a
// running container keeps the former value. Other resources, also of the same container, are changed in place.
func TestY6ResourceVariables(t *testing.T) {
	const cpu, memory = corev1.ResourceCPU, corev1.ResourceMemory
	amounts := func(cpus, gigabytes string) corev1.ResourceList {
		return corev1.ResourceList{cpu: resource.MustParse(cpus), memory: resource.MustParse(gigabytes)}
	}
	type spec = corev1.PodTemplateSpec
	const image = "log:2"
	where := map[string]func(t *spec, ref *corev1.ResourceFieldSelector) string{
		"a variable": func(t *spec, ref *corev1.ResourceFieldSelector) string {
			t.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "PLAIN", Value: "x"}, {Name: "GOMEMLIMIT", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: ref}}}
			return "spec.template.spec.containers[web].env[GOMEMLIMIT]"
		},
		"a variable of an init container": func(t *spec, ref *corev1.ResourceFieldSelector) string {
			ref.ContainerName = "web"
			t.Spec.InitContainers[0].Env = []corev1.EnvVar{{Name: "GOMEMLIMIT", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: ref}}}
			return "spec.template.spec.initContainers[prepare].env[GOMEMLIMIT]"
		},
		"a variable of another container": func(t *spec, ref *corev1.ResourceFieldSelector) string {
			ref.ContainerName = "web"
			t.Spec.Containers[1].Env = []corev1.EnvVar{{Name: "GOMEMLIMIT", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: ref}}}
			return "spec.template.spec.containers[log].env[GOMEMLIMIT]"
		},
		"a volume": func(t *spec, ref *corev1.ResourceFieldSelector) string {
			ref.ContainerName = "web"
			t.Spec.Volumes[0].DownwardAPI = &corev1.DownwardAPIVolumeSource{Items: []corev1.DownwardAPIVolumeFile{{Path: "limit", ResourceFieldRef: ref}}}
			return "spec.template.spec.volumes[scratch]"
		},
		"a projected volume": func(t *spec, ref *corev1.ResourceFieldSelector) string {
			ref.ContainerName = "web"
			t.Spec.Volumes[0].Projected = &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
				{}, {DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{Path: "limit", ResourceFieldRef: ref}}}},
			}}
			return "spec.template.spec.volumes[scratch]"
		},
	}
	for place, expose := range where {
		for _, tc := range []struct {
			name, resource string
			from, to       corev1.ResourceRequirements
			stale          bool
		}{
			{"the limit that it exposes", "limits.memory", corev1.ResourceRequirements{Limits: amounts("1", "4Gi")}, corev1.ResourceRequirements{Limits: amounts("1", "2Gi")}, true},
			{"the request that it exposes", "requests.cpu", corev1.ResourceRequirements{Requests: amounts("1", "1Gi")}, corev1.ResourceRequirements{Requests: amounts("2", "1Gi")}, true},
			{"the limit that its request defaults to", "requests.memory", corev1.ResourceRequirements{Limits: amounts("1", "4Gi")}, corev1.ResourceRequirements{Limits: amounts("1", "2Gi")}, true},
			{"a first limit", "limits.cpu", corev1.ResourceRequirements{Requests: amounts("1", "1Gi")}, corev1.ResourceRequirements{Requests: amounts("1", "1Gi"), Limits: corev1.ResourceList{cpu: resource.MustParse("2")}}, true},
			{"the other resource", "limits.memory", corev1.ResourceRequirements{Limits: amounts("1", "4Gi")}, corev1.ResourceRequirements{Limits: amounts("2", "4Gi")}, false},
			{"the request, and it exposes the limit", "limits.cpu", corev1.ResourceRequirements{Requests: amounts("1", "1Gi"), Limits: amounts("4", "2Gi")}, corev1.ResourceRequirements{Requests: amounts("2", "1Gi"), Limits: amounts("4", "2Gi")}, false},
			{"the limit, and it exposes a request of its own", "requests.cpu", corev1.ResourceRequirements{Requests: amounts("1", "1Gi"), Limits: amounts("4", "2Gi")}, corev1.ResourceRequirements{Requests: amounts("1", "1Gi"), Limits: amounts("5", "2Gi")}, false},
			{"as before, in other words", "limits.memory", corev1.ResourceRequirements{Limits: amounts("1", "1Gi")}, corev1.ResourceRequirements{Limits: amounts("1", "1024Mi")}, false},
		} {
			t.Run(fmt.Sprintf("%s: %s", place, tc.name), func(t *testing.T) {
				blocker := ""
				template := func(needs corev1.ResourceRequirements, image string) *spec {
					return slicetest.Template(func(t *spec) {
						t.Spec.Containers[0].Resources, t.Spec.Containers[1].Image = needs, image
						blocker = expose(t, &corev1.ResourceFieldSelector{Resource: tc.resource})
					})
				}
				got, want := changeOf(template(tc.from, "log:1"), template(tc.to, image)), decide.Change{InPlace: true}
				if tc.stale {
					want = decide.Change{Blocker: blocker}
				}
				if got != want {
					t.Errorf("got %+v, want %+v", got, want)
				}
			})
		}
	}
	t.Run("a changed image restarts its container, perhaps before the resize", func(t *testing.T) {
		template := func(limit, image string) *spec {
			return slicetest.Template(func(t *spec) {
				t.Spec.Containers[0].Image, t.Spec.Containers[0].Resources = image, corev1.ResourceRequirements{Limits: amounts("1", limit)}
				where["a variable"](t, &corev1.ResourceFieldSelector{Resource: "limits.memory"})
			})
		}
		if got := changeOf(template("4Gi", "web:1"), template("2Gi", "web:2")); got.InPlace {
			t.Errorf("got %+v", got)
		}
	})
}
