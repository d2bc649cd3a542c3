package move

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// oneTry returns a Job spec whose pod is not retried.
func oneTry() batchv1.JobSpec {
	return batchv1.JobSpec{
		BackoffLimit: new(int32(0)),
		Template:     corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "tool", Image: "tool"}}}},
	}
}

// endPods ends the pods of Jobs on a side as their containers would, until the test ends. status returns the
// status patch for a pod with this environment, or "" to let the pod run on.
func (v *move) endPods(t *testing.T, side kubernetes.Interface, status func(told map[string]string) string) {
	pods, ended := side.CoreV1().Pods(v.App.Namespace), make(chan struct{})
	ctx, cancel := context.WithCancel(v.Ctx)
	t.Cleanup(func() { cancel(); <-ended })
	go func() {
		defer close(ended)
		_ = wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
			found, err := pods.List(ctx, metav1.ListOptions{LabelSelector: batchv1.JobNameLabel})
			if err != nil {
				return false, nil //nolint:nilerr // it is asked again
			}
			for _, pod := range found.Items {
				patch := status(toldTo(pod.Spec))
				if pod.Status.Phase != corev1.PodRunning || patch == "" {
					continue
				}
				_, _ = pods.Patch(ctx, pod.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status") // or in the next poll
			}
			return false, nil
		})
	}()
}

func toldTo(spec corev1.PodSpec) map[string]string {
	told := map[string]string{}
	for _, each := range spec.Containers[0].Env {
		told[strings.TrimPrefix(each.Name, "SLICESHIFT_")] = each.Value
	}
	return told
}

// jobsIn describes the Jobs of migrations in a namespace of a side, one sorted line for each Job.
func (v *move) jobsIn(side kubernetes.Interface, namespace string, line func(job string, told map[string]string) string) []string {
	v.T.Helper()
	found, err := side.BatchV1().Jobs(namespace).List(v.Ctx, metav1.ListOptions{LabelSelector: api.MigrationLabelKey})
	v.Must(err)
	var all []string
	for _, job := range found.Items {
		all = append(all, line(job.Name, toldTo(job.Spec.Template.Spec)))
	}
	slices.Sort(all)
	return all
}
