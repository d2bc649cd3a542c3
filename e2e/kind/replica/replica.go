// Package replica runs the workload as a replica of the applications that the tests on kind move. It has the
// container, the volumes in the shared folder of the clusters, and functions that read the journals.
package replica

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/sliceshift/sliceshift/e2e/kind"
	"github.com/sliceshift/sliceshift/e2e/kind/journal"
)

// Port is the port of the workload.
const Port = 8080

// Fields of the pod that identify the owner of a journal.
const (
	// PodName is for an application that keeps its name.
	PodName = "metadata.name"
	// PodIndex is the ordinal (KEP-3335), for an application whose pods are renamed by the move.
	PodIndex = "metadata.labels['apps.kubernetes.io/pod-index']"
)

// Container runs the workload over the journals in the folders that it mounts. owner is the field of the pod that
// identifies their owner. Without a folder it only answers requests.
func Container(image, owner string, dirs ...string) corev1.Container {
	return corev1.Container{
		Name: "workload", Image: image, ImagePullPolicy: corev1.PullIfNotPresent, Args: append([]string{"run"}, dirs...),
		Env: []corev1.EnvVar{Field("OWNER", owner), Field("POD_UID", "metadata.uid"), Field("NODE_NAME", "spec.nodeName")},
		ReadinessProbe: &corev1.Probe{
			ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromInt32(Port)}},
			PeriodSeconds: 1,
		},
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("32Mi")},
			Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")},
		},
	}
}

// Field returns a variable that holds a field of the pod.
func Field(variable, field string) corev1.EnvVar {
	return corev1.EnvVar{Name: variable, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: field}}}
}

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

// Once returns a pod that runs a program once, with a folder of the node at a path.
func Once(meta metav1.ObjectMeta, image, folder, at string, args ...string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, AutomountServiceAccountToken: new(false), EnableServiceLinks: new(false),
		TerminationGracePeriodSeconds: new(int64(10)),
		Containers: []corev1.Container{{
			Name: "once", Image: image, ImagePullPolicy: corev1.PullIfNotPresent, Args: args,
			VolumeMounts:             []corev1.VolumeMount{{Name: "folder", MountPath: at}},
			TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		}},
		Volumes: []corev1.Volume{{Name: "folder", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{
			Path: folder, Type: new(corev1.HostPathDirectoryOrCreate),
		}}}},
	}}
}

// Run creates a pod and waits for its phase. It fails if the pod fails.
func Run(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod, phase corev1.PodPhase) error {
	pods := client.CoreV1().Pods(pod.Namespace)
	if _, err := pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		return err
	}
	err := wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
		now, err := pods.Get(ctx, pod.Name, metav1.GetOptions{})
		if err == nil && now.Status.Phase == corev1.PodFailed {
			return false, errors.New(Ending(now))
		}
		return err == nil && now.Status.Phase == phase, err
	})
	if err != nil {
		return fmt.Errorf("pod %s/%s does not become %s: %w", pod.Namespace, pod.Name, phase, err)
	}
	return nil
}

// Ending returns the termination message of a pod.
func Ending(pod *corev1.Pod) string {
	for i := range pod.Status.ContainerStatuses {
		if t := pod.Status.ContainerStatuses[i].State.Terminated; t != nil {
			return fmt.Sprintf("%s (%d): %s", t.Reason, t.ExitCode, t.Message)
		}
	}
	return string(pod.Status.Phase)
}

// Seeder returns a pod that creates the folders of an application's volumes. Each gets a new journal whose owner is
// the last part of the folder's name.
func Seeder(image, namespace string, dirs ...string) *corev1.Pod {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: "seed"}
	return Once(meta, image, Folder(namespace), "/volumes", append([]string{"seed", "/volumes"}, dirs...)...)
}

// Seed runs a seeder and waits until it has finished.
func Seed(ctx context.Context, client kubernetes.Interface, seeder *corev1.Pod) error {
	if err := Run(ctx, client, seeder, corev1.PodSucceeded); err != nil {
		return fmt.Errorf("making the volumes: %w", err)
	}
	return client.CoreV1().Pods(seeder.Namespace).Delete(ctx, seeder.Name, metav1.DeleteOptions{})
}

// Page requests a page of a replica through the API server, so it needs no route to the pods. query may be nil.
func Page(ctx context.Context, client kubernetes.Interface, pod types.NamespacedName, page string, query map[string]string) (string, error) {
	content, err := client.CoreV1().Pods(pod.Namespace).ProxyGet("http", pod.Name, strconv.Itoa(Port), page, query).DoRaw(ctx)
	return string(content), err
}

// Journal reads the journal that a replica keeps in one of its folders. It fails if the journal is not the owner's, is
// not complete, or if a process reported another writer of it.
func Journal(ctx context.Context, client kubernetes.Interface, pod types.NamespacedName, owner, dir string) (journal.Journal, error) {
	query := map[string]string{"dir": dir}
	content, err := Page(ctx, client, pod, "journal", query)
	if err != nil {
		return journal.Journal{}, err
	}
	read, err := journal.Read(content, owner)
	if err != nil {
		return read, fmt.Errorf("journal of %s in %s: %w", pod.Name, dir, err)
	}
	accused, err := Page(ctx, client, pod, "violations", query)
	if err == nil && accused != "" {
		err = fmt.Errorf("%s ran twice: %s", pod.Name, accused)
	}
	return read, err
}
