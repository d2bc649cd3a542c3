package stage

import (
	"cmp"
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/sliceshift/sliceshift/e2e/kind"
	"github.com/sliceshift/sliceshift/e2e/kind/replica"
)

// Writer returns a pod that runs once and writes below /out, which is the shared folder of the clusters.
func Writer(meta metav1.ObjectMeta, folder, image string, args ...string) *corev1.Pod {
	pod := replica.Once(meta, image, kind.Shared+"/"+folder, "/out", args...)
	pod.Spec.DNSConfig = asWritten()
	return pod
}

// RunPod creates a pod and waits for its phase.
func RunPod(ctx context.Context, c *kind.Cluster, pod *corev1.Pod, phase corev1.PodPhase) error {
	if err := replica.Run(ctx, c.Client, pod, phase); err != nil {
		return fmt.Errorf("cluster %s: %w", c.Name, err)
	}
	return nil
}

// stopPod deletes a pod and waits until it no longer exists. It fails if the pod had ended before: its output would
// have a gap.
func stopPod(ctx context.Context, c *kind.Cluster, namespace, name string) error {
	pods := c.Client.CoreV1().Pods(namespace)
	pod, err := pods.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if pod.Status.Phase != corev1.PodRunning {
		return fmt.Errorf("cluster %s: %s ended before it was asked to: %s", c.Name, name, replica.Ending(pod))
	}
	if err := pods.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	return absent(ctx, "pod "+name+" of cluster "+c.Name, func(ctx context.Context) error {
		_, err := pods.Get(ctx, name, metav1.GetOptions{})
		return err
	})
}

// absent waits until an object no longer exists.
func absent(ctx context.Context, what string, get func(context.Context) error) error {
	err := wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
		err := get(ctx)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	if err != nil {
		return fmt.Errorf("%s does not end: %w", what, err)
	}
	return nil
}

// template is the claim template of the members' volumes.
const template = "data"

// Members are the pods of a StatefulSet, each with a volume and a name that resolves to it in whichever cluster it
// runs.
type Members struct {
	Namespace, Name string
	Replicas        int32
	Ports           []corev1.ServicePort
	// Class is the StorageClass of volumes of a CSI driver. If it is empty, the volumes are in the shared folder of
	// the clusters.
	Class string
}

// Meta returns the metadata of an object of the application.
func (m Members) Meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: m.Namespace, Name: name}
}

func (m Members) labels() map[string]string { return map[string]string{"app": m.Name} }

// Names returns the names of the pods.
func (m Members) Names() []string {
	var names []string
	for i := range m.Replicas {
		names = append(names, fmt.Sprintf("%s-%d", m.Name, i))
	}
	return names
}

// Host returns the host name of a member, which is valid in whichever cluster it runs.
func (m Members) Host(member string) string {
	return fmt.Sprintf("%s.%s.svc.clusterset.local", member, m.Namespace)
}

// objects returns all objects except the StatefulSet. Volumes without a driver are in the shared folder of the
// clusters.
func (m Members) objects(folder string) []client.Object {
	objects := []client.Object{m.service(m.Name, m.labels()), &policyv1.PodDisruptionBudget{
		ObjectMeta: m.Meta(m.Name),
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: m.labels()}, MaxUnavailable: new(intstr.FromInt32(1))},
	}}
	for _, member := range m.Names() {
		objects = append(objects, m.service(member, map[string]string{appsv1.StatefulSetPodNameLabel: member}), &mcsv1beta1.ServiceExport{ObjectMeta: m.Meta(member)})
		if m.Class == "" {
			volume := replica.Volume(types.NamespacedName{Namespace: m.Namespace, Name: template + "-" + member}, "")
			volume.Name = folder + "-" + member
			volume.Spec.HostPath = &corev1.HostPathVolumeSource{Path: kind.Shared + "/" + folder + "/" + member, Type: new(corev1.HostPathDirectoryOrCreate)}
			objects = append(objects, volume)
		}
	}
	return objects
}

// service selects pods before they are Ready, so that members find each other.
func (m Members) service(name string, selector map[string]string) *corev1.Service {
	return &corev1.Service{ObjectMeta: m.Meta(name), Spec: corev1.ServiceSpec{
		ClusterIP: corev1.ClusterIPNone, Selector: selector, Ports: m.Ports, PublishNotReadyAddresses: true,
	}}
}

// statefulSet returns a StatefulSet that starts the members in parallel, each with its volume as data.
func (m Members) statefulSet(container corev1.Container, grace int64) *appsv1.StatefulSet {
	container.ImagePullPolicy = corev1.PullIfNotPresent
	container.VolumeMounts = []corev1.VolumeMount{{Name: template, MountPath: "/data"}}
	container.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("50m"), corev1.ResourceMemory: resource.MustParse("64Mi")}
	return &appsv1.StatefulSet{ObjectMeta: m.Meta(m.Name), Spec: appsv1.StatefulSetSpec{
		Replicas: new(m.Replicas), ServiceName: m.Name, PodManagementPolicy: appsv1.ParallelPodManagement,
		Selector: &metav1.LabelSelector{MatchLabels: m.labels()},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: m.labels()}, Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: &grace, AutomountServiceAccountToken: new(false), EnableServiceLinks: new(false),
			DNSConfig: asWritten(), Containers: []corev1.Container{container},
		}},
		VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
			ObjectMeta: metav1.ObjectMeta{Name: template},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: new(cmp.Or(m.Class, kind.StorageClass)),
				Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
			},
		}},
	}}
}

// asWritten returns a DNS configuration that tries names with two dots before any search domain.
func asWritten() *corev1.PodDNSConfig {
	return &corev1.PodDNSConfig{Options: []corev1.PodDNSConfigOption{{Name: "ndots", Value: new("2")}}}
}
