package slices

import (
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sliceapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// TestPrePull: images are pulled by a pod next to each pod before that is deleted, and the pulling pod is deleted with
// it.
func TestPrePull(t *testing.T) {
	t.Parallel()
	t.Run("U-08: beside each pod, in turn", func(t *testing.T) {
		set := slice(3)
		set.Spec.UpdateStrategy = rolling(func(r *sliceapi.RollingUpdateStrategy) { r.PrePull = true })
		p := begin(t, set)
		nodes := map[string]string{}
		for _, pod := range p.pods() {
			nodes[pod.Name] = pod.Spec.NodeName
		}
		p.image("web:2")
		pulled := map[string]bool{}
		for !p.isComplete() {
			for _, pod := range p.pods() {
				if name, _, is := strings.Cut(pod.Name, "-pull-"); is {
					pulled[name] = true
					p.isPull(&pod, nodes[name])
				}
			}
			p.must(p.ctx.Err())
		}
		if got := slices.Sorted(maps.Keys(pulled)); !slices.Equal(got, []string{"web-0", "web-1", "web-2"}) {
			t.Errorf("images were pulled beside %v", got)
		}
		p.eventually("what pulled images is gone", func() bool { return len(p.pods()) == 3 })
		p.imagesAre("web:2", "web:2", "web:2")
	})
}

// isPull checks a pod that pulls images.
func (p *play) isPull(pull *corev1.Pod, node string) {
	p.t.Helper()
	owner := metav1.GetControllerOf(pull)
	if owner == nil || owner.Kind != "Pod" || pull.Labels["app"] != "" || pull.Spec.NodeName != node || pull.Spec.Containers[0].Image != "web:2" {
		p.t.Errorf("%s is owned by %v, has labels %v, is on %s: %+v", pull.Name, owner, pull.Labels, pull.Spec.NodeName, pull.Spec.Containers)
	}
}
