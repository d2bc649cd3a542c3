package main

import (
	"fmt"
	"strings"

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

// What moves: StatefulSet shop/etcd of three members.
const (
	namespace = "shop"
	name      = "etcd"
	members   = 3

	clientPort, peerPort = 2379, 2380
)

var labels = map[string]string{"app": name}

func object(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

// memberNames are the names of the pods.
func memberNames() []string {
	var names []string
	for i := range members {
		names = append(names, fmt.Sprintf("%s-%d", name, i))
	}
	return names
}

// url is how everybody reaches a member, wherever it runs.
func url(member string, port int) string {
	return fmt.Sprintf("http://%s.%s.svc.clusterset.local:%d", member, namespace, port)
}

func clientURLs() string {
	var urls []string
	for _, member := range memberNames() {
		urls = append(urls, url(member, clientPort))
	}
	return strings.Join(urls, ",")
}

func ports() []corev1.ServicePort {
	return []corev1.ServicePort{{Name: "client", Port: clientPort}, {Name: "peer", Port: peerPort}}
}

// governing is the Service of the StatefulSet. Members find each other before they are Ready.
func governing() *corev1.Service {
	return &corev1.Service{ObjectMeta: object(name), Spec: corev1.ServiceSpec{
		ClusterIP: corev1.ClusterIPNone, Selector: labels, Ports: ports(), PublishNotReadyAddresses: true,
	}}
}

// names are a Service for each member, and its export: the names by which the members know
// each other, from the first start on.
func names() []client.Object {
	var objects []client.Object
	for _, member := range memberNames() {
		service := &corev1.Service{ObjectMeta: object(member), Spec: governing().Spec}
		service.Spec.Selector = map[string]string{appsv1.StatefulSetPodNameLabel: member}
		objects = append(objects, service, &mcsv1beta1.ServiceExport{ObjectMeta: object(member)})
	}
	return objects
}

func budget() *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{ObjectMeta: object(name), Spec: policyv1.PodDisruptionBudgetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels}, MaxUnavailable: new(intstr.FromInt32(1)),
	}}
}

// volume is one in the shared folder, reserved for the claim of a member.
func volume(run int, member string) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: member},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:    corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: kind.StorageClass,
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			ClaimRef:                      &corev1.ObjectReference{Namespace: namespace, Name: "data-" + member},
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{
				Path: kind.Shared + "/" + folder(run) + "/" + member, Type: ptr.To(corev1.HostPathDirectoryOrCreate),
			}},
		},
	}
}

// folder of a run, in the one that both clusters share.
func folder(run int) string { return fmt.Sprintf("run-%d", run) }

// statefulSet starts all members at once: none is Ready before there is a quorum.
func statefulSet() *appsv1.StatefulSet {
	return &appsv1.StatefulSet{ObjectMeta: object(name), Spec: appsv1.StatefulSetSpec{
		Replicas: ptr.To[int32](members), ServiceName: name, PodManagementPolicy: appsv1.ParallelPodManagement,
		Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: memberTemplate(),
		VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
			ObjectMeta: metav1.ObjectMeta{Name: "data"},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: new(kind.StorageClass),
				Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
			},
		}},
	}}
}

// memberTemplate is a member. It listens on every address and is known by its name only: its
// address is another one after the move. On a volume with data the initial cluster is not
// looked at.
func memberTemplate() corev1.PodTemplateSpec {
	var initial []string
	for _, member := range memberNames() {
		initial = append(initial, member+"="+url(member, peerPort))
	}
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: ptr.To[int64](30), AutomountServiceAccountToken: new(false), EnableServiceLinks: new(false), DNSConfig: asWritten(),
			Containers: []corev1.Container{{
				Name: name, Image: etcdImage, ImagePullPolicy: corev1.PullIfNotPresent,
				Env: []corev1.EnvVar{{Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}},
				Args: []string{
					"--name=$(POD_NAME)", "--data-dir=/data/etcd", "--log-outputs=stderr,/data/log",
					fmt.Sprintf("--listen-client-urls=http://0.0.0.0:%d", clientPort), "--advertise-client-urls=" + url("$(POD_NAME)", clientPort),
					fmt.Sprintf("--listen-peer-urls=http://0.0.0.0:%d", peerPort), "--initial-advertise-peer-urls=" + url("$(POD_NAME)", peerPort),
					"--initial-cluster=" + strings.Join(initial, ","), "--initial-cluster-token=" + namespace,
				},
				VolumeMounts:   []corev1.VolumeMount{{Name: "data", MountPath: "/data"}},
				ReadinessProbe: caughtUp(),
				Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("50m"), corev1.ResourceMemory: resource.MustParse("64Mi")},
				},
			}},
		},
	}
}

// caughtUp is Ready for a member that answers linearizable reads: it has a leader, and has
// applied all that was committed when it was asked.
func caughtUp() *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/readyz", Port: intstr.FromInt32(clientPort)}},
		PeriodSeconds: 1, TimeoutSeconds: 2, FailureThreshold: 3,
	}
}

// asWritten has names with two dots looked up as they are, before any search domain.
func asWritten() *corev1.PodDNSConfig {
	return &corev1.PodDNSConfig{Options: []corev1.PodDNSConfigOption{{Name: "ndots", Value: new("2")}}}
}
