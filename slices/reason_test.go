package slices

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// TestReadsReason: who in a pod can read why it is deleted.
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
			s := seen{set: namedSet("web", nil), changes: map[string]Change{}}
			if got := s.viewPod(pod, 0, true).ReadsReason; got != tc.want {
				t.Errorf("the view says %t, want %t", got, tc.want)
			}
		})
	}
}

// TestFinalizerFollowsItsPods: a set that nobody asks why has no finalizer, also where one
// was put on it before; it gets one before the first pod is made that can read why it goes, and
// loses it with the last.
func TestFinalizerFollowsItsPods(t *testing.T) {
	t.Run("X-26 for who can read it", func(t *testing.T) {
		s := newStage(t, 2)
		kept := func() bool { return slices.Contains(s.set().Finalizers, api.Finalizer) }
		expect := func(what string, want bool) {
			t.Helper()
			if err := s.passes(8); err != nil || kept() != want {
				t.Errorf("%s: it has the finalizer: %t, want %t; %v", what, kept(), want, err)
			}
		}
		if !kept() {
			t.Fatal("there is nothing to take off")
		}
		expect("nobody reads it", false)
		if n := s.serves("a:1"); n != 2 {
			t.Fatalf("%d pods serve", n)
		}
		made, patches := 0, 0
		s.refuse = func(verb string, o client.Object) error {
			if _, is := o.(*api.StatefulSet); is && verb == "patch" {
				patches++
			}
			if pod, is := o.(*corev1.Pod); is && verb == "create" && pod.Spec.Containers[0].Lifecycle != nil {
				if made++; !kept() {
					t.Errorf("%s is made before the set has its finalizer", pod.Name)
				}
			}
			return nil
		}
		hook := &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"leave"}}}}
		s.change(func(spec *api.StatefulSetSpec) { spec.Template.Spec.Containers[0].Lifecycle = hook })
		expect("its pods read it", true)
		if made != 2 {
			t.Errorf("%d pods with a hook were made, want 2", made)
		}
		s.change(func(spec *api.StatefulSetSpec) {
			spec.UpdateStrategy.RollingUpdate.Partition = new(int32(1))
			spec.Template.Spec.Containers[0].Lifecycle = nil
		})
		expect("a pod below the partition reads it", true)
		s.change(func(spec *api.StatefulSetSpec) { spec.UpdateStrategy.RollingUpdate.Partition = nil })
		expect("nobody reads it any more", false)
		if patches != 2 {
			t.Errorf("the finalizer took %d writes, want one to put it on and one to take it off", patches)
		}
	})
}
