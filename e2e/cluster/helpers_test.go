package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
)

// bound is generous: the machine may be busy with other tests.
const bound = 60 * time.Second

const namespace = metav1.NamespaceDefault

// bounded returns a context for calls that should fail rather than hang.
func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	t.Cleanup(cancel)
	return ctx
}

// controlPlane returns the binary of the clusters that a test starts.
func controlPlane(t *testing.T) string {
	t.Helper()
	binary, err := Build(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

func clientOf(t *testing.T, c *Cluster) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(c.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// eventually polls until check returns nil.
func eventually(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, bound, true,
		func(ctx context.Context) (bool, error) {
			attempt, cancel := context.WithTimeout(ctx, probeTimeout)
			defer cancel()
			last = check(attempt)
			return last == nil, nil
		})
	if err != nil {
		t.Fatalf("%s: %v", what, errors.Join(err, last))
	}
}

func makeStatefulSet(name string, replicas int32) *appsv1.StatefulSet {
	labels := map[string]string{"app": name}
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec: appsv1.StatefulSetSpec{
			Replicas: new(replicas),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app:1"}}},
			},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
				ObjectMeta: metav1.ObjectMeta{Name: "data"},
				Spec: corev1.PersistentVolumeClaimSpec{
					AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
					Resources: corev1.VolumeResourceRequirements{
						Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
					},
				},
			}},
		},
	}
}

func makePod(name string, annotations map[string]string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Annotations: annotations},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app:1"}}},
	}
}

func createPod(t *testing.T, client kubernetes.Interface, pod *corev1.Pod) {
	t.Helper()
	if _, err := client.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func isPodReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

func waitPodReady(t *testing.T, client kubernetes.Interface, name string) {
	t.Helper()
	eventually(t, "pod "+name+" becomes Ready", func(ctx context.Context) error {
		pod, err := client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
		if err == nil && !isPodReady(pod) {
			err = fmt.Errorf("conditions %v", pod.Status.Conditions)
		}
		return err
	})
}

func waitPodGone(t *testing.T, client kubernetes.Interface, name string) {
	t.Helper()
	eventually(t, "pod "+name+" goes away", func(ctx context.Context) error {
		pod, err := client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err == nil {
			err = fmt.Errorf("still there, deleted at %v", pod.DeletionTimestamp)
		}
		return err
	})
}

// scale sets the replicas and waits until all of them are Ready, each with a
// claim that is bound to a volume.
func scale(t *testing.T, client kubernetes.Interface, name string, replicas int32) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	eventually(t, "scale "+name, func(ctx context.Context) error {
		_, err := client.AppsV1().StatefulSets(namespace).
			Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	})
	waitStatefulSet(t, client, name, replicas)
}

func waitStatefulSet(t *testing.T, client kubernetes.Interface, name string, replicas int32) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s has %d replicas", name, replicas), func(ctx context.Context) error {
		set, err := client.AppsV1().StatefulSets(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if status := set.Status; status.Replicas != replicas || status.ReadyReplicas != replicas {
			return fmt.Errorf("%d replicas, %d ready", status.Replicas, status.ReadyReplicas)
		}
		return nil
	})
	for ordinal := range replicas {
		claim := fmt.Sprintf("data-%s-%d", name, ordinal)
		pvc, err := client.CoreV1().PersistentVolumeClaims(namespace).Get(t.Context(), claim, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if pvc.Status.Phase != corev1.ClaimBound || pvc.Spec.VolumeName == "" {
			t.Errorf("claim %s is %s, volume %q; want it bound", claim, pvc.Status.Phase, pvc.Spec.VolumeName)
		}
	}
}
