package observe

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/sliceshift/sliceshift/slices/decide"
	"github.com/sliceshift/sliceshift/slices/internal/slicetest"
)

// TestReadsReason: which containers can read the termination reason.
func TestReadsReason(t *testing.T) {
	downward := func(path string) *corev1.DownwardAPIVolumeSource {
		return &corev1.DownwardAPIVolumeSource{Items: []corev1.DownwardAPIVolumeFile{
			{Path: "cpu", ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.cpu"}},
			{Path: "is", FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}},
		}}
	}
	volume := func(source corev1.VolumeSource) corev1.PodSpec {
		return corev1.PodSpec{Volumes: []corev1.Volume{{Name: "first"}, {Name: "is", VolumeSource: source}}}
	}
	file := func(path string) corev1.PodSpec {
		return volume(corev1.VolumeSource{DownwardAPI: downward(path)})
	}
	projected := func(path string) corev1.PodSpec {
		return volume(corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: downward(path).Items}},
		}}})
	}
	env := func(path string) corev1.Container {
		return corev1.Container{Env: []corev1.EnvVar{
			{Name: "PLAIN", Value: path},
			{Name: "SECRET", ValueFrom: &corev1.EnvVarSource{}},
			{Name: "IS", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}},
		}}
	}
	in := func(container corev1.Container) corev1.PodSpec {
		return corev1.PodSpec{Containers: []corev1.Container{{Name: "app"}, container}}
	}
	const reason = "metadata.annotations['apps.sliceshift.io/termination-reason']"
	preStop := corev1.Container{Lifecycle: &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"leave"}}}}}
	postStart := corev1.Container{Lifecycle: &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{}}}
	sidecar := *preStop.DeepCopy()
	sidecar.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
	for name, tc := range map[string]struct {
		spec corev1.PodSpec
		want bool
	}{
		"X-26 nobody":                          {corev1.PodSpec{Containers: []corev1.Container{{Name: "app"}}}, false},
		"a file of the reason":                 {file(reason), true},
		"a file of the reason, quoted twice":   {file(`metadata.annotations["apps.sliceshift.io/termination-reason"]`), true},
		"a file of when that was written":      {file("metadata.annotations['apps.sliceshift.io/termination-time']"), true},
		"a file of all annotations":            {file("metadata.annotations"), true},
		"a file of another annotation":         {file("metadata.annotations['team']"), false},
		"a file of the labels":                 {file("metadata.labels"), false},
		"a file of a label of its name":        {file("metadata.labels['apps.sliceshift.io/termination-reason']"), false},
		"projected, the reason":                {projected(reason), true},
		"projected, all annotations":           {projected("metadata.annotations"), true},
		"projected, another":                   {projected("metadata.annotations['team']"), false},
		"a variable":                           {in(env(reason)), true},
		"a variable of another annotation":     {in(env("metadata.annotations['team']")), false},
		"a variable of an init container":      {corev1.PodSpec{InitContainers: []corev1.Container{env(reason)}}, true},
		"a preStop hook":                       {in(preStop), true},
		"a preStop hook of a sidecar":          {corev1.PodSpec{InitContainers: []corev1.Container{sidecar}}, true},
		"a postStart hook is for another time": {in(postStart), false},
		"a volume that is no downward API": {
			volume(corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "metadata.annotations"}}), false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := readsReason(&tc.spec); got != tc.want {
				t.Errorf("it can be read: %t, want %t", got, tc.want)
			}
			pod := &corev1.Pod{Spec: tc.spec}
			s := Seen{Set: slicetest.NamedSet("web", nil), changes: map[string]decide.Change{}}
			if got := s.viewPod(pod, 0, true).ReadsReason; got != tc.want {
				t.Errorf("the view says %t, want %t", got, tc.want)
			}
		})
	}
}
