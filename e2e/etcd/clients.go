package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"

	"github.com/sliceshift/sliceshift/e2e/kind"
)

// poll is how often a condition is looked at.
const poll = 100 * time.Millisecond

// clientPod writes a file of the run's folder.
func clientPod(run int, name string, args ...string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: object(name), Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, AutomountServiceAccountToken: new(false), EnableServiceLinks: new(false), DNSConfig: asWritten(),
		TerminationGracePeriodSeconds: ptr.To[int64](10),
		Containers: []corev1.Container{{
			Name: "client", Image: clientImage, ImagePullPolicy: corev1.PullIfNotPresent,
			Args:                     append(args, "-endpoints="+clientURLs(), "-out=/out/"+name+".json"),
			VolumeMounts:             []corev1.VolumeMount{{Name: "out", MountPath: "/out"}},
			TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		}},
		Volumes: []corev1.Volume{{Name: "out", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{
			Path: kind.Shared + "/" + folder(run), Type: ptr.To(corev1.HostPathDirectoryOrCreate),
		}}}},
	}}
}

func clientName(c *kind.Cluster) string { return "client-" + c.Name }

// written is a file of the run, on this machine.
func (r *run) written(name string) string {
	return filepath.Join(r.pair.SharedDir(), folder(r.number), name+".json")
}

// startClients starts one in each cluster.
func (r *run) startClients(ctx context.Context) error {
	for _, c := range r.pair.Both() {
		pod := clientPod(r.number, clientName(c), "run", "-name="+c.Name)
		if err := r.runPod(ctx, c, pod, corev1.PodRunning); err != nil {
			return err
		}
	}
	return nil
}

// stopClients asks them to end. A client that ended before is a failure: its history has a
// hole.
func (r *run) stopClients(ctx context.Context) error {
	for _, c := range r.pair.Both() {
		pods := c.Client.CoreV1().Pods(namespace)
		pod, err := pods.Get(ctx, clientName(c), metav1.GetOptions{})
		if err != nil {
			return err
		}
		if pod.Status.Phase != corev1.PodRunning {
			return fmt.Errorf("cluster %s: %s ended before it was asked to: %s", c.Name, pod.Name, ending(pod))
		}
		if err := pods.Delete(ctx, pod.Name, metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	for _, c := range r.pair.Both() {
		if err := awaitGone(ctx, c, clientName(c)); err != nil {
			return err
		}
	}
	return nil
}

// final asks every member, by a pod in west, for all that was written.
func (r *run) final(ctx context.Context) error {
	return r.runPod(ctx, r.pair.West, clientPod(r.number, "final", "final"), corev1.PodSucceeded)
}

// runPod makes a pod and waits for its phase.
func (r *run) runPod(ctx context.Context, c *kind.Cluster, pod *corev1.Pod, phase corev1.PodPhase) error {
	pods := c.Client.CoreV1().Pods(namespace)
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

// ending is what a container said in the end.
func ending(pod *corev1.Pod) string {
	for i := range pod.Status.ContainerStatuses {
		if t := pod.Status.ContainerStatuses[i].State.Terminated; t != nil {
			return fmt.Sprintf("%s (%d): %s", t.Reason, t.ExitCode, t.Message)
		}
	}
	return string(pod.Status.Phase)
}

func awaitGone(ctx context.Context, c *kind.Cluster, pod string) error {
	err := wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
		_, err := c.Client.CoreV1().Pods(namespace).Get(ctx, pod, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return false, err
	})
	if err != nil {
		return fmt.Errorf("cluster %s: pod %s does not end: %w", c.Name, pod, err)
	}
	return nil
}
