package stage

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"

	"github.com/sliceshift/sliceshift/e2e/kind"
)

// Writer returns a pod that runs once and writes below /out, which is the shared folder of the clusters.
func Writer(meta metav1.ObjectMeta, folder, image string, args ...string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, AutomountServiceAccountToken: new(false), EnableServiceLinks: new(false), DNSConfig: AsWritten(),
		TerminationGracePeriodSeconds: ptr.To[int64](10),
		Containers: []corev1.Container{{
			Name: "client", Image: image, ImagePullPolicy: corev1.PullIfNotPresent, Args: args,
			VolumeMounts:             []corev1.VolumeMount{{Name: "out", MountPath: "/out"}},
			TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		}},
		Volumes: []corev1.Volume{{Name: "out", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{
			Path: kind.Shared + "/" + folder, Type: ptr.To(corev1.HostPathDirectoryOrCreate),
		}}}},
	}}
}

// RunPod creates a pod and waits for its phase.
func RunPod(ctx context.Context, c *kind.Cluster, pod *corev1.Pod, phase corev1.PodPhase) error {
	pods := c.Client.CoreV1().Pods(pod.Namespace)
	if _, err := pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		return err
	}
	err := wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
		now, err := pods.Get(ctx, pod.Name, metav1.GetOptions{})
		if err == nil && now.Status.Phase == corev1.PodFailed {
			return false, errors.New(ending(now))
		}
		return err == nil && now.Status.Phase == phase, err
	})
	if err != nil {
		return fmt.Errorf("cluster %s: pod %s does not become %s: %w", c.Name, pod.Name, phase, err)
	}
	return nil
}

// StopPod deletes a pod and waits until it no longer exists. It fails if the pod had ended before: its output would
// have a gap.
func StopPod(ctx context.Context, c *kind.Cluster, namespace, name string) error {
	pods := c.Client.CoreV1().Pods(namespace)
	pod, err := pods.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if pod.Status.Phase != corev1.PodRunning {
		return fmt.Errorf("cluster %s: %s ended before it was asked to: %s", c.Name, name, ending(pod))
	}
	if err := pods.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	err = wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
		_, err := pods.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return false, err
	})
	if err != nil {
		return fmt.Errorf("cluster %s: pod %s does not end: %w", c.Name, name, err)
	}
	return nil
}

// ending returns the termination message of a container.
func ending(pod *corev1.Pod) string {
	for i := range pod.Status.ContainerStatuses {
		if t := pod.Status.ContainerStatuses[i].State.Terminated; t != nil {
			return fmt.Sprintf("%s (%d): %s", t.Reason, t.ExitCode, t.Message)
		}
	}
	return string(pod.Status.Phase)
}
