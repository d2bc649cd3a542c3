package execute

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/decide"
	"github.com/sliceshift/sliceshift/slices/observe"
)

// pullCommand exists in no image, so that the containers of a pull pod end at once.
const pullCommand = "/apps.sliceshift.io/images-are-pulled"

// nobody is the user of a pull pod, for namespaces that require a non-root user.
const nobody = 65534

// pullPod returns the pod that pulls images on the node of a pod. It has only the application's images and pull credentials.
// It has no label that a selector matches, and it is deleted with the pod.
func pullPod(set *api.StatefulSet, template *corev1.PodTemplateSpec, revision string, pod *corev1.Pod) *corev1.Pod {
	beside := metav1.NewControllerRef(pod, corev1.SchemeGroupVersion.WithKind("Pod"))
	beside.BlockOwnerDeletion = nil
	pull := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: set.Namespace, Name: observe.PullName(pod.Name, revision),
			Labels: map[string]string{api.PrePullLabelKey: set.Name}, OwnerReferences: []metav1.OwnerReference{*beside},
		},
		Spec: corev1.PodSpec{
			NodeName: pod.Spec.NodeName, RestartPolicy: corev1.RestartPolicyNever, RuntimeClassName: template.Spec.RuntimeClassName,
			ActiveDeadlineSeconds: new(int64(decide.PullLimit.Seconds())), TerminationGracePeriodSeconds: new(int64(1)),
			ServiceAccountName: template.Spec.ServiceAccountName, ImagePullSecrets: slices.Clone(template.Spec.ImagePullSecrets),
			AutomountServiceAccountToken: new(false), EnableServiceLinks: new(false),
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: new(true), RunAsUser: new(int64(nobody)), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
		},
	}
	for i, image := range observe.NewImages(template, pod) {
		pull.Spec.Containers = append(pull.Spec.Containers, corev1.Container{
			Name: fmt.Sprint("image-", i), Image: image, ImagePullPolicy: corev1.PullIfNotPresent, Command: []string{pullCommand},
			SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
		})
	}
	return pull
}

// prePull creates the pod that pulls images. If the API server refuses it, for example because of a quota, the update
// continues without it.
func (c *PodControl) prePull(ctx context.Context, action decide.Action, pod *corev1.Pod) error {
	template := c.Templates[action.Revision]
	if template == nil {
		return fmt.Errorf("revision %s does not exist", action.Revision)
	}
	pull := pullPod(c.Set, template, action.Revision, pod)
	err := c.Client.Create(ctx, pull)
	switch {
	case apierrors.IsAlreadyExists(err): // the cache has not shown it yet
	case err != nil:
		c.event(pod, corev1.EventTypeWarning, "FailedPrePull", "PrePull", "images for pod %s are not pulled before it is updated: %v", pod.Name, err)
		c.unpulled.Store(pod.UID, action.Revision)
		c.refused.Store(true) // nothing else would cause another pass
	default:
		c.event(pod, corev1.EventTypeNormal, "PullingImages", "PrePull", "pod %s pulls the images of revision %s on node %s", pull.Name, action.Revision, pod.Spec.NodeName)
	}
	return nil
}

// StillUnpulled returns the pods, with the revision, for which images cannot be pulled.
func (c *PodControl) StillUnpulled(before map[types.UID]string) map[types.UID]string {
	after := map[types.UID]string{}
	for _, pod := range c.pods {
		revision, known := before[pod.UID]
		if refused, is := c.unpulled.Load(pod.UID); is {
			revision, known = refused.(string)
		}
		if known {
			after[pod.UID] = revision
		}
	}
	return after
}
