package observe

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/slices/decide"
)

// PullName returns the name of the pod that pulls the images of a revision for a pod.
func PullName(pod, revision string) string {
	return pod + "-pull-" + revision[strings.LastIndex(revision, "-")+1:]
}

// imagesOf returns the images of a pod's containers without duplicates.
func imagesOf(spec *corev1.PodSpec) []string {
	var images []string
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			if image := containers[i].Image; !slices.Contains(images, image) {
				images = append(images, image)
			}
		}
	}
	return images
}

// NewImages returns the images of a template that a pod does not use.
func NewImages(template *corev1.PodTemplateSpec, pod *corev1.Pod) []string {
	if template == nil {
		return nil
	}
	has := imagesOf(&pod.Spec)
	return slices.DeleteFunc(imagesOf(&template.Spec), func(image string) bool { return slices.Contains(has, image) })
}

// pullEnded reports whether a pull pod has pulled all images or has ended. A container that fails to start because its
// command does not exist has its image.
func pullEnded(pull *corev1.Pod) bool {
	if phase := phaseOf(pull); pull.DeletionTimestamp != nil || phase == decide.Failed || phase == decide.Succeeded {
		return true
	}
	found := 0
	for i := range pull.Status.ContainerStatuses {
		state := &pull.Status.ContainerStatuses[i].State
		failedToStart := state.Waiting != nil && strings.Contains(state.Waiting.Reason, "Container") && strings.HasSuffix(state.Waiting.Reason, "Error")
		if state.Running != nil || state.Terminated != nil || failedToStart {
			found++
		}
	}
	return found == len(pull.Spec.Containers)
}

// viewPull reads the state of the pull pod of a pod.
func (r Reader) viewPull(ctx context.Context, s Seen, view *decide.Pod, pod *corev1.Pod) error {
	if view.Change.Same || len(NewImages(s.Templates[s.target], pod)) == 0 {
		return nil
	}
	view.NewImages = true
	if r.PrePullRefused[pod.UID] == s.target {
		view.Pull = &decide.Pull{Ended: true}
		return nil
	}
	pull := &corev1.Pod{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: PullName(pod.Name, s.target)}, pull)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	view.Pull = &decide.Pull{Since: pull.CreationTimestamp.Time, Ended: pullEnded(pull)}
	return nil
}
