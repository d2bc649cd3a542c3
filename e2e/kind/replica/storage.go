package replica

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/sliceshift/sliceshift/e2e/kind"
)

// poll is the interval between two checks of a condition.
const poll = 100 * time.Millisecond

// Folder returns the folder of the volumes of an application.
func Folder(namespace string) string { return kind.Shared + "/" + namespace }

// Volume returns the subfolder dir of an application's folder as a volume that is reserved for a claim.
func Volume(claim types.NamespacedName, dir string) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: claim.Namespace + "-" + claim.Name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:    corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: kind.StorageClass,
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			ClaimRef:                      &corev1.ObjectReference{Namespace: claim.Namespace, Name: claim.Name},
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{
				Path: Folder(claim.Namespace) + "/" + dir, Type: new(corev1.HostPathDirectory),
			}},
		},
	}
}

// Seeder returns a pod that creates the folders of an application's volumes. Each gets a new journal whose owner is
// the last part of the folder's name.
func Seeder(image, namespace string, dirs ...string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "seed"}, Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, AutomountServiceAccountToken: new(false),
		Containers: []corev1.Container{{
			Name: "seed", Image: image, ImagePullPolicy: corev1.PullIfNotPresent, Args: append([]string{"seed", "/volumes"}, dirs...),
			VolumeMounts: []corev1.VolumeMount{{Name: "volumes", MountPath: "/volumes"}},
		}},
		Volumes: []corev1.Volume{{Name: "volumes", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{
			Path: Folder(namespace), Type: new(corev1.HostPathDirectoryOrCreate),
		}}}},
	}}
}

// Seed runs a seeder and waits until it has finished.
func Seed(ctx context.Context, client kubernetes.Interface, seeder *corev1.Pod) error {
	pods := client.CoreV1().Pods(seeder.Namespace)
	if _, err := pods.Create(ctx, seeder, metav1.CreateOptions{}); err != nil {
		return err
	}
	var phase corev1.PodPhase
	err := wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
		pod, err := pods.Get(ctx, seeder.Name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		if phase = pod.Status.Phase; phase == corev1.PodFailed {
			return false, errors.New("the pod that makes the volumes failed")
		}
		return phase == corev1.PodSucceeded, nil
	})
	if err != nil {
		return fmt.Errorf("making the volumes of %s (%s): %w", seeder.Namespace, phase, err)
	}
	return pods.Delete(ctx, seeder.Name, metav1.DeleteOptions{})
}
