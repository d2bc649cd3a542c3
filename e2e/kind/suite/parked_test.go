package suite

import (
	"context"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/kind/cases"
	"github.com/sliceshift/sliceshift/migration/engine"
)

// TestParkedVolume: after the last ordinal has moved, one user scales the source up again, and another binds a pod to
// that ordinal's claim without the scheduler. Neither pod gets a container: the volume is parked, and a real kubelet
// does not mount it. There is no auditor, because it counts pods: the proof is that no container ran.
func TestParkedVolume(t *testing.T) {
	t.Parallel()
	v := deploy(t, usual())
	arrived := false
	v.drive(v.mover(), func(_ *api.Migration, outcome engine.Outcome) error {
		if arrived || outcome.Finished == nil {
			return nil
		}
		arrived = true
		return v.intrude()
	})
	v.expectMoved()
	results.Add(cases.Row{Name: t.Name(), Remark: "no pod could mount the parked volume"})
}

// intrude tries both ways to use the parked volume, and reverts both.
func (v *move) intrude() error {
	pods := pair.East.Client.CoreV1().Pods(v.app.namespace)
	if _, err := pods.Create(v.ctx, v.intruder(), metav1.CreateOptions{}); err != nil {
		return err
	}
	if err := v.scaleEast(3); err != nil {
		return err
	}
	// Twice, because a kubelet may try once before its API server has the pod.
	if err := v.awaitEvents("intruder", "FailedMount", 2); err != nil {
		return err
	}
	if err := v.awaitEvents("web-2", "FailedScheduling", 1); err != nil {
		return err
	}
	for _, name := range []string{"intruder", "web-2"} {
		pod, err := pods.Get(v.ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Started != nil && *s.Started || s.State.Waiting == nil }) {
			return fmt.Errorf("%s was started in east: %+v", name, pod.Status)
		}
	}
	if err := v.scaleEast(2); err != nil {
		return err
	}
	return pods.Delete(v.ctx, "intruder", metav1.DeleteOptions{})
}

// intruder returns a pod that poses as web-2 and is bound to a node without the scheduler.
func (v *move) intruder() *corev1.Pod {
	template := v.app.template()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: v.app.namespace, Name: "intruder"}, Spec: template.Spec}
	pod.Spec.Containers[0].Env[0] = corev1.EnvVar{Name: "OWNER", Value: "web-2"}
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data-web-2"},
	}})
	pod.Spec.NodeName = v.nodeOf("web-1")
	return pod
}

// nodeOf returns the node in east that runs a pod.
func (v *move) nodeOf(name string) string {
	v.t.Helper()
	pod, err := pair.East.Client.CoreV1().Pods(v.app.namespace).Get(v.ctx, name, metav1.GetOptions{})
	v.must(err)
	return pod.Spec.NodeName
}

// scaleEast scales the source like a user that does not know of the migration.
func (v *move) scaleEast(replicas int) error {
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	_, err := pair.East.Client.AppsV1().StatefulSets(v.app.namespace).Patch(v.ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// awaitEvents waits until a pod has met the same refusal the given number of times.
func (v *move) awaitEvents(pod, reason string, times int32) error {
	var seen []string
	err := pollUntil(v.ctx, func(ctx context.Context) (bool, error) {
		events, err := pair.East.Client.CoreV1().Events(v.app.namespace).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=" + pod})
		if err != nil {
			return false, err
		}
		seen = nil
		met := int32(0)
		for i := range events.Items {
			event := &events.Items[i]
			seen = append(seen, event.Reason+": "+event.Message)
			if event.Reason == reason {
				met += max(event.Count, 1)
			}
		}
		return met >= times, nil
	})
	if err != nil {
		return fmt.Errorf("%s in east: no %d events %s, but %q: %w", pod, times, reason, seen, err)
	}
	v.t.Logf("%s in east: %q", pod, seen)
	return nil
}
