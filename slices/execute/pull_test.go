package execute

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/sliceshift/sliceshift/slices/internal/slicetest"
	"github.com/sliceshift/sliceshift/slices/observe"
)

// TestPullPod: a pull pod has nothing of the application but its images and pull credentials.
func TestPullPod(t *testing.T) {
	t.Run("U-08 images that are new, where the pod runs", func(t *testing.T) {
		set, template := slicetest.NamedSet("web", map[string]string{"app": "web"}), &corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
			Spec: corev1.PodSpec{
				InitContainers:     []corev1.Container{{Name: "init", Image: "init:2"}},
				Containers:         []corev1.Container{{Name: "web", Image: "web:2", Env: []corev1.EnvVar{{Name: "A", Value: "B"}}, VolumeMounts: []corev1.VolumeMount{{Name: "data"}}}, {Name: "log", Image: "log:1"}, {Name: "too", Image: "web:2"}},
				Volumes:            []corev1.Volume{{Name: "data"}},
				ServiceAccountName: "web", ImagePullSecrets: []corev1.LocalObjectReference{{Name: "registry"}},
			},
		}
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", UID: "one"},
			Spec:       corev1.PodSpec{NodeName: "node-7", Containers: []corev1.Container{{Name: "web", Image: "web:1"}, {Name: "log", Image: "log:1"}}},
		}
		pull := pullPod(set, template, "web-5f6c", pod)
		var images []string
		for _, c := range pull.Spec.Containers {
			images = append(images, c.Image)
			if len(c.Env)+len(c.EnvFrom)+len(c.VolumeMounts)+len(c.Args) > 0 || !cmp.Equal(c.Command, []string{pullCommand}) {
				t.Errorf("container %+v", c)
			}
		}
		if diff := cmp.Diff([]string{"init:2", "web:2"}, images); diff != "" {
			t.Errorf("images (-want +got):\n%s", diff)
		}
		spec := pull.Spec
		if pull.Name != "web-1-pull-5f6c" || spec.NodeName != "node-7" || spec.RestartPolicy != corev1.RestartPolicyNever || len(spec.Volumes)+len(spec.InitContainers) > 0 ||
			*spec.AutomountServiceAccountToken || spec.ServiceAccountName != "web" || len(spec.ImagePullSecrets) != 1 || *spec.ActiveDeadlineSeconds != 300 {
			t.Errorf("it is %+v", pull)
		}
		if _, named := observe.OrdinalOf("web", pull.Name); named || !metav1.IsControlledBy(pull, pod) {
			t.Error("it could be taken for a pod of the set, or outlives the pod that it is for")
		}
		if selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector); err != nil || selector.Matches(labels.Set(pull.Labels)) {
			t.Errorf("the set's selector matches it: %v", err)
		}
	})
}
