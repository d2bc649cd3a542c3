package stage

import (
	"cmp"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/sliceshift/sliceshift/e2e/kind"
)

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

// Labels returns the labels of the pods.
func (m Members) Labels() map[string]string { return map[string]string{"app": m.Name} }

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

// Objects returns all objects except the StatefulSet. Volumes without a driver are in the shared folder of the
// clusters.
func (m Members) Objects(folder string) []client.Object {
	objects := []client.Object{m.service(m.Name, m.Labels()), &policyv1.PodDisruptionBudget{
		ObjectMeta: m.Meta(m.Name),
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: m.Labels()}, MaxUnavailable: new(intstr.FromInt32(1))},
	}}
	for _, member := range m.Names() {
		objects = append(objects, m.service(member, map[string]string{appsv1.StatefulSetPodNameLabel: member}), &mcsv1beta1.ServiceExport{ObjectMeta: m.Meta(member)})
		if m.Class == "" {
			objects = append(objects, m.volume(folder, member))
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

// volume returns a volume that is reserved for the claim of a member.
func (m Members) volume(folder, member string) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: folder + "-" + member},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:    corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: kind.StorageClass,
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			ClaimRef:                      &corev1.ObjectReference{Namespace: m.Namespace, Name: template + "-" + member},
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{
				Path: kind.Shared + "/" + folder + "/" + member, Type: ptr.To(corev1.HostPathDirectoryOrCreate),
			}},
		},
	}
}

// StatefulSet returns a StatefulSet that starts the members in parallel, each with its volume as data.
func (m Members) StatefulSet(pod corev1.PodSpec) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{ObjectMeta: m.Meta(m.Name), Spec: appsv1.StatefulSetSpec{
		Replicas: new(m.Replicas), ServiceName: m.Name, PodManagementPolicy: appsv1.ParallelPodManagement,
		Selector: &metav1.LabelSelector{MatchLabels: m.Labels()},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: m.Labels()}, Spec: pod},
		VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
			ObjectMeta: metav1.ObjectMeta{Name: template},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: new(cmp.Or(m.Class, kind.StorageClass)),
				Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
			},
		}},
	}}
}

// AsWritten returns a DNS configuration that tries names with two dots before any search domain.
func AsWritten() *corev1.PodDNSConfig {
	return &corev1.PodDNSConfig{Options: []corev1.PodDNSConfigOption{{Name: "ndots", Value: new("2")}}}
}
